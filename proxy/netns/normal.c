#include "normal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "place.h"

#define SYSCTL_MAX 64 /* bytes; the longest value below has 12 */

static const struct {
    const char *path, *value;
    bool ipv6;
    bool optional; /* what does not exist here, or cannot be written, is as it is */
} sysctls[] = {
    /* Docker's "none" network disables IPv6; programs then fail at once on ::1. */
    { "/proc/sys/net/ipv6/conf/all/disable_ipv6", "0", true, false },
    { "/proc/sys/net/ipv6/conf/default/disable_ipv6", "0", true, false },
    { "/proc/sys/net/ipv6/conf/lo/disable_ipv6", "0", true, false },
    /* As in Docker's own containers: any port and ping for everyone inside. */
    { "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0", false, false },
    { "/proc/sys/net/ipv4/ping_group_range", "0 2147483647", false, false },
    /* Every connection leaves from 127.0.0.1: without reuse one destination allows 400 a second. */
    { "/proc/sys/net/ipv4/tcp_tw_reuse", "1", false, false },
    /* A bridge inside that runs the rules by itself loses the socket they found: its containers could not connect. */
    { "/proc/sys/net/bridge/bridge-nf-call-iptables", "0", false, true },
    { "/proc/sys/net/bridge/bridge-nf-call-ip6tables", "0", false, true },
};

bool sbx_normal_ipv6(void) { return access("/proc/sys/net/ipv6", F_OK) == 0; }

/* The kernel separates with tabs and ends with a newline. */
static bool same_value(const char *text, const char *want)
{
    for (; *text && *want; text++, want++)
        if (*text != *want && !(*want == ' ' && *text == '\t'))
            return false;
    return !*want && (*text == '\n' || !*text);
}

static bool has_value(const char *path, const char *want)
{
    SBX_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[SYSCTL_MAX];
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (n < 0)
        return false;
    text[n] = '\0';
    return same_value(text, want);
}

static enum sbx_code set_value(const char *path, const char *value, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(value);

    if (fd >= 0 && write(fd, value, len) == (ssize_t)len)
        return SBX_OK;
    return sbx_err_errno(err, "set %s to %s", path, value);
}

enum sbx_code sbx_normal_sysctls(bool ipv6, struct sbx_err *err)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(sysctls); i++) {
        struct sbx_err unused = SBX_ERR_INIT;
        enum sbx_code rc;

        if ((sysctls[i].ipv6 && !ipv6) || has_value(sysctls[i].path, sysctls[i].value))
            continue;
        rc = set_value(sysctls[i].path, sysctls[i].value, sysctls[i].optional ? &unused : err);
        if (rc && !sysctls[i].optional)
            return rc;
    }
    return SBX_OK;
}

static void lo_up(struct sbx_nl *nl)
{
    struct ifinfomsg head = {
        .ifi_family = AF_UNSPEC, .ifi_index = SBX_LO, .ifi_flags = IFF_UP, .ifi_change = IFF_UP
    };

    sbx_nl_begin(nl, "set lo up", RTM_NEWLINK, NLM_F_ACK, &head, sizeof(head));
    sbx_nl_end(nl);
}

