#include "http.h"

#include <stdio.h>
#include <string.h>

/* What the callbacks of one transfer share. */
struct transfer {
    struct sbx_http *h;
    struct sbx_call *c;
    int64_t sent;
    size_t header_bytes;
    enum sbx_code rc; /* why a callback ended it */
    struct sbx_err *err;
};

void sbx_call_release(struct sbx_call *c)
{
    sbx_buf_release(&c->text);
    sbx_arena_free(c->arena);
    c->arena = NULL;
}

static bool good(long status) { return status >= 200 && status < 300; }

static size_t on_body(char *data, size_t one, size_t len, void *ctx)
{
    struct transfer *t = ctx;
    struct sbx_call *c = t->c;
    long status = 0;

    (void)one;
    t->h->curl->easy_getinfo(t->h->h, CURLINFO_RESPONSE_CODE, &status);
    if (good(status) && c->sink) {
        t->rc = c->sink(c->sink_ctx, data, len, t->err);
    } else if (good(status)) {
        if (len > c->max - c->text.len)
            t->rc = sbx_err_set(t->err, SBX_LIMIT, "the answer has more than %zu bytes", c->max);
        else if (sbx_buf_add(&c->text, data, len))
            t->rc = sbx_err_set(t->err, SBX_NO_MEMORY, "out of memory");
    } else if (c->text.len < HTTP_ERROR_MAX && sbx_buf_add(&c->text, data, len)) {
        t->rc = sbx_err_set(t->err, SBX_NO_MEMORY, "out of memory");
    }
    return t->rc ? 0 : len;
}

static size_t on_read(char *room, size_t one, size_t len, void *ctx)
{
    struct transfer *t = ctx;
    struct sbx_call *c = t->c;
    int64_t left = c->body_len - t->sent;
    ssize_t n;

    len *= one;
    if ((int64_t)len > left)
        len = (size_t)left;
    if (!len)
        return 0;
    if (c->body) {
        memcpy(room, c->body + t->sent, len);
        n = (ssize_t)len;
    } else {
        do
            n = pread(c->body_fd, room, len, c->body_at + t->sent);
        while (n < 0 && errno == EINTR);
    }
    if (n <= 0) {
        t->rc = n ? sbx_err_errno(t->err, "read what is uploaded")
                  : sbx_err_set(t->err, SBX_IO, "what is uploaded became shorter");
        return CURL_READFUNC_ABORT;
    }
    t->sent += n;
    if (c->sent)
        c->sent(c->sent_ctx, t->sent);
    return (size_t)n;
}

/* Called while nothing moves, too. */
static int on_progress(void *ctx, curl_off_t down, curl_off_t down_now, curl_off_t up,
                       curl_off_t up_now)
{
    struct transfer *t = ctx;

    (void)down, (void)down_now, (void)up, (void)up_now;
    if (!atomic_load(t->h->stop))
        return 0;
    t->rc = sbx_err_set(t->err, SBX_CANCELED, "not sent: another part was refused");
    return 1;
}

static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct transfer *t = ctx;

    if (origin != SEEK_SET)
        return CURL_SEEKFUNC_FAIL;
    /*
     * libcurl sends anew by itself when an old connection turns out to be dead. The registry may have
     * some of an upload by then and would append: whoever called asks it first.
     */
    if (t->c->body_fd >= 0 && t->sent)
        return CURL_SEEKFUNC_FAIL;
    t->sent = offset;
    return CURL_SEEKFUNC_OK;
}

static size_t on_header(char *line, size_t one, size_t len, void *ctx)
{
    struct transfer *t = ctx;

    t->header_bytes += one * len;
    if (t->header_bytes > HTTP_HEADERS_MAX) {
        t->rc = sbx_err_set(t->err, SBX_LIMIT, "the answer's headers are too long");
        return 0;
    }
    sbx_http_take_header(t->h, t->c, line, one * len);
    return one * len;
}

