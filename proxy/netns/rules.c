/*
 * network.md 2, in nft's words (`nft list ruleset` inside a sandbox of a test shows the same):
 *
 *   chain prerouting { type filter hook prerouting priority mangle
 *     ip daddr 198.18.0.1 udp dport 53   -> dport 1, accept      the DNS door
 *     ip daddr 198.18.0.1 udp            -> drop                 (only port 1 has a route)
 *     not tcp                            -> accept               (no route leads out anyway)
 *     truly local, or a nested bridge's  -> accept               the sandbox's own (mark 1)
 *     tcp to a door's own port           -> reset
 *     tcp                                -> tproxy, accept       every other door
 *     tcp, and nobody listens            -> reset                the gate is dead
 *   }
 *   chain output { type filter hook output priority raw
 *     ip saddr 198.18.0.1 udp sport 1    -> sport 53
 *   }
 */
#include "rules.h"

#include <netinet/in.h> /* before the kernel's headers, which then leave its types out */

#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netlink.h>
#include <unistd.h>

#include "expr.h"
#include "place.h"

#define PRE "prerouting"
#define OUT "output"
#define IP4_SRC 12 /* offsets in the IPv4 header, then in the IPv6, UDP, TCP headers */
#define IP4_DST 16
#define IP6_DST 24
#define SPORT 0
#define DPORT 2

static const struct in6_addr gate6 = SBX_GATE6;

static void on_ipv4(struct sbx_nl *nl)
{
    sbx_on_meta(nl, NFT_META_NFPROTO, NFT_CMP_EQ, NFPROTO_IPV4);
}

static void on_ipv6(struct sbx_nl *nl)
{
    sbx_on_meta(nl, NFT_META_NFPROTO, NFT_CMP_EQ, NFPROTO_IPV6);
}

static void on_l4(struct sbx_nl *nl, uint8_t proto)
{
    sbx_on_meta(nl, NFT_META_L4PROTO, NFT_CMP_EQ, proto);
}

/* IPv4 packets of `proto` whose address at `offset` of the network header is the gate's. */
static void on_gate4(struct sbx_nl *nl, uint32_t offset, uint8_t proto)
{
    uint32_t addr = htonl(SBX_GATE4);

    on_ipv4(nl);
    sbx_on_bytes(nl, NFT_PAYLOAD_NETWORK_HEADER, offset, &addr, sizeof(addr));
    on_l4(nl, proto);
}

