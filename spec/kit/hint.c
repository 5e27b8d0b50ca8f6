/* "Did you mean": what to write instead of a key that the grammar does not have. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "field.h"
#include "sbx/suggest.h"

/* Keys of schemaVersion "1" and of earlier drafts. A hint never names what the decoder refuses (test). */
const struct sbx_moved sbx_moved_keys[] = {
    { "", "agent", "sandbox", NULL },
    { "", "template", "sandbox.image", NULL },
    { "", "image", "sandbox.image", NULL },
    { "", "binary", "sandbox.entrypoint", "its first element is the binary" },
    { "", "runOptions", "sandbox.command", NULL },
    { "", "interactiveOptions", "sandbox.command.interactive", NULL },
    { "", "aiFilename", "agentInstructions.filename", NULL },
    { "", "memory", "agentInstructions.content", NULL },
    { "", "agentContext", "agentInstructions.content", NULL },
    { "", "caps", "permissions", NULL },
    { "", "network", "permissions.network", NULL },
    { "", "egress", "permissions.network.allow", NULL },
    { "", "publishedPorts", "ports", NULL },
    { "", "commands", "setup", NULL },
    { "", "initFiles", "setup.files", NULL },
    { "", "oauth", "credentials", "oauth belongs to the entry of its service" },
    { "", "secrets", "credentials", NULL },
    { "", "environmentVariables", "environment.variables", NULL },
    { "", "env", "environment.variables", NULL },
    { "", "tmpfs", "volumes", "with type: tmpfs" },
    { "", "resources", "sandbox.resources", NULL },
    { "", "build", "sandbox.build", NULL },
    { "", "license", "licenses", "a list" },
    { "", "settings", NULL, "removed in version 2; write the file with setup.files" },
    { "", "kitDir", NULL, "removed in version 2; delete it" },
    { "", "persistence", NULL, "removed in version 2; declare volumes" },
    { "sandbox", "aiFilename", "agentInstructions.filename", NULL },
    { "sandbox", "template", "sandbox.image", NULL },
    { "sandbox", "binary", "sandbox.entrypoint", "its first element is the binary" },
    { "sandbox", "runOptions", "sandbox.command", NULL },
    { "sandbox", "interactiveOptions", "sandbox.command.interactive", NULL },
    { "sandbox", "persistence", NULL, "removed in version 2; declare volumes" },
    { "sandbox", "kitDir", NULL, "removed in version 2; delete it" },
    { "sandbox", "volumes", "volumes", "at the top level" },
    { "sandbox", "security", "security", "at the top level" },
    { "sandbox.resources", "memoryMB", "memory", "a byte size such as \"512m\"" },
    { "sandbox.entrypoint", "run", "sandbox.entrypoint", "a flat list" },
    { "sandbox.command", "args", "default", NULL },
    { "sandbox.command", "ttyArgs", "interactive", NULL },
    { "permissions.network", "allowedDomains", "allow", NULL },
    { "permissions.network", "deniedDomains", "deny", NULL },
    { "permissions.network", "publishedPorts", "ports", "at the top level" },
    { "permissions.network", "serviceDomains", "credentials", "one inject entry per domain" },
    { "permissions.network", "serviceAuth", "credentials", "header and format of an inject entry" },
    { "setup", "initFiles", "files", NULL },
    { "credentials[]", "inject", NULL, "belongs into apiKey" },
    { "credentials[]", "env", NULL, "where a credential is found stands in the user's credentials.yaml" },
    { "credentials[]", "name", "service", NULL },
    { "credentials[].apiKey", "env", "name", NULL },
    { "credentials[].apiKey.inject[]", "headerName", "header", NULL },
    { "credentials[].apiKey.inject[]", "valueFormat", "format", NULL },
    { "credentials[].apiKey.inject[]", "host", "domain", NULL },
    { "credentials[].oauth", "passthroughResponse", "passthrough", NULL },
    { "args.*", "type", NULL, "arguments are always strings" },
    { "args.*", "choices", "enum", NULL },
};
const size_t sbx_n_moved_keys = SBX_ARRAY_LEN(sbx_moved_keys);

