#include "netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_BYTES 32768 /* bytes; the kernel fills at most 32 KiB of a dump at once */

void sbx_nl_init(struct sbx_nl *nl)
{
    nl->len = nl->start = nl->n = nl->acks = 0;
    nl->full = false;
}

/* Room for len bytes, padded to 4 with zeros; NULL (and `full`) when there is none. */
static void *room(struct sbx_nl *nl, size_t len)
{
    size_t padded = NLMSG_ALIGN(len);
    void *p = nl->data + nl->len;

    if (nl->full || padded > sizeof(nl->data) - nl->len) {
        nl->full = true;
        return NULL;
    }
    memset(p, 0, padded);
    nl->len += padded;
    return p;
}

void sbx_nl_begin(struct sbx_nl *nl, const char *what, uint16_t type, uint16_t flags,
                  const void *head, size_t head_len)
{
    struct nlmsghdr h = { .nlmsg_type = type,
                          .nlmsg_flags = flags | NLM_F_REQUEST,
                          .nlmsg_seq = (uint32_t)nl->n };
    void *p;

    nl->start = nl->len;
    if (nl->n == SBX_NL_MESSAGES)
        nl->full = true;
    p = room(nl, NLMSG_HDRLEN);
    if (p)
        memcpy(p, &h, sizeof(h));
    p = room(nl, head_len);
    if (!p)
        return;
    memcpy(p, head, head_len);
    nl->what[nl->n] = what;
    nl->acks += (flags & NLM_F_ACK) != 0;
}

void sbx_nl_end(struct sbx_nl *nl)
{
    uint32_t len = (uint32_t)(nl->len - nl->start);

    if (nl->full)
        return;
    memcpy(nl->data + nl->start + offsetof(struct nlmsghdr, nlmsg_len), &len, sizeof(len));
    nl->n++;
}

void sbx_nl_attr(struct sbx_nl *nl, uint16_t type, const void *data, size_t len)
{
    struct nlattr a = { .nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type };
    unsigned char *p = room(nl, NLA_HDRLEN + len);

    if (!p)
        return;
    memcpy(p, &a, sizeof(a));
    if (len)
        memcpy(p + NLA_HDRLEN, data, len);
}

void sbx_nl_u8(struct sbx_nl *nl, uint16_t type, uint8_t v)
{
    sbx_nl_attr(nl, type, &v, sizeof(v));
}

void sbx_nl_u32(struct sbx_nl *nl, uint16_t type, uint32_t v)
{
    sbx_nl_attr(nl, type, &v, sizeof(v));
}

void sbx_nl_be32(struct sbx_nl *nl, uint16_t type, uint32_t v) { sbx_nl_u32(nl, type, htonl(v)); }

void sbx_nl_str(struct sbx_nl *nl, uint16_t type, const char *s)
{
    sbx_nl_attr(nl, type, s, strlen(s) + 1);
}

size_t sbx_nl_nest(struct sbx_nl *nl, uint16_t type)
{
    size_t at = nl->len;

    sbx_nl_attr(nl, type | NLA_F_NESTED, NULL, 0);
    return at;
}

void sbx_nl_nest_end(struct sbx_nl *nl, size_t nest)
{
    uint16_t len = (uint16_t)(nl->len - nest);

    if (!nl->full)
        memcpy(nl->data + nest + offsetof(struct nlattr, nla_len), &len, sizeof(len));
}

int sbx_nl_open(int protocol, struct sbx_err *err)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

    if (fd < 0)
        sbx_err_errno(err, "open a netlink socket (protocol %d)", protocol);
    return fd;
}

static enum sbx_code send_all(int fd, const void *data, size_t len, struct sbx_err *err)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    ssize_t n = sendto(fd, data, len, 0, (struct sockaddr *)&kernel, sizeof(kernel));

    return n == (ssize_t)len ? SBX_OK : sbx_err_errno(err, "send %zu bytes of netlink", len);
}

static enum sbx_code refused(const struct sbx_nl *nl, uint32_t seq, int error, struct sbx_err *err)
{
    enum sbx_code rc;

