/* The verdict on a request: by name and port, then by each address. See gate.h. */
#include <string.h>

#include "intercept.h"

/* Columns that users of such tools know: how the connection came, and what it speaks. */
static const char *way(const struct sbx_conn *c)
{
    enum sbx_seen seen = c->asked.seen;

    if (c->transparent)
        return c->inter || seen == SBX_SEEN_TLS || seen == SBX_SEEN_HTTP ? "transparent" : "network";
    return c->asked.connect && !c->inter ? "forward-bypass" : "forward";
}

static const char *protocol(const struct sbx_conn *c)
{
    if (c->inter && !c->asked.connect)
        return "https";
    if (!c->transparent)
        return c->asked.connect ? "connect" : "http";
    return c->asked.seen == SBX_SEEN_TLS ? "tls" : c->asked.seen == SBX_SEEN_HTTP ? "http" : "tcp";
}

struct sbx_record sbx_record_of(const struct sbx_conn *c, bool dialled)
{
    const struct sbx_asked *a = &c->asked;
    const struct sbx_rule *rule = a->verdict.rule;

    return (struct sbx_record){
        .door = c->transparent ? "transparent" : "proxy",
        .proxy = way(c),
        .protocol = protocol(c),
        .method = *a->method ? a->method : NULL,
        .host = *a->host.text ? a->host.text : NULL,
        .port = a->port,
        .address = dialled && !a->via ? &c->address : NULL,
        .address_text = dialled && a->via ? "upstream" : NULL,
        .rule = rule ? rule->id : NULL,
        .origin = rule ? rule->origin : NULL,
        .ech = a->ech,
        .request = a->number,
    };
}

bool sbx_log_asked(struct sbx_conn *c, const char *decision, const char *reason, unsigned status)
{
    struct sbx_asked *a = &c->asked;
    bool allowed = strcmp(decision, "allow") == 0;
    struct sbx_record r;

    if (a->logged)
        return !a->unlogged;
    if (allowed)
        a->number = ++c->gate->requests;
    r = sbx_record_of(c, allowed);
    r.decision = decision;
    r.reason = reason;
    r.status = status;
    a->logged = true;
    if (sbx_log(&c->gate->log, &r)) {
        a->open |= allowed;
        return true;
    }
    a->unlogged = true;
    r.decision = "error";
    r.reason = "log-unavailable";
    r.status = a->connect ? 0 : 503;
    sbx_log(&c->gate->log, &r);
    return false;
}

void sbx_log_end(struct sbx_conn *c)
{
    struct sbx_asked *a = &c->asked;
    struct sbx_record r;

    if (!a->open)
        return;
    a->open = false;
    r = sbx_record_of(c, true);
    r.event = "close";
    r.reason = a->verdict.reason;
    r.bytes_in = a->bytes_in;
    r.bytes_out = a->bytes_out;
    r.duration_ms = c->gate->loop.now - a->began;
    sbx_log_event(&c->gate->log, &r);
}

void sbx_asked_clear(struct sbx_conn *c)
{
    sbx_log_end(c);
    if (c->asked.dest)
        sbx_dest_give(c->gate, c->asked.dest);
    sbx_config_unref(c->asked.config);
    memset(&c->asked, 0, sizeof(c->asked));
}

/* Keep the good addresses of a set (GC B2). None: the verdict on the first is the answer. */
static void judge_addresses(struct sbx_conn *c, const struct sbx_addresses *all)
{
    struct sbx_asked *a = &c->asked;
    struct sbx_verdict first = { .decision = SBX_DENY, .reason = "no-address" };

    a->addresses.len = 0;
    for (size_t i = 0; i < all->len; i++) {
        struct sbx_verdict v = sbx_policy_judge_address(a->config->policy, &all->v[i], a->port);

        if (v.decision == SBX_ALLOW)
            a->addresses.v[a->addresses.len++] = all->v[i];
        else if (i == 0)
            first = v;
    }
    if (a->addresses.len)
        sbx_dial_start(c);
    else
        sbx_answer_denied(c, &first);
}

