#include <errno.h>
#include <math.h>
#include <string.h>

#include "yaml_impl.h"

#define NUMBER_MAX 400 /* bytes of a number; longer ones are text (a double has at most 309 digits) */

static bool one_of(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(text, words[i]))
            return true;
    return false;
}

static bool is_null_text(const char *s)
{
    static const char *const words[] = { "", "~", "null", "Null", "NULL" };

    return one_of(s, words, SBX_ARRAY_LEN(words));
}

static bool is_true_text(const char *s)
{
    static const char *const words[] = { "true", "True", "TRUE" };

    return one_of(s, words, SBX_ARRAY_LEN(words));
}

static bool is_false_text(const char *s)
{
    static const char *const words[] = { "false", "False", "FALSE" };

    return one_of(s, words, SBX_ARRAY_LEN(words));
}

/* Copy without underscores, which may stand anywhere in a number. */
static bool squeeze(const char *s, char out[NUMBER_MAX])
{
    size_t n = 0;

    for (; *s; s++) {
        if (*s == '_')
            continue;
        if (n == NUMBER_MAX - 1)
            return false;
        out[n++] = *s;
    }
    out[n] = '\0';
    return true;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        return (c | 0x20) - 'a' + 10;
    return 99;
}

static unsigned take_base(const char **s)
{
    if ((*s)[0] != '0' || !(*s)[1])
        return 10;
    switch ((*s)[1] | 0x20) {
    case 'x':
        *s += 2;
        return 16;
    case 'b':
        *s += 2;
        return 2;
    case 'o':
        *s += 2;
        return 8;
    default:
        *s += 1;
        return 8;
    }
}

bool sbx_yaml_int_text(const char *text, bool *negative, uint64_t *ret)
{
    char digits[NUMBER_MAX];
    const char *s = digits;
    uint64_t value = 0;
    unsigned base;

    if (!((*text >= '0' && *text <= '9') || *text == '-' || *text == '+') ||
        !squeeze(text, digits))
        return false;
    *negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    base = take_base(&s);
    if (!*s)
        return false;
    for (; *s; s++) {
        if ((unsigned)digit_value(*s) >= base ||
            __builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit_value(*s), &value))
            return false;
    }
    if (*negative && value > (uint64_t)INT64_MAX + 1)
        return false;
    *ret = value;
    return true;
}

static const char *skip_digits(const char *s)
{
    while (*s >= '0' && *s <= '9')
        s++;
    return s;
}

/* [-+]? ( "." digits | digits ("." digits?)? ) ([eE] [-+]? digits)? */
static bool has_float_shape(const char *s)
{
    const char *start;

    if (*s == '-' || *s == '+')
        s++;
    start = s;
    s = skip_digits(s);
    if (*s == '.') {
        const char *frac = ++s;

        s = skip_digits(s);
        if (frac - 1 == start && s == frac)
            return false;
    } else if (s == start) {
        return false;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        if (*s == '-' || *s == '+')
            s++;
        start = s;
        s = skip_digits(s);
        if (s == start)
            return false;
    }
    return !*s;
}

static bool special_float(const char *s, double *ret)
{
    static const char *const nans[] = { ".nan", ".NaN", ".NAN" };
    static const char *const infs[] = { ".inf", ".Inf", ".INF" };

    if (one_of(s, nans, SBX_ARRAY_LEN(nans))) {
        *ret = NAN;
        return true;
    }
    *ret = *s == '-' ? -INFINITY : INFINITY;
    return one_of(*s == '-' || *s == '+' ? s + 1 : s, infs, SBX_ARRAY_LEN(infs));
}

bool sbx_yaml_float_text(const char *text, double *ret)
{
    char digits[NUMBER_MAX];

    if (special_float(text, ret))
        return true;
    if (!squeeze(text, digits) || !has_float_shape(digits) || *text == '_')
        return false;
    errno = 0;
    *ret = strtod(digits, NULL);
    return isfinite(*ret);
}

static bool digits_between(const char **s, size_t lo, size_t hi)
{
    const char *end = skip_digits(*s);
    size_t n = (size_t)(end - *s);

    *s = end;
    return n >= lo && n <= hi;
}

static bool take(const char **s, char c)
{
    if (**s != c)
        return false;
    (*s)++;
    return true;
}

/* ":" minutes ":" seconds [ "." fraction ] behind the hours */
static bool has_clock_shape(const char **s)
{
    if (!digits_between(s, 1, 2) || !take(s, ':') || !digits_between(s, 1, 2) || !take(s, ':') ||
        !digits_between(s, 1, 2))
        return false;
    if (take(s, '.'))
        return digits_between(s, 1, 9);
    return true;
}

bool sbx_yaml_is_date(const char *s)
{
    bool t;

    if (!digits_between(&s, 4, 4) || !take(&s, '-') || !digits_between(&s, 1, 2) ||
        !take(&s, '-') || !digits_between(&s, 1, 2))
        return false;
    if (!*s)
        return true;
    t = take(&s, 'T') || take(&s, 't');
    if (!t && !take(&s, ' '))
        return false;
    if (!has_clock_shape(&s))
        return false;
    if (!t)
        return !*s; /* with a blank between, no zone follows */
    if (take(&s, 'Z'))
        return !*s;
    return (take(&s, '+') || take(&s, '-')) && digits_between(&s, 2, 2) && take(&s, ':') &&
           digits_between(&s, 2, 2) && !*s;
}

/* What plain text stands for. */
enum sbx_yaml_type sbx_yaml_plain_type(const char *s)
{
    uint64_t u;
    bool negative;
    double d;

