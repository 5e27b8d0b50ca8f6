/* The proxy of this machine: its description, and who is reached without it. See upstream.h. */
#include "upstream.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "sbx/file.h"
#include "sbx/json.h"

static enum sbx_code bad(struct sbx_err *err, const char *what)
{
    return sbx_err_set(err, SBX_SCHEMA, "upstream proxy: %s", what);
}

static bool only_keys(json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;

    json_object_foreach (object, key, value) {
        size_t i = 0;

        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return false;
    }
    return json_is_object(object);
}

/* A field's value that ends where it ends. */
static bool is_plain(const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p > 0x7e)
            return false;
    return *text && strlen(text) <= SBX_GATE_UPSTREAM_AUTH_MAX;
}

static enum sbx_code parse_proxy(json_t *o, struct sbx_upstream_proxy *p, struct sbx_err *err)
{
    static const char *const keys[] = { "host", "port", "authorization", NULL };
    const char *host = json_string_value(json_object_get(o, "host"));
    json_int_t port = json_integer_value(json_object_get(o, "port"));
    json_t *authorization = json_object_get(o, "authorization");

    if (!o || json_is_null(o))
        return SBX_OK;
    if (!only_keys(o, keys))
        return bad(err, "unknown key");
    if (!host || sbx_host_parse(host, strlen(host), &p->host, err))
        return bad(err, "host: not the name or address of a host");
    if (port < 1 || port > 65535)
        return bad(err, "port: 1 to 65535");
    p->port = (uint16_t)port;
    if (!authorization || json_is_null(authorization))
        return SBX_OK;
    if (!json_is_string(authorization) || !is_plain(json_string_value(authorization)))
        return bad(err, "authorization: not the value of a header field");
    p->authorization = strdup(json_string_value(authorization));
    return p->authorization ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code parse_direct(json_t *list, struct sbx_upstream *u, struct sbx_err *err)
{
    json_t *item;
    size_t i;

    if (list && (!json_is_array(list) || json_array_size(list) > SBX_GATE_NO_PROXY))
        return bad(err, "noProxy: a list of names and ranges");
    u->direct = calloc(json_array_size(list) + 1, sizeof(*u->direct));
    if (!u->direct)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_array_foreach (list, i, item) {
        const char *text = json_string_value(item);

        if (!text || strlen(text) > SBX_PATTERN_MAX)
            return bad(err, "noProxy: a list of names and ranges");
        u->direct[i] = strdup(text);
        if (!u->direct[i])
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        for (char *p = u->direct[i]; *p; p++)
            *p = (char)tolower((unsigned char)*p);
    }
    return SBX_OK;
}

enum sbx_code sbx_upstream_parse(const char *text, size_t len, struct sbx_upstream **ret,
                                 struct sbx_err *err)
{
    static const char *const keys[] = { "http", "https", "noProxy", NULL };
    SBX_AUTO_PTR(sbx_upstream) u = calloc(1, sizeof(*u));
    SBX_AUTO_JSON json_t *top = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    enum sbx_code rc;

    if (!u)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!top)
        return sbx_err_set(err, SBX_SYNTAX, "upstream proxy: not JSON");
    if (!only_keys(top, keys))
        return bad(err, "unknown key");
    rc = parse_proxy(json_object_get(top, "http"), &u->http, err);
    if (!rc)
        rc = parse_proxy(json_object_get(top, "https"), &u->https, err);
    if (!rc)
        rc = parse_direct(json_object_get(top, "noProxy"), u, err);
    if (!rc)
        *ret = u->http.port || u->https.port ? SBX_TAKE(u) : NULL;
    return rc;
}

enum sbx_code sbx_upstream_read(int fd, struct sbx_upstream **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_GATE_UPSTREAM_MAX);
    enum sbx_code rc = sbx_fd_read(fd, "upstream proxy", &text, err);

    if (!rc)
        rc = sbx_upstream_parse(text.len ? text.ptr : "", text.len, ret, err);
    if (text.ptr)
        explicit_bzero(text.ptr, text.cap);
    return rc;
}

