#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern_re.h"

#include <pcre2.h>
#include <stdbool.h>
#include <string.h>

#include "re2.h"

#define MATCH_LIMIT 100000 /* PCRE2 steps; a value is a word, and honest patterns take hundreds */
#define HEAP_LIMIT 8192    /* KiB that one match may take */

#define TRANSLATED_MAX 65536 /* bytes; a character becomes 12 at most */
#define NEST_MAX 1100 /* brackets PCRE2 takes; the grammar's own bound is below */

static enum sbx_code translate(const char *pattern, struct sbx_buf *out, struct sbx_err *err)
{
    enum sbx_code rc;

    if (strlen(pattern) > SBX_RE_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "not an RE2 pattern: it is longer than %d bytes",
                           SBX_RE_MAX);
    rc = sbx_buf_adds(out, "(?:");
    if (!rc)
        rc = sbx_re2_translate(pattern, out, err);
    return rc ? rc : sbx_buf_adds(out, ")");
}

static enum sbx_code compile(const char *pattern, pcre2_code **ret, struct sbx_err *err)
{
    uint32_t options = PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ANCHORED | PCRE2_ENDANCHORED |
                       PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_CAPTURE;
    SBX_AUTO(sbx_buf) own = SBX_BUF_INIT(TRANSLATED_MAX);
    pcre2_compile_context *context;
    PCRE2_UCHAR text[120];
    PCRE2_SIZE at;
    int code;
    enum sbx_code rc = translate(pattern, &own, err);

    if (rc)
        return rc;
    context = pcre2_compile_context_create(NULL);
    if (!context)
        return SBX_NO_MEMORY;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, NEST_MAX);
    *ret = pcre2_compile((PCRE2_SPTR)own.ptr, own.len, options, &code, &at, context);
    pcre2_compile_context_free(context);
    if (*ret)
        return SBX_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return SBX_NO_MEMORY;
    pcre2_get_error_message(code, text, sizeof(text));
    return sbx_err_set(err, SBX_SCHEMA, "not a usable pattern: %s", (char *)text);
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
