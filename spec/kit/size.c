/* Byte sizes as docker spells them (RB 7.11). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/kit.h"

/* "", "b", or one of kmgtp with nothing, "b" or "ib" behind it; -1: no such suffix. */
static int shift_of_suffix(const char *s)
{
    static const char units[] = "kmgtp";
    const char *unit;

    if (!*s || ((*s | 0x20) == 'b' && !s[1]))
        return 0;
    unit = strchr(units, *s | 0x20);
    if (!unit)
        return -1;
    s++;
    if ((*s | 0x20) == 'i' && s[1])
        s++;
    else if (*s && (*s | 0x20) != 'b')
        return -1;
    if ((*s | 0x20) == 'b')
        s++;
    return *s ? -1 : 10 * (int)(unit - units + 1);
}

static bool is_number(const char *s, size_t len)
{
    bool digit = false;

    if (!len || len > 40)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (s[i] >= '0' && s[i] <= '9')
            digit = true;
        else if (!strchr(".eE+-", s[i]))
            return false;
    }
    return digit && s[0] != '-' && s[0] != 'e' && s[0] != 'E';
}

bool sbx_size_parse(const char *text, int64_t *bytes)
{
    size_t end = 0, len;
    char number[48];
    double value;
    char *rest;
    int shift;

    for (size_t i = 0; text[i]; i++)
        if (strchr("0123456789. ", text[i]))
            end = i + 1;
    len = end && text[end - 1] == ' ' ? end - 1 : end;
    shift = shift_of_suffix(text + end);
    if (shift < 0 || !is_number(text, len))
        return false;
    memcpy(number, text, len);
    number[len] = '\0';
    errno = 0;
    value = strtod(number, &rest);
    if (*rest || !isfinite(value) || value < 0)
        return false;
    value = ldexp(value, shift);
    if (value >= 9223372036854775808.0)
        return false;
    *bytes = (int64_t)value;
    return true;
}
