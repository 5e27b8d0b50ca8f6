/* The head with which the proxy of this machine answers CONNECT: taken whole or cut anywhere, the end is the same. */
#include <stdint.h>
#include <stdlib.h>

#include "bounds.h"
#include "upstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *buf = (const char *)data;
    struct sbx_upstream_answer whole, part;
    unsigned interim = 0, again = 0;
    size_t skip, skip_part;
    ssize_t n = sbx_upstream_answer(buf, size, &interim, &skip, &whole), m;

    if (n > 0 && ((size_t)n > size || n > SBX_GATE_UPSTREAM_HEAD_MAX || skip))
        abort();
    if (n == 0 && skip > size)
        abort();
    if (n <= 0)
        return 0;
    m = sbx_upstream_answer(buf, (size_t)n, &again, &skip_part, &part); /* nothing behind it counts */
    if (m != n || part.open != whole.open || (!whole.open && !whole.reason))
        abort();
    if (sbx_upstream_answer(buf, (size_t)n - 1, &again, &skip_part, &part) > 0)
        abort();
    return 0;
}
