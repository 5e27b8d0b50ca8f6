/* The generic part of validation: required fields and the rows' own checks, by the same tables. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const struct sbx_pos *place_of(const struct sbx_checker *c, const void *field)
{
    const struct sbx_places *p = c->diags->len < SBX_DIAGS_MAX ? c->a->places : NULL;

    for (size_t i = 0; p && field && i < p->len; i++)
        if (p->v[i].field == field)
            return &p->v[i].pos;
    return c->near ? &c->near->pos : &c->a->at.pos;
}

/* A field's path as a spec of version 1 spells it. Numbers of list items are those of the folded list. */
static const char *spelling(const struct sbx_checker *c, char out[SBX_PATH_MAX])
{
    static const struct { const char *path, *old; } rows[] = {
        { "permissions.network.allow", "network.allowedDomains" },
        { "permissions.network.deny", "network.deniedDomains" },
        { "agentInstructions.filename", "sandbox.aiFilename" },
        { "agentInstructions.content", "agentContext" },
        { "sandbox.resources.memory", "sandbox.resources.memoryMB" },
        { "setup.install", "commands.install" },
        { "setup.startup", "commands.startup" },
        { "setup.files", "commands.initFiles" },
        { "ports", "publishedPorts" },
    };

    for (size_t i = 0; !c->composed && sbx_check_is_old(c) && i < SBX_ARRAY_LEN(rows); i++) {
        size_t len = strlen(rows[i].path);

        if (strncmp(c->path, rows[i].path, len) || (c->path[len] && !strchr(".[", c->path[len])))
            continue;
        snprintf(out, SBX_PATH_MAX, "%s%s", rows[i].old, c->path + len);
        return out;
    }
    return c->path;
}

void sbx_check_report(struct sbx_checker *c, enum sbx_severity severity, const char *code,
                      const void *field, const char *key, const char *hint, const char *fmt, ...)
{
    size_t mark = key ? sbx_check_enter(c, c->path_len ? "." : "", key) : c->path_len;
    char message[1024], old[SBX_PATH_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    sbx_diags_add(c->diags, severity, code, *place_of(c, field), spelling(c, old), hint, "%s",
                  message);
    sbx_check_leave(c, mark);
}

bool sbx_check_is_old(const struct sbx_checker *c)
{
    const char *version = c->a->schema_version;

    for (size_t i = 0; c->near && c->near->kit && i < c->a->kits.len; i++)
        if (!strcmp(c->a->kits.v[i].name, c->near->kit))
            version = c->a->kits.v[i].schema_version;
    for (size_t i = 0; c->near && c->near->kit && i < c->a->parents.len; i++)
        if (!strcmp(c->a->parents.v[i].name, c->near->kit))
            version = c->a->parents.v[i].schema_version;
    return version && !strcmp(version, "1");
}

size_t sbx_check_enter(struct sbx_checker *c, const char *text, const char *name)
{
    size_t mark = c->path_len;

    c->path_len = sbx_path_add(c->path, sbx_path_add(c->path, mark, text), name);
    return mark;
}

size_t sbx_check_enter_index(struct sbx_checker *c, const char *text, size_t index)
{
    size_t mark = c->path_len;

    c->path_len = sbx_path_add_index(c->path, sbx_path_add(c->path, mark, text), index);
    return mark;
}

void sbx_check_leave(struct sbx_checker *c, size_t mark)
{
    c->path_len = mark;
    c->path[mark] = '\0';
}

static void check_block(struct sbx_checker *c, const struct sbx_block *block, const void *base);

/* "add path: absolute path inside" */
static void report_missing(struct sbx_checker *c, const struct sbx_field *f, const void *where)
{
    const char *doc = f->doc ? f->doc : "";
    int len = (int)strlen(doc);
    char hint[200];

    if (len && doc[len - 1] == '.')
        len--;
    snprintf(hint, sizeof(hint), "add %s: %c%.*s", f->key, tolower((unsigned char)*doc), len ? len - 1 : 0, doc + (len > 0));
    sbx_check_report(c, SBX_ERROR, "missing-field", where, NULL, hint, "is required");
}

static void check_string(struct sbx_checker *c, const struct sbx_field *f, const void *where)
{
    const char *const *value = where;

    if (*value && **value) {
        if (f->check)
            f->check(c, value, *value);
    } else if (f->required) {
        report_missing(c, f, where);
    }
}

static void check_strings(struct sbx_checker *c, const struct sbx_field *f,
                          const struct sbx_strs *list)
{
    const struct sbx_origin *near = c->near;

    for (size_t i = 0; f->check && i < list->len; i++) {
        size_t mark = sbx_check_enter_index(c, "", i);

        c->near = list->at ? &list->at[i] : near;
        f->check(c, &list->v[i], list->v[i]);
        sbx_check_leave(c, mark);
    }
    c->near = near;
}

static void check_list(struct sbx_checker *c, const struct sbx_field *f, const void *where)
{
    const struct sbx_origin *near = c->near;
    const char *v;
    size_t len;

    memcpy(&v, where, sizeof(v)); /* the shape of every SBX_LIST */
    memcpy(&len, (const char *)where + sizeof(v), sizeof(len));
    for (size_t i = 0; i < len; i++) {
        const char *item = v + i * f->block->size;
        const char *name = NULL;
        size_t mark;

        if (f->block->name_field >= 0)
            memcpy(&name, item + f->block->name_field, sizeof(name));
        mark = name ? sbx_check_enter(c, ".", name) : sbx_check_enter_index(c, "", i);
        c->near = (const void *)(item + f->block->at);
        check_block(c, f->block, item);
        sbx_check_leave(c, mark);
    }
    c->near = near;
}

static void check_field(struct sbx_checker *c, const struct sbx_field *f, const void *base)
{
    const void *where = (const char *)base + f->offset;

    switch (f->type) {
    case SBX_FIELD_STRING:
        check_string(c, f, where);
        break;
    case SBX_FIELD_STRINGS:
        check_strings(c, f, where);
        break;
    case SBX_FIELD_BLOCK:
        if (!f->set || *((const bool *)base + f->set - 1))
            check_block(c, f->block, where);
        break;
    case SBX_FIELD_LIST:
    case SBX_FIELD_NAMED:
        check_list(c, f, where);
        break;
    default:
        break;
    }
}

static bool has_rules(const struct sbx_field *f)
{
    return f->check || f->required || f->block;
}

static void check_block(struct sbx_checker *c, const struct sbx_block *block, const void *base)
{
    for (size_t i = 0; i < block->n_fields; i++) {
        const struct sbx_field *f = &block->fields[i];
        size_t mark;

        if (!has_rules(f))
            continue;
        mark = sbx_check_enter(c, c->path_len ? "." : "", f->key);
        check_field(c, f, base);
        sbx_check_leave(c, mark);
    }
}

void sbx_artifact_validate(const struct sbx_artifact *a, bool composed, struct sbx_diags *diags)
{
    struct sbx_checker c = { .a = a, .diags = diags, .composed = composed };

    check_block(&c, &sbx_kit_v2, a);
    sbx_check_manifest(&c);
    sbx_check_credentials(&c);
    sbx_check_coverage(&c);
    sbx_check_environment(&c);
    sbx_check_args(&c);
}
