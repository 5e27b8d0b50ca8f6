/* Messages to and from the proxy of this machine. See upstream.h. */
#include <stdio.h>
#include <string.h>

#include "head.h"
#include "upstream.h"

static enum sbx_code add_authority(struct sbx_buf *out, const struct sbx_host *host, uint16_t port,
                                   bool always)
{
    bool v6 = host->kind == SBX_HOST_IPV6;
    enum sbx_code rc = sbx_buf_addf(out, v6 ? "[%s]" : "%s", host->text);

    return (rc || (port == 80 && !always)) ? rc : sbx_buf_addf(out, ":%u", port);
}

static enum sbx_code add_authorization(struct sbx_buf *out, const struct sbx_upstream_proxy *p)
{
    return p->authorization ? sbx_buf_addf(out, "Proxy-Authorization: %s\r\n", p->authorization)
                            : SBX_OK;
}

enum sbx_code sbx_upstream_connect(const struct sbx_upstream_proxy *p, const struct sbx_host *host,
                                   uint16_t port, struct sbx_buf *out)
{
    return sbx_buf_adds(out, "CONNECT ") ?: add_authority(out, host, port, true)
           ?: sbx_buf_adds(out, " HTTP/1.1\r\nHost: ") ?: add_authority(out, host, port, true)
           ?: sbx_buf_adds(out, "\r\n") ?: add_authorization(out, p) ?: sbx_buf_adds(out, "\r\n");
}

/* "GET /x HTTP/1.1" becomes "GET http://host/x HTTP/1.1"; "*" is the URL without a path. */
enum sbx_code sbx_upstream_absolute(const struct sbx_upstream_proxy *p, const struct sbx_host *host,
                                    uint16_t port, const struct sbx_buf *head, struct sbx_buf *out)
{
    const char *space = head->len ? memchr(head->ptr, ' ', head->len) : NULL;
    const char *end = head->len ? memmem(head->ptr, head->len, "\r\n", 2) : NULL;
    const char *path = space ? space + 1 : NULL;
    enum sbx_code rc;

    if (!space || !end || space > end)
        return SBX_SYNTAX;
    rc = sbx_buf_add(out, head->ptr, (size_t)(path - head->ptr)) ?: sbx_buf_adds(out, "http://")
         ?: add_authority(out, host, port, false);
    if (path[0] == '*' && path[1] == ' ')
        path++;
    return rc ?: sbx_buf_add(out, path, (size_t)(end + 2 - path)) ?: add_authorization(out, p)
           ?: sbx_buf_add(out, end + 2, (size_t)(head->ptr + head->len - (end + 2)));
}

static void refuse(struct sbx_upstream_answer *ret, unsigned status)
{
    ret->open = false;
    if (status == 407 || status == 401) { /* some say 401 where 407 is meant */
        ret->reason = "upstream-auth";
        snprintf(ret->text, sizeof(ret->text),
                 "the proxy of this machine wants other credentials (%u)", status);
    } else if (status >= 300 && status < 500) {
        ret->reason = "upstream-refused";
        snprintf(ret->text, sizeof(ret->text), "the proxy of this machine refused it (%u)", status);
    } else {
        ret->reason = "upstream-failed";
        snprintf(ret->text, sizeof(ret->text), "the proxy of this machine could not do it (%u)",
                 status);
    }
}

static ssize_t garbage(struct sbx_upstream_answer *ret)
{
    *ret = (struct sbx_upstream_answer){ .reason = "bad-upstream-reply" };
    snprintf(ret->text, sizeof(ret->text), "the proxy of this machine does not speak HTTP as it should");
    return -1;
}

ssize_t sbx_upstream_answer(const char *buf, size_t len, unsigned *interim, size_t *ret_skip,
                            struct sbx_upstream_answer *ret)
{
    struct sbx_scan scan = { 0 };
    struct sbx_fault f;
    struct sbx_head h;
    ssize_t n = len ? sbx_head_scan(&scan, buf, len, true, &f) : 0;

    *ret_skip = 0;
    if (!n && len < SBX_GATE_UPSTREAM_HEAD_MAX)
        return 0;
    if (n <= 0 || n > SBX_GATE_UPSTREAM_HEAD_MAX || sbx_head_parse_reply(buf, (size_t)n, &h, &f))
        return garbage(ret);
    if (h.status / 100 == 1) {
        if (h.status == 101 || ++*interim > SBX_GATE_INTERIM_MAX)
            return garbage(ret);
        *ret_skip = (size_t)n;
        return 0;
    }
    *ret = (struct sbx_upstream_answer){ .open = h.status / 100 == 2 };
    if (!ret->open)
        refuse(ret, h.status);
    return n;
}