static bool hint_of_moved(const struct sbx_block *block, const char *key, char *out, size_t size)
{
    for (size_t i = 0; i < sbx_n_moved_keys; i++) {
        const struct sbx_moved *m = &sbx_moved_keys[i];

        if (strcmp(m->block, block->name) || strcmp(m->key, key))
            continue;
        if (m->to)
            snprintf(out, size, "did you mean \"%s\"?%s%s%s", m->to, m->note ? " (" : "",
                     m->note ? m->note : "", m->note ? ")" : "");
        else
            snprintf(out, size, "%s", m->note);
        return true;
    }
    return false;
}

static bool hint_of_slip(const struct sbx_block *block, const char *key, char *out, size_t size)
{
    struct sbx_suggest s = SBX_SUGGEST_INIT(key, strlen(key));

    for (size_t i = 0; i < block->n_fields; i++)
        if (!strcasecmp(block->fields[i].key, key)) {
            snprintf(out, size, "did you mean \"%s\"?", block->fields[i].key);
            return true;
        }
    for (size_t i = 0; i < block->n_fields; i++)
        if (block->fields[i].type != SBX_FIELD_IGNORED)
            sbx_suggest_try(&s, block->fields[i].key);
    if (s.best)
        snprintf(out, size, "did you mean \"%s\"?", s.best);
    return s.best != NULL;
}

struct search {
    const char *key;
    const struct sbx_block *found; /* the one block that has the key */
    unsigned count;
};

static void search_block(struct search *s, const struct sbx_block *block)
{
    for (size_t i = 0; i < block->n_fields; i++) {
        const struct sbx_field *f = &block->fields[i];

        if (!strcmp(f->key, s->key) && f->type != SBX_FIELD_IGNORED) {
            s->found = block;
            s->count++;
        }
        if (f->block)
            search_block(s, f->block);
    }
}

static bool is_inside(const struct sbx_block *outer, const struct sbx_block *block)
{
    bool found = outer == block;

    for (size_t i = 0; i < outer->n_fields && !found; i++)
        found = outer->fields[i].block && is_inside(outer->fields[i].block, block);
    return found;
}

/* The key exists, but in another block: say where, if it is the only place. */
static bool hint_of_place(const struct sbx_block *block, const char *key, char *out, size_t size)
{
    struct search s = { key, NULL, 0 };

    if (!is_inside(&sbx_kit_v2, block))
        return false; /* another file: settings.yaml, policy.yaml */
    search_block(&s, &sbx_kit_v2);
    if (s.count != 1)
        return false;
    if (!*s.found->name)
        snprintf(out, size, "\"%s\" belongs at the top level", key);
    else
        snprintf(out, size, "\"%s\" belongs into %s", key, s.found->name);
    return true;
}

bool sbx_hint_for_key(const struct sbx_block *block, const char *key, char *out, size_t size)
{
    return hint_of_moved(block, key, out, size) || hint_of_slip(block, key, out, size) ||
           hint_of_place(block, key, out, size);
}

static const struct sbx_field *field_of(const struct sbx_block *block, const char *key, size_t len)
{
    for (size_t i = 0; i < block->n_fields; i++)
        if (strlen(block->fields[i].key) == len && !memcmp(block->fields[i].key, key, len))
            return &block->fields[i];
    return NULL;
}

bool sbx_grammar_has(const char *path)
{
    const struct sbx_block *block = &sbx_kit_v2;

    while (block) {
        size_t len = strcspn(path, ".");
        const struct sbx_field *f = field_of(block, path, len);

        if (!f || f->type == SBX_FIELD_IGNORED)
            return false;
        if (!path[len])
            return true;
        path += len + 1;
        block = f->block;
    }
    return false;
}
