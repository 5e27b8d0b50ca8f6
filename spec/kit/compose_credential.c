/* One credential a service: kits may agree on it, not differ (S7). */
#include <stdio.h>
#include <string.h>

#include "compose.h"
#include "sbx/json.h"

#define VALUE_SHOWN 60 /* bytes of a differing value in the message */

/* Canonical form of the i-th credential, as the artifact's JSON has it; the caller's to release. */
static json_t *form(struct sbx_composer *c, const struct sbx_artifact *a, size_t i)
{
    struct sbx_artifact one = { .credentials = { &a->credentials.v[i], 1, true } };
    SBX_AUTO_JSON json_t *whole = sbx_artifact_json(&one);
    json_t *list = json_object_get(whole, "credentials");

    if (!json_array_get(list, 0)) {
        c->no_memory = true;
        return NULL;
    }
    return json_incref(json_array_get(list, 0));
}

static void show(const json_t *v, char out[VALUE_SHOWN + 8])
{
    SBX_AUTO_FREE char *text = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS)
                                 : NULL;

    if (!text)
        snprintf(out, VALUE_SHOWN + 8, "nothing");
    else
        snprintf(out, VALUE_SHOWN + 8, strlen(text) > VALUE_SHOWN ? "%.*s..." : "%.*s",
                 VALUE_SHOWN, text);
}

struct difference {
    char path[256];
    size_t len;
    const json_t *a, *b;
};

static bool differ(const json_t *a, const json_t *b, struct difference *d);

static bool differ_at(const json_t *a, const json_t *b, struct difference *d, const char *key,
                      size_t index)
{
    size_t before = d->len;
    int n = key ? snprintf(d->path + before, sizeof(d->path) - before, "%s%s",
                           before ? "." : "", key)
                : snprintf(d->path + before, sizeof(d->path) - before, "[%zu]", index);

    d->len += n < 0 ? 0 : (size_t)n;
    if (d->len >= sizeof(d->path))
        d->len = sizeof(d->path) - 1;
    if (differ(a, b, d))
        return true;
    d->len = before;
    d->path[before] = '\0';
    return false;
}

static bool differ_in_keys(const json_t *a, const json_t *b, struct difference *d)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)a, key, value)
        if (differ_at(value, json_object_get(b, key), d, key, 0))
            return true;
    json_object_foreach ((json_t *)b, key, value)
        if (!json_object_get(a, key) && differ_at(NULL, value, d, key, 0))
            return true;
    return false;
}

/* The first key (in the order of the format) whose values are not equal. */
static bool differ(const json_t *a, const json_t *b, struct difference *d)
{
    if (json_is_object(a) && json_is_object(b))
        return differ_in_keys(a, b, d);
    if (json_is_array(a) && json_is_array(b)) {
        size_t n = json_array_size(a), m = json_array_size(b);

        for (size_t i = 0; i < n || i < m; i++)
            if (differ_at(json_array_get(a, i), json_array_get(b, i), d, NULL, i))
                return true;
        return false;
    }
    if (a && b && json_equal(a, b))
        return false;
    d->a = a;
    d->b = b;
    return true;
}

/* Under `extends` nobody can say whose entry wins, equal or not (S7). */
static void inherited(struct sbx_composer *c, const struct sbx_credential *first,
                      const struct sbx_credential *again)
{
    char path[120];

    snprintf(path, sizeof(path), "credentials[service=%.80s]", again->service);
    sbx_compose_conflict(c, "credential-conflict", again->at, path,
                         "leave it out: the parent's is inherited",
                         "credential %s defined in both %s and %s (%s:%u)", again->service,
                         c->kits[0]->name, c->kits[1]->name,
                         first->at.pos.file ? first->at.pos.file : "", first->at.pos.line);
}

static void compare(struct sbx_composer *c, size_t kit, size_t i, size_t first_kit, size_t first)
{
    SBX_AUTO_JSON json_t *a = form(c, c->kits[first_kit], first);
    SBX_AUTO_JSON json_t *b = form(c, c->kits[kit], i);
    const struct sbx_credential *cred = &c->kits[kit]->credentials.v[i];
    char one[VALUE_SHOWN + 8], other[VALUE_SHOWN + 8], path[120];
    struct difference d = { .len = 0 };

    if (!a || !b || !differ(a, b, &d))
        return;
    show(d.a, one);
    show(d.b, other);
    snprintf(path, sizeof(path), "credentials[service=%.80s]", cred->service);
    sbx_compose_conflict(c, "credential-conflict", cred->at, path,
                         "make both the same, or leave one of the kits out",
                         "compose: credential %s defined in both %s and %s: %s is %s and %s",
                         cred->service, c->kits[first_kit]->name, c->kits[kit]->name, d.path, one,
                         other);
}

static const void *credential_at(const struct sbx_artifact *a, size_t i, const char **ret_key)
{
    if (i >= a->credentials.len)
        return NULL;
    *ret_key = a->credentials.v[i].service;
    return &a->credentials.v[i];
}

void sbx_compose_credentials(struct sbx_composer *c)
{
    struct sbx_artifact *out = c->out;
    size_t n;
    SBX_AUTO_FREE struct sbx_keyed *all = sbx_compose_group(c, credential_at, &n);

    for (size_t k = 0; k < c->n; k++)
        out->credentials.set = out->credentials.set || c->kits[k]->credentials.set;
    out->credentials.v = sbx_copy_array(c, n, sizeof(*out->credentials.v));
    for (size_t i = 0; i < n && out->credentials.v && !c->no_memory; i++) {
        const struct sbx_keyed *first = &all[all[i].first];

        if (first == &all[i])
            out->credentials.v[out->credentials.len++] = sbx_copy_credential(c, all[i].element);
        else if (c->extends && all[i].kit != first->kit)
            inherited(c, first->element, all[i].element);
        else
            compare(c, all[i].kit, all[i].index, first->kit, first->index);
    }
}
