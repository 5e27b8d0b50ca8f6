/* Times in a decision log. */
#include <ctype.h>
#include <string.h>
#include <time.h>

#include "logview.h"

bool sbx_log_is_since(const json_t *record, const char *since)
{
    const char *time = json_string_value(json_object_get(record, "time"));

    return !since || (time && strcmp(time, since) >= 0);
}

/* "2h30m": seconds, or -1. */
static long long duration(const char *text)
{
    static const char units[] = "smhd";
    static const long long seconds[] = { 1, 60, 3600, 86400 };
    long long all = 0;

    if (!*text)
        return -1;
    while (*text) {
        long long n = 0;
        const char *digits = text, *unit;

        while (isdigit((unsigned char)*text) && n < 1000000000)
            n = n * 10 + (*text++ - '0');
        unit = *text ? strchr(units, *text) : NULL;
        if (text == digits || !unit)
            return -1;
        all += n * seconds[unit - units];
        text++;
    }
    return all;
}

static bool moment(const char *text, long long *ret)
{
    static const char *const forms[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S",
                                         "%Y-%m-%dT%H:%M", "%Y-%m-%d" };
    size_t len = strlen(text);

    if (len <= 11 && strspn(text, "0123456789") == len) {
        *ret = strtoll(text, NULL, 10);
        return len > 0;
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(forms); i++) {
        struct tm tm = { 0 };
        const char *end = strptime(text, forms[i], &tm);

        if (!end || *end)
            continue;
        *ret = timegm(&tm);
        return true;
    }
    return false;
}

enum sbx_code sbx_log_since(struct sbx_arena *arena, const char *text, long long now,
                            const char **ret, struct sbx_err *err)
{
    long long at, ago = duration(text);
    time_t t;
    struct tm tm;

    if (ago >= 0)
        at = now - ago;
    else if (!moment(text, &at))
        return sbx_err_set(err, SBX_USAGE,
                           "--since %s: want a time ago (10m, 2h30m, 3d) or a UTC time "
                           "(2026-01-02T03:04:05Z, 2026-01-02)",
                           text);
    t = at < 0 ? 0 : (time_t)at;
    if (!gmtime_r(&t, &tm) || tm.tm_year > 8099)
        return sbx_err_set(err, SBX_USAGE, "--since %s: too far away", text);
    *ret = sbx_arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02d.000Z", tm.tm_year + 1900,
                            tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}
