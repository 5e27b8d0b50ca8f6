/* A tar archive from anywhere: names come out bounded and whole, contents as long as they say. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct input {
    const uint8_t *at;
    size_t left;
};

static enum sbx_code from_input(void *ctx, void *to, size_t len, size_t *ret_n, struct sbx_err *err)
{
    struct input *in = ctx;

    (void)err;
    if (len > in->left)
        len = in->left;
    memcpy(to, in->at, len);
    in->at += len;
    in->left -= len;
    *ret_n = len;
    return SBX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct input in = { data, len };
    struct tar_in t = { .read = from_input, .ctx = &in };
    struct tar_entry e;
    bool more = true;

    while (!tar_next(&t, &e, &more, NULL) && more) {
        int64_t got = 0;
        char piece[700];
        size_t n;

        if (!e.name[0] || strlen(e.name) >= sizeof(e.name) || e.size < 0 || e.mode > 07777)
            abort();
        if (e.mode & 1)
            continue; /* its content is skipped */
        while (!tar_data(&t, piece, sizeof(piece), &n, NULL) && n)
            got += (int64_t)n;
        if (got > e.size && e.type == '0')
            abort();
    }
    return 0;
}
