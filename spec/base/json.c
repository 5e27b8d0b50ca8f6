#include "sbx/json.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sbx/text.h"

#define DIGITS_MAX 17 /* decimal digits that tell any two doubles apart */

static enum sbx_code add_value(const json_t *value, unsigned depth, struct sbx_buf *out);

/* --- numbers: ECMAScript's Number::toString, radix 10 ------------------------------------------- */

struct decimal {
    char digits[DIGITS_MAX + 2]; /* without trailing zeros */
    int point;                   /* value = 0.DIGITS * 10^point */
};

/* Written without a decimal point, so that the process's locale does not matter. */
static bool reads_back(const struct decimal *d, double want)
{
    char text[64];

    snprintf(text, sizeof(text), "%se%d", d->digits, d->point - (int)strlen(d->digits));
    return strtod(text, NULL) == want;
}

static void round_to(double v, int digits, struct decimal *ret)
{
    char text[64];
    size_t n = 0;
    const char *p = text;

    snprintf(text, sizeof(text), "%.*e", digits - 1, v);
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9')
            ret->digits[n++] = *p;
    ret->digits[n] = '\0';
    ret->point = *p ? atoi(p + 1) + 1 : 1;
}

/*
 * The interval of numbers that read back as a power of two is wider above than below, so that the
 * nearest short decimal may miss it where the next one up hits.
 */
static void next_up(struct decimal *d)
{
    size_t i = strlen(d->digits);

    while (i && d->digits[i - 1] == '9')
        d->digits[--i] = '0';
    if (i) {
        d->digits[i - 1]++;
        return;
    }
    d->digits[0] = '1'; /* 999 -> 1000, and its zeros say nothing */
    d->point++;
}

static void shortest(double v, struct decimal *ret)
{
    size_t n;

    for (int digits = 1; digits <= DIGITS_MAX; digits++) {
        round_to(v, digits, ret);
        if (reads_back(ret, v))
            break;
        if (digits == DIGITS_MAX)
            break; /* 17 digits always read back; kept as an end of the loop */
        next_up(ret);
        if (reads_back(ret, v))
            break;
    }
    for (n = strlen(ret->digits); n > 1 && ret->digits[n - 1] == '0'; n--)
        ret->digits[n - 1] = '\0';
}

static enum sbx_code add_exponent_form(const struct decimal *d, struct sbx_buf *out)
{
    int e = d->point - 1;
    const char *dot = d->digits[1] ? "." : "";

    return sbx_buf_addf(out, "%c%s%se%c%d", d->digits[0], dot, d->digits + 1, e < 0 ? '-' : '+',
                        e < 0 ? -e : e);
}

static enum sbx_code add_real(double v, struct sbx_buf *out)
{
    static const char zeros[] = "000000000000000000000";
    struct decimal d;
    int n;

    if (!isfinite(v))
        return SBX_SCHEMA;
    if (v == 0) /* "-0" is written 0 */
        return sbx_buf_adds(out, "0");
    if (v < 0) {
        enum sbx_code rc = sbx_buf_adds(out, "-");

        return rc ? rc : add_real(-v, out);
    }
    shortest(v, &d);
    n = (int)strlen(d.digits);
    if (d.point > 21 || d.point <= -6)
        return add_exponent_form(&d, out);
    if (d.point <= 0)
        return sbx_buf_addf(out, "0.%.*s%s", -d.point, zeros, d.digits);
    if (n <= d.point)
        return sbx_buf_addf(out, "%s%.*s", d.digits, d.point - n, zeros);
    return sbx_buf_addf(out, "%.*s.%s", d.point, d.digits, d.digits + d.point);
}

/*
 * An integer that a double cannot hold would be changed in silence: refuse it. So would one whose
 * shortest digits are those of a neighbour, for every reader that has whole numbers.
 */
static enum sbx_code add_integer(json_int_t v, struct sbx_buf *out)
{
    const json_int_t exact = 9007199254740992; /* 2^53 */
    size_t before = out->len;
    char text[32];
    enum sbx_code rc;

    snprintf(text, sizeof(text), "%lld", (long long)v);
    if (v >= -exact && v <= exact)
        return sbx_buf_adds(out, text);
    rc = add_real((double)v, out);
    if (!rc && strcmp(out->ptr + before, text))
        rc = SBX_SCHEMA;
    return rc;
}

/* --- strings ------------------------------------------------------------------------------------ */

