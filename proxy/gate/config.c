/* gate.json. See config.h. */
#include "config.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sbx/buf.h"
#include "sbx/json.h"
#include "sbx/policy_json.h"
#include "trust.h"

#define FILE_NAME "gate.json"

static enum sbx_code check_keys(json_t *object, const char *what, const char *const *keys,
                                struct sbx_err *err)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return sbx_err_set(err, SBX_SCHEMA, "%s: not an object", what);
    json_object_foreach (object, key, value) {
        size_t i = 0;

        while (keys[i] && strcmp(keys[i], key) != 0)
            i++;
        if (!keys[i])
            return sbx_err_set(err, SBX_SCHEMA, "%s: unknown key \"%.64s\"", what, key);
    }
    return SBX_OK;
}

static enum sbx_code get_text(json_t *object, const char *key, const char **ret,
                              struct sbx_err *err)
{
    *ret = json_string_value(json_object_get(object, key));
    if (!*ret)
        return sbx_err_set(err, SBX_SCHEMA, "%s: a text is needed", key);
    return SBX_OK;
}

/* "10.0.0.1" or "fd00::1", as an IPv6 address. */
static int parse_address(const char *text, struct in6_addr *ret)
{
    struct in6_addr mapped = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

    if (inet_pton(AF_INET, text, &mapped.s6_addr[12]) == 1) {
        *ret = mapped;
        return 0;
    }
    return inet_pton(AF_INET6, text, ret) == 1 ? 0 : -1;
}

static enum sbx_code parse_host(const char *name, json_t *list, struct sbx_config_host *h,
                                struct sbx_err *err)
{
    struct sbx_host host;
    json_t *item;
    size_t i;

    if (sbx_host_parse(name, strlen(name), &host, err) || host.kind != SBX_HOST_NAME)
        return sbx_err_set(err, SBX_SCHEMA, "hosts: \"%.64s\" is not a name", name);
    h->name = strdup(host.text);
    if (!h->name)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!json_is_array(list) || !json_array_size(list) ||
        json_array_size(list) > SBX_GATE_ADDRESSES)
        return sbx_err_set(err, SBX_SCHEMA, "hosts.%s: a list of 1 to %d addresses", host.text,
                           SBX_GATE_ADDRESSES);
    json_array_foreach (list, i, item) {
        const char *text = json_string_value(item);

        if (!text || parse_address(text, &h->addresses.v[i]))
            return sbx_err_set(err, SBX_SCHEMA, "hosts.%s[%zu]: not an address", host.text, i);
        h->addresses.len++;
    }
    return SBX_OK;
}

static int compare_hosts(const void *a, const void *b)
{
    return strcmp(((const struct sbx_config_host *)a)->name,
                  ((const struct sbx_config_host *)b)->name);
}

static enum sbx_code parse_hosts(json_t *object, struct sbx_config *c, struct sbx_err *err)
{
    const char *name;
    json_t *list;

    if (!object)
        return SBX_OK;
    if (!json_is_object(object))
        return sbx_err_set(err, SBX_SCHEMA, "hosts: not an object");
    c->hosts = calloc(json_object_size(object) + 1, sizeof(*c->hosts));
    if (!c->hosts)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_object_foreach (object, name, list) {
        enum sbx_code rc = parse_host(name, list, &c->hosts[c->nhosts++], err);

        if (rc)
            return rc;
    }
    qsort(c->hosts, c->nhosts, sizeof(*c->hosts), compare_hosts);
    for (size_t i = 1; i < c->nhosts; i++)
        if (strcmp(c->hosts[i - 1].name, c->hosts[i].name) == 0)
            return sbx_err_set(err, SBX_SCHEMA, "hosts.%s: given twice", c->hosts[i].name);
    return SBX_OK;
}

static enum sbx_code parse_limit(json_t *limits, const char *key, unsigned ceiling, unsigned *ret,
                                 struct sbx_err *err)
{
    json_t *value = json_object_get(limits, key);

    *ret = ceiling;
    if (!value)
        return SBX_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > ceiling)
        return sbx_err_set(err, SBX_SCHEMA, "limits.%s: 1 to %u", key, ceiling);
    *ret = (unsigned)json_integer_value(value);
    return SBX_OK;
}

static enum sbx_code parse_limits(json_t *limits, struct sbx_config *c, struct sbx_err *err)
{
    static const char *const keys[] = { "tunnels", "tunnelsPerHost", NULL };

    if (limits && check_keys(limits, "limits", keys, err))
        return SBX_SCHEMA;
    if (parse_limit(limits, "tunnels", SBX_GATE_TUNNELS, &c->tunnels, err))
        return SBX_SCHEMA;
    return parse_limit(limits, "tunnelsPerHost", SBX_GATE_TUNNELS_PER_HOST, &c->tunnels_per_host,
                       err);
}

