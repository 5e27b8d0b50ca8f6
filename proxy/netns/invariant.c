#include "invariant.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "expr.h"
#include "netlink.h"
#include "place.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* Linux 5.14; older headers lack the name */
#endif

enum sbx_code sbx_ns_read(struct sbx_ns *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(ret->cookie);
    struct stat st;

    if (fd < 0)
        return sbx_err_errno(err, "make a socket");
    if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &ret->cookie, &len)) {
        if (errno == ENOPROTOOPT)
            return sbx_err_set(err, SBX_UNSUPPORTED,
                               "this kernel does not tell network namespaces"
                               " apart (SO_NETNS_COOKIE): Linux 5.14 or newer"
                               " is needed");
        return sbx_err_errno(err, "read the namespace's cookie");
    }
    if (stat("/proc/thread-self/ns/net", &st))
        return sbx_err_errno(err, "read the namespace's inode in /proc");
    ret->inode = st.st_ino;
    return SBX_OK;
}

enum sbx_code sbx_ns_differs(const struct sbx_ns *before, const struct sbx_ns *now,
                             struct sbx_err *err)
{
    if (before->inode != now->inode && before->cookie != now->cookie)
        return SBX_OK;
    return sbx_err_set(err, SBX_DENIED,
                       "the container has no network namespace of its own (inode %" PRIu64
                       ", cookie %" PRIu64 "): refusing to touch the host's network",
                       now->inode, now->cookie);
}

/* A tunnel that some kernels put into every new namespace. While it is down and its other end lies
 * in the same namespace it leads nowhere. */
static bool harmless_tunnel(const struct nlmsghdr *h, const char *name)
{
    static const char *const names[] = { "tunl0",   "sit0",    "ip6tnl0", "gre0",    "gretap0",
                                         "ip6gre0", "erspan0", "ip_vti0", "ip6_vti0" };
    const struct ifinfomsg *link = NLMSG_DATA(h);
    size_t len;

    if ((link->ifi_flags & 1) || sbx_nl_find(h, sizeof(*link), IFLA_LINK_NETNSID, &len)) /* 1: UP */
        return false;
    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

enum sbx_code sbx_ns_check_link(const struct nlmsghdr *h, void *ctx, struct sbx_err *err)
{
    const struct ifinfomsg *link = NLMSG_DATA(h);
    unsigned *loopbacks = ctx;
    const char *name;
    size_t len;

    if (h->nlmsg_type != RTM_NEWLINK)
        return SBX_OK;
    name = sbx_nl_find(h, sizeof(*link), IFLA_IFNAME, &len);
    if (!name || !len || name[len - 1])
        return sbx_err_set(err, SBX_DENIED, "a link without a name");
    if (link->ifi_index == SBX_LO && !strcmp(name, "lo")) {
        ++*loopbacks;
        return SBX_OK;
    }
    if (harmless_tunnel(h, name))
        return SBX_OK;
    return sbx_err_set(err, SBX_DENIED,
                       "the container's network namespace has the link %s beside lo", name);
}

static bool own_address(uint8_t family, const void *addr, size_t len)
{
    static const struct in6_addr lo6 = IN6ADDR_LOOPBACK_INIT, self6 = SBX_SELF6;

    if (family == AF_INET && len == 4) {
        uint32_t v;

        memcpy(&v, addr, 4);
        v = ntohl(v);
        return v >> 24 == 127 || v == SBX_SELF4;
    }
    return family == AF_INET6 && len == 16 &&
           (!memcmp(addr, &lo6, 16) || !memcmp(addr, &self6, 16));
}

enum sbx_code sbx_ns_check_addr(const struct nlmsghdr *h, void *ctx, struct sbx_err *err)
{
    const struct ifaddrmsg *head = NLMSG_DATA(h);
    char text[INET6_ADDRSTRLEN] = "?";
    const void *addr;
    size_t len;

    (void)ctx;
    if (h->nlmsg_type != RTM_NEWADDR)
        return SBX_OK;
    addr = sbx_nl_find(h, sizeof(*head), IFA_LOCAL, &len);
    if (!addr)
        addr = sbx_nl_find(h, sizeof(*head), IFA_ADDRESS, &len);
    if (addr && own_address(head->ifa_family, addr, len))
        return SBX_OK;
    if (addr && len == (head->ifa_family == AF_INET ? 4 : 16))
        inet_ntop(head->ifa_family, addr, text, sizeof(text));
    return sbx_err_set(err, SBX_DENIED, "the container's network namespace has the address %s",
                       text);
}

/* With lo as the only link a route over lo leads nowhere, one without a link refuses. */
enum sbx_code sbx_ns_check_route(const struct nlmsghdr *h, void *ctx, struct sbx_err *err)
{
    const struct rtmsg *head = NLMSG_DATA(h);
    const void *oif;
    uint32_t index = 0;
    size_t len;

    (void)ctx;
    if (h->nlmsg_type != RTM_NEWROUTE)
        return SBX_OK;
    oif = sbx_nl_find(h, sizeof(*head), RTA_OIF, &len);
    if (oif && len == sizeof(index))
        memcpy(&index, oif, sizeof(index));
    if (index == SBX_LO ||
        (!oif && (head->rtm_type == RTN_UNREACHABLE || head->rtm_type == RTN_BLACKHOLE ||
                  head->rtm_type == RTN_PROHIBIT)))
        return SBX_OK;
    return sbx_err_set(err, SBX_DENIED,
                       "the container's network namespace has a foreign route (link %u, type %u)",
                       index, head->rtm_type);
}

enum sbx_code sbx_ns_check_rule(const struct nlmsghdr *h, void *ctx, struct sbx_err *err)
{
    static const uint32_t known[] = {
        0, 32766, 32767, SBX_PREF_MARK, SBX_PREF_TCP, SBX_PREF_DNS, SBX_PREF_NESTED_DNS
    };
    const struct fib_rule_hdr *head = NLMSG_DATA(h);
    uint32_t pref = 0;
    const void *p;
    size_t len;

    (void)ctx;
    if (h->nlmsg_type != RTM_NEWRULE)
        return SBX_OK;
    p = sbx_nl_find(h, sizeof(*head), FRA_PRIORITY, &len);
    if (p && len == sizeof(pref))
        memcpy(&pref, p, sizeof(pref));
    for (size_t i = 0; i < SBX_ARRAY_LEN(known); i++)
        if (pref == known[i])
            return SBX_OK;
    return sbx_err_set(err, SBX_DENIED,
                       "the container's network namespace has a foreign policy rule (%u)", pref);
}

enum sbx_code sbx_ns_check_table(const struct nlmsghdr *h, void *ctx, struct sbx_err *err)
{
    unsigned *ours = ctx;
    const char *name;
    size_t len;

    if (h->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE))
        return SBX_OK;
    name = sbx_nl_find(h, sizeof(struct nfgenmsg), NFTA_TABLE_NAME, &len);
    if (name && len == sizeof(SBX_NFT_TABLE) && !memcmp(name, SBX_NFT_TABLE, len)) {
        ++*ours;
        return SBX_OK;
    }
    return sbx_err_set(err, SBX_DENIED,
                       "the container's network namespace has a foreign nf_tables table (%.*s)",
                       name ? (int)len : 1, name ? name : "?");
}

