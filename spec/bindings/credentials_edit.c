/*
 * credentials.yaml: changing it. The lines of one binding, or of one remembered choice, are replaced in
 * the text; all others stay as the user wrote them. What cannot be cut out by lines (flow style, a
 * mapping without entries) is written anew as a whole.
 */
#include "bindings_int.h"

#include <string.h>

#include "sbx/file.h"
#include "sbx/yaml.h"

/* ---- the change in memory ---- */

struct edit {
    const struct sbx_credentials_change *change;
    struct sbx_arena *arena;
    struct sbx_diags *diags;
    struct sbx_err *err;
    const char *path;
    struct sbx_buf text; /* of the file */
};

static enum sbx_code no_memory(struct edit *e)
{
    return sbx_err_set(e->err, SBX_NO_MEMORY, "%s: no memory", e->path);
}

static enum sbx_code change_bindings(struct edit *e, struct sbx_credentials *c)
{
    const struct sbx_credentials_change *k = e->change;
    const char *id = k->set ? k->set->id : k->remove;
    struct sbx_binding *v = sbx_arena_array(e->arena, c->bindings.len + 1, sizeof(*v));
    bool found = false;
    size_t n = 0;

    if (!id)
        return SBX_OK;
    if (!v)
        return no_memory(e);
    for (size_t i = 0; i < c->bindings.len; i++) {
        bool this_one = !strcmp(c->bindings.v[i].id, id);

        found = found || this_one;
        if (!this_one)
            v[n++] = c->bindings.v[i];
        else if (k->set)
            v[n++] = *k->set;
    }
    if (k->set && !found)
        v[n++] = *k->set;
    if (k->remove && !found)
        return sbx_err_set(e->err, SBX_NOT_FOUND, "%s: no binding %s", e->path, id);
    c->bindings.v = v;
    c->bindings.len = n;
    return SBX_OK;
}

static enum sbx_code change_remembered(struct edit *e, struct sbx_credentials *c)
{
    const struct sbx_credentials_change *k = e->change;
    struct sbx_remembered *v = sbx_arena_array(e->arena, c->n_remembered + 1, sizeof(*v));
    size_t n = 0, behind = 0;

    if (!k->workspace)
        return SBX_OK;
    if (!v)
        return no_memory(e);
    for (size_t i = 0; i < c->n_remembered; i++) {
        bool here = !strcmp(c->remembered[i].workspace, k->workspace);

        if (!here || strcmp(c->remembered[i].service, k->service))
            v[n++] = c->remembered[i];
        if (here)
            behind = n;
    }
    if (k->binding) { /* beside the others of its workspace */
        size_t at = behind ? behind : n;

        memmove(v + at + 1, v + at, (n - at) * sizeof(*v));
        v[at] = (struct sbx_remembered){ { 0 }, k->workspace, k->service, k->binding };
        n++;
    }
    c->remembered = v;
    c->n_remembered = n;
    return SBX_OK;
}

/* ---- the change in the text ---- */

/* Byte behind the last thing below a node that is written in the file. */
static size_t end_of(const struct sbx_yaml_node *n)
{
    size_t end = n->pos.to;

    if (n->kind == SBX_YAML_SCALAR || n->style == SBX_YAML_FLOW)
        return end;
    end = n->pos.from;
    for (size_t i = 0; i < n->len; i++) {
        const struct sbx_yaml_node *last = n->kind == SBX_YAML_MAPPING ? n->entries[i].value
                                                                       : n->items[i];
        size_t here = end_of(last);

        if (n->kind == SBX_YAML_MAPPING && n->entries[i].key->pos.to > end)
            end = n->entries[i].key->pos.to;
        end = here > end ? here : end;
    }
    return end;
}

static size_t line_start(const struct sbx_buf *t, size_t at)
{
    while (at && t->ptr[at - 1] != '\n')
        at--;
    return at;
}

/* Behind the end of the line that `at` is on, or behind one that ends right there. */
static size_t line_end(const struct sbx_buf *t, size_t at)
{
    if (at && at <= t->len && t->ptr[at - 1] == '\n')
        return at;
    while (at < t->len && t->ptr[at] != '\n')
        at++;
    return at < t->len ? at + 1 : at;
}

/* Lines from..to replaced by `lines`. */
static enum sbx_code replace_lines(const struct sbx_buf *text, size_t from, size_t to,
                            const struct sbx_buf *lines, struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_add(out, text->ptr, from);

    if (!rc && from && text->ptr[from - 1] != '\n')
        rc = sbx_buf_adds(out, "\n");
    if (!rc && lines->len)
        rc = sbx_buf_add(out, lines->ptr, lines->len);
    return rc ? rc : sbx_buf_add(out, text->ptr + to, text->len - to);
}

