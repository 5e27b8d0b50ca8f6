/* What the DNS doors answer (N6, N14). See dns.h. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dns.h"

#define IN 1 /* the class */
#define GATE_NAME "gateway.docker.internal"
#define HOST_NAME "host.docker.internal"

struct reply {
    enum sbx_dns_code code;
    bool has_data;
    struct sbx_dns_data data;
    const char *reason; /* of a record; NULL: none is written */
    const struct sbx_rule *rule;
};

static void log_query(struct sbx_gate *g, const struct sbx_dns_query *q, enum sbx_dns_kind kind,
                      const struct reply *r)
{
    char type[12];
    struct sbx_record record = {
        .door = "dns",
        .proxy = "network",
        .protocol = "dns",
        .method = kind == SBX_DNS_QUERY ? sbx_dns_type_name(q->type, type) : NULL,
        /* of those that were only too many, one stands for all */
        .host = *q->name && r->code != SBX_DNS_SERVFAIL ? q->name : NULL,
        .decision = r->code == SBX_DNS_SERVFAIL ? "error" : "deny",
        .rule = r->rule ? r->rule->id : NULL,
        .origin = r->rule ? r->rule->origin : NULL,
        .reason = r->reason,
    };

    sbx_log(&g->log, &record);
}

static void put_address(struct reply *r, const struct in6_addr *a, uint16_t type)
{
    size_t skip = type == SBX_DNS_A ? 12 : 0;

    r->data.len = 16 - skip;
    memcpy(r->data.bytes, a->s6_addr + skip, r->data.len);
    r->has_data = true;
}

static void put_v4(struct reply *r, uint32_t v4)
{
    struct in6_addr a = { .s6_addr = { [12] = (uint8_t)(v4 >> 24), (uint8_t)(v4 >> 16),
                                       (uint8_t)(v4 >> 8), (uint8_t)v4 } };

    put_address(r, &a, SBX_DNS_A);
}

static struct reply refuse(const char *reason)
{
    return (struct reply){ .code = SBX_DNS_REFUSED, .reason = reason };
}

/* The addresses of names that are always the same; RFC 6761 for localhost. */
static bool fixed(const char *name, uint16_t type, struct reply *r)
{
    static const struct in6_addr loopback = IN6ADDR_LOOPBACK_INIT;
    size_t len = strlen(name);

    if (strcmp(name, "localhost") == 0 || (len > 10 && strcmp(name + len - 10, ".localhost") == 0)) {
        if (type == SBX_DNS_A)
            put_v4(r, INADDR_LOOPBACK);
        else if (type == SBX_DNS_AAAA)
            put_address(r, &loopback, type);
        return true;
    }
    if (strcmp(name, GATE_NAME) != 0)
        return false;
    if (type == SBX_DNS_A)
        put_v4(r, SBX_GATE_ADDRESS);
    return true;
}

static void give_address(struct sbx_gate *g, const char *name, struct reply *r)
{
    struct in6_addr a;

    if (strcmp(name, HOST_NAME) == 0) { /* as in /etc/hosts, for those who do not read it */
        put_v4(r, SBX_HOST_ADDRESS);
        return;
    }
    switch (sbx_names_give(g->names, name, g->loop.now, &a)) {
    case SBX_NAME_GIVEN:
        put_address(r, &a, SBX_DNS_A);
        return;
    case SBX_NAME_FULL:
        r->reason = "too-many-names";
        break;
    case SBX_NAME_EARLY:
        r->reason = "too-many-new-names";
        break;
    case SBX_NAME_FAILED:
        r->reason = "map-failed";
        break;
    }
    r->code = SBX_DNS_SERVFAIL;
}

/* Why no port of the name is allowed: what the gate would say to a connection. */
static struct reply refuse_name(struct sbx_gate *g, const struct sbx_host *host)
{
    struct sbx_verdict v = sbx_policy_judge(g->config->policy, host, 443);
    struct reply r = refuse(v.decision == SBX_DENY ? v.reason : "default-deny");

    r.rule = v.rule;
    return r;
}

static struct reply about_name(struct sbx_gate *g, const struct sbx_dns_query *q)
{
    struct reply r = { .code = SBX_DNS_NOERROR };
    struct sbx_host host;

    if (sbx_host_parse(q->name, strlen(q->name), &host, NULL))
        return refuse("bad-name");
    if (host.kind != SBX_HOST_NAME)
        return refuse("not-a-name");
    if (fixed(host.text, q->type, &r))
        return r;
    if (!sbx_config_could_allow(g->config, &host))
        return refuse_name(g, &host);
    switch (q->type) {
    case SBX_DNS_A:
        give_address(g, host.text, &r);
        return r;
    case SBX_DNS_AAAA:  /* the name has IPv4 only: connections are made by the gate anyhow */
    case SBX_DNS_SVCB:
    case SBX_DNS_HTTPS: /* no key for an encrypted hello, no hint at HTTP/3 (GC B15) */
        return r;
    default:
        return refuse("record-type");
    }
}

/* "4.3.2.1.in-addr.arpa" as 1.2.3.4. */
static bool read_reverse(const char *name, struct in6_addr *ret)
{
    *ret = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
    for (unsigned i = 16; i-- > 12;) {
        char *end;
        unsigned long v = strtoul(name, &end, 10);

        if (end == name || end - name > 3 || *end != '.' || v > 255 || *name < '0' || *name > '9')
            return false;
        ret->s6_addr[i] = (uint8_t)v;
        name = end + 1;
    }
    return strcasecmp(name, "in-addr.arpa") == 0;
}

static struct reply about_address(struct sbx_gate *g, const struct sbx_dns_query *q)
{
    struct reply r = { .code = SBX_DNS_NOERROR };
    struct in6_addr a;
    const char *name;

    if (!read_reverse(q->name, &a) || !sbx_names_in_range(&a))
        return refuse("record-type");
    name = sbx_names_find(g->names, &a);
    if (name && !sbx_dns_put_name(&r.data, name))
        r.has_data = true;
    else
        r.code = SBX_DNS_NXDOMAIN;
    return r;
}

size_t sbx_dns_answer(struct sbx_gate *g, const uint8_t *msg, size_t len, uint8_t *out)
{
    struct sbx_dns_query q;
    enum sbx_dns_kind kind = sbx_dns_parse(msg, len, &q);
    struct reply r = { .code = kind == SBX_DNS_OTHER ? SBX_DNS_NOTIMP : SBX_DNS_FORMERR,
                       .reason = "dns-malformed" };

    if (kind == SBX_DNS_QUERY) {
        sbx_gate_refresh(g);
        if (q.class != IN)
            r = refuse("record-type");
        else
            r = q.type == SBX_DNS_PTR ? about_address(g, &q) : about_name(g, &q);
    }
    if (r.reason)
        log_query(g, &q, kind, &r);
    else
        g->dns_answered++;
    if (kind == SBX_DNS_DROP)
        return 0;
    return sbx_dns_reply(msg, &q, r.code, r.has_data ? &r.data : NULL, out);
}
