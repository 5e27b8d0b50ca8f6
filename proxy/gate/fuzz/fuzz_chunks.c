/* The chunked decoder: any two pieces give the same data. First byte: where to cut. */
#include <stdlib.h>
#include <string.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decode in pieces; the data is gathered. 0 ended or open, -1 broken. */
static int decode(const uint8_t *data, size_t size, size_t cut, struct sbx_buf *out, bool *done)
{
    struct sbx_body b = { .kind = SBX_BODY_CHUNKED, .trailers = { .max = SBX_GATE_TRAILERS_MAX } };
    const size_t ends[2] = { cut, size };
    char *piece = malloc(size + 1);
    size_t from = 0;
    int rc = 0;

    for (size_t i = 0; piece && i < 2 && !rc && !b.done; i++) {
        size_t used = 0;
        ssize_t n;

        if (ends[i] == from)
            continue;
        memcpy(piece, data + from, ends[i] - from);
        n = sbx_body_decode(&b, piece, ends[i] - from, &used);
        if (n < 0 || sbx_buf_add(out, piece, (size_t)n))
            rc = -1;
        if (n >= 0 && (used > ends[i] - from || (size_t)n > used))
            abort();
        from += used;
    }
    *done = b.done;
    if (b.done) {
        SBX_AUTO(sbx_buf) trailers = SBX_BUF_INIT(2 * SBX_GATE_TRAILERS_MAX);

        if (sbx_rewrite_trailers(&b.trailers, &trailers) == SBX_LIMIT)
            abort();
    }
    sbx_body_release(&b);
    free(piece);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO(sbx_buf) a = SBX_BUF_INIT(1 << 24);
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(1 << 24);
    bool done_a, done_b;

    if (!size)
        return 0;
    if (decode(data + 1, size - 1, 0, &a, &done_a) !=
            decode(data + 1, size - 1, (size - 1) * data[0] / 255, &b, &done_b) ||
        done_a != done_b)
        abort();
    if (done_a && (a.len != b.len || (a.len && memcmp(a.ptr, b.ptr, a.len) != 0)))
        abort();
    return 0;
}
