/*
 * The distribution form of a spec (S14, C12): the same bytes with one scalar replaced, sandbox.image, and
 * one key taken out, sandbox.build. Whether the result says the same otherwise is checked, not assumed.
 */
#include <stdio.h>
#include <string.h>

#include "artifact.h"
#include "sbx/json.h"
#include "sbx/yaml.h"

/* One change of the text: bytes from..to become `by`. */
struct edit {
    size_t from, to;
    char *by; /* malloc'd; NULL: nothing */
};

static enum sbx_code cannot(struct sbx_err *err, const char *what)
{
    return sbx_err_set(err, SBX_UNSUPPORTED,
                       "%s cannot be changed in place: write the sandbox block plainly, one key a "
                       "line",
                       what);
}

static enum sbx_code edit_image(const struct sbx_yaml_node *sandbox, const char *text,
                                const char *image, struct edit *e, struct sbx_err *err)
{
    const struct sbx_yaml_node *n = sbx_yaml_get(sandbox, "image");
    const char *quote;

    if (!n || n->anchor || n->tag || n->kind != SBX_YAML_SCALAR ||
        (n->style != SBX_YAML_PLAIN && n->style != SBX_YAML_SINGLE && n->style != SBX_YAML_DOUBLE))
        return cannot(err, "sandbox.image");
    quote = n->style == SBX_YAML_SINGLE ? "'" : n->style == SBX_YAML_DOUBLE ? "\"" : "";
    (void)text;
    e->from = n->pos.from;
    e->to = n->pos.to;
    if (asprintf(&e->by, "%s%s%s", quote, image, quote) < 0) {
        e->by = NULL;
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return SBX_OK;
}

static size_t line_start(const char *text, size_t at)
{
    while (at && text[at - 1] != '\n')
        at--;
    return at;
}

static bool only_blanks(const char *text, size_t from, size_t to)
{
    return strspn(text + from, " ") >= to - from;
}

/* End of a block: behind its last line that is neither empty nor a comment. */
static size_t block_end(const char *text, size_t from, size_t to)
{
    size_t end = from, at = from;

    while (at < to) {
        size_t next = at + strcspn(text + at, "\n");
        size_t first = at + strspn(text + at, " \t\r");

        if (text[next])
            next++;
        if (first < next && text[first] != '\n' && text[first] != '#')
            end = next;
        at = next;
    }
    return end < to ? end : to;
}

static enum sbx_code edit_build(const struct sbx_yaml_node *sandbox, const char *text, size_t len,
                                struct edit *e, struct sbx_err *err)
{
    const struct sbx_yaml_node *key = NULL, *value = NULL;
    size_t start, to;

    for (size_t i = 0; i < sandbox->len; i++)
        if (sbx_yaml_is(sandbox->entries[i].key, "build")) {
            key = sandbox->entries[i].key;
            value = sandbox->entries[i].value;
        }
    if (!key || sandbox->style == SBX_YAML_FLOW || value->anchor || value->pos.to > len ||
        value->pos.from < key->pos.to)
        return cannot(err, "sandbox.build");
    start = line_start(text, key->pos.from);
    if (!only_blanks(text, start, key->pos.from))
        return cannot(err, "sandbox.build");
    to = value->pos.to;
    if (to && text[to - 1] != '\n' && !only_blanks(text, line_start(text, to), to)) {
        to += strcspn(text + to, "\n");
        to += text[to] == '\n';
    } else {
        to = line_start(text, to);
    }
    e->from = start;
    e->to = block_end(text, start, to);
    return SBX_OK;
}

static json_t *without(const struct sbx_artifact *a)
{
    json_t *root = sbx_artifact_json(a), *manifest = json_object_get(root, "manifest");

    json_object_del(root, "warnings");
    json_object_del(manifest, "template");
    json_object_del(manifest, "build");
    return root;
}

/* Does the new text say what the old said, but for what was to change? */
static enum sbx_code verify(const char *file, const char *old, size_t old_len,
                            const struct sbx_buf *now, const char *image, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO_PTR(sbx_artifact) b = NULL;
    SBX_AUTO_JSON json_t *before = NULL, *after = NULL;
    SBX_AUTO(sbx_diags) unused = { 0 };
    enum sbx_code rc = sbx_diags_init(&unused);

    if (!rc)
        rc = sbx_kit_load_bytes(file, old, old_len, &unused, &a, err);
    if (!rc && sbx_kit_load_bytes(file, now->ptr, now->len, &unused, &b, NULL))
        return cannot(err, "the spec");
    if (rc)
        return rc;
    before = without(a);
    after = without(b);
    if (!before || !after || !json_equal(before, after) || b->build.set || !b->image ||
        strcmp(b->image, image ? image : a->image) != 0)
        return cannot(err, "the spec");
    return SBX_OK;
}

static enum sbx_code apply(const char *text, size_t len, struct edit e[2], struct sbx_buf *out)
{
    struct edit *first = e[0].from <= e[1].from ? &e[0] : &e[1];
    struct edit *last = first == &e[0] ? &e[1] : &e[0];
    enum sbx_code rc;

    if (first->to > last->from || last->to > len)
        return SBX_UNSUPPORTED;
    rc = sbx_buf_add(out, text, first->from);
    if (!rc && first->by)
        rc = sbx_buf_adds(out, first->by);
    if (!rc)
        rc = sbx_buf_add(out, text + first->to, last->from - first->to);
    if (!rc && last->by)
        rc = sbx_buf_adds(out, last->by);
    return rc ? rc : sbx_buf_add(out, text + last->to, len - last->to);
}

enum sbx_code kit_spec_distribute(const char *file, const char *text, size_t len, const char *image,
                                  struct sbx_buf *out, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO(sbx_diags) unused = { 0 };
    const struct sbx_yaml_node *root = NULL, *sandbox;
    struct edit edits[2] = { { len, len, NULL }, { len, len, NULL } };
    enum sbx_code rc;

    if (!arena || sbx_diags_init(&unused) ||
        sbx_yaml_parse(arena, file, text, len, &unused, &root) || !root)
        return sbx_err_set(err, SBX_SCHEMA, "%s cannot be read again", file);
    sandbox = sbx_yaml_get(root, "sandbox");
    if (!sandbox)
        return cannot(err, "the spec");
    rc = image ? edit_image(sandbox, text, image, &edits[0], err) : SBX_OK;
    if (!rc && sbx_yaml_get(sandbox, "build"))
        rc = edit_build(sandbox, text, len, &edits[1], err);
    if (!rc)
        rc = apply(text, len, edits, out);
    free(edits[0].by);
    if (rc == SBX_UNSUPPORTED)
        return err && err->code == rc ? rc : cannot(err, "the spec");
    if (rc)
        return sbx_err_set(err, rc, "the spec cannot be changed");
    return verify(file, text, len, out, image, err);
}
