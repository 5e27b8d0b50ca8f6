#include "docker.h"

#include <stdio.h>
#include <string.h>

#include "../names.h"
#include "sbx/text.h"

/* One request over the Engine's socket, by libcurl; the connection stays open for the next. */

struct transfer {
    struct docker *d;
    struct docker_call *c;
    const struct docker_extra *extra;
    struct sbx_err *err;
    enum sbx_code rc; /* why we stopped the transfer ourselves */
    struct sbx_patience patience;
};

void docker_call_release(struct docker_call *c)
{
    sbx_arena_free(c->arena);
    sbx_buf_release(&c->body);
    json_decref(c->json);
    *c = (struct docker_call)DOCKER_CALL_INIT;
}

static size_t take(char *data, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    long status = 0;

    n *= size;
    t->d->curl->easy_getinfo(t->d->h, CURLINFO_RESPONSE_CODE, &status);
    if (t->extra && t->extra->sink && status < 300)
        t->rc = t->extra->sink(t->extra->ctx, data, n, t->err);
    else if (sbx_buf_add(&t->c->body, data, n))
        t->rc = sbx_err_set(t->err, SBX_LIMIT, "the Engine's answer is too long");
    return t->rc ? 0 : n;
}

static size_t give(char *room, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    ssize_t got;

    if (t->extra->source) {
        got = t->extra->source(t->extra->source_ctx, room, size * n, t->err);
        if (got < 0)
            t->rc = t->err ? t->err->code : SBX_IO;
        return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
    }
    do
        got = read(t->extra->fd, room, size * n);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        t->rc = sbx_err_errno(t->err, "read the archive to send");
        return CURL_READFUNC_ABORT;
    }
    return (size_t)got;
}

/* Header lines; NULL with *ret_bad when memory ran out on the way. */
static struct curl_slist *headers(const struct sbx_curl *curl, bool json,
                                  const struct docker_extra *extra, bool *ret_bad)
{
    const char *lines[4];
    struct curl_slist *list = NULL, *more;
    SBX_AUTO_FREE char *auth = NULL;
    size_t n = 0;

    lines[n++] = "Expect:"; /* no 100-continue round trip */
    if (extra && extra->upload)
        lines[n++] = "Content-Type: application/x-tar";
    else
        lines[n++] = json ? "Content-Type: application/json" : "Content-Type:";
    if (extra && extra->auth) {
        if (asprintf(&auth, "X-Registry-Auth: %s", extra->auth) < 0)
            *ret_bad = true;
        else
            lines[n++] = auth;
    }
    for (size_t i = 0; i < n && !*ret_bad; i++) {
        more = curl->slist_append(list, lines[i]);
        if (more)
            list = more;
        else
            *ret_bad = true;
    }
    if (auth)
        explicit_bzero(auth, strlen(auth));
    return list;
}

static void set_body(struct transfer *t, const char *method, const char *text)
{
    const struct sbx_curl *curl = t->d->curl;
    CURL *h = t->d->h;

    if (t->extra && t->extra->upload) {
        curl->easy_setopt(h, CURLOPT_UPLOAD, 1L);
        curl->easy_setopt(h, CURLOPT_READFUNCTION, give);
        curl->easy_setopt(h, CURLOPT_READDATA, t);
        curl->easy_setopt(h, CURLOPT_UPLOAD_BUFFERSIZE, 262144L); /* bytes; fewer, larger writes */
    } else if (strcmp(method, "GET") != 0) {
        curl->easy_setopt(h, CURLOPT_POSTFIELDS, text ? text : "");
    }
    curl->easy_setopt(h, CURLOPT_CUSTOMREQUEST, method);
}

/* libcurl asks at least once a second, whatever the Engine does. */
static int look(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct transfer *t = ctx;

    (void)a;
    (void)b;
    (void)c;
    (void)d;
    if (sbx_patience_look(&t->patience) != SBX_CANCELED)
        return 0;
    t->rc = sbx_patience_error(t->err, SBX_CANCELED, "the Engine");
    return 1;
}

