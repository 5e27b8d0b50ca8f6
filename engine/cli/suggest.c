/* From a decision log to the rules of a kit. See suggest.h. */
#include "suggest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "logview.h"
#include "sbx/policy.h"

static const char *field(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));

    return text ? text : "";
}

/* ---- reading ---- */

static enum sbx_code count_in(json_t *set, const char *key, const json_t *record,
                              struct sbx_err *err)
{
    json_t *one = json_object_get(set, key);
    json_int_t count = json_integer_value(json_object_get(record, "count"));
    const char *step = field(record, "step");

    if (!one) {
        if (json_object_size(set) >= SBX_SUGGEST_MAX)
            return sbx_err_set(err, SBX_LIMIT, "over %d hosts and ports", SBX_SUGGEST_MAX);
        one = json_pack("{s:i, s:s, s:{}}", "count", 0, "reason", field(record, "reason"), "steps");
        if (!one || json_object_set_new(set, key, one))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    json_integer_set(json_object_get(one, "count"),
                     json_integer_value(json_object_get(one, "count")) + (count > 0 ? count : 1));
    if (*step && json_object_set_new(json_object_get(one, "steps"), step, json_true()))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return SBX_OK;
}

static enum sbx_code take(const json_t *record, json_t *asked, struct sbx_err *err)
{
    const char *host = field(record, "host"), *decision = field(record, "decision");
    bool allow = !strcmp(decision, "allow");
    json_int_t port = json_integer_value(json_object_get(record, "port"));
    char key[SBX_HOST_MAX + 16];

    if (!*host || !port || strlen(host) > SBX_HOST_MAX || *field(record, "event") ||
        !strcmp(field(record, "reason"), "policy-changed"))
        return SBX_OK;
    snprintf(key, sizeof(key), strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, (int)port);
    if (!allow && strcmp(decision, "deny"))
        return SBX_OK;
    /* Rules change while a sandbox lives, and parts are read from old to new: the last verdict counts. */
    json_object_del(json_object_get(asked, allow ? "refused" : "allow"), key);
    return count_in(json_object_get(asked, allow ? "allow" : "refused"), key, record, err);
}

enum sbx_code sbx_suggest_read(FILE *log, json_t *asked, struct sbx_err *err)
{
    SBX_AUTO_FREE char *line = NULL;
    size_t size = 0;
    ssize_t len;
    enum sbx_code rc = SBX_OK;

