/**
 * @file
 * Numbers in arguments, headers and /etc/passwd: digits only, with a bound.
 */
#ifndef SBX_INIT_NUMBER_H
#define SBX_INIT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#define SBX_ID_MAX 4294967294u /* of a uid or gid; the one above means "none" to the kernel */

/** The whole of `text` in `base` (8 or 10), at most `max`. */
static inline bool sbx_number(const char *text, unsigned base, uint64_t max, uint64_t *ret)
{
    uint64_t v = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');

        if (digit >= base || v > (max - digit) / base || v * base + digit > max)
            return false;
        v = v * base + digit;
    }
    *ret = v;
    return true;
}

#endif
