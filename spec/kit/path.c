/* Paths of fields, built while walking; without printf, which would be a tenth of the time of a load. */
#include <string.h>

#include "decode.h"

#define DIGITS_MAX 20 /* of a 64-bit number */

static size_t add(char path[SBX_PATH_MAX], size_t len, const char *text, size_t n)
{
    if (n > SBX_PATH_MAX - 1 - len)
        n = SBX_PATH_MAX - 1 - len;
    memcpy(path + len, text, n);
    path[len + n] = '\0';
    return len + n;
}

size_t sbx_path_add(char path[SBX_PATH_MAX], size_t len, const char *text)
{
    return add(path, len, text, strnlen(text, SBX_PATH_MAX));
}

size_t sbx_path_add_index(char path[SBX_PATH_MAX], size_t len, size_t index)
{
    char text[DIGITS_MAX + 2], *p = text + sizeof(text);

    *--p = ']';
    do
        *--p = (char)('0' + index % 10);
    while (index /= 10);
    *--p = '[';
    return add(path, len, p, (size_t)(text + sizeof(text) - p));
}
