/* What static files hold: whole, or in pieces. A file that is not what it was when the kit was loaded is an error. */
#include <fcntl.h>

#include "sbx/file.h"
#include "sbx/kit.h"

static enum sbx_code changed(const struct sbx_static_file *f, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_IO, "%s: it changed since the kit was loaded", f->source);
}

enum sbx_code sbx_static_file_read(const struct sbx_static_file *f, struct sbx_buf *out,
                                   struct sbx_err *err)
{
    size_t before = out->len;
    enum sbx_code rc;

    if (!f->source) {
        rc = sbx_buf_add(out, f->data ? f->data : "", f->size);
        return rc ? sbx_err_set(err, rc, "%s: %s", f->path,
                                rc == SBX_LIMIT ? "too large" : "no memory")
                  : SBX_OK;
    }
    rc = sbx_file_read(AT_FDCWD, f->source, out, err);
    if (rc)
        return rc;
    if (out->len - before != f->size) {
        out->len = before;
        return changed(f, err);
    }
    return SBX_OK;
}

struct counted {
    sbx_file_sink *sink;
    void *context;
    size_t left; /* bytes that the file may still have */
    enum sbx_code rc; /* why `sink` ended it */
};

static enum sbx_code count(void *context, const void *data, size_t len, struct sbx_err *err)
{
    struct counted *c = context;

    c->left -= len;
    c->rc = c->sink(c->context, data, len, err);
    return c->rc;
}

enum sbx_code sbx_static_file_stream(const struct sbx_static_file *f, sbx_file_sink *sink,
                                     void *context, struct sbx_err *err)
{
    struct counted c = { sink, context, f->size, SBX_OK };
    enum sbx_code rc;

    if (!f->source)
        return f->size ? sink(context, f->data, f->size, err) : SBX_OK;
    rc = sbx_file_stream(AT_FDCWD, f->source, f->size, count, &c, err);
    if (!c.rc && (rc == SBX_LIMIT || (!rc && c.left)))
        return changed(f, err);
    return rc;
}