/* Every address, route and policy rule of both families. */
static enum sbx_code check_routing(int fd, struct sbx_err *err)
{
    struct ifaddrmsg addr = { .ifa_family = AF_UNSPEC };
    struct rtmsg any = { .rtm_family = AF_UNSPEC };
    struct fib_rule_hdr rule = { .family = AF_UNSPEC };
    enum sbx_code rc;

    rc = sbx_nl_dump(fd, RTM_GETADDR, &addr, sizeof(addr), sbx_ns_check_addr, NULL, err);
    if (!rc)
        rc = sbx_nl_dump(fd, RTM_GETROUTE, &any, sizeof(any), sbx_ns_check_route, NULL, err);
    if (!rc)
        rc = sbx_nl_dump(fd, RTM_GETRULE, &rule, sizeof(rule), sbx_ns_check_rule, NULL, err);
    return rc;
}

static enum sbx_code check_tables(unsigned *ours, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = sbx_nl_open(NETLINK_NETFILTER, err);
    struct nfgenmsg head = { .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0 };

    if (fd < 0)
        return err->code;
    return sbx_nl_dump(fd, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE, &head, sizeof(head),
                       sbx_ns_check_table, ours, err);
}

enum sbx_code sbx_ns_closed(bool *ret_again, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = sbx_nl_open(NETLINK_ROUTE, err);
    struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
    unsigned loopbacks = 0, ours = 0;
    enum sbx_code rc;

    if (fd < 0)
        return err->code;
    rc = sbx_nl_dump(fd, RTM_GETLINK, &link, sizeof(link), sbx_ns_check_link, &loopbacks, err);
    if (!rc && loopbacks != 1)
        rc = sbx_err_set(err, SBX_DENIED, "the container's network namespace has no link lo");
    if (!rc)
        rc = check_routing(fd, err);
    if (!rc)
        rc = check_tables(&ours, err);
    if (!rc)
        *ret_again = ours > 0;
    return rc;
}
