#include "expr.h"

#include <netinet/in.h> /* before the kernel's headers, which then leave its types out */

#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

void sbx_nft_message(struct sbx_nl *nl, const char *what, uint16_t type, uint16_t flags)
{
    struct nfgenmsg head = { .nfgen_family = NFPROTO_INET, .version = NFNETLINK_V0 };

    sbx_nl_begin(nl, what, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags | NLM_F_ACK, &head,
                 sizeof(head));
}

/* The nest that a rule's expressions lie in; a rule is built at a time. */
static size_t expressions;

void sbx_rule_begin(struct sbx_nl *nl, const char *what, const char *chain)
{
    sbx_nft_message(nl, what, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    sbx_nl_str(nl, NFTA_RULE_TABLE, SBX_NFT_TABLE);
    sbx_nl_str(nl, NFTA_RULE_CHAIN, chain);
    expressions = sbx_nl_nest(nl, NFTA_RULE_EXPRESSIONS);
}

void sbx_rule_end(struct sbx_nl *nl)
{
    sbx_nl_nest_end(nl, expressions);
    sbx_nl_end(nl);
}

struct expr {
    size_t element, data;
};

static struct expr expr_begin(struct sbx_nl *nl, const char *name)
{
    struct expr e = { .element = sbx_nl_nest(nl, NFTA_LIST_ELEM) };

    sbx_nl_str(nl, NFTA_EXPR_NAME, name);
    e.data = sbx_nl_nest(nl, NFTA_EXPR_DATA);
    return e;
}

static void expr_end(struct sbx_nl *nl, struct expr e)
{
    sbx_nl_nest_end(nl, e.data);
    sbx_nl_nest_end(nl, e.element);
}

static void put_value(struct sbx_nl *nl, uint16_t type, const void *value, uint32_t len)
{
    size_t nest = sbx_nl_nest(nl, type);

    sbx_nl_attr(nl, NFTA_DATA_VALUE, value, len);
    sbx_nl_nest_end(nl, nest);
}

static void compare(struct sbx_nl *nl, enum nft_cmp_ops op, const void *value, uint32_t len)
{
    struct expr e = expr_begin(nl, "cmp");

    sbx_nl_be32(nl, NFTA_CMP_SREG, NFT_REG_1);
    sbx_nl_be32(nl, NFTA_CMP_OP, op);
    put_value(nl, NFTA_CMP_DATA, value, len);
    expr_end(nl, e);
}

static void immediate(struct sbx_nl *nl, uint32_t reg, const void *value, uint32_t len)
{
    struct expr e = expr_begin(nl, "immediate");

    sbx_nl_be32(nl, NFTA_IMMEDIATE_DREG, reg);
    put_value(nl, NFTA_IMMEDIATE_DATA, value, len);
    expr_end(nl, e);
}

static void load_meta(struct sbx_nl *nl, uint32_t key)
{
    struct expr e = expr_begin(nl, "meta");

    sbx_nl_be32(nl, NFTA_META_DREG, NFT_REG_1);
    sbx_nl_be32(nl, NFTA_META_KEY, key);
    expr_end(nl, e);
}

void sbx_on_meta(struct sbx_nl *nl, uint32_t key, enum nft_cmp_ops op, uint8_t value)
{
    load_meta(nl, key);
    compare(nl, op, &value, sizeof(value));
}

void sbx_on_other_link(struct sbx_nl *nl, uint32_t index)
{
    load_meta(nl, NFT_META_IIF);
    compare(nl, NFT_CMP_NEQ, &index, sizeof(index));
}

void sbx_on_bytes(struct sbx_nl *nl, enum nft_payload_bases base, uint32_t offset,
                  const void *value, uint32_t len)
{
    struct expr e = expr_begin(nl, "payload");

    sbx_nl_be32(nl, NFTA_PAYLOAD_DREG, NFT_REG_1);
    sbx_nl_be32(nl, NFTA_PAYLOAD_BASE, base);
    sbx_nl_be32(nl, NFTA_PAYLOAD_OFFSET, offset);
    sbx_nl_be32(nl, NFTA_PAYLOAD_LEN, len);
    expr_end(nl, e);
    compare(nl, NFT_CMP_EQ, value, len);
}

void sbx_on_port(struct sbx_nl *nl, uint32_t offset, uint16_t port)
{
    uint16_t wire = htons(port);

    sbx_on_bytes(nl, NFT_PAYLOAD_TRANSPORT_HEADER, offset, &wire, sizeof(wire));
}

static void fib(struct sbx_nl *nl, uint32_t result, uint32_t flags)
{
    struct expr e = expr_begin(nl, "fib");

    sbx_nl_be32(nl, NFTA_FIB_DREG, NFT_REG_1);
    sbx_nl_be32(nl, NFTA_FIB_RESULT, result);
    sbx_nl_be32(nl, NFTA_FIB_FLAGS, flags);
    expr_end(nl, e);
}

void sbx_on_local(struct sbx_nl *nl)
{
    uint32_t local = 2; /* RTN_LOCAL */

    fib(nl, NFT_FIB_RESULT_ADDRTYPE, NFTA_FIB_F_DADDR | NFTA_FIB_F_MARK);
    compare(nl, NFT_CMP_EQ, &local, sizeof(local));
}

void sbx_on_forwardable(struct sbx_nl *nl)
{
    uint8_t yes = 1;

    fib(nl, NFT_FIB_RESULT_OIF, NFTA_FIB_F_DADDR | NFTA_FIB_F_PRESENT | NFTA_FIB_F_MARK);
    compare(nl, NFT_CMP_EQ, &yes, sizeof(yes));
}

static void verdict(struct sbx_nl *nl, uint32_t code)
{
    struct expr e = expr_begin(nl, "immediate");
    size_t data, inner;

    sbx_nl_be32(nl, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    data = sbx_nl_nest(nl, NFTA_IMMEDIATE_DATA);
    inner = sbx_nl_nest(nl, NFTA_DATA_VERDICT);
    sbx_nl_be32(nl, NFTA_VERDICT_CODE, code);
    sbx_nl_nest_end(nl, inner);
    sbx_nl_nest_end(nl, data);
    expr_end(nl, e);
}

void sbx_do_accept(struct sbx_nl *nl) { verdict(nl, NF_ACCEPT); }

void sbx_do_drop(struct sbx_nl *nl) { verdict(nl, NF_DROP); }

void sbx_do_mark(struct sbx_nl *nl, uint32_t mark)
{
    struct expr e;

    immediate(nl, NFT_REG_1, &mark, sizeof(mark));
    e = expr_begin(nl, "meta");
    sbx_nl_be32(nl, NFTA_META_KEY, NFT_META_MARK);
    sbx_nl_be32(nl, NFTA_META_SREG, NFT_REG_1);
    expr_end(nl, e);
}

void sbx_do_reset(struct sbx_nl *nl)
{
    struct expr e = expr_begin(nl, "reject");

    sbx_nl_be32(nl, NFTA_REJECT_TYPE, NFT_REJECT_TCP_RST);
    sbx_nl_u8(nl, NFTA_REJECT_ICMP_CODE, 0);
    expr_end(nl, e);
}

void sbx_do_tproxy(struct sbx_nl *nl, uint8_t family, const void *addr, uint32_t len, uint16_t port)
{
    uint16_t wire = htons(port);
    struct expr e;

    immediate(nl, NFT_REG_1, addr, len);
    immediate(nl, NFT_REG_2, &wire, sizeof(wire));
    e = expr_begin(nl, "tproxy");
    sbx_nl_be32(nl, NFTA_TPROXY_FAMILY, family);
    sbx_nl_be32(nl, NFTA_TPROXY_REG_ADDR, NFT_REG_1);
    sbx_nl_be32(nl, NFTA_TPROXY_REG_PORT, NFT_REG_2);
    expr_end(nl, e);
}

void sbx_do_udp_port(struct sbx_nl *nl, uint32_t offset, uint16_t port)
{
    uint16_t wire = htons(port);
    struct expr e;

    immediate(nl, NFT_REG_1, &wire, sizeof(wire));
    e = expr_begin(nl, "payload");
    sbx_nl_be32(nl, NFTA_PAYLOAD_SREG, NFT_REG_1);
    sbx_nl_be32(nl, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_TRANSPORT_HEADER);
    sbx_nl_be32(nl, NFTA_PAYLOAD_OFFSET, offset);
    sbx_nl_be32(nl, NFTA_PAYLOAD_LEN, sizeof(wire));
    sbx_nl_be32(nl, NFTA_PAYLOAD_CSUM_TYPE, NFT_PAYLOAD_CSUM_INET);
    sbx_nl_be32(nl, NFTA_PAYLOAD_CSUM_OFFSET, 6); /* of the UDP header */
    expr_end(nl, e);
}
