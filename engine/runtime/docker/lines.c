#include "lines.h"

#include <string.h>

#include "sbx/json.h"

static enum sbx_code one(struct docker_lines *l, const char *text, size_t len, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *value = NULL;

    while (len && (text[len - 1] == '\r' || text[len - 1] == ' '))
        len--;
    if (!len)
        return SBX_OK;
    value = json_loadb(text, len, 0, NULL);
    if (!value)
        return sbx_err_set(err, SBX_SYNTAX, "the Engine's progress is not JSON");
    return l->value(l->ctx, value, err);
}

enum sbx_code docker_lines_feed(void *ctx, const char *data, size_t len, struct sbx_err *err)
{
    struct docker_lines *l = ctx;
    const char *end;

    while (len && (end = memchr(data, '\n', len))) {
        size_t n = (size_t)(end - data);
        enum sbx_code rc;

        if (sbx_buf_add(&l->part, data, n))
            return sbx_err_set(err, SBX_LIMIT, "a line of the Engine's progress is too long");
        rc = one(l, l->part.ptr ? l->part.ptr : "", l->part.len, err);
        sbx_buf_clear(&l->part);
        if (rc)
            return rc;
        data += n + 1;
        len -= n + 1;
    }
    if (sbx_buf_add(&l->part, data, len))
        return sbx_err_set(err, SBX_LIMIT, "a line of the Engine's progress is too long");
    return SBX_OK;
}

enum sbx_code docker_lines_end(struct docker_lines *l, struct sbx_err *err)
{
    return l->part.len ? one(l, l->part.ptr, l->part.len, err) : SBX_OK;
}

void docker_lines_release(struct docker_lines *l) { sbx_buf_release(&l->part); }