static void chain(struct sbx_nl *nl, const char *name, uint32_t hook, int32_t priority)
{
    size_t nest;

    sbx_nft_message(nl, "add a chain", NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    sbx_nl_str(nl, NFTA_CHAIN_TABLE, SBX_NFT_TABLE);
    sbx_nl_str(nl, NFTA_CHAIN_NAME, name);
    nest = sbx_nl_nest(nl, NFTA_CHAIN_HOOK);
    sbx_nl_be32(nl, NFTA_HOOK_HOOKNUM, hook);
    sbx_nl_be32(nl, NFTA_HOOK_PRIORITY, (uint32_t)priority);
    sbx_nl_nest_end(nl, nest);
    sbx_nl_be32(nl, NFTA_CHAIN_POLICY, NF_ACCEPT);
    sbx_nl_str(nl, NFTA_CHAIN_TYPE, "filter");
    sbx_nl_end(nl);
}

static void dns_rules(struct sbx_nl *nl)
{
    sbx_rule_begin(nl, "rule: DNS question", PRE);
    on_gate4(nl, IP4_DST, IPPROTO_UDP);
    sbx_on_port(nl, DPORT, SBX_DNS_PORT);
    sbx_do_udp_port(nl, DPORT, SBX_GATE_PORT);
    sbx_do_accept(nl);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: other UDP to the gate", PRE);
    on_gate4(nl, IP4_DST, IPPROTO_UDP);
    sbx_do_drop(nl);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: DNS answer", OUT);
    on_gate4(nl, IP4_SRC, IPPROTO_UDP);
    sbx_on_port(nl, SPORT, SBX_GATE_PORT);
    sbx_do_udp_port(nl, SPORT, SBX_DNS_PORT);
    sbx_rule_end(nl);
}

/*
 * fib asks the policy rules too, with TCP as protocol: table 100 would make every address local.
 * The mark keeps it out; it is gone before the packet is routed. A packet that came over lo was
 * sent from here, and fib answers "lo" for it whatever its destination: so only the others may be
 * forwardable.
 */
static void own_rules(struct sbx_nl *nl)
{
    sbx_rule_begin(nl, "rule: not TCP", PRE);
    sbx_on_meta(nl, NFT_META_L4PROTO, NFT_CMP_NEQ, IPPROTO_TCP);
    sbx_do_accept(nl);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: mark", PRE);
    sbx_do_mark(nl, SBX_MARK);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: own address", PRE);
    sbx_on_local(nl);
    sbx_do_mark(nl, 0);
    sbx_do_accept(nl);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: nested bridge", PRE);
    sbx_on_other_link(nl, SBX_LO);
    sbx_on_forwardable(nl);
    sbx_do_mark(nl, 0);
    sbx_do_accept(nl);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: unmark", PRE);
    sbx_do_mark(nl, 0);
    sbx_rule_end(nl);
}

static void door_rules4(struct sbx_nl *nl)
{
    uint32_t addr = htonl(SBX_GATE4);

    sbx_rule_begin(nl, "rule: the door's own port", PRE);
    on_gate4(nl, IP4_DST, IPPROTO_TCP);
    sbx_on_port(nl, DPORT, SBX_GATE_PORT);
    sbx_do_reset(nl);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: IPv4 door", PRE);
    on_ipv4(nl);
    on_l4(nl, IPPROTO_TCP);
    sbx_do_tproxy(nl, NFPROTO_IPV4, &addr, sizeof(addr), SBX_GATE_PORT);
    sbx_do_accept(nl);
    sbx_rule_end(nl);
}

static void door_rules6(struct sbx_nl *nl)
{
    sbx_rule_begin(nl, "rule: the IPv6 door's own port", PRE);
    on_ipv6(nl);
    sbx_on_bytes(nl, NFT_PAYLOAD_NETWORK_HEADER, IP6_DST, &gate6, sizeof(gate6));
    on_l4(nl, IPPROTO_TCP);
    sbx_on_port(nl, DPORT, SBX_GATE_PORT);
    sbx_do_reset(nl);
    sbx_rule_end(nl);

    sbx_rule_begin(nl, "rule: IPv6 door", PRE);
    on_ipv6(nl);
    on_l4(nl, IPPROTO_TCP);
    sbx_do_tproxy(nl, NFPROTO_IPV6, &gate6, sizeof(gate6), SBX_GATE_PORT);
    sbx_do_accept(nl);
    sbx_rule_end(nl);
}

static void dead_rule(struct sbx_nl *nl)
{
    sbx_rule_begin(nl, "rule: no gate", PRE);
    on_l4(nl, IPPROTO_TCP);
    sbx_do_reset(nl);
    sbx_rule_end(nl);
}

static void batch(struct sbx_nl *nl, uint16_t type)
{
    struct nfgenmsg head = { .nfgen_family = AF_UNSPEC,
                             .version = NFNETLINK_V0,
                             .res_id = htons(NFNL_SUBSYS_NFTABLES) };

    sbx_nl_begin(nl, "nf_tables transaction", type, 0, &head, sizeof(head));
    sbx_nl_end(nl);
}

static void table(struct sbx_nl *nl, uint16_t type)
{
    sbx_nft_message(nl, "nf_tables table sbx", type, type == NFT_MSG_NEWTABLE ? NLM_F_CREATE : 0);
    sbx_nl_str(nl, NFTA_TABLE_NAME, SBX_NFT_TABLE);
    sbx_nl_end(nl);
}

void sbx_rules_build(struct sbx_nl *nl, bool ipv6, bool again)
{
    sbx_nl_init(nl);
    batch(nl, NFNL_MSG_BATCH_BEGIN);
    if (again)
        table(nl, NFT_MSG_DELTABLE);
    table(nl, NFT_MSG_NEWTABLE);
    chain(nl, PRE, NF_INET_PRE_ROUTING, NF_IP_PRI_MANGLE);
    chain(nl, OUT, NF_INET_LOCAL_OUT, NF_IP_PRI_RAW);
    dns_rules(nl);
    own_rules(nl);
    door_rules4(nl);
    if (ipv6)
        door_rules6(nl);
    dead_rule(nl);
    batch(nl, NFNL_MSG_BATCH_END);
}

enum sbx_code sbx_rules_load(bool ipv6, bool again, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = sbx_nl_open(NETLINK_NETFILTER, err);
    struct sbx_nl nl;
    enum sbx_code rc;

    if (fd < 0)
        return err->code;
    sbx_rules_build(&nl, ipv6, again);
    rc = sbx_nl_send(fd, &nl, false, err);
    return rc ? sbx_err_wrap(err, rc, "load the rules") : SBX_OK;
}
