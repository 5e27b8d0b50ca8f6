#include "registry.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sbx/text.h"

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

static void on_warning(void *ctx, const char *text)
{
    const struct sbx_registry *r = ctx;
    char line[1000];

    snprintf(line, sizeof(line), "%.200s says: %.700s", r->host, text);
    registry_tell(r, line);
}

enum sbx_code sbx_registry_open(const struct sbx_registry_opts *opts, struct sbx_registry **ret,
                                struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_registry) r = calloc(1, sizeof(*r));
    enum sbx_code rc;

    if (!r)
        return no_memory(err);
    r->arena = sbx_arena_new();
    r->host = strdup(opts->host);
    if (!r->arena || !r->host)
        return no_memory(err);
    r->http.curl = sbx_curl(err);
    if (!r->http.curl)
        return SBX_UNAVAILABLE;
    r->http.h = r->http.curl->easy_init();
    if (!r->http.h)
        return no_memory(err);
    r->plain = opts->plain_http || registry_host_is_plain(r->host);
    r->plain_too = opts->plain_too || sbx_url_loopback(r->host);
    r->direct = opts->direct;
    r->is_mirror = opts->mirror;
    r->limit_ms = opts->limit_ms;
    r->progress = opts->progress;
    r->http.host = r->host;
    r->http.warned = on_warning;
    r->http.warned_ctx = r;
    rc = sbx_tls_read(r->host, &r->http.tls, err);
    if (!rc)
        rc = registry_mirrors_open(r, err);
    if (rc)
        return rc;
    *ret = SBX_TAKE(r);
    return SBX_OK;
}

enum sbx_code sbx_registry_twin(const struct sbx_registry *r, struct sbx_registry **ret,
                                struct sbx_err *err)
{
    const struct sbx_registry_opts opts = { .host = r->host,
                                            .plain_http = r->plain,
                                            .plain_too = r->plain_too,
                                            .direct = r->direct,
                                            .mirror = r->is_mirror,
                                            .limit_ms = r->limit_ms,
                                            .progress = r->progress };
    SBX_AUTO_PTR(sbx_registry) twin = NULL;
    enum sbx_code rc = sbx_registry_open(&opts, &twin, err);

    if (!rc && r->base) {
        twin->base = strdup(r->base);
        if (!twin->base)
            rc = no_memory(err);
    }
    if (!rc)
        *ret = SBX_TAKE(twin);
    return rc;
}

void sbx_registry_stop_by(struct sbx_registry *r, const atomic_bool *stop) { r->http.stop = stop; }

void sbx_registry_close(struct sbx_registry *r)
{
    if (!r)
        return;
    if (r->http.h)
        r->http.curl->easy_cleanup(r->http.h);
    registry_mirrors_close(r);
    sbx_tls_release(&r->http.tls);
    registry_log_out(r);
    sbx_arena_free(r->arena);
    free(r->host);
    free(r->base);
    free(r);
}

void registry_tell(const struct sbx_registry *r, const char *text)
{
    if (r->progress && r->progress->line)
        r->progress->line(r->progress->ctx, text);
}

const char *sbx_registry_host(const struct sbx_registry *r) { return r->host; }

static enum sbx_code set_base(struct sbx_registry *r, const char *scheme, struct sbx_err *err)
{
    free(r->base);
    r->base = NULL;
    if (asprintf(&r->base, "%s://%s", scheme, strcmp(r->host, HUB_HOST) ? r->host : HUB_API) < 0) {
        r->base = NULL;
        return no_memory(err);
    }
    return SBX_OK;
}

/* A registry of this machine, or where it is allowed, may have no TLS: asked once. */
static enum sbx_code find_base(struct sbx_registry *r, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    SBX_AUTO_FREE char *url = NULL;
    enum sbx_code rc;

    if (r->base)
        return SBX_OK;
    rc = set_base(r, r->plain ? "http" : "https", err);
    if (rc || r->plain || !r->plain_too)
        return rc;
    if (sbx_url_loopback(r->host) && registry_speaks_http(r->host))
        return set_base(r, "http", err);
    if (asprintf(&url, "%s/v2/", r->base) < 0)
        return no_memory(err);
    c.method = "GET";
    c.url = url;
    c.max = HTTP_ERROR_MAX;
    c.limit_ms = r->limit_ms;
    rc = sbx_http_send(&r->http, &c, err);
    if (rc && c.no_tls)
        return set_base(r, "http", err);
    if (rc) {
        free(r->base);
        r->base = NULL;
    }
    return rc;
}

