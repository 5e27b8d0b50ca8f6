/* Targets of proxy requests. See target.h. */
#include "target.h"

#include <string.h>
#include <strings.h>

static int read_connect(const struct sbx_head *h, struct sbx_target *t, struct sbx_fault *f)
{
    if (sbx_target_parse(h->target.ptr, h->target.len, 0, &t->host, &t->port, NULL))
        return sbx_refuse(f, 400, "bad-target");
    if (!t->port)
        return sbx_refuse(f, 400, "port-missing");
    return 0;
}

/* Is there a scheme in front? Its length without the colon, else 0. */
static size_t scheme_len(struct sbx_slice s)
{
    const char *colon = memchr(s.ptr, ':', s.len);
    size_t len = colon ? (size_t)(colon - s.ptr) : 0;

    if (!len || s.len - len < 3 || memcmp(colon, "://", 3) != 0)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.", s.ptr[i]))
            return 0;
    return len;
}

/* What stands behind "SCHEME://": the authority and the path. */
static int read_url(struct sbx_slice rest, uint16_t default_port, struct sbx_host *host, uint16_t *port,
                    struct sbx_slice *path)
{
    size_t n = 0;

    while (n < rest.len && rest.ptr[n] != '/' && rest.ptr[n] != '?')
        n++;
    *path = (struct sbx_slice){ rest.ptr + n, rest.len - n };
    if (!n || memchr(rest.ptr, '@', n) || sbx_target_parse(rest.ptr, n, default_port, host, port, NULL))
        return -1;
    return 0;
}

static int read_absolute(const struct sbx_head *h, struct sbx_target *t, struct sbx_fault *f)
{
    struct sbx_slice rest = h->target;
    size_t scheme = scheme_len(rest);

    if (!scheme)
        return sbx_refuse(f, 400, rest.ptr[0] == '/' && (rest.len < 2 || rest.ptr[1] != '/')
                                 ? "origin-form" : "bad-target");
    if (scheme != 4 || strncasecmp(rest.ptr, "http", 4) != 0)
        return sbx_refuse(f, 501, "scheme");
    if (memchr(rest.ptr, '#', rest.len))
        return sbx_refuse(f, 400, "bad-target");
    rest.ptr += 7;
    rest.len -= 7;
    return read_url(rest, 80, &t->host, &t->port, &t->path) ? sbx_refuse(f, 400, "bad-target") : 0;
}

/* One well-formed Host at most; `ret_port` 0: there is none. */
static int read_host(const struct sbx_head *h, uint16_t default_port, struct sbx_host *ret, uint16_t *ret_port,
                     struct sbx_fault *f)
{
    *ret_port = 0;
    for (unsigned i = 0; i < h->nfields; i++) {
        struct sbx_slice v = h->fields[i].value;

        if (h->fields[i].id != SBX_FIELD_HOST)
            continue;
        if (*ret_port || !v.len || sbx_target_parse(v.ptr, v.len, default_port, ret, ret_port, NULL))
            return sbx_refuse(f, 400, "bad-host-field");
    }
    return 0;
}

/* HTTP/1.1 needs a Host but for CONNECT, whose target says it all: Python and netcat send none there. */
static int check_host(const struct sbx_head *h, const struct sbx_target *t, struct sbx_fault *f)
{
    struct sbx_host host;
    uint16_t port;

    if (read_host(h, 1, &host, &port, f)) /* whatever port: the one of the target counts */
        return -1;
    return port || t->connect || h->minor == 0 ? 0 : sbx_refuse(f, 400, "bad-host-field");
}

bool sbx_is_websocket(const struct sbx_head *h)
{
    unsigned n = 0, websocket = 0;

    for (unsigned i = 0; i < h->nfields; i++) {
        const struct sbx_field_line *f = &h->fields[i];

        if (f->id != SBX_FIELD_HOP || !sbx_slice_is_nocase(f->name, "upgrade"))
            continue;
        n++;
        websocket += f->named && sbx_slice_is_nocase(f->value, "websocket");
    }
    return n == 1 && websocket == 1;
}

