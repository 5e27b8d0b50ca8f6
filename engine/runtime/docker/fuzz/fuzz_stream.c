/* A hijacked connection's bytes in two pieces: head, then frames or an error's body. The first byte
 * says where to cut. */
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frames(struct docker_demux *d, const char *data, size_t len)
{
    struct docker_piece piece;
    size_t taken, total = 0;

    do {
        if (docker_demux_next(d, data + total, len - total, &taken, &piece))
            return;
        total += taken;
        if (piece.stream && (piece.len == 0 || piece.data + piece.len != data + total))
            __builtin_trap(); /* a piece is the end of what was taken */
    } while (piece.stream);
    if (total != len)
        __builtin_trap(); /* without a piece everything must have been taken */
}

static void body(struct docker_body *b, const char *data, size_t len)
{
    if (docker_body_feed(b, data, len))
        return;
    if (b->text.len > DOCKER_ERROR_MAX)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct docker_head head = DOCKER_HEAD_INIT;
    struct docker_demux demux = DOCKER_DEMUX_INIT;
    struct docker_body error = { 0 };
    const char *p = (const char *)data + 1;
    size_t cut = size ? data[0] : 0, taken = 0;

    if (size < 2)
        return 0;
    size--;
    if (cut > size)
        cut = size;
    if (docker_head_feed(&head, p, cut, &taken) == SBX_OK && !head.done) {
        size_t more;

        if (docker_head_feed(&head, p + taken, size - taken, &more) == SBX_OK)
            taken += more;
    }
    if (head.done) {
        size_t left = size - taken, first = left < cut ? left : cut;

        frames(&demux, p + taken, first);
        frames(&demux, p + taken + first, left - first);
        docker_body_start(&error, &head);
        body(&error, p + taken, first);
        body(&error, p + taken + first, left - first);
        docker_body_release(&error);
    }
    docker_head_release(&head);
    return 0;
}