static enum sbx_code add_string(const char *text, size_t len, struct sbx_buf *out)
{
    static const char named[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
                                  ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\' };
    enum sbx_code rc;
    size_t from = 0;

    if (!sbx_utf8_valid(text, len))
        return SBX_SCHEMA;
    rc = sbx_buf_adds(out, "\"");
    for (size_t i = 0; i < len && !rc; i++) {
        unsigned char c = (unsigned char)text[i];
        char name = c < sizeof(named) ? named[c] : 0;

        if (c >= 0x20 && !name)
            continue;
        rc = sbx_buf_add(out, text + from, i - from);
        from = i + 1;
        if (!rc)
            rc = name ? sbx_buf_addf(out, "\\%c", name) : sbx_buf_addf(out, "\\u%04x", c);
    }
    if (!rc)
        rc = sbx_buf_add(out, text + from, len - from);
    return rc ? rc : sbx_buf_adds(out, "\"");
}

/* --- objects and arrays ------------------------------------------------------------------------- */

struct member {
    const char *key;
    size_t len;
    const json_t *value;
};

/* UTF-16 code units sort as code points do, but for surrogates (U+10000 up) below U+E000 to U+FFFF. */
static uint32_t utf16_rank(uint32_t c)
{
    if (c >= 0x10000)
        return c - 0x10000 + 0xe000;
    return c >= 0xe000 ? c + 0x100000 : c;
}

static int compare_keys(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    size_t i = 0, n = x->len < y->len ? x->len : y->len;
    uint32_t cx = 0, cy = 0;

    while (i < n && x->key[i] == y->key[i])
        i++;
    if (i == n)
        return x->len < y->len ? -1 : x->len > y->len;
    while (i && ((unsigned char)x->key[i] & 0xc0) == 0x80)
        i--; /* back to the start of the character that differs */
    if (((unsigned char)y->key[i] & 0xc0) == 0x80 || !sbx_utf8_next(x->key + i, x->len - i, &cx) ||
        !sbx_utf8_next(y->key + i, y->len - i, &cy))
        return memcmp(x->key, y->key, n); /* not UTF-8: add_string() refuses it */
    return utf16_rank(cx) < utf16_rank(cy) ? -1 : 1;
}

static struct member *sorted_members(json_t *object, size_t *ret_n)
{
    size_t n = json_object_size(object), i = 0;
    struct member *members = calloc(n ? n : 1, sizeof(*members));

    if (!members)
        return NULL;
    for (void *it = json_object_iter(object); it && i < n; it = json_object_iter_next(object, it))
        members[i++] = (struct member){ json_object_iter_key(it), json_object_iter_key_len(it),
                                        json_object_iter_value(it) };
    qsort(members, i, sizeof(*members), compare_keys);
    *ret_n = i;
    return members;
}

static enum sbx_code add_object(const json_t *object, unsigned depth, struct sbx_buf *out)
{
    size_t n = 0;
    SBX_AUTO_FREE struct member *members = sorted_members((json_t *)object, &n);
    enum sbx_code rc = members ? sbx_buf_adds(out, "{") : SBX_NO_MEMORY;

    for (size_t i = 0; i < n && !rc; i++) {
        if (i)
            rc = sbx_buf_adds(out, ",");
        if (!rc)
            rc = add_string(members[i].key, members[i].len, out);
        if (!rc)
            rc = sbx_buf_adds(out, ":");
        if (!rc)
            rc = add_value(members[i].value, depth + 1, out);
    }
    return rc ? rc : sbx_buf_adds(out, "}");
}

static enum sbx_code add_array(const json_t *array, unsigned depth, struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_adds(out, "[");

    for (size_t i = 0; i < json_array_size(array) && !rc; i++) {
        if (i)
            rc = sbx_buf_adds(out, ",");
        if (!rc)
            rc = add_value(json_array_get(array, i), depth + 1, out);
    }
    return rc ? rc : sbx_buf_adds(out, "]");
}

static enum sbx_code add_value(const json_t *value, unsigned depth, struct sbx_buf *out)
{
    if (!value)
        return SBX_SCHEMA;
    if (depth > SBX_JSON_DEPTH_MAX)
        return SBX_LIMIT;
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return add_object(value, depth, out);
    case JSON_ARRAY:
        return add_array(value, depth, out);
    case JSON_STRING:
        return add_string(json_string_value(value), json_string_length(value), out);
    case JSON_INTEGER:
        return add_integer(json_integer_value(value), out);
    case JSON_REAL:
        return add_real(json_real_value(value), out);
    case JSON_TRUE:
        return sbx_buf_adds(out, "true");
    case JSON_FALSE:
        return sbx_buf_adds(out, "false");
    default:
        return sbx_buf_adds(out, "null");
    }
}

enum sbx_code sbx_json_canonical(const json_t *value, struct sbx_buf *out)
{
    size_t before = out->len;
    enum sbx_code rc = add_value(value, 1, out);

    if (rc && out->ptr) {
        out->len = before;
        out->ptr[before] = '\0';
    }
    return rc;
}

/* --- strings ------------------------------------------------------------------------------------ */

const char *sbx_json_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

json_t *sbx_json_strings(const char *const *list)
{
    json_t *out = json_array();

    for (; out && list && *list; list++)
        if (json_array_append_new(out, json_string(*list))) {
            json_decref(out);
            return NULL;
        }
    return out;
}

const char *const *sbx_json_texts(const json_t *list, struct sbx_arena *arena)
{
    size_t n = json_array_size(list);
    const char **out = sbx_arena_array(arena, n + 1, sizeof(*out));

    for (size_t i = 0; out && i < n; i++) {
        out[i] = sbx_arena_strdup(arena, json_string_value(json_array_get(list, i)));
        if (!out[i])
            return NULL;
    }
    return out;
}