/* By lines; *ret_done false: it cannot be done so. */
static enum sbx_code by_lines(struct edit *e, const struct sbx_yaml_node *root, struct sbx_buf *out,
                              bool *ret_done)
{
    const struct sbx_credentials_change *k = e->change;
    const struct sbx_yaml_node *map = sbx_yaml_get(root, "bindings");
    const struct sbx_yaml_entry *entry = NULL;
    const char *id = k->set ? k->set->id : k->remove;
    SBX_AUTO(sbx_buf) lines = SBX_BUF_INIT(SBX_BINDINGS_MAX);
    enum sbx_code rc = SBX_OK;
    size_t from, to;

    *ret_done = false;
    if (!id || k->workspace || !map || map->kind != SBX_YAML_MAPPING ||
        map->style != SBX_YAML_BLOCK || !map->len || (k->remove && map->len == 1))
        return SBX_OK;
    for (size_t i = 0; i < map->len; i++)
        if (sbx_yaml_is(map->entries[i].key, id))
            entry = &map->entries[i];
    if (entry && (entry->merged || entry->value->pos.from < entry->key->pos.from ||
                  entry->value->anchor))
        return SBX_OK; /* shared text */
    to = line_end(&e->text, entry ? end_of(entry->value) : end_of(map));
    from = entry ? line_start(&e->text, entry->key->pos.from) : to;
    if (k->set)
        rc = sbx_credentials_write_one(k->set, map->entries[0].key->pos.column - 1, &lines);
    if (!rc)
        rc = replace_lines(&e->text, from, to, &lines, out);
    *ret_done = !rc;
    return rc;
}

/* Would the new text load, and say what is meant? */
static enum sbx_code verify(struct edit *e, const struct sbx_buf *out,
                            const struct sbx_credentials *want)
{
    struct sbx_credentials got;
    enum sbx_code rc = sbx_credentials_decode(e->path, out, e->arena, e->diags, &got, e->err);

    if (rc)
        return rc;
    if (got.bindings.len != want->bindings.len || got.n_remembered != want->n_remembered)
        return sbx_err_set(e->err, SBX_SCHEMA, "%s: the change cannot be written", e->path);
    for (size_t i = 0; i < want->bindings.len; i++)
        if (!sbx_credentials_find(&got, want->bindings.v[i].id))
            return sbx_err_set(e->err, SBX_SCHEMA, "%s: the change cannot be written", e->path);
    return SBX_OK;
}

/* The section of remembered choices alone; *ret_done false: it cannot be done so. */
static enum sbx_code section_by_lines(struct edit *e, const struct sbx_yaml_node *root,
                                      const struct sbx_credentials *c, struct sbx_buf *out,
                                      bool *ret_done)
{
    const struct sbx_yaml_entry *entry = NULL;
    SBX_AUTO(sbx_buf) lines = SBX_BUF_INIT(SBX_BINDINGS_MAX);
    size_t from = e->text.len, to = e->text.len;
    enum sbx_code rc;

    if (e->change->set || e->change->remove || root->kind != SBX_YAML_MAPPING ||
        root->style != SBX_YAML_BLOCK)
        return SBX_OK;
    for (size_t i = 0; i < root->len; i++)
        if (sbx_yaml_is(root->entries[i].key, "remembered"))
            entry = &root->entries[i];
    if (entry) {
        from = line_start(&e->text, entry->key->pos.from);
        to = line_end(&e->text, end_of(entry->value));
    }
    rc = sbx_credentials_write_remembered(c, &lines);
    if (!rc)
        rc = replace_lines(&e->text, from, to, &lines, out);
    *ret_done = !rc;
    return rc;
}

static enum sbx_code rewrite(struct edit *e, struct sbx_credentials *c)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_BINDINGS_MAX);
    const struct sbx_yaml_node *root = NULL;
    bool done = false;
    enum sbx_code rc = e->text.len ? sbx_yaml_parse(e->arena, e->path, e->text.ptr, e->text.len,
                                                    e->diags, &root)
                                   : SBX_OK;

    if (!rc && root)
        rc = by_lines(e, root, &out, &done);
    if (!rc && root && !done)
        rc = section_by_lines(e, root, c, &out, &done);
    if (!rc && !done)
        rc = sbx_credentials_write(c, sbx_bindings_head(e->arena, e->text.ptr), &out);
    if (rc)
        return sbx_err_set(e->err, rc, "%s: %s", e->path,
                           rc == SBX_LIMIT ? "too large" : "the change cannot be written");
    rc = verify(e, &out, c);
    return rc ? rc : sbx_bindings_replace(e->path, &out, e->err);
}

static enum sbx_code run(struct edit *e)
{
    struct sbx_credentials c;
    enum sbx_code rc = sbx_bindings_text(e->path, &e->text, e->err);

    if (rc && rc != SBX_NOT_FOUND)
        return rc;
    rc = sbx_credentials_decode(e->path, &e->text, e->arena, e->diags, &c, e->err);
    if (!rc)
        rc = change_bindings(e, &c);
    if (!rc)
        rc = change_remembered(e, &c);
    return rc ? rc : rewrite(e, &c);
}

enum sbx_code sbx_credentials_edit(const char *path, const struct sbx_credentials_change *change,
                                   struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_FD int held = -1;
    struct edit e = { .change = change, .arena = arena, .diags = diags, .err = err, .path = path,
                      .text = SBX_BUF_INIT(SBX_BINDINGS_MAX) };
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    rc = sbx_bindings_lock(path, &held, err);
    if (!rc)
        rc = run(&e);
    sbx_buf_release(&e.text);
    return rc;
}