/* Those of this machine's own proxy are not the sandbox's to be judged for. */
static void take_addresses(struct sbx_conn *c, const struct sbx_addresses *all)
{
    if (c->asked.via) {
        c->asked.addresses = *all;
        sbx_dial_start(c);
    } else {
        judge_addresses(c, all);
    }
}

static const char *name_to_resolve(const struct sbx_asked *a)
{
    return a->via ? a->via->host.text : a->host.text;
}

static void on_resolved(struct sbx_waiter *w, enum sbx_resolved result,
                        const struct sbx_addresses *addresses)
{
    struct sbx_conn *c = sbx_container_of(w, struct sbx_conn, waiter);

    if (result == SBX_RESOLVED) {
        sbx_cache_put(c->gate->cache, name_to_resolve(&c->asked), addresses, c->gate->loop.now);
        take_addresses(c, addresses);
    } else if (c->asked.via) {
        sbx_answer_error(c, 502, "upstream-not-found",
                         "the name of this machine's proxy cannot be resolved");
    } else if (result == SBX_RESOLVED_NONE) {
        sbx_answer_error(c, 502, "name-not-found", "the host's resolver knows no such name");
    } else {
        sbx_answer_error(c, 504, "resolve-failed", "the host's resolver failed");
    }
}

static void resolve(struct sbx_conn *c)
{
    const char *name = name_to_resolve(&c->asked);
    const struct sbx_addresses *given = sbx_config_find(c->asked.config, name);

    if (!given)
        given = sbx_cache_find(c->gate->cache, name, c->gate->loop.now);
    if (given) {
        take_addresses(c, given);
        return;
    }
    c->state = SBX_CONN_RESOLVING;
    c->waiter.on = on_resolved;
    if (sbx_resolve(c->gate->resolver, name, &c->waiter)) {
        sbx_answer_error(c, 503, "too-many-lookups", "too many names are being resolved");
        return;
    }
    sbx_conn_arm(c, SBX_GATE_RESOLVE_MS);
}

/* Names with addresses in gate.json are dialled, and so is this machine. */
static void choose_upstream(struct sbx_conn *c)
{
    struct sbx_asked *a = &c->asked;

    if (!a->verdict.host_resource && !sbx_config_find(a->config, a->host.text))
        a->via = sbx_upstream_for(c->gate->upstream, &a->host, a->port, a->connect || c->inter);
}

/* Through the proxy of this machine: by name, whose addresses only that one sees (N26). A literal
 * address is judged here as ever. */
static bool go_upstream(struct sbx_conn *c)
{
    struct sbx_asked *a = &c->asked;
    struct sbx_addresses proxy = { .len = 1 };

    if (!a->via)
        return false;
    if (a->host.kind != SBX_HOST_NAME) {
        struct sbx_verdict v = sbx_policy_judge_address(a->config->policy, &a->host.address, a->port);

        if (v.decision != SBX_ALLOW) {
            sbx_answer_denied(c, &v);
            return true;
        }
    }
    if (a->via->host.kind == SBX_HOST_NAME) {
        resolve(c);
    } else {
        proxy.v[0] = a->via->host.address;
        take_addresses(c, &proxy);
    }
    return true;
}

static const struct in6_addr host_loopback = { .s6_addr = { [10] = 0xff, [11] = 0xff, [12] = 127,
                                                            [15] = 1 } };

static struct sbx_conn *find_to(const struct sbx_list *list, const struct sbx_conn *but)
{
    for (struct sbx_list *n = list->next; n != list; n = n->next) {
        struct sbx_conn *other = sbx_container_of(n, struct sbx_conn, node);

        if (other != but && other->asked.dest == but->asked.dest)
            return other;
    }
    return NULL;
}

/* N18: over the cap of one destination the oldest that waits for it goes, then the one idle for longest, else
 * the newcomer. */
static bool admit(struct sbx_conn *c)
{
    struct sbx_gate *g = c->gate;
    struct sbx_asked *a = &c->asked;
    struct sbx_conn *other;

    a->dest = sbx_dest_take(g, a->host.text, a->port);
    if (!a->dest)
        return false;
    if (a->dest->count <= a->config->tunnels_per_host)
        return true;
    other = find_to(&g->pending, c);
    if (other) {
        sbx_log_asked(other, "error", "too-many-tunnels", 0);
        sbx_conn_close(other, true);
        return true;
    }
    other = find_to(&g->idle, c);
    if (other)
        sbx_session_leave(other);
    return other;
}

