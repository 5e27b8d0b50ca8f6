/* Arguments in the bytes of files/ (RB 1.5). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

#define EXPANDED_MAX SBX_KIT_FILE_MAX /* bytes that changed files of one kit may take in memory */

struct job {
    struct sbx_artifact *a;
    struct sbx_diags *diags;
    struct sbx_err *err;
    const char *below; /* real path of files/; NULL: look into all */
    size_t held;
    struct sbx_args_lookup look;
};

/* A link to a file of the kit outside files/ shows what that file says. */
static bool is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return !strncmp(path, dir, len) && path[len] == '/';
}

static enum sbx_code keep(struct job *j, struct sbx_static_file *f, const struct sbx_buf *out)
{
    const char *data = sbx_arena_memdup(j->a->arena, out->ptr ? out->ptr : "", out->len);

    if (!data || !sbx_args_look_keep(&j->look))
        return sbx_err_set(j->err, SBX_NO_MEMORY, "no memory");
    j->held += out->len;
    f->data = data;
    f->size = out->len;
    f->source = NULL;
    f->borrowed = false;
    return SBX_OK;
}

static enum sbx_code expand(struct job *j, struct sbx_static_file *f, const char *text, size_t len)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(EXPANDED_MAX - j->held);
    struct sbx_err why = SBX_ERR_INIT;
    bool changed = false;
    enum sbx_code rc;

    sbx_args_look_begin(&j->look, f->at.pos);
    rc = sbx_args_expand(text, len, sbx_args_look, &j->look, &out, &changed, &why);
    if (rc == SBX_SYNTAX) {
        sbx_diags_add(j->diags, SBX_ERROR, "bad-reference", f->at.pos, "", NULL, "%s", why.text);
        return SBX_OK;
    }
    if (rc)
        return sbx_err_set(j->err, rc, "%s: %s", f->at.pos.file, why.text);
    return changed ? keep(j, f, &out) : SBX_OK;
}

static enum sbx_code one(struct job *j, struct sbx_static_file *f)
{
    SBX_AUTO(sbx_buf) read = SBX_BUF_INIT(SBX_KIT_FILE_MAX);
    const char *text = f->data;
    size_t len = f->size;
    enum sbx_code rc;

    if (f->source) {
        if (j->below && !is_below(f->source, j->below))
            return SBX_OK;
        rc = sbx_static_file_read(f, &read, j->err);
        if (rc)
            return rc;
        text = read.ptr;
        len = read.len;
    }
    if (!len || !memmem(text, len, "${{", 3))
        return SBX_OK;
    return expand(j, f, text, len);
}

enum sbx_code sbx_args_files(struct sbx_artifact *a, const char *root, struct sbx_diags *diags,
                             struct sbx_err *err)
{
    struct job j = { .a = a, .diags = diags, .err = err, .look = { .a = a, .diags = diags } };
    size_t before = diags->errors;
    SBX_AUTO_FREE char *path = NULL;
    SBX_AUTO_FREE char *below = NULL;
    enum sbx_code rc = SBX_OK;

    if (!a->substitution || a->substitution->open || !a->files.len)
        return SBX_OK;
    if (root && asprintf(&path, "%s/files", root) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    below = path ? realpath(path, NULL) : NULL;
    if (path && !below && errno == ENOMEM)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    j.below = below;
    for (size_t i = 0; i < a->files.len && !rc; i++)
        rc = one(&j, &a->files.v[i]);
    if (!rc && diags->no_memory)
        rc = sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    return rc ? rc : diags->errors > before ? SBX_SCHEMA : SBX_OK;
}
