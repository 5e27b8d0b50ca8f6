/* Mirrors: registries that the user's settings name in place of one, for reading only. */
#include <stdio.h>
#include <string.h>

#include "registry.h"

static const struct sbx_registry_host *hosts;
static size_t n_hosts;

void sbx_registry_hosts(const struct sbx_registry_host *v, size_t n)
{
    hosts = v;
    n_hosts = n;
}

static const struct sbx_registry_host *find(const char *host)
{
    for (size_t i = 0; i < n_hosts; i++)
        if (!strcmp(hosts[i].host, host))
            return &hosts[i];
    return NULL;
}

bool registry_host_is_plain(const char *host)
{
    const struct sbx_registry_host *h = find(host);

    return h && h->plain_http;
}

/* "https://host:port/prefix" */
static enum sbx_code open_one(struct sbx_registry *r, const char *url, struct registry_mirror *ret,
                              struct sbx_err *err)
{
    const char *rest = strstr(url, "://");
    struct sbx_registry_opts opts = { .limit_ms = r->limit_ms, .progress = r->progress };
    SBX_AUTO_FREE char *host = NULL;
    size_t len;
    enum sbx_code rc;

    if (!rest)
        return sbx_err_set(err, SBX_SCHEMA, "not an address of http or https");
    opts.plain_http = !strncmp(url, "http:", 5);
    rest += 3;
    len = strcspn(rest, "/");
    host = strndup(rest, len);
    rest += len + (rest[len] == '/');
    len = strlen(rest);
    while (len && rest[len - 1] == '/')
        len--;
    ret->prefix = len ? sbx_arena_printf(r->arena, "%.*s/", (int)len, rest) : "";
    if (!host || !ret->prefix)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    opts.host = host;
    opts.mirror = true;
    rc = sbx_registry_open(&opts, &ret->r, err);
    return rc;
}

enum sbx_code registry_mirrors_open(struct sbx_registry *r, struct sbx_err *err)
{
    const struct sbx_registry_host *h = r->is_mirror || r->direct ? NULL : find(r->host);
    size_t n = 0;

    while (h && h->mirrors && h->mirrors[n])
        n++;
    if (!n)
        return SBX_OK;
    r->mirrors = sbx_arena_array(r->arena, n, sizeof(*r->mirrors));
    if (!r->mirrors)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (; r->n_mirrors < n; r->n_mirrors++) {
        const char *url = h->mirrors[r->n_mirrors];
        enum sbx_code rc = open_one(r, url, &r->mirrors[r->n_mirrors], err);

        if (rc)
            return sbx_err_wrap(err, rc, "mirror %.200s of %s", url, r->host);
    }
    return SBX_OK;
}

void registry_mirrors_close(struct sbx_registry *r)
{
    for (size_t i = 0; i < r->n_mirrors; i++)
        sbx_registry_close(r->mirrors[i].r);
    r->n_mirrors = 0;
}

/* What is wrong here, not there, is no better elsewhere. */
static bool is_ours(enum sbx_code rc)
{
    return rc == SBX_IO || rc == SBX_NO_MEMORY;
}

enum sbx_code registry_read(struct sbx_registry *r, const char *repository, registry_ask *ask,
                            void *ctx, struct sbx_err *err)
{
    const char *hub = !strcmp(r->host, HUB_HOST) && !strchr(repository, '/') ? "library/" : "";

    for (size_t i = 0; i < r->n_mirrors; i++) {
        struct registry_mirror *m = &r->mirrors[i];
        SBX_AUTO_FREE char *name = NULL;
        struct sbx_err why = SBX_ERR_INIT;
        char line[400];
        enum sbx_code rc;

        if (m->down)
            continue;
        if (asprintf(&name, "%s%s%s", m->prefix, hub, repository) < 0)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        rc = ask(m->r, name, ctx, &why);
        if (!rc)
            return SBX_OK;
        if (is_ours(rc)) {
            if (err)
                *err = why;
            return rc;
        }
        m->down = rc == SBX_UNAVAILABLE || rc == SBX_TIMEOUT;
        snprintf(line, sizeof(line), "mirror %.100s has it not: %.250s", m->r->host, why.text);
        registry_tell(r, line);
    }
    return ask(r, repository, ctx, err);
}