const char *registry_url(struct sbx_registry *r, struct sbx_call *c, struct sbx_err *err,
                         const char *repository, const char *fmt, ...)
{
    const char *hub = !strcmp(r->host, HUB_HOST) && !strchr(repository, '/') ? "library/" : "";
    SBX_AUTO_FREE char *rest = NULL;
    const char *url = NULL;
    va_list args;
    int len;

    if (find_base(r, err))
        return NULL;
    va_start(args, fmt);
    len = vasprintf(&rest, fmt, args);
    va_end(args);
    if (len < 0)
        rest = NULL;
    if (!c->arena)
        c->arena = sbx_arena_new();
    if (rest && c->arena)
        url = sbx_arena_printf(c->arena, "%s/v2/%s%s/%s", r->base, hub, repository, rest);
    if (!url)
        (void)!no_memory(err);
    return url;
}

const char *registry_scope(struct sbx_call *c, const char *repository, const char *actions)
{
    return sbx_arena_printf(c->arena, "repository:%s:%s", repository, actions);
}

enum sbx_code registry_next_page(struct sbx_registry *r, struct sbx_call *c, struct sbx_err *err)
{
    const char *link = c->headers[HTTP_LINK], *end = link ? strchr(link, '>') : NULL;
    const char *next, *home, *there;

    c->url = NULL;
    if (!end || link[0] != '<' || !strstr(end, "next"))
        return SBX_OK;
    next = sbx_arena_memdup(c->arena, link + 1, (size_t)(end - link - 1));
    if (next && !strncmp(next, "http://", 7) && !strncmp(r->base, "https://", 8)) /* it does not know who speaks TLS for it */
        next = sbx_arena_printf(c->arena, "https://%s", next + 7);
    next = next ? sbx_url_resolve(&r->http, c->arena, c->answered, next) : NULL;
    home = sbx_url_origin(&r->http, c->arena, r->base);
    there = next ? sbx_url_origin(&r->http, c->arena, next) : NULL;
    if (!home || !there || strcmp(home, there) != 0)
        return sbx_err_set(err, SBX_SCHEMA, "%s continues its list elsewhere: %.200s", r->host, link);
    if (++c->pages == PAGES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%s continues its list over more than %d pages", r->host,
                           PAGES_MAX);
    c->url = next;
    return SBX_OK;
}

bool registry_passing(const struct sbx_call *c)
{
    return c->status == 408 || c->status == 429 || c->status == 500 || c->status == 502 ||
           c->status == 503 || c->status == 504;
}

#define LATEST_MS 1000000000L /* eleven days: what is longer is as good as for ever */