static enum sbx_code add_header(struct sbx_http *h, struct curl_slist **list, const char *name,
                                const char *value)
{
    SBX_AUTO_FREE char *text = NULL;
    struct curl_slist *grown;

    if (!value)
        return SBX_OK;
    if (asprintf(&text, "%s: %s", name, value) < 0)
        return SBX_NO_MEMORY;
    grown = h->curl->slist_append(*list, text);
    explicit_bzero(text, strlen(text)); /* it may be a log-in */
    if (!grown)
        return SBX_NO_MEMORY;
    *list = grown;
    return SBX_OK;
}

static enum sbx_code make_headers(struct sbx_http *h, const struct sbx_call *c, bool at_home,
                                  struct curl_slist **list)
{
    bool body = c->body || c->body_fd >= 0;
    const struct {
        const char *name, *value;
    } rows[] = {
        { "Expect", "" }, /* an empty one keeps libcurl from waiting for a "100" */
        { "Accept", c->accept ? c->accept : "*/*" },
        { "Authorization", at_home ? c->authorization : NULL },
        { "Content-Type", c->content_type ? c->content_type
                          : body          ? "application/octet-stream"
                                          : NULL },
        { "Content-Range", c->content_range },
        { "Range", c->range },
    };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(rows); i++)
        rc = add_header(h, list, rows[i].name, rows[i].value);
    return rc;
}

#define SET(option, value) h->curl->easy_setopt(h->h, option, value)

/*
 * The system's authorities are in one file and, each under its hash, in a directory. Reading all of the file
 * takes OpenSSL 30 ms, half of a small pull; from the directory it reads the one it needs. Where that does not do, the
 * file counts: it may have what the directory lacks.
 */
static void set_system_trust(struct sbx_http *h)
{
    const char *file = getenv("SSL_CERT_FILE"), *dir = getenv("SSL_CERT_DIR");
    const char *all = h->curl->version_info(CURLVERSION_NOW)->cainfo;

    if (!file || !*file) /* libcurl fails where it is named and missing */
        file = h->whole_trust && all && !access(all, R_OK) ? all : NULL;
    SET(CURLOPT_CAINFO, file);
    SET(CURLOPT_CAPATH, dir && *dir ? dir : "/etc/ssl/certs");
}

/* The registry's own trust counts where it sends us, too, as with docker: its storage has the same CA. */
static void set_tls(struct sbx_http *h, bool at_home)
{
    struct curl_blob ca = { h->tls.ca, h->tls.ca_len, CURL_BLOB_NOCOPY };

    set_system_trust(h);
    if (h->tls.ca)
        SET(CURLOPT_CAINFO_BLOB, &ca);
    if (h->tls.cert && at_home) {
        SET(CURLOPT_SSLCERT, h->tls.cert);
        SET(CURLOPT_SSLKEY, h->tls.key);
    }
}

/*
 * libcurl follows the variables of the environment but HTTP_PROXY, which in a CGI program is a client's
 * word. Ours is none, and Docker's tools follow it.
 */
static void set_proxy(struct sbx_http *h, const char *url)
{
    const char *proxy = getenv("HTTP_PROXY"), *lower = getenv("http_proxy");

    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* they are the proxy's, not the registry's */
    if (sbx_url_loopback(strstr(url, "://") + 3))
        SET(CURLOPT_NOPROXY, "*");
    else if (!strncmp(url, "http:", 5) && proxy && *proxy && !lower && !getenv("REQUEST_METHOD"))
        SET(CURLOPT_PROXY, proxy);
}

static void set_method(struct sbx_http *h, struct sbx_call *c)
{
    if (!strcmp(c->method, "HEAD"))
        SET(CURLOPT_NOBODY, 1L);
    else if (strcmp(c->method, "GET") != 0)
        SET(CURLOPT_CUSTOMREQUEST, c->method);
    if (c->body || c->body_fd >= 0) {
        SET(CURLOPT_UPLOAD, 1L);
        SET(CURLOPT_CUSTOMREQUEST, c->method);
        SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)c->body_len);
    } else if (!strcmp(c->method, "POST") || !strcmp(c->method, "PUT") ||
               !strcmp(c->method, "PATCH")) {
        SET(CURLOPT_POSTFIELDS, "");
        SET(CURLOPT_POSTFIELDSIZE, 0L);
    }
}