static enum sbx_code parse_upstream_ca(json_t *pem, struct sbx_config *c, struct sbx_err *err)
{
    enum sbx_code rc;

    if (!pem || json_is_null(pem))
        return SBX_OK;
    if (!json_is_string(pem))
        return sbx_err_set(err, SBX_SCHEMA, "upstreamCa: a text is needed");
    rc = sbx_trust_check(json_string_value(pem), json_string_length(pem), err);
    if (rc)
        return sbx_err_wrap(err, rc, "upstreamCa");
    c->upstream_ca = strdup(json_string_value(pem));
    return c->upstream_ca ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static enum sbx_code parse_top(json_t *top, struct sbx_config *c, struct sbx_err *err)
{
    static const char *const keys[] = { "version", "sandbox", "generation", "rules", "hosts",
                                        "publicTestRanges", "limits", "upstream", "inject",
                                        "upstreamCa", "learn", NULL };
    json_t *learn = json_object_get(top, "learn");
    json_t *generation = json_object_get(top, "generation");
    json_t *upstream = json_object_get(top, "upstream");
    const char *sandbox;
    enum sbx_code rc;

    if (check_keys(top, "top level", keys, err))
        return SBX_SCHEMA;
    if (json_integer_value(json_object_get(top, "version")) != 1)
        return sbx_err_set(err, SBX_SCHEMA, "version: only 1 is known");
    if (!json_is_integer(generation) || json_integer_value(generation) < 0)
        return sbx_err_set(err, SBX_SCHEMA, "generation: a number from 0 is needed");
    c->generation = (uint64_t)json_integer_value(generation);
    if (upstream && !json_is_null(upstream))
        return sbx_err_set(err, SBX_SCHEMA, "upstream: not offered by this version; use null");
    if (learn && !json_is_boolean(learn))
        return sbx_err_set(err, SBX_SCHEMA, "learn: true or false");
    c->learn = json_is_true(learn);
    rc = get_text(top, "sandbox", &sandbox, err);
    if (!rc && (!*sandbox || strlen(sandbox) > 255))
        rc = sbx_err_set(err, SBX_SCHEMA, "sandbox: 1 to 255 bytes");
    if (!rc && !(c->sandbox = strdup(sandbox)))
        rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!rc)
        rc = sbx_policy_from_json(json_object_get(top, "rules"),
                                  json_object_get(top, "publicTestRanges"), &c->policy, err);
    if (!rc)
        rc = parse_hosts(json_object_get(top, "hosts"), c, err);
    if (!rc)
        rc = sbx_injects_parse(json_object_get(top, "inject"), &c->injects, err);
    if (!rc)
        rc = parse_upstream_ca(json_object_get(top, "upstreamCa"), c, err);
    return rc ? rc : parse_limits(json_object_get(top, "limits"), c, err);
}

enum sbx_code sbx_config_parse(const char *text, size_t len, struct sbx_config **ret,
                               struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_config) c = calloc(1, sizeof(*c));
    SBX_AUTO_JSON json_t *top = NULL;
    json_error_t fault;
    enum sbx_code rc;

    if (!c)
        return sbx_err_set(err, SBX_NO_MEMORY, FILE_NAME ": out of memory");
    c->refs = 1;
    if (len > SBX_GATE_CONFIG_MAX)
        return sbx_err_set(err, SBX_LIMIT, FILE_NAME ": over %d bytes", SBX_GATE_CONFIG_MAX);
    c->text = malloc(len + 1);
    if (!c->text)
        return sbx_err_set(err, SBX_NO_MEMORY, FILE_NAME ": out of memory");
    memcpy(c->text, text, len);
    c->text_len = len;
    top = json_loadb(text, len, JSON_REJECT_DUPLICATES, &fault);
    if (!top)
        return sbx_err_set(err, SBX_SYNTAX, FILE_NAME ":%d:%d: %s", fault.line, fault.column,
                           fault.text);
    rc = parse_top(top, c, err);
    if (rc)
        return sbx_err_wrap(err, rc, FILE_NAME);
    *ret = SBX_TAKE(c);
    return SBX_OK;
}

struct sbx_config *sbx_config_ref(struct sbx_config *c)
{
    c->refs++;
    return c;
}

void sbx_config_unref(struct sbx_config *c)
{
    if (!c || --c->refs)
        return;
    for (size_t i = 0; i < c->nhosts; i++)
        free(c->hosts[i].name);
    free(c->hosts);
    free(c->upstream_ca);
    sbx_injects_release(&c->injects);
    free(c->sandbox);
    free(c->text);
    sbx_policy_free(c->policy);
    free(c);
}