static void wipe(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void sbx_upstream_free(struct sbx_upstream *u)
{
    if (!u)
        return;
    wipe(u->http.authorization);
    wipe(u->https.authorization);
    for (char **d = u->direct; d && *d; d++)
        free(*d);
    free(u->direct);
    free(u);
}

/* "10.0.0.0/8", "fd00::/8", "192.0.2.1": as IPv6, with the length of the prefix. */
static bool parse_range(const char *text, struct in6_addr *ret, unsigned *ret_bits)
{
    struct in6_addr a = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
    const char *slash = strchr(text, '/');
    char address[INET6_ADDRSTRLEN];
    size_t len = slash ? (size_t)(slash - text) : strlen(text);
    unsigned long bits = 0;
    bool v4;
    char *end;

    if (len >= sizeof(address))
        return false;
    memcpy(address, text, len);
    address[len] = '\0';
    v4 = inet_pton(AF_INET, address, &a.s6_addr[12]) == 1;
    if (!v4 && inet_pton(AF_INET6, address, &a) != 1)
        return false;
    bits = v4 ? 32 : 128;
    if (slash) {
        bits = strtoul(slash + 1, &end, 10);
        if (!isdigit((unsigned char)slash[1]) || *end || bits > (v4 ? 32 : 128))
            return false;
    }
    *ret = a;
    *ret_bits = (unsigned)bits + (v4 ? 96 : 0);
    return true;
}

static bool in_range(const struct in6_addr *a, const struct in6_addr *range, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    if (memcmp(a, range, whole) != 0)
        return false;
    return !rest || !((a->s6_addr[whole] ^ range->s6_addr[whole]) >> (8 - rest));
}

static bool name_fits(const char *entry, const char *name)
{
    size_t len, have = strlen(name);

    while (*entry == '.')
        entry++;
    len = strlen(entry);
    while (len && entry[len - 1] == '.')
        len--;
    if (!len || len > have || memcmp(entry, name + have - len, len) != 0)
        return false;
    return len == have || name[have - len - 1] == '.';
}

/* Cut ":port" or the brackets of "[address]:port" off. False: it is for another port. */
static bool split_port(char *entry, char **ret, uint16_t port)
{
    char *colon = strrchr(entry, ':'), *bracket = strchr(entry, ']');

    *ret = entry;
    if (*entry == '[' && bracket) {
        *bracket = '\0';
        *ret = entry + 1;
        return bracket[1] != ':' || atoi(bracket + 2) == port;
    }
    if (!colon || strchr(entry, ':') != colon) /* no port, or an IPv6 address */
        return true;
    *colon = '\0';
    return atoi(colon + 1) == port;
}

static bool fits(const char *text, const struct sbx_host *host, uint16_t port)
{
    char entry[SBX_PATTERN_MAX + 1], *rest;
    struct in6_addr range;
    unsigned bits;

    strcpy(entry, text); /* its length was checked */
    if (strcmp(entry, "*") == 0)
        return true;
    if (!split_port(entry, &rest, port))
        return false;
    if (host->kind != SBX_HOST_NAME)
        return parse_range(rest, &range, &bits) && in_range(&host->address, &range, bits);
    return name_fits(rest, host->text);
}

const struct sbx_upstream_proxy *sbx_upstream_for(const struct sbx_upstream *u,
                                                  const struct sbx_host *host, uint16_t port,
                                                  bool tunnel)
{
    const struct sbx_upstream_proxy *p = !u ? NULL : tunnel ? &u->https : &u->http;

    if (!p || !p->port)
        return NULL;
    for (char **d = u->direct; *d; d++)
        if (fits(*d, host, port))
            return NULL;
    return p;
}

static json_t *place_of(const struct sbx_upstream_proxy *p)
{
    if (!p->port)
        return json_null();
    return json_sprintf(p->host.kind == SBX_HOST_IPV6 ? "[%s]:%u" : "%s:%u", p->host.text,
                        (unsigned)p->port);
}

json_t *sbx_upstream_json(const struct sbx_upstream *u)
{
    json_t *direct = json_array();

    if (!u) {
        json_decref(direct);
        return json_null();
    }
    for (char **d = u->direct; *d; d++)
        json_array_append_new(direct, json_string(*d));
    return json_pack("{s:o, s:o, s:o}", "http", place_of(&u->http), "https", place_of(&u->https),
                     "noProxy", direct);
}
