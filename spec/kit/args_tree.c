/* Arguments of one kit: declarations, values, and substitution in the tree of its spec (RB 1.1 to 1.7). */
#include <stdio.h>
#include <string.h>

#include "args.h"
#include "check.h"
#include "decode.h"
#include "pattern_re.h"
#include "sbx/suggest.h"

#define EXPANDED_MAX (4 * SBX_SPEC_MAX) /* bytes of all scalars that arguments changed, together */

/* ---- declarations ---- */

/* Decode nothing but the root key `args`, into an artifact of its own. */
static enum sbx_code read_declarations(struct sbx_artifact *a, const struct sbx_yaml_node *root,
                                       struct sbx_diags *found, struct sbx_artifact *scratch)
{
    struct sbx_places *places = sbx_arena_alloc(a->arena, sizeof(*places));
    struct sbx_decoder d = { .arena = a->arena, .diags = found, .kit = "", .places = places };
    struct sbx_checker c = { .a = scratch, .diags = found };
    struct sbx_yaml_node only = *root;

    if (!places)
        return SBX_NO_MEMORY;
    only.entries = NULL;
    only.len = 0;
    for (size_t i = 0; i < root->len && !only.len; i++)
        if (sbx_yaml_is(root->entries[i].key, "args")) {
            only.entries = &root->entries[i];
            only.len = 1;
        }
    if (!only.len)
        return SBX_OK;
    scratch->places = places;
    scratch->at = (struct sbx_origin){ "", root->pos };
    sbx_decode_block(&d, &sbx_kit_v2, &only, scratch);
    if (d.no_memory)
        return SBX_NO_MEMORY;
    sbx_check_args(&c);
    return SBX_OK;
}

static void hand_on(struct sbx_diags *to, const struct sbx_diags *from)
{
    for (size_t i = 0; i < from->len; i++) {
        const struct sbx_diag *d = &from->v[i];

        sbx_diags_add(to, d->severity, d->code, d->pos, d->path, d->hint, "%s", d->message);
    }
}

static enum sbx_code declare(struct sbx_artifact *a, const struct sbx_yaml_node *root,
                             struct sbx_diags *diags)
{
    struct sbx_artifact scratch = { .arena = a->arena };
    SBX_AUTO(sbx_diags) found = { 0 };
    enum sbx_code rc = sbx_diags_init(&found);

    if (!rc)
        rc = read_declarations(a, root, &found, &scratch);
    if (rc || found.no_memory)
        return SBX_NO_MEMORY;
    if (found.errors) {
        hand_on(diags, &found);
        return SBX_SCHEMA;
    }
    a->substitution->args = scratch.args.v;
    a->substitution->n_args = scratch.args.len;
    return SBX_OK;
}

/* ---- values ---- */

static void bad_value(const struct sbx_arg *arg, const struct sbx_arg_value *v, const char *hint,
                      const char *why, struct sbx_diags *diags)
{
    char path[120];

    snprintf(path, sizeof(path), "args.%.100s", arg->name);
    sbx_diags_add(diags, SBX_ERROR, "bad-arg-value", arg->at.pos, path, hint, "%s: \"%.80s\" %s",
                  v->from, v->text, why);
}

static void check_value(const struct sbx_arg *arg, const struct sbx_arg_value *v,
                        struct sbx_diags *diags)
{
    SBX_AUTO(sbx_buf) list = SBX_BUF_INIT(500);
    struct sbx_err why = SBX_ERR_INIT;
    bool found = !arg->choices.len;
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < arg->choices.len && !found; i++) {
        found = !strcmp(arg->choices.v[i], v->text);
        if (sbx_buf_addf(&list, "%s\"%s\"", i ? ", " : "is not one of ", arg->choices.v[i]))
            continue; /* a list too long is cut */
    }
    if (!found)
        bad_value(arg, v, NULL, list.ptr ? list.ptr : "is none of enum", diags);
    else if (arg->pattern && *arg->pattern)
        rc = sbx_re_match(arg->pattern, v->text, &why);
    diags->no_memory |= rc == SBX_NO_MEMORY;
    if (rc)
        bad_value(arg, v, arg->pattern, why.text, diags);
}