static void set_all(struct sbx_http *h, struct sbx_call *c, const char *url, struct transfer *t,
                    struct curl_slist *headers, bool at_home)
{
    h->curl->easy_reset(h->h);
    h->reason[0] = '\0';
    SET(CURLOPT_URL, url);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_ERRORBUFFER, h->reason);
    SET(CURLOPT_USERAGENT, "sbx");
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_MS);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)HTTP_STALL_S);
    SET(CURLOPT_BUFFERSIZE, 262144L);
    SET(CURLOPT_UPLOAD_BUFFERSIZE, 262144L);
    SET(CURLOPT_TIMEOUT_MS, c->limit_ms);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, t);
    SET(CURLOPT_READFUNCTION, on_read);
    SET(CURLOPT_READDATA, t);
    SET(CURLOPT_SEEKFUNCTION, on_seek);
    SET(CURLOPT_SEEKDATA, t);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, t);
    if (h->stop && c->body_fd >= 0) {
        SET(CURLOPT_NOPROGRESS, 0L);
        SET(CURLOPT_XFERINFOFUNCTION, on_progress);
        SET(CURLOPT_XFERINFODATA, t);
    }
    set_proxy(h, url);
    set_tls(h, at_home);
    set_method(h, c);
}

static bool passes(CURLcode code)
{
    return code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
           code == CURLE_SEND_FAIL_REWIND || code == CURLE_PARTIAL_FILE || code == CURLE_OPERATION_TIMEDOUT || code == CURLE_HTTP2 ||
           code == CURLE_HTTP2_STREAM;
}

/* Certificates that are missing: ours or theirs. Told by what libcurl and OpenSSL say of a handshake. */
static bool wants_ours(const char *why)
{
    /* The second is of libcurl 7.88, which looks who it was when the other end is gone. */
    return (strstr(why, "alert") && strstr(why, "certificate")) || strstr(why, "getpeername");
}

/* Where certificates belong; "": the error is another one. */
static void hint_at_certificates(const struct sbx_http *h, CURLcode code, const char *why, char *out,
                                 size_t size)
{
    char dir[4096];

    sbx_tls_user_dir("docker", h->host, dir, sizeof(dir));
    out[0] = '\0';
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        snprintf(out, size, "; if the registry has a CA of its own, put it into /etc/docker/certs.d/%s/ca.crt or "
                            "%.300s/ca.crt", h->host, dir);
    else if (wants_ours(why))
        snprintf(out, size, "; if it wants a certificate of yours, put NAME.cert and NAME.key into "
                            "/etc/docker/certs.d/%s or %.300s", h->host, dir);
}

static enum sbx_code broke(struct sbx_http *h, struct sbx_call *c, CURLcode code, const char *url,
                           struct sbx_err *err)
{
    const char *why = code == CURLE_SEND_FAIL_REWIND ? "the connection was cut" /* see on_seek() */
                      : h->reason[0]                 ? h->reason
                                                     : h->curl->easy_strerror(code);
    const char *host = strstr(url, "://") + 3;
    int len = (int)strcspn(host, "/");
    char hint[1000] = "";
    long proxy = 0;

    h->curl->easy_getinfo(h->h, CURLINFO_HTTP_CONNECTCODE, &proxy);
    c->passing = passes(code) && (proxy < 400 || proxy >= 500); /* what a proxy forbids stays forbidden */
    c->no_tls = code == CURLE_SSL_CONNECT_ERROR || code == CURLE_COULDNT_CONNECT ||
                code == CURLE_COULDNT_RESOLVE_HOST; /* whom only a proxy for http knows */
    if (!strncmp(url, "https:", 6))
        hint_at_certificates(h, code, why, hint, sizeof(hint));
    return sbx_err_set(err,
                       code == CURLE_OPERATION_TIMEDOUT ? SBX_TIMEOUT
                       : code == CURLE_OUT_OF_MEMORY    ? SBX_NO_MEMORY
                                                        : SBX_UNAVAILABLE,
                       "%.*s: %.300s%s", len, host, why, hint);
}