static void address(struct sbx_nl *nl, const char *what, uint8_t family, const void *addr,
                    uint8_t len)
{
    struct ifaddrmsg head = { .ifa_family = family,
                              .ifa_prefixlen = (uint8_t)(len * 8),
                              .ifa_flags = IFA_F_PERMANENT | IFA_F_NODAD,
                              .ifa_scope = RT_SCOPE_UNIVERSE,
                              .ifa_index = SBX_LO };

    sbx_nl_begin(nl, what, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
    sbx_nl_attr(nl, IFA_LOCAL, addr, len);
    sbx_nl_attr(nl, IFA_ADDRESS, addr, len);
    sbx_nl_end(nl);
}

/* local default dev lo src SRC table 100 */
static void route(struct sbx_nl *nl, const char *what, uint8_t family, const void *src, uint8_t len)
{
    struct rtmsg head = { .rtm_family = family,
                          .rtm_table = SBX_TABLE,
                          .rtm_protocol = RTPROT_STATIC,
                          .rtm_scope = RT_SCOPE_HOST,
                          .rtm_type = RTN_LOCAL };

    sbx_nl_begin(nl, what, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &head,
                 sizeof(head));
    sbx_nl_u32(nl, RTA_OIF, SBX_LO);
    sbx_nl_attr(nl, RTA_PREFSRC, src, len);
    sbx_nl_end(nl);
}

static void policy_begin(struct sbx_nl *nl, const char *what, uint8_t family, uint8_t dst_bits,
                         uint8_t action, uint32_t pref)
{
    struct fib_rule_hdr head = { .family = family,
                                 .dst_len = dst_bits,
                                 .table = action == FR_ACT_TO_TBL ? SBX_TABLE : 0,
                                 .action = action };

    sbx_nl_begin(nl, what, RTM_NEWRULE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &head, sizeof(head));
    sbx_nl_u32(nl, FRA_PRIORITY, pref);
    sbx_nl_u8(nl, FRA_PROTOCOL, RTPROT_STATIC);
}

static void policy_tcp(struct sbx_nl *nl, const char *what, uint8_t family)
{
    policy_begin(nl, what, family, 0, FR_ACT_TO_TBL, SBX_PREF_TCP);
    sbx_nl_u8(nl, FRA_IP_PROTO, IPPROTO_TCP);
    sbx_nl_end(nl);
}

/* A lookup that must not find table 100: see own_rules() in rules.c. */
static void policy_mark(struct sbx_nl *nl, const char *what, uint8_t family)
{
    policy_begin(nl, what, family, 0, FR_ACT_UNREACHABLE, SBX_PREF_MARK);
    sbx_nl_u32(nl, FRA_FWMARK, SBX_MARK);
    sbx_nl_end(nl);
}

/* UDP to the gate at one port; any other finds no route, as everywhere else. */
static void policy_dns(struct sbx_nl *nl, const char *what, uint32_t pref, uint16_t port)
{
    struct fib_rule_port_range ports = { port, port };
    uint32_t gate = htonl(SBX_GATE4);

    policy_begin(nl, what, AF_INET, 32, FR_ACT_TO_TBL, pref);
    sbx_nl_attr(nl, FRA_DST, &gate, sizeof(gate));
    sbx_nl_u8(nl, FRA_IP_PROTO, IPPROTO_UDP);
    sbx_nl_attr(nl, FRA_DPORT_RANGE, &ports, sizeof(ports));
    sbx_nl_end(nl);
}

static void build4(struct sbx_nl *nl)
{
    uint32_t self = htonl(SBX_SELF4), lo = htonl(INADDR_LOOPBACK);

    address(nl, "add 198.18.0.2 to lo", AF_INET, &self, sizeof(self));
    policy_mark(nl, "add the IPv4 policy rule for marked lookups", AF_INET);
    route(nl, "add the IPv4 route of table 100", AF_INET, &lo, sizeof(lo));
    policy_tcp(nl, "add the IPv4 policy rule for TCP", AF_INET);
    policy_dns(nl, "add the policy rule for DNS", SBX_PREF_DNS, SBX_DNS_PORT);
    /* Questions from a nested bridge are routed after they were rewritten. */
    policy_dns(nl, "add the policy rule for nested DNS", SBX_PREF_NESTED_DNS, SBX_GATE_PORT);
}

static void build6(struct sbx_nl *nl)
{
    static const struct in6_addr self = SBX_SELF6, lo = IN6ADDR_LOOPBACK_INIT;

    address(nl, "add 2001:2::2 to lo", AF_INET6, &self, sizeof(self));
    policy_mark(nl, "add the IPv6 policy rule for marked lookups", AF_INET6);
    route(nl, "add the IPv6 route of table 100", AF_INET6, &lo, sizeof(lo));
    policy_tcp(nl, "add the IPv6 policy rule for TCP", AF_INET6);
}

void sbx_normal_build(struct sbx_nl *nl, bool ipv6)
{
    sbx_nl_init(nl);
    lo_up(nl);
    build4(nl);
    if (ipv6)
        build6(nl);
}

enum sbx_code sbx_normal_apply(bool ipv6, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = sbx_nl_open(NETLINK_ROUTE, err);
    struct sbx_nl nl;

    if (fd < 0)
        return err->code;
    sbx_normal_build(&nl, ipv6);
    return sbx_nl_send(fd, &nl, true, err);
}