static void missing_value(const struct sbx_arg *arg, const char *kit, struct sbx_diags *diags)
{
    char path[120], hint[200];

    snprintf(path, sizeof(path), "args.%.100s", arg->name);
    snprintf(hint, sizeof(hint), "add --kit-arg %.64s%s%.100s=VALUE", kit, *kit ? "." : "", arg->name);
    sbx_diags_add(diags, SBX_ERROR, "missing-arg", arg->at.pos, path, hint,
                  "is required, and no value was given");
}

static enum sbx_code find_values(struct sbx_artifact *a, const char *kit,
                                 struct sbx_arg_values *values, struct sbx_diags *diags)
{
    struct sbx_substitution *s = a->substitution;

    s->values = sbx_arena_array(a->arena, s->n_args, sizeof(*s->values));
    for (size_t i = 0; i < s->n_args; i++) {
        const struct sbx_arg *arg = &s->args[i];
        struct sbx_arg_value v;

        if (!s->values || !sbx_arg_values_take(values, kit, arg->name, &v))
            return SBX_NO_MEMORY;
        if (v.text)
            check_value(arg, &v, diags);
        else if (!arg->default_value)
            missing_value(arg, kit, diags);
        s->values[i] = v.text                 ? sbx_arena_strdup(a->arena, v.text)
                       : arg->default_value ? arg->default_value
                                            : "";
        if (!s->values[i])
            return SBX_NO_MEMORY;
    }
    return SBX_OK;
}

/* ---- the tree ---- */

struct walk {
    struct sbx_artifact *a;
    struct sbx_diags *diags;
    size_t skip_from, skip_to; /* bytes of the root key's value: taken as written */
    const struct sbx_yaml_node **open;
    size_t len, cap;
    size_t expanded;
    struct sbx_args_lookup look;
};

static enum sbx_code push(struct walk *w, const struct sbx_yaml_node *n)
{
    struct sbx_yaml_node *writable = (struct sbx_yaml_node *)(uintptr_t)n;

    if (n->marked || (n->pos.from >= w->skip_from && n->pos.from < w->skip_to))
        return SBX_OK; /* an alias: its anchor's turn comes, or not at all */
    writable->marked = true;
    if (w->len == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 256;
        const struct sbx_yaml_node **grown = realloc(w->open, cap * sizeof(*grown));

        if (!grown)
            return SBX_NO_MEMORY;
        w->open = grown;
        w->cap = cap;
    }
    w->open[w->len++] = n;
    return SBX_OK;
}

static enum sbx_code change_scalar(struct walk *w, const struct sbx_yaml_node *n)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(EXPANDED_MAX - w->expanded);
    struct sbx_err why = SBX_ERR_INIT;
    bool changed = false;
    char *text;
    enum sbx_code rc;

    if (!memmem(n->text, n->len, "${{", 3))
        return SBX_OK;
    sbx_args_look_begin(&w->look, n->pos);
    rc = sbx_args_expand(n->text, n->len, sbx_args_look, &w->look, &out, &changed, &why);
    if (rc == SBX_NO_MEMORY || w->look.no_memory)
        return SBX_NO_MEMORY;
    if (rc) {
        sbx_diags_add(w->diags, SBX_ERROR, "bad-reference", n->pos, "", NULL, "%s", why.text);
        return rc == SBX_LIMIT ? SBX_SCHEMA : SBX_OK;
    }
    if (!changed)
        return SBX_OK;
    w->expanded += out.len;
    text = sbx_arena_memdup(w->a->arena, out.ptr ? out.ptr : "", out.len);
    if (!text || !sbx_args_look_keep(&w->look))
        return SBX_NO_MEMORY;
    if (!w->a->substitution->open)
        sbx_yaml_replace(n, text, out.len);
    return SBX_OK;
}

static enum sbx_code open_mapping(struct walk *w, const struct sbx_yaml_node *map, bool root)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = map->len; !rc && i-- > 0;) {
        const struct sbx_yaml_entry *e = &map->entries[i];