static enum sbx_code once(struct sbx_http *h, struct sbx_call *c, const char *url, bool at_home,
                          struct sbx_err *err)
{
    struct transfer t = { .h = h, .c = c, .err = err };
    struct curl_slist *headers = NULL;
    enum sbx_code rc = make_headers(h, c, at_home, &headers);
    CURLcode code = CURLE_OUT_OF_MEMORY;

    c->status = 0;
    c->passing = c->no_tls = false;
    sbx_http_forget_headers(c);
    sbx_buf_clear(&c->text);
    if (!rc) {
        set_all(h, c, url, &t, headers, at_home);
        code = h->curl->easy_perform(h->h);
        /* the registry's own CA stands in the file's place */
        if (code == CURLE_PEER_FAILED_VERIFICATION && !h->whole_trust && !h->tls.ca) {
            h->whole_trust = true;
            set_all(h, c, url, &t, headers, at_home);
            code = h->curl->easy_perform(h->h);
        }
        h->curl->easy_getinfo(h->h, CURLINFO_RESPONSE_CODE, &c->status);
    }
    for (struct curl_slist *s = headers; s; s = s->next)
        explicit_bzero(s->data, strlen(s->data));
    h->curl->slist_free_all(headers);
    if (t.rc)
        return t.rc;
    return code ? broke(h, c, code, url, err) : SBX_OK;
}

/* 307 and 308 keep the method; the others would make a GET of it, which is nothing for what writes. */
static bool redirects(const struct sbx_call *c)
{
    bool reads = !strcmp(c->method, "GET") || !strcmp(c->method, "HEAD");

    if (!c->headers[HTTP_LOCATION])
        return false;
    return c->status == 307 || c->status == 308 ||
           (reads && (c->status == 301 || c->status == 302 || c->status == 303));
}

/* From TLS nothing leads to where there is none. */
static enum sbx_code follow(struct sbx_http *h, struct sbx_call *c, const char *home,
                            const char **url, struct sbx_err *err)
{
    const char *next = sbx_url_resolve(h, c->arena, *url, c->headers[HTTP_LOCATION]);
    const char *origin = next ? sbx_url_origin(h, c->arena, next) : NULL;

    if (!origin)
        return sbx_err_set(err, SBX_SCHEMA, "redirected to what is not an address");
    if (!strncmp(*url, "https:", 6) && strncmp(next, "https:", 6) != 0)
        return sbx_err_set(err, SBX_FAILED, "redirected from https to plain http: %.200s", next);
    if (c->body_is_login && strcmp(origin, home) != 0)
        return sbx_err_set(err, SBX_FAILED, "redirected to %.200s: no log-in is sent there", origin);
    *url = next;
    return SBX_OK;
}

enum sbx_code sbx_http_send(struct sbx_http *h, struct sbx_call *c, struct sbx_err *err)
{
    const char *url = c->url, *home, *origin;
    enum sbx_code rc;

    if (!c->arena)
        c->arena = sbx_arena_new();
    home = c->arena ? sbx_url_origin(h, c->arena, url) : NULL;
    if (!home)
        return sbx_err_set(err, SBX_SCHEMA, "not an address of http or https: %.200s", url);
    for (int i = 0; i <= HTTP_REDIRECTS_MAX; i++) {
        origin = sbx_url_origin(h, c->arena, url);
        c->answered = url;
        rc = once(h, c, url, origin && !strcmp(origin, home), err);
        if (rc || !redirects(c))
            return rc;
        rc = follow(h, c, home, &url, err);
        if (rc)
            return rc;
    }
    return sbx_err_set(err, SBX_FAILED, "redirected more than %d times", HTTP_REDIRECTS_MAX);
}
