#include "sbx/ustar.h"

#include <string.h>

#define BLOCK SBX_USTAR_BLOCK

static void put_octal(char *field, size_t size, unsigned long long value)
{
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static void put_checksum(char header[BLOCK])
{
    unsigned sum = 0;

    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    put_octal(header + 148, 7, sum);
    header[154] = '\0';
}

void sbx_ustar_header(char block[BLOCK], const char *name, size_t size, unsigned mode,
                      unsigned owner, char type)
{
    memset(block, 0, BLOCK);
    memcpy(block, name, strnlen(name, SBX_USTAR_NAME));
    put_octal(block + 100, 8, mode);
    put_octal(block + 108, 8, owner);
    put_octal(block + 116, 8, owner);
    put_octal(block + 124, 12, size);
    put_octal(block + 136, 12, 0);
    block[156] = type;
    memcpy(block + 257, "ustar\0" "00", 8);
    put_checksum(block);
}
