/* Messages of a broker: what is taken has a name, and a value that is one field of one line. */
#include <stdlib.h>
#include <string.h>

#include "secrets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *msg = (const char *)data;
    struct sbx_slice name, value;

    if (sbx_secret_read(msg, size, &name, &value))
        return 0;
    if (!name.len || name.len > SBX_GATE_SECRET_NAME_MAX || name.ptr < msg ||
        name.ptr + name.len > msg + size)
        abort();
    if (!value.ptr)
        return 0;
    if (!value.len || value.ptr + value.len != msg + size || memchr(value.ptr, '\n', value.len) ||
        memchr(value.ptr, '\r', value.len) || memchr(value.ptr, 0, value.len))
        abort();
    return 0;
}