static void set_limits(struct transfer *t, const char *method)
{
    const struct sbx_curl *curl = t->d->curl;
    const struct docker_extra *extra = t->extra;
    CURL *h = t->d->h;
    long ms = strcmp(method, "GET") == 0 ? SBX_DOCKER_ASK_MS : SBX_DOCKER_CHANGE_MS;

    curl->easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
    curl->easy_setopt(h, CURLOPT_XFERINFOFUNCTION, look);
    curl->easy_setopt(h, CURLOPT_XFERINFODATA, t);
    if (extra && extra->stream) {
        curl->easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L); /* bytes a second */
        curl->easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)SBX_DOCKER_IDLE_S);
        return;
    }
    curl->easy_setopt(h, CURLOPT_TIMEOUT_MS, extra && extra->timeout_ms ? extra->timeout_ms : ms);
}

static CURLcode perform(struct transfer *t, const char *method, const char *url, const char *text,
                        int *ret_errno)
{
    const struct sbx_curl *curl = t->d->curl;
    CURL *h = t->d->h;
    bool bad = false;
    struct curl_slist *list = headers(curl, text != NULL, t->extra, &bad);
    long number = 0;
    CURLcode code = CURLE_OUT_OF_MEMORY;

    if (!bad) {
        curl->easy_reset(h); /* options only: the connection stays */
        curl->easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
        curl->easy_setopt(h, CURLOPT_PROXY, "");
        curl->easy_setopt(h, CURLOPT_UNIX_SOCKET_PATH, t->d->socket);
        curl->easy_setopt(h, CURLOPT_URL, url);
        curl->easy_setopt(h, CURLOPT_HTTPHEADER, list);
        curl->easy_setopt(h, CURLOPT_WRITEFUNCTION, take);
        curl->easy_setopt(h, CURLOPT_WRITEDATA, t);
        curl->easy_setopt(h, CURLOPT_BUFFERSIZE,
                          262144L); /* bytes; archives come in large pieces */
        set_limits(t, method);
        set_body(t, method, text);
        code = curl->easy_perform(h);
        curl->easy_getinfo(h, CURLINFO_RESPONSE_CODE, &t->c->status);
        curl->easy_getinfo(h, CURLINFO_OS_ERRNO, &number);
    }
    *ret_errno = (int)number;
    curl->slist_free_all(list);
    return code;
}