        if (e->key->kind == SBX_YAML_SCALAR && sbx_args_mentioned(e->key->text, e->key->len))
            sbx_diags_add(w->diags, SBX_ERROR, "bad-reference", e->key->pos, "",
                          "move it into the value",
                          "mapping key \"%.60s\" references an argument, which may only stand in "
                          "for a value",
                          e->key->text);
        if (!root || !sbx_yaml_is(e->key, "args"))
            rc = push(w, e->value);
    }
    return rc;
}

static enum sbx_code visit(struct walk *w, const struct sbx_yaml_node *n, bool root)
{
    enum sbx_code rc = SBX_OK;

    if (n->kind == SBX_YAML_SCALAR)
        return change_scalar(w, n);
    if (n->kind == SBX_YAML_MAPPING)
        return open_mapping(w, n, root);
    for (size_t i = n->len; !rc && i-- > 0;)
        rc = push(w, n->items[i]);
    return rc;
}

/* The root's `args` and all below it is skipped, unless it is an alias of something outside. */
static void find_skipped(struct walk *w, const struct sbx_yaml_node *root)
{
    for (size_t i = 0; i < root->len; i++) {
        const struct sbx_yaml_entry *e = &root->entries[i];

        if (!sbx_yaml_is(e->key, "args") || e->value->pos.from < e->key->pos.from)
            continue;
        w->skip_from = e->value->pos.from;
        w->skip_to = e->value->pos.to;
    }
}

static enum sbx_code walk_tree(struct sbx_artifact *a, const struct sbx_yaml_node *root,
                               struct sbx_diags *diags)
{
    struct walk w = { .a = a, .diags = diags, .look = { .a = a, .diags = diags } };
    enum sbx_code rc;

    find_skipped(&w, root);
    rc = visit(&w, root, true);
    while (!rc && w.len)
        rc = visit(&w, w.open[--w.len], false);
    free(w.open);
    return rc;
}

enum sbx_code sbx_args_substitute(struct sbx_artifact *a, const struct sbx_yaml_node *root,
                                  struct sbx_arg_values *values, struct sbx_diags *diags)
{
    const struct sbx_yaml_node *name = sbx_yaml_get(root, "name"), *args = sbx_yaml_get(root, "args");
    size_t before = diags->errors;
    const char *kit = name ? sbx_yaml_string(a->arena, name) : NULL;
    enum sbx_code rc;

    if (root->kind != SBX_YAML_MAPPING || root->broken || (args && args->broken))
        return SBX_OK; /* the decoder says what is wrong */
    a->substitution = sbx_arena_alloc(a->arena, sizeof(*a->substitution));
    rc = a->substitution ? declare(a, root, diags) : SBX_NO_MEMORY;
    if (!rc)
        rc = find_values(a, kit ? kit : "", values, diags);
    if (!rc)
        rc = walk_tree(a, root, diags);
    if (!rc && diags->no_memory)
        rc = SBX_NO_MEMORY;
    return rc ? rc : diags->errors > before ? SBX_SCHEMA : SBX_OK;
}

enum sbx_code sbx_args_find(struct sbx_artifact *a, const struct sbx_yaml_node *root)
{
    SBX_AUTO(sbx_diags) unheard = { 0 };
    struct sbx_substitution *s = sbx_arena_alloc(a->arena, sizeof(*s));
    enum sbx_code rc = s ? sbx_diags_init(&unheard) : SBX_NO_MEMORY;

    if (rc || root->kind != SBX_YAML_MAPPING || root->broken)
        return rc;
    a->substitution = s;
    s->open = true;
    rc = declare(a, root, &unheard);
    if (rc == SBX_SCHEMA) {
        a->substitution = NULL;
        return SBX_OK;
    }
    s->values = sbx_arena_array(a->arena, s->n_args, sizeof(*s->values));
    if (rc || !s->values)
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < s->n_args; i++)
        s->values[i] = "";
    return walk_tree(a, root, &unheard) || unheard.no_memory ? SBX_NO_MEMORY : SBX_OK;
}
