/* ClientHellos: all at once and in pieces give the same answer, and never a name with more bytes than
 * were sent. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_hello whole = SBX_HELLO_INIT, pieces = SBX_HELLO_INIT;
    enum sbx_hello_state a = sbx_hello_read(&whole, (const char *)data, size), b = SBX_HELLO_MORE;

    /* Longer ones towards the end: byte by byte an input of 4 KiB took as long as 50 others. */
    for (size_t n = 0; n < size && b == SBX_HELLO_MORE; n += 1 + n / 32)
        b = sbx_hello_read(&pieces, (const char *)data, n);
    if (b == SBX_HELLO_MORE)
        b = sbx_hello_read(&pieces, (const char *)data, size);
    if (a != b || whole.named != pieces.named || whole.ech != pieces.ech ||
        whole.alpn != pieces.alpn || whole.offers_h1 != pieces.offers_h1 ||
        whole.offers_h2 != pieces.offers_h2 ||
        whole.name_len != pieces.name_len || memcmp(whole.name, pieces.name, whole.name_len) != 0 ||
        whole.name_len > size)
        abort();
    sbx_hello_release(&whole);
    sbx_hello_release(&pieces);
    return 0;
}