static enum sbx_code send_path(struct docker *d, struct docker_call *c, struct sbx_err *err,
                               const char *method, const json_t *json,
                               const struct docker_extra *extra, const char *path)
{
    struct transfer t = { d, c, extra, err, SBX_OK, sbx_patience_begin(&d->rt, 0) };
    char url[SBX_DOCKER_PATH_MAX + 64];
    SBX_AUTO_FREE char *text = NULL;
    int number;
    CURLcode code;

    snprintf(url, sizeof(url), "http://localhost%s%s", d->api, path);
    if (json) {
        text = json_dumps(json, JSON_COMPACT);
        if (!text)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    c->status = 0;
    sbx_buf_clear(&c->body);
    json_decref(c->json);
    c->json = NULL;
    code = perform(&t, method, url, text, &number);
    /* An Engine that refuses an upload early answers and closes: the answer says more. */
    if (code != CURLE_OK && !(code == CURLE_SEND_ERROR && c->status >= 400))
        return t.rc ? t.rc : docker_unreachable(d, code, number, err);
    if (c->body.len)
        c->json = json_loadb(c->body.ptr, c->body.len, 0, NULL);
    return SBX_OK;
}

/* The path, then the call: what docker_send() and docker_do() share. */
static enum sbx_code send_to(struct docker *d, struct docker_call *c, struct sbx_err *err,
                             const char *method, const json_t *json,
                             const struct docker_extra *extra, const char *path_fmt, va_list args)
{
    char path[SBX_DOCKER_PATH_MAX];
    int n = vsnprintf(path, sizeof(path), path_fmt, args);

    if (n < 0 || (size_t)n >= sizeof(path))
        return sbx_err_set(err, SBX_LIMIT, "a name or path is too long for the Engine API");
    return send_path(d, c, err, method, json, extra, path);
}

enum sbx_code docker_send(struct docker *d, struct docker_call *c, struct sbx_err *err,
                          const char *method, const json_t *json, const struct docker_extra *extra,
                          const char *path_fmt, ...)
{
    enum sbx_code rc;
    va_list args;

    va_start(args, path_fmt);
    rc = send_to(d, c, err, method, json, extra, path_fmt, args);
    va_end(args);
    return rc;
}

enum sbx_code docker_do(struct docker *d, struct docker_call *c, struct sbx_err *err,
                        const char *method, const json_t *json, const char *path_fmt, ...)
{
    enum sbx_code rc;
    va_list args;

    va_start(args, path_fmt);
    rc = send_to(d, c, err, method, json, NULL, path_fmt, args);
    va_end(args);
    if (rc)
        return rc;
    return c->status >= 400 ? docker_failed(c, err) : SBX_OK;
}

static enum sbx_code code_of_status(long status)
{
    switch (status) {
    case 401:
        return SBX_CONSENT;
    case 404:
        return SBX_NOT_FOUND;
    case 409:
        return SBX_CONFLICT;
    case 501:
        return SBX_UNSUPPORTED;
    case 503:
        return SBX_UNAVAILABLE;
    default:
        return SBX_FAILED;
    }
}

enum sbx_code docker_failed(const struct docker_call *c, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) clean = SBX_BUF_INIT(SBX_ERR_TEXT_MAX * 4);
    const char *text = sbx_json_text_of(c->json, "message");
    enum sbx_code code = code_of_status(c->status);
    size_t len;

    if (!*text && c->body.len)
        text = c->body.ptr;
    len = strnlen(text, SBX_ERR_TEXT_MAX);
    while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    if (!len || sbx_text_escape(&clean, text, len))
        return sbx_err_set(err, code, "the Engine answered status %ld", c->status);
    return sbx_err_set(err, code, "%s", clean.ptr);
}

static struct sbx_arena *arena_of(struct docker_call *c)
{
    if (!c->arena)
        c->arena = sbx_arena_new();
    return c->arena;
}

const char *docker_escape(struct docker_call *c, const char *text, const char *keep)
{
    struct sbx_arena *arena = arena_of(c);
    char *out = arena ? sbx_arena_alloc(arena, 3 * strlen(text) + 1) : NULL, *p = out;

    if (!out)
        return NULL;
    for (; *text; text++) {
        unsigned char b = (unsigned char)*text;
        bool plain = (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9');

        if (plain || strchr("-._~", b) || strchr(keep, b))
            *p++ = (char)b;
        else
            p += sprintf(p, "%%%02X", b);
    }
    return out;
}

const char *docker_container(struct docker *d, struct docker_call *c, const char *id)
{
    struct sbx_arena *arena = arena_of(c);
    const char *full = id;

    if (!arena)
        return NULL;
    if (strlen(id) != 64 || strspn(id, "0123456789abcdef") != 64)
        full = sbx_name_full(arena, d->app, id);
    return full ? docker_escape(c, full, "") : NULL;
}

const char *docker_app_filter(struct docker *d, struct docker_call *c)
{
    SBX_AUTO_FREE char *text = NULL;
    json_t *filter = json_pack("{s:[o]}", "label",
                               json_sprintf("%s=%s", SBX_LABEL_APP, sbx_name_app(d->app)));

    text = json_dumps(filter, JSON_COMPACT);
    json_decref(filter);
    return text ? docker_escape(c, text, "") : NULL;
}
