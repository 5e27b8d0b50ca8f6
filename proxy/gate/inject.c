/* Rules of injection. See inject.h. */
#include "inject.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "!#$%&'*+-.^_`|~";
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

bool sbx_secret_is_name(const char *text, size_t len)
{
    if (!len || len > SBX_GATE_SECRET_NAME_MAX || text[0] == '.')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!text[i] || !strchr(plain, text[i]))
            return false;
    return true;
}

/* Fields that frame a message or belong to one hop: the gate writes them itself. */
static bool is_reserved(const char *name)
{
    static const char *const reserved[] = {
        "host", "content-length", "transfer-encoding", "connection", "keep-alive",
        "proxy-connection", "te", "trailer", "upgrade", "http2-settings", "expect", "x-sbx-policy",
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(reserved); i++)
        if (strcasecmp(name, reserved[i]) == 0)
            return true;
    return false;
}

static enum sbx_code check_keys(json_t *rule, struct sbx_err *err)
{
    static const char *const keys[] = { "to", "header", "secret" };
    const char *key;
    json_t *value;

    if (!json_is_object(rule))
        return sbx_err_set(err, SBX_SCHEMA, "not an object");
    json_object_foreach (rule, key, value) {
        bool known = false;

        for (size_t i = 0; i < SBX_ARRAY_LEN(keys); i++)
            known |= strcmp(keys[i], key) == 0;
        if (!known)
            return sbx_err_set(err, SBX_SCHEMA, "unknown key \"%.64s\"", key);
        if (!json_is_string(value))
            return sbx_err_set(err, SBX_SCHEMA, "%s: a text is needed", key);
    }
    return SBX_OK;
}

static enum sbx_code read_to(const char *to, struct sbx_inject *r, struct sbx_err *err)
{
    if (!to)
        return sbx_err_set(err, SBX_SCHEMA, "to: a host with its port is needed");
    if (sbx_target_parse(to, strlen(to), 0, &r->host, &r->port, NULL) || !r->port)
        return sbx_err_set(err, SBX_SCHEMA, "to: \"%.300s\" is not one host with one port", to);
    return SBX_OK;
}

static enum sbx_code read_header(const char *header, struct sbx_inject *r, struct sbx_err *err)
{
    size_t len = header ? strlen(header) : 0;

    if (!len || len > SBX_GATE_INJECT_HEADER_MAX || strspn(header, token) != len)
        return sbx_err_set(err, SBX_SCHEMA, "header: a field name of 1 to %d bytes is needed",
                           SBX_GATE_INJECT_HEADER_MAX);
    if (is_reserved(header))
        return sbx_err_set(err, SBX_SCHEMA, "header: \"%s\" is the gate's own to write", header);
    r->header = strdup(header);
    r->lower = strdup(header);
    if (!r->header || !r->lower)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (char *c = r->lower; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return SBX_OK;
}

static enum sbx_code read_rule(json_t *rule, struct sbx_inject *r, struct sbx_err *err)
{
    const char *secret = json_string_value(json_object_get(rule, "secret"));
    enum sbx_code rc = check_keys(rule, err);