    if (*s && !strchr("~nNtTfF<.-+0123456789", *s)) /* most text: no word or number begins so */
        return SBX_YAML_STR;
    if (is_null_text(s))
        return SBX_YAML_NULL;
    if (is_true_text(s) || is_false_text(s))
        return SBX_YAML_BOOL;
    if (!strcmp(s, "<<"))
        return SBX_YAML_MERGE;
    if (*s != '.' && *s != '-' && *s != '+' && !(*s >= '0' && *s <= '9'))
        return SBX_YAML_STR;
    if (sbx_yaml_is_date(s))
        return SBX_YAML_TIMESTAMP;
    if (sbx_yaml_int_text(s, &negative, &u))
        return SBX_YAML_INT;
    return sbx_yaml_float_text(s, &d) ? SBX_YAML_FLOAT : SBX_YAML_STR;
}

static enum sbx_yaml_type type_of_tag(const char *tag)
{
    static const struct {
        const char *name;
        enum sbx_yaml_type type;
    } known[] = {
        { "null", SBX_YAML_NULL },      { "bool", SBX_YAML_BOOL },
        { "int", SBX_YAML_INT },        { "float", SBX_YAML_FLOAT },
        { "str", SBX_YAML_STR },        { "timestamp", SBX_YAML_TIMESTAMP },
        { "binary", SBX_YAML_BINARY },  { "merge", SBX_YAML_MERGE },
    };

    if (strncmp(tag, TAG_PREFIX, strlen(TAG_PREFIX)))
        return SBX_YAML_OTHER;
    for (size_t i = 0; i < SBX_ARRAY_LEN(known); i++)
        if (!strcmp(tag + strlen(TAG_PREFIX), known[i].name))
            return known[i].type;
    return SBX_YAML_OTHER;
}

bool sbx_yaml_resolve(struct sbx_yaml_node *n)
{
    enum sbx_yaml_type wanted, plain;

    if (strlen(n->text) != n->len) {
        n->type = SBX_YAML_STR; /* a NUL inside */
        return true;
    }
    if (!n->tag) {
        n->type = n->style == SBX_YAML_PLAIN ? sbx_yaml_plain_type(n->text) : SBX_YAML_STR;
        return true;
    }
    plain = sbx_yaml_plain_type(n->text);
    wanted = type_of_tag(n->tag);
    n->type = wanted;
    switch (wanted) {
    case SBX_YAML_FLOAT:
        return plain == SBX_YAML_FLOAT || plain == SBX_YAML_INT;
    case SBX_YAML_NULL:
    case SBX_YAML_BOOL:
    case SBX_YAML_INT:
    case SBX_YAML_TIMESTAMP:
        return plain == wanted;
    default:
        return true;
    }
}

void sbx_yaml_replace(const struct sbx_yaml_node *n, const char *text, size_t len)
{
    struct sbx_yaml_node *w = (struct sbx_yaml_node *)(uintptr_t)n; /* made writable, in an arena */
    bool quoted = n->style == SBX_YAML_SINGLE || n->style == SBX_YAML_DOUBLE;

    w->text = text;
    w->len = len;
    if (n->tag || !quoted)
        w->style = SBX_YAML_PLAIN;
    w->tag = NULL;
    w->misfit = false;
    sbx_yaml_resolve(w); /* without a tag nothing can misfit */
    if (w->type == SBX_YAML_MERGE)
        w->type = SBX_YAML_STR;
}

bool sbx_yaml_int(const struct sbx_yaml_node *n, int64_t *ret, bool *ret_cut)
{
    bool negative;
    uint64_t u;
    double d;

    *ret_cut = false;
    if (n->kind != SBX_YAML_SCALAR)
        return false;
    if (n->type == SBX_YAML_INT && sbx_yaml_int_text(n->text, &negative, &u)) {
        if (!negative && u > INT64_MAX)
            return false;
        *ret = negative ? (int64_t)(0 - u) : (int64_t)u;
        return true;
    }
    if (n->type != SBX_YAML_FLOAT || !sbx_yaml_float_text(n->text, &d) ||
        !(d > -9223372036854775808.0 && d < 9223372036854775808.0))
        return false;
    *ret = (int64_t)d;
    *ret_cut = true;
    return true;
}

bool sbx_yaml_float(const struct sbx_yaml_node *n, double *ret)
{
    bool negative;
    uint64_t u;

    if (n->kind != SBX_YAML_SCALAR)
        return false;
    if (n->type == SBX_YAML_INT && sbx_yaml_int_text(n->text, &negative, &u)) {
        *ret = negative ? -(double)u : (double)u;
        return true;
    }
    return (n->type == SBX_YAML_FLOAT || n->type == SBX_YAML_INT) &&
           sbx_yaml_float_text(n->text, ret);
}

bool sbx_yaml_bool(const struct sbx_yaml_node *n, bool *ret, bool *ret_word)
{
    static const char *const yes[] = { "y", "Y", "yes", "Yes", "YES", "on", "On", "ON" };
    static const char *const no[] = { "n", "N", "no", "No", "NO", "off", "Off", "OFF" };

    *ret_word = false;
    if (n->kind != SBX_YAML_SCALAR)
        return false;
    if (n->type == SBX_YAML_BOOL) {
        *ret = is_true_text(n->text);
        return true;
    }
    if (n->type != SBX_YAML_STR)
        return false;
    *ret_word = true;
    *ret = one_of(n->text, yes, SBX_ARRAY_LEN(yes));
    return *ret || one_of(n->text, no, SBX_ARRAY_LEN(no));
}