/* WebSocket goes on, what would turn the connection into TLS or mixes offers does not; others (h2c)
 * are offers that a server may ignore, and it never sees them (GC E2, E12). */
static int check_upgrade(const struct sbx_head *h, struct sbx_target *t, struct sbx_fault *f)
{
    for (unsigned i = 0; i < h->nfields; i++) {
        const struct sbx_field_line *u = &h->fields[i];

        if (u->id != SBX_FIELD_HOP || !sbx_slice_is_nocase(u->name, "upgrade"))
            continue;
        if (memchr(u->value.ptr, ',', u->value.len) ||
            (u->value.len >= 3 && strncasecmp(u->value.ptr, "tls", 3) == 0))
            return sbx_refuse(f, 400, "bad-upgrade");
    }
    t->upgrade = h->minor == 1 && sbx_slice_is(h->method, "GET") && sbx_is_websocket(h);
    return 0;
}

int sbx_target_read(const struct sbx_head *h, struct sbx_target *ret, struct sbx_fault *f)
{
    memset(ret, 0, sizeof(*ret));
    ret->connect = sbx_slice_is(h->method, "CONNECT");
    if (sbx_slice_is_nocase(h->method, "TRACE") || sbx_slice_is_nocase(h->method, "TRACK")) {
        if (read_absolute(h, ret, f)) /* for the log only */
            ret->host.text[0] = '\0';
        return sbx_refuse(f, 405, "method");
    }
    if (ret->connect ? read_connect(h, ret, f) : read_absolute(h, ret, f))
        return -1;
    if (!ret->connect && check_upgrade(h, ret, f))
        return -1;
    return check_host(h, ret, f);
}

/* What stands behind the authority of an https URL that names the connection's own host. */
static int read_own_url(const struct sbx_head *h, struct sbx_target *t, struct sbx_fault *f)
{
    struct sbx_slice rest = h->target;
    struct sbx_host host;
    uint16_t port = 0;

    if (scheme_len(rest) != 5 || strncasecmp(rest.ptr, "https", 5) != 0)
        return sbx_refuse(f, 400, "bad-target");
    rest.ptr += 8;
    rest.len -= 8;
    if (read_url(rest, 443, &host, &port, &t->path))
        return sbx_refuse(f, 400, "bad-target");
    if (port != t->port || strcmp(host.text, t->host.text) != 0)
        return sbx_refuse(f, 421, "misdirected");
    return 0;
}

static int check_own_host(const struct sbx_head *h, const struct sbx_target *t, struct sbx_fault *f)
{
    struct sbx_host host;
    uint16_t port;

    if (read_host(h, 443, &host, &port, f))
        return -1;
    if (!port)
        return sbx_refuse(f, 400, "bad-host-field");
    return port == t->port && strcmp(host.text, t->host.text) == 0 ? 0 : sbx_refuse(f, 421, "misdirected");
}

int sbx_target_read_inner(const struct sbx_head *h, const struct sbx_host *host, uint16_t port,
                          struct sbx_target *ret, struct sbx_fault *f)
{
    memset(ret, 0, sizeof(*ret));
    ret->secure = true;
    ret->host = *host;
    ret->port = port;
    if (sbx_slice_is_nocase(h->method, "TRACE") || sbx_slice_is_nocase(h->method, "TRACK") ||
        sbx_slice_is(h->method, "CONNECT"))
        return sbx_refuse(f, 405, "method");
    if (memchr(h->target.ptr, '#', h->target.len))
        return sbx_refuse(f, 400, "bad-target");
    if (h->target.ptr[0] == '/')
        ret->path = h->target;
    else if (!(sbx_slice_is(h->target, "*") && sbx_slice_is(h->method, "OPTIONS")) &&
             read_own_url(h, ret, f))
        return -1;
    return check_upgrade(h, ret, f) ? -1 : check_own_host(h, ret, f);
}
