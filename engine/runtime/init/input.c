#include "input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sbx/file.h"

/* Bytes at hand; 0: end of input. */
static ssize_t fill(struct sbx_input *in, struct sbx_err *err)
{
    ssize_t n;

    if (in->at < in->len)
        return (ssize_t)(in->len - in->at);
    do
        n = read(in->fd, in->data, sizeof(in->data));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        sbx_err_errno(err, "read the input");
    in->at = 0;
    in->len = n > 0 ? (size_t)n : 0;
    return n;
}

enum sbx_code sbx_input_line(struct sbx_input *in, char *out, size_t size, struct sbx_err *err)
{
    size_t len = 0;
    ssize_t n;

    while ((n = fill(in, err)) > 0) {
        char c = in->data[in->at++];

        if (c == '\n') {
            out[len] = '\0';
            return SBX_OK;
        }
        if (!c)
            return sbx_err_set(err, SBX_SYNTAX, "a zero byte in a header");
        if (len == size - 1)
            return sbx_err_set(err, SBX_LIMIT, "a header of over %zu bytes", size - 1);
        out[len++] = c;
    }
    if (n < 0)
        return err->code;
    return sbx_err_set(err, len ? SBX_SYNTAX : SBX_NOT_FOUND, "the input ends in a header");
}

enum sbx_code sbx_input_copy(struct sbx_input *in, uint64_t len, int to, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    while (len) {
        ssize_t n = fill(in, err);
        size_t take;

        if (n < 0)
            return err->code;
        if (!n)
            return sbx_err_set(err, SBX_SYNTAX, "the input ends %llu bytes early",
                               (unsigned long long)len);
        take = (uint64_t)n < len ? (size_t)n : (size_t)len;
        if (to >= 0 && !rc && sbx_write_all(to, in->data + in->at, take))
            rc = sbx_err_errno(err, "write");
        in->at += take;
        len -= take;
    }
    return rc;
}

enum sbx_code sbx_input_copy_rest(struct sbx_input *in, int to, struct sbx_err *err)
{
    ssize_t n;

    while ((n = fill(in, err)) > 0) {
        if (sbx_write_all(to, in->data + in->at, (size_t)n))
            return sbx_err_errno(err, "write");
        in->at += (size_t)n;
    }
    return n < 0 ? err->code : SBX_OK;
}

enum sbx_code sbx_input_string(struct sbx_input *in, uint64_t len, char *out, size_t size,
                               struct sbx_err *err)
{
    size_t got = 0;

    if (len >= size) {
        enum sbx_code rc = sbx_input_copy(in, len, -1, err);

        return rc ? rc
                  : sbx_err_set(err, SBX_LIMIT, "%llu bytes, over %zu", (unsigned long long)len,
                                size - 1);
    }
    while (got < len) {
        ssize_t n = fill(in, err);
        size_t take = n > 0 && (uint64_t)n < len - got ? (size_t)n : (size_t)len - got;

        if (n < 0)
            return err->code;
        if (!n)
            return sbx_err_set(err, SBX_SYNTAX, "the input ends early");
        memcpy(out + got, in->data + in->at, take);
        in->at += take;
        got += take;
    }
    out[got] = '\0';
    return strlen(out) == got ? SBX_OK : sbx_err_set(err, SBX_SYNTAX, "a zero byte in a target");
}
