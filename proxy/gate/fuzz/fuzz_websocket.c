/* Frames of a WebSocket: whole and in pieces the same bytes go on, in their order, and it ends for the same
 * reason. First byte: the side and its extension; second: how long pieces are. */
#include <stdlib.h>
#include <string.h>

#include "frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sbx_frames begin(uint8_t how)
{
    return (struct sbx_frames){ .masked = how & 1, .first = how & 0x70, .later = how & 2 ? how & 0x70 : 0 };
}

/* Returns how many bytes went on; they must be those of `data`. */
static size_t feed(struct sbx_frames *f, const uint8_t *data, size_t size, size_t step)
{
    char *buf = malloc(SBX_FRAME_HEAD + step);
    size_t done = 0;

    for (size_t at = 0; buf && at < size; at += step) {
        size_t held = sbx_frames_resume(f, buf), n = step < size - at ? step : size - at;

        memcpy(buf + held, data + at, n);
        n = sbx_frames_check(f, buf, held + n);
        if (done + n > size || memcmp(buf, data + done, n) != 0)
            abort();
        done += n;
    }
    free(buf);
    return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_frames a, b;

    if (size < 3)
        return 0;
    a = b = begin(data[0]);
    if (feed(&a, data + 2, size - 2, size - 2) != feed(&b, data + 2, size - 2, 1 + data[1] % 32) ||
        a.fault != b.fault || a.open != b.open || a.closed != b.closed || a.left != b.left ||
        a.fragments != b.fragments || a.fragments > SBX_GATE_FRAGMENTS || a.left > SBX_GATE_FRAME_MAX ||
        sbx_frames_between(&a) != sbx_frames_between(&b))
        abort();
    return 0;
}