/* Seconds, or a date (RFC 9110, 10.2.3). -1: neither. */
static long told_ms(const char *told)
{
    struct tm tm = { 0 };
    const char *end;
    double left;

    if (*told && strspn(told, "0123456789") == strlen(told))
        return strlen(told) < 7 ? atol(told) * 1000 : LATEST_MS;
    end = strptime(told, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    if (!end || *end)
        return -1;
    left = difftime(timegm(&tm), time(NULL));
    return left <= 0 ? 0 : left * 1000 > LATEST_MS ? LATEST_MS : (long)(left * 1000);
}

bool registry_wait(const struct sbx_registry *r, const char *told, unsigned n)
{
    long ms = told ? told_ms(told) : -1;
    struct timespec t;
    char line[300];

    if (ms < 0)
        ms = WAIT_FIRST_MS << (n - 1);
    if (ms > WAIT_MAX_MS)
        return false;
    if (ms >= WAIT_TOLD_MS) {
        snprintf(line, sizeof(line), "%.200s wants to be asked again in %ld s", r->host, ms / 1000);
        registry_tell(r, line);
    }
    t = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
    return true;
}

enum sbx_code registry_call_once(struct sbx_registry *r, struct sbx_call *c, const char *scope,
                                 struct sbx_err *err)
{
    enum sbx_code rc;

    c->limit_ms = r->limit_ms;
    for (int i = 0;; i++) {
        char *secret = registry_authorization(r, scope);

        c->authorization = secret;
        rc = sbx_http_send(&r->http, c, err);
        c->authorization = NULL;
        if (secret)
            explicit_bzero(secret, strlen(secret));
        free(secret);
        if (rc || c->status != 401 || i)
            return rc;
        rc = registry_log_in(r, c, scope, err);
        if (rc)
            return rc;
    }
}

enum sbx_code registry_call(struct sbx_registry *r, struct sbx_call *c, const char *scope,
                            struct sbx_err *err)
{
    for (unsigned i = 1;; i++) {
        enum sbx_code rc = registry_call_once(r, c, scope, err);
        bool again = rc ? c->passing : registry_passing(c);

        if (!again || i == ATTEMPTS_MAX || r->limit_ms || r->is_mirror)
            return rc;
        if (!registry_wait(r, rc ? NULL : c->headers[HTTP_RETRY_AFTER], i))
            return rc;
    }
}

/* What a status means, for answers without words (HEAD has none). */
static const char *words_of(long status)
{
    return status == 401   ? "log-in refused"
           : status == 403 ? "forbidden"
           : status == 404 ? "not found"
           : status == 405 ? "not allowed here"
           : status == 429 ? "too many requests"
           : status >= 500 ? "it failed"
                           : "";
}

static enum sbx_code code_of(long status)
{
    switch (status) {
    case 401:
    case 403:
        return SBX_CONSENT; /* the log-in that would do is missing, whether there is another or none */
    case 404:
        return SBX_NOT_FOUND;
    case 405:
        return SBX_UNSUPPORTED;
    case 409:
        return SBX_CONFLICT;
    default:
        return status == 429 || status >= 500 ? SBX_UNAVAILABLE : SBX_FAILED;
    }
}

enum sbx_code registry_refused(struct sbx_registry *r, const struct sbx_call *c,
                               struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = json_loadb(c->text.ptr ? c->text.ptr : "", c->text.len, 0, NULL);
    const json_t *first = json_array_get(json_object_get(root, "errors"), 0);
    const char *code = json_string_value(json_object_get(first, "code"));
    const char *message = json_string_value(json_object_get(first, "message"));
    const char *told = registry_passing(c) ? c->headers[HTTP_RETRY_AFTER] : NULL;
    long later = told ? told_ms(told) : 0;
    char when[40] = "";
    bool stranger = (c->status == 401 || c->status == 403) && !r->login.user && !r->login.identity;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_ERR_TEXT_MAX);

    if (!code) /* token servers of OAuth */
        code = json_string_value(json_object_get(root, "error"));
    if (!message)
        message = json_string_value(json_object_get(root, "details"));
    if (code && (sbx_text_escape(&text, code, strnlen(code, 100)) ||
                 (message && (sbx_buf_adds(&text, ": ") ||
                              sbx_text_escape(&text, message, strnlen(message, 150))))))
        sbx_buf_clear(&text);
    if (stranger)
        return sbx_err_set(err, SBX_CONSENT,
                           "no credentials for %s; run docker login %s (it answers %ld, %s)",
                           r->host, r->host, c->status, text.len ? text.ptr : words_of(c->status));
    if (later > WAIT_MAX_MS)
        snprintf(when, sizeof(when), "; ask again in %ld min", (later + 59999) / 60000);
    return sbx_err_set(err, code_of(c->status), "%s answers %ld%s%s%s%s%s", r->host, c->status,
                       text.len || *words_of(c->status) ? ", " : "",
                       text.len ? text.ptr : words_of(c->status), when,
                       c->status == 401   ? "; log in anew: docker login "
                       : c->status == 403 ? "; your log-in may not do this: docker login "
                                          : "",
                       c->status == 401 || c->status == 403 ? r->host : "");
}