/* A request in an intercepted connection: are its rule and the value still there? False: answered. */
static bool may_inject(struct sbx_conn *c)
{
    size_t n = 0;

    if (!sbx_intercept_rules(c, c->asked.config, &n)) {
        sbx_log_asked(c, "deny", "policy-changed", 0);
        sbx_conn_close(c, false); /* the client comes again, and is not intercepted then */
        return false;
    }
    if (sbx_intercept_ready(c))
        return true;
    sbx_answer_error(c, 503, "no-credential", sbx_fault_text("no-credential"));
    return false;
}

void sbx_judge_dial(struct sbx_conn *c)
{
    struct sbx_asked *a = &c->asked;
    struct sbx_addresses one = { .len = 1 };

    if (go_upstream(c))
        return;
    if (a->verdict.host_resource) { /* N2: the host's own loopback, nothing to resolve or judge */
        a->addresses.len = 1;
        a->addresses.v[0] = host_loopback;
        sbx_dial_start(c);
    } else if (a->host.kind != SBX_HOST_NAME) {
        one.v[0] = a->host.address;
        judge_addresses(c, &one);
    } else {
        resolve(c);
    }
}

/* By name and port, under the rules of now. False: answered. */
static bool judge_name(struct sbx_conn *c)
{
    struct sbx_asked *a = &c->asked;

    sbx_config_unref(a->config);
    a->config = sbx_config_ref(c->gate->config);
    a->verdict = sbx_config_judge(a->config, &a->host, a->port);
    if (a->verdict.decision != SBX_ALLOW)
        sbx_answer_denied(c, &a->verdict);
    return a->verdict.decision == SBX_ALLOW;
}

void sbx_judge_start(struct sbx_conn *c)
{
    sbx_gate_refresh(c->gate);
    if (!judge_name(c))
        return;
    if (!admit(c)) {
        if (c->asked.dest)
            sbx_answer_error(c, 503, "too-many-tunnels", "too many connections to this host");
        else
            sbx_answer_error(c, 503, "no-memory", sbx_fault_text("no-memory"));
        return;
    }
    c->state = SBX_CONN_ADMITTED;
    if (c->inter || sbx_conn_class(c) <= c->turn.class)
        sbx_judge_run(c);
    else
        sbx_conn_wake(c);
}

void sbx_judge_run(struct sbx_conn *c)
{
    if (c->asked.config != c->gate->config && !judge_name(c))
        return;
    choose_upstream(c); /* before a kept server is used: it says whose addresses those are */
    if (!c->inter || (may_inject(c) && !sbx_dial_reuse(c)))
        sbx_judge_dial(c);
}

bool sbx_judge_again(struct sbx_conn *c)
{
    struct sbx_asked *a = &c->asked;
    struct sbx_config *now = c->gate->config;
    struct sbx_verdict v;
    size_t n = 0;

    if (a->config == now)
        return true;
    v = sbx_config_judge(now, &a->host, a->port);
    if (v.decision == SBX_ALLOW && v.host_resource != a->verdict.host_resource)
        v = (struct sbx_verdict){ .decision = SBX_DENY, .reason = "policy-changed" };
    if (v.decision == SBX_ALLOW && !v.host_resource && !(a->via && a->host.kind == SBX_HOST_NAME)) {
        struct sbx_verdict by_address = sbx_policy_judge_address(
            now->policy, a->via ? &a->host.address : &c->address, a->port);

        if (by_address.decision != SBX_ALLOW)
            v = by_address;
    }
    if (v.decision == SBX_ALLOW && c->inter && !sbx_intercept_rules(c, now, &n))
        v = (struct sbx_verdict){ .decision = SBX_DENY, .reason = "policy-changed" };
    a->verdict = v;
    sbx_config_ref(now);
    sbx_config_unref(a->config);
    a->config = now;
    return v.decision == SBX_ALLOW;
}