    errno = error;
    rc = sbx_err_errno(err, "%s", seq < nl->n ? nl->what[seq] : "netlink request");
    /* nf_tables answers ENOENT for an expression that the kernel neither has nor can load */
    if (error == ENOENT || error == EOPNOTSUPP || error == EAFNOSUPPORT)
        return sbx_err_wrap(err, SBX_UNSUPPORTED,
                            "this kernel lacks a part (nf_tables, nft_tproxy,"
                            " nft_fib, nft_reject, policy routing)");
    return rc;
}

/* Take the answers in one datagram; `left` counts down those still awaited. */
static enum sbx_code take_answers(const struct sbx_nl *nl, const unsigned char *p, size_t len,
                                  bool exists_ok, size_t *left, struct sbx_err *err)
{
    const struct nlmsghdr *h = (const struct nlmsghdr *)p;

    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        const struct nlmsgerr *e = NLMSG_DATA(h);

        if (h->nlmsg_type != NLMSG_ERROR || h->nlmsg_len < NLMSG_LENGTH(sizeof(*e)))
            continue;
        if (e->error && !(exists_ok && e->error == -EEXIST))
            return refused(nl, h->nlmsg_seq, -e->error, err);
        *left -= *left > 0;
    }
    return SBX_OK;
}

enum sbx_code sbx_nl_send(int fd, struct sbx_nl *nl, bool exists_ok, struct sbx_err *err)
{
    _Alignas(8) unsigned char answer[ANSWER_BYTES];
    size_t left = nl->acks;
    enum sbx_code rc;
    ssize_t n;

    if (nl->full)
        return sbx_err_set(err, SBX_LIMIT, "netlink messages do not fit %d bytes", SBX_NL_BYTES);
    rc = send_all(fd, nl->data, nl->len, err);
    /* The kernel has queued every answer by now: none waits, so an error of a batch is seen too. */
    while (!rc && (n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT)) > 0)
        rc = take_answers(nl, answer, (size_t)n, exists_ok, &left, err);
    if (!rc && left)
        return sbx_err_set(err, SBX_IO, "%s: the kernel did not answer",
                           nl->n ? nl->what[nl->n - 1] : "netlink request");
    return rc;
}

enum sbx_code sbx_nl_dump(int fd, uint16_t type, const void *head, size_t head_len,
                          sbx_nl_each *each, void *ctx, struct sbx_err *err)
{
    _Alignas(8) unsigned char answer[ANSWER_BYTES];
    struct sbx_nl nl;
    enum sbx_code rc;

    sbx_nl_init(&nl);
    sbx_nl_begin(&nl, "list", type, NLM_F_DUMP, head, head_len);
    sbx_nl_end(&nl);
    rc = send_all(fd, nl.data, nl.len, err);
    while (!rc) {
        ssize_t n = recv(fd, answer, sizeof(answer), 0);
        const struct nlmsghdr *h = (const struct nlmsghdr *)answer;
        size_t len = n > 0 ? (size_t)n : 0;

        if (n <= 0)
            return sbx_err_errno(err, "read a netlink dump (type %u)", type);
        for (; !rc && NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
            if (h->nlmsg_type == NLMSG_DONE)
                return SBX_OK;
            if (h->nlmsg_type == NLMSG_ERROR)
                return refused(&nl, 0, -((const struct nlmsgerr *)NLMSG_DATA(h))->error, err);
            rc = each(h, ctx, err);
        }
    }
    return rc;
}

const void *sbx_nl_find(const struct nlmsghdr *h, size_t head_len, uint16_t type, size_t *ret_len)
{
    size_t at = NLMSG_LENGTH(NLMSG_ALIGN(head_len));
    const unsigned char *p = (const unsigned char *)h;

    while (at + NLA_HDRLEN <= h->nlmsg_len) {
        struct nlattr a;

        memcpy(&a, p + at, sizeof(a));
        if (a.nla_len < NLA_HDRLEN || a.nla_len > h->nlmsg_len - at)
            return NULL;
        if ((a.nla_type & NLA_TYPE_MASK) == type) {
            *ret_len = a.nla_len - NLA_HDRLEN;
            return p + at + NLA_HDRLEN;
        }
        at += NLA_ALIGN(a.nla_len);
    }
    return NULL;
}