    if (!json_object_get(asked, "allow") && (json_object_set_new(asked, "allow", json_object()) ||
                                             json_object_set_new(asked, "refused", json_object())))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    while (!rc && (len = getline(&line, &size, log)) > 0) {
        json_t *record = (size_t)len > SBX_LOG_LINE_MAX ? NULL
                                                        : json_loadb(line, (size_t)len, 0, NULL);

        if (json_is_object(record))
            rc = take(record, asked, err);
        json_decref(record);
    }
    return !rc && ferror(log) ? sbx_err_errno(err, "read the log") : rc;
}

/* ---- wildcards ---- */

/* Below these everybody can have a name: siblings are no relatives. */
static bool is_shared(const char *parent)
{
    static const char *const shared[] = {
        "github.io",
        "gitlab.io",
        "amazonaws.com",
        "s3.amazonaws.com",
        "cloudfront.net",
        "azurewebsites.net",
        "blob.core.windows.net",
        "cloudapp.net",
        "trafficmanager.net",
        "herokuapp.com",
        "pages.dev",
        "workers.dev",
        "r2.dev",
        "vercel.app",
        "netlify.app",
        "appspot.com",
        "web.app",
        "firebaseapp.com",
        "run.app",
        "googleusercontent.com",
        "fastly.net",
        "akamaihd.net",
        "akamaiedge.net",
        "ngrok.io",
        "digitaloceanspaces.com",
        "readthedocs.io",
        "blogspot.com",
        "translate.goog",
    };
    static const char *const second[] = { "co",  "com", "org", "net", "ac",
                                          "gov", "edu", "or",  "ne",  "go" };
    const char *dot = strchr(parent, '.');

    if (!dot) /* a top level */
        return true;
    for (size_t i = 0; i < SBX_ARRAY_LEN(shared); i++)
        if (!strcmp(parent, shared[i]))
            return true;
    if (strchr(dot + 1, '.') || strlen(dot + 1) != 2)
        return false;
    for (size_t i = 0; i < SBX_ARRAY_LEN(second); i++)
        if (!strncmp(parent, second[i], (size_t)(dot - parent)) && !second[i][dot - parent])
            return true;
    return false;
}

/* What is behind the first dot of "a.example.com:443", if a wildcard may stand there. */
static const char *parent_of(const char *key)
{
    const char *dot = strchr(key, '.'), *colon = strrchr(key, ':');
    char name[SBX_HOST_MAX + 16];
    struct sbx_host host;

    if (*key == '[' || !dot || dot > colon ||
        sbx_host_parse(key, (size_t)(colon - key), &host, NULL) || host.kind != SBX_HOST_NAME)
        return NULL;
    snprintf(name, sizeof(name), "%.*s", (int)(colon - dot - 1), dot + 1);
    return is_shared(name) ? NULL : dot + 1;
}

/* PARENT:PORT -> number of names below it; none of one below which a name was refused: a wildcard would open it. */
static json_t *count_parents(const json_t *allow, const json_t *refused)
{
    json_t *parents = json_object();
    const char *key;
    json_t *one;

    json_object_foreach((json_t *)allow, key, one) {
        const char *parent = parent_of(key);

        if (parent && json_object_set_new(
                          parents, parent,
                          json_integer(json_integer_value(json_object_get(parents, parent)) + 1)))
            return NULL;
    }
    json_object_foreach((json_t *)refused, key, one) {
        const char *parent = parent_of(key);

        if (parent)
            json_object_del(parents, parent);
    }
    return parents;
}

/* ---- the result ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *sorted_keys(const json_t *object)
{
    size_t n = json_object_size(object), i = 0;
    const char **v = calloc(n + 1, sizeof(*v)), *key;
    json_t *list = json_array(), *one;

    if (v) {
        json_object_foreach((json_t *)object, key, one)
            v[i++] = key;
        qsort(v, n, sizeof(*v), by_text);
    }
    for (i = 0; v && i < n; i++)
        json_array_append_new(list, json_string(v[i]));
    free(v);
    return list;
}

/* Add what was asked to the rule of a pattern. */
static int join(json_t *rules, const char *pattern, const char *key, const json_t *one)
{
    json_t *rule = json_object_get(rules, pattern);

    if (!rule) {
        rule = json_pack("{s:s, s:{}, s:{}, s:i}", "pattern", pattern, "hosts", "steps", "count",
                         0);
        if (!rule || json_object_set_new(rules, pattern, rule))
            return -1;
    }
    json_integer_set(json_object_get(rule, "count"),
                     json_integer_value(json_object_get(rule, "count")) +
                         json_integer_value(json_object_get(one, "count")));
    return json_object_update(json_object_get(rule, "steps"), json_object_get(one, "steps")) ||
                   json_object_set_new(json_object_get(rule, "hosts"), key, json_true())
               ? -1
               : 0;
}

static json_t *rules_of(const json_t *allow, const json_t *refused)
{
    json_t *parents = count_parents(allow, refused), *rules = json_object(), *one;
    const char *key;

    json_object_foreach((json_t *)allow, key, one) {
        const char *parent = parent_of(key);
        char pattern[SBX_HOST_MAX + 20];
        bool wide = parent &&
                    json_integer_value(json_object_get(parents, parent)) >= SBX_SUGGEST_SIBLINGS;

        snprintf(pattern, sizeof(pattern), wide ? "*.%s" : "%s", wide ? parent : key);
        if (join(rules, pattern, key, one))
            break;
    }
    json_decref(parents);
    return rules;
}

static json_t *with_lists(const json_t *rules, bool allow)
{
    json_t *keys = sorted_keys(rules), *list = json_array(), *key;
    size_t i;

    json_array_foreach(keys, i, key) {
        const json_t *one = json_object_get(rules, json_string_value(key));
        json_t *steps = sorted_keys(json_object_get(one, "steps"));
        json_t *count = json_object_get(one, "count");

        json_array_append_new(list, allow
                                        ? json_pack("{s:O, s:o, s:o, s:O}", "pattern", key, "hosts",
                                                    sorted_keys(json_object_get(one, "hosts")),
                                                    "steps", steps, "count", count)
                                        : json_pack("{s:O, s:O, s:o, s:O}", "host", key, "reason",
                                                    json_object_get(one, "reason"), "steps", steps,
                                                    "count", count));
    }
    json_decref(keys);
    return list;
}

json_t *sbx_suggest_rules(const json_t *asked)
{
    json_t *rules = rules_of(json_object_get(asked, "allow"), json_object_get(asked, "refused"));
    json_t *result = json_pack("{s:{s:{s:o}}, s:o, s:o}", "permissions", "network", "allow",
                               sorted_keys(rules), "rules", with_lists(rules, true), "refused",
                               with_lists(json_object_get(asked, "refused"), false));

    json_decref(rules);
    return result;
}
