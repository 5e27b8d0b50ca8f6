/* "Did you mean": what to write instead of a key that the grammar does not have. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "field.h"
#include "sbx/suggest.h"

static bool is_inside(const struct sbx_block *outer, const struct sbx_block *block)
{
    bool found = outer == block;

    for (size_t i = 0; i < outer->n_fields && !found; i++)
        found = outer->fields[i].block && is_inside(outer->fields[i].block, block);
    return found;
}

/* The grammar that a block is of; NULL: another file (settings.yaml, policy.yaml). */
static const struct sbx_block *grammar_of(const struct sbx_block *block)
{
    if (is_inside(&sbx_kit_v2, block))
        return &sbx_kit_v2;
    return is_inside(&sbx_kit_v1, block) ? &sbx_kit_v1 : NULL;
}

static const struct sbx_block *find_block(const struct sbx_block *at, const char *name)
{
    const struct sbx_block *found = strcmp(at->name, name) ? NULL : at;

    for (size_t i = 0; i < at->n_fields && !found; i++)
        if (at->fields[i].block)
            found = find_block(at->fields[i].block, name);
    return found;
}

/* The version of `grammar`'s counterpart, if that has the key in the block of this name; else 0. */
static int other_version(const struct sbx_block *grammar, const struct sbx_block *block,
                         const char *key)
{
    const struct sbx_block *other = grammar == &sbx_kit_v2 ? &sbx_kit_v1 : &sbx_kit_v2;
    const struct sbx_block *there = find_block(other, block->name);

    if (!there || !sbx_grammar_field(there, key))
        return 0;
    return other == &sbx_kit_v1 ? 1 : 2;
}

static bool hint_of_moved(const struct sbx_block *grammar, const struct sbx_block *block,
                          const char *key, char *out, size_t size)
{
    int version = other_version(grammar, block, key);
    const struct sbx_moved *m = NULL;

    for (size_t i = 0; i < sbx_n_moved_keys && !m; i++)
        if (sbx_moved_keys[i].grammar == grammar && !strcmp(sbx_moved_keys[i].block, block->name) &&
            !strcmp(sbx_moved_keys[i].key, key))
            m = &sbx_moved_keys[i];
    if (!m && version != 2)
        return false;
    if (!m)
        snprintf(out, size, "it is of version 2; write schemaVersion: \"2\" and all of the kit in it");
    else if (version && m->to)
        snprintf(out, size, "it is of version %d; in version %d write \"%s\"%s%s%s", version,
                 3 - version, m->to, m->note ? " (" : "", m->note ? m->note : "", m->note ? ")" : "");
    else if (version)
        snprintf(out, size, "it is of version %d, and version %d has nothing for it; %s", version,
                 3 - version, m->note);
    else if (m->to)
        snprintf(out, size, "did you mean \"%s\"?%s%s%s", m->to, m->note ? " (" : "",
                 m->note ? m->note : "", m->note ? ")" : "");
    else
        snprintf(out, size, "%s", m->note);
    return true;
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

/* The key exists, but in another block: say where, if it is the only place. */
static bool hint_of_place(const struct sbx_block *grammar, const char *key, char *out, size_t size)
{
    struct search s = { key, NULL, 0 };

    search_block(&s, grammar);
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
    const struct sbx_block *grammar = grammar_of(block);

    return (grammar && hint_of_moved(grammar, block, key, out, size)) ||
           hint_of_slip(block, key, out, size) ||
           (grammar && hint_of_place(grammar, key, out, size));
}

const struct sbx_field *sbx_grammar_field(const struct sbx_block *block, const char *key)
{
    for (size_t i = 0; i < block->n_fields; i++)
        if (!strcmp(block->fields[i].key, key))
            return block->fields[i].type == SBX_FIELD_IGNORED ? NULL : &block->fields[i];
    return NULL;
}

bool sbx_grammar_has(const struct sbx_block *grammar, const char *path)
{
    const struct sbx_block *block = grammar;

    while (block) {
        size_t len = strcspn(path, ".");
        const struct sbx_field *f;
        char key[64];

        if (len >= sizeof(key))
            return false;
        memcpy(key, path, len);
        key[len] = '\0';
        f = sbx_grammar_field(block, key);
        if (!f)
            return false;
        if (!path[len])
            return true;
        path += len + 1;
        block = f->block;
    }
    return false;
}
