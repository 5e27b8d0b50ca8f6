#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern_re.h"

#include <pcre2.h>
#include <stdbool.h>
#include <string.h>

#define MATCH_LIMIT 100000 /* PCRE2 steps; a value is a word, and honest patterns take hundreds */
#define HEAP_LIMIT 8192    /* KiB that one match may take */

/* "(?" and what may follow it in RE2: ":", flags, "P<name>". Everything else looks around or worse. */
static const char *refuse_group(const char *s)
{
    if (!strncmp(s, "(*", 2))
        return "verbs \"(*\" are not part of it";
    if (strncmp(s, "(?", 2))
        return NULL;
    s += 2;
    if (*s == 'P')
        return s[1] == '<' ? NULL : "back-references are not part of it";
    if (*s == '<')
        return s[1] == '=' || s[1] == '!' ? "look-behind is not part of it" : NULL;
    if (*s == '=' || *s == '!')
        return "look-ahead is not part of it";
    s += strspn(s, "imsU-");
    return *s == ':' || *s == ')' ? NULL : "this kind of group is not part of it";
}

static const char *refuse_escape(char c)
{
    if (c >= '1' && c <= '9')
        return "back-references are not part of it";
    if (strchr("gkGKRXhHZNlLuUyY", c) && c)
        return "this escape is not part of it";
    return NULL;
}

/* What RE2 lacks and PCRE2 has; NULL: nothing found. */
static const char *find_foreign(const char *s)
{
    bool in_class = false, after_repeat = false;
    const char *why = NULL;

    for (; *s && !why; s++) {
        bool repeat = false;

        if (*s == '\\' && s[1]) {
            why = refuse_escape(*++s);
        } else if (in_class) {
            in_class = *s != ']';
        } else if (*s == '[') {
            in_class = true;
            s += s[1] == '^';
            s += s[1] == ']'; /* a leading bracket is a member */
        } else if (*s == '(') {
            why = refuse_group(s);
        } else if (*s == '+' && after_repeat) {
            why = "possessive repetition is not part of it";
        } else {
            repeat = strchr("*+?}", *s) != NULL;
        }
        after_repeat = repeat;
    }
    return why;
}

static enum sbx_code compile(const char *pattern, pcre2_code **ret, struct sbx_err *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ANCHORED | PCRE2_ENDANCHORED |
                       PCRE2_NEVER_BACKSLASH_C;
    const char *why = strlen(pattern) > SBX_RE_MAX ? "it is longer than 1000 bytes"
                                                    : find_foreign(pattern);
    PCRE2_UCHAR text[120];
    PCRE2_SIZE at;
    int code;

    if (why)
        return sbx_err_set(err, SBX_SCHEMA, "not an RE2 pattern: %s", why);
    *ret = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
    if (*ret)
        return SBX_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return SBX_NO_MEMORY;
    pcre2_get_error_message(code, text, sizeof(text));
    return sbx_err_set(err, SBX_SCHEMA, "not a pattern: %s at byte %zu", (char *)text, (size_t)at);
}

enum sbx_code sbx_re_check(const char *pattern, struct sbx_err *err)
{
    pcre2_code *re = NULL;
    enum sbx_code rc = compile(pattern, &re, err);

    pcre2_code_free(re);
    return rc;
}

static enum sbx_code run(const pcre2_code *re, const char *value, struct sbx_err *err)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(re, NULL);
    int n = PCRE2_ERROR_NOMEMORY;

    if (limits && data) {
        pcre2_set_match_limit(limits, MATCH_LIMIT);
        pcre2_set_heap_limit(limits, HEAP_LIMIT);
        n = pcre2_match(re, (PCRE2_SPTR)value, PCRE2_ZERO_TERMINATED, 0, 0, data, limits);
    }
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    if (n >= 0)
        return SBX_OK;
    if (n == PCRE2_ERROR_NOMEMORY)
        return SBX_NO_MEMORY;
    if (n == PCRE2_ERROR_MATCHLIMIT || n == PCRE2_ERROR_HEAPLIMIT || n == PCRE2_ERROR_DEPTHLIMIT)
        return sbx_err_set(err, SBX_LIMIT, "matching takes too long");
    return sbx_err_set(err, SBX_CONFLICT, "does not match the pattern");
}

enum sbx_code sbx_re_match(const char *pattern, const char *value, struct sbx_err *err)
{
    pcre2_code *re = NULL;
    enum sbx_code rc = compile(pattern, &re, err);

    if (!rc)
        rc = run(re, value, err);
    pcre2_code_free(re);
    return rc;
}