    if (!rc)
        rc = read_to(json_string_value(json_object_get(rule, "to")), r, err);
    if (!rc)
        rc = read_header(json_string_value(json_object_get(rule, "header")), r, err);
    if (rc)
        return rc;
    if (!secret || !sbx_secret_is_name(secret, strlen(secret)))
        return sbx_err_set(err, SBX_SCHEMA, "secret: a name of 1 to %d letters, digits, \"-\", \"_\" "
                           "and \".\" is needed", SBX_GATE_SECRET_NAME_MAX);
    r->secret = strdup(secret);
    return r->secret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static int compare_target(const struct sbx_inject *r, const char *host, uint16_t port)
{
    int by_name = strcmp(r->host.text, host);

    return by_name ? by_name : (int)r->port - (int)port;
}

static int compare(const void *a, const void *b)
{
    const struct sbx_inject *x = a, *y = b;
    int rc = compare_target(x, y->host.text, y->port);

    return rc ? rc : strcmp(x->lower, y->lower);
}

static bool same_field(struct sbx_slice name, const char *lower)
{
    for (size_t i = 0; i < name.len; i++) {
        char a = name.ptr[i], b = lower[i];

        if (a >= 'A' && a <= 'Z')
            a = (char)(a - 'A' + 'a');
        if (a == '_' || a == '.')
            a = '-';
        if (b == '_' || b == '.')
            b = '-';
        if (!b || a != b)
            return false;
    }
    return !lower[name.len];
}

/* At most SBX_GATE_INJECTS_PER_HOST of one target, none of a header twice (GC F20). */
static enum sbx_code check_list(const struct sbx_injects *list, struct sbx_err *err)
{
    for (size_t i = 0; i < list->len; i++) {
        const struct sbx_inject *r = &list->v[i];

        for (size_t k = i + 1; k < list->len; k++) {
            struct sbx_slice other = { list->v[k].lower, strlen(list->v[k].lower) };

            if (compare_target(&list->v[k], r->host.text, r->port))
                break;
            if (k - i >= SBX_GATE_INJECTS_PER_HOST)
                return sbx_err_set(err, SBX_LIMIT, "inject: over %d rules for %s:%u",
                                   SBX_GATE_INJECTS_PER_HOST, r->host.text, r->port);
            if (same_field(other, r->lower))
                return sbx_err_set(err, SBX_SCHEMA, "inject: two rules for %s of %s:%u", r->header,
                                   r->host.text, r->port);
        }
    }
    return SBX_OK;
}

enum sbx_code sbx_injects_parse(json_t *list, struct sbx_injects *ret, struct sbx_err *err)
{
    json_t *rule;
    size_t i;

    *ret = (struct sbx_injects){ 0 };
    if (!list)
        return SBX_OK;
    if (!json_is_array(list))
        return sbx_err_set(err, SBX_SCHEMA, "inject: not a list");
    if (json_array_size(list) > SBX_GATE_INJECTS)
        return sbx_err_set(err, SBX_LIMIT, "inject: over %d rules", SBX_GATE_INJECTS);
    ret->v = calloc(json_array_size(list) + 1, sizeof(*ret->v));
    if (!ret->v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_array_foreach (list, i, rule) {
        enum sbx_code rc = read_rule(rule, &ret->v[ret->len++], err);

        if (rc)
            return sbx_err_wrap(err, rc, "inject[%zu]", i);
    }
    qsort(ret->v, ret->len, sizeof(*ret->v), compare);
    return check_list(ret, err);
}

void sbx_injects_release(struct sbx_injects *list)
{
    for (size_t i = 0; i < list->len; i++) {
        free(list->v[i].header);
        free(list->v[i].lower);
        free(list->v[i].secret);
    }
    free(list->v);
    *list = (struct sbx_injects){ 0 };
}

const struct sbx_inject *sbx_injects_find(const struct sbx_injects *list, const char *host,
                                          uint16_t port, size_t *ret_len)
{
    size_t low = 0, high = list->len, n = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_target(&list->v[middle], host, port) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + n < list->len && compare_target(&list->v[low + n], host, port) == 0)
        n++;
    *ret_len = n;
    return n ? &list->v[low] : NULL;
}

bool sbx_injects_equal(const struct sbx_inject *a, size_t na, const struct sbx_inject *b, size_t nb)
{
    if (na != nb)
        return false;
    for (size_t i = 0; i < na; i++)
        if (strcmp(a[i].header, b[i].header) != 0 || strcmp(a[i].secret, b[i].secret) != 0)
            return false;
    return true;
}

bool sbx_inject_strikes(const struct sbx_inject *rules, size_t n, struct sbx_slice name)
{
    for (size_t i = 0; i < n; i++)
        if (same_field(name, rules[i].lower))
            return true;
    return false;
}
