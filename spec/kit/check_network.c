/* Host patterns, and whether the hosts that get credentials may be reached at all (S2, S9). */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sbx/policy.h"

void sbx_check_pattern(struct sbx_checker *c, const char *const *place, const char *value)
{
    struct sbx_err err = SBX_ERR_INIT;
    const char *inert = NULL;
    struct sbx_pattern p;

    enum sbx_code rc = sbx_pattern_parse(value, SBX_RULE_KIT, &p, &inert, &err);

    c->diags->no_memory |= rc == SBX_NO_MEMORY;
    if (rc)
        sbx_check_report(c, SBX_ERROR, "bad-pattern", place, NULL, NULL, "%s", err.text);
    else if (inert)
        sbx_check_report(c, SBX_WARNING, "pattern-never-matches", place, NULL, inert,
                         "never matches a request (%.200s)", value);
}

/* The allow rules, parsed once. */
struct allowed {
    struct sbx_pattern *v;
    size_t len;
};

static bool parse_allowed(const struct sbx_checker *c, struct allowed *out)
{
    out->v = calloc(c->a->allow.len ? c->a->allow.len : 1, sizeof(*out->v));
    out->len = 0;
    for (size_t i = 0; out->v && i < c->a->allow.len; i++) {
        enum sbx_code rc = sbx_pattern_parse(c->a->allow.v[i], SBX_RULE_KIT, &out->v[out->len], NULL,
                                             NULL);

        c->diags->no_memory |= rc == SBX_NO_MEMORY;
        out->len += rc == SBX_OK;
    }
    c->diags->no_memory |= !out->v;
    return out->v != NULL;
}

static bool covered(const struct allowed *allowed, const struct sbx_pattern *host)
{
    for (size_t i = 0; i < allowed->len; i++)
        if (sbx_pattern_covers(&allowed->v[i], host))
            return true;
    return false;
}

/* Requests go to port 443 unless the domain names another, so a rule for that port is enough. */
static void check_domain(struct sbx_checker *c, const struct allowed *allowed, const char *domain,
                         const void *field, const char *key)
{
    bool old = sbx_check_is_old(c);
    struct sbx_pattern host;

    enum sbx_code rc;

    if (!domain || !*domain)
        return;
    rc = sbx_pattern_parse(domain, SBX_RULE_KIT, &host, NULL, NULL);
    c->diags->no_memory |= rc == SBX_NO_MEMORY;
    if (rc)
        return;
    if (host.port_lo == 0 && host.port_hi == 65535)
        host.port_lo = host.port_hi = 443;
    if (covered(allowed, &host))
        return;
    sbx_check_report(c, c->composed && !old ? SBX_ERROR : SBX_WARNING, "uncovered-domain", field,
                     key, old && !c->composed ? "add it to network.allowedDomains"
                                              : "add it to permissions.network.allow",
                     "no allow rule covers this host (%.200s)", domain);
}

static void check_oauth_hosts(struct sbx_checker *c, const struct allowed *allowed,
                              const struct sbx_oauth *o)
{
    c->near = &o->at;
    check_domain(c, allowed, o->token_host, &o->token_host, "oauth.tokenEndpoint.host");
    for (size_t i = 0; i < o->resource_hosts.len; i++) {
        size_t mark = sbx_check_enter_index(c, ".oauth.resourceHosts", i);

        c->near = o->resource_hosts.at ? &o->resource_hosts.at[i] : &o->at;
        check_domain(c, allowed, o->resource_hosts.v[i], NULL, NULL);
        sbx_check_leave(c, mark);
    }
}

static void check_credential(struct sbx_checker *c, const struct allowed *allowed,
                             const struct sbx_credential *cred)
{
    for (size_t k = 0; k < cred->api_key.inject.len; k++) {
        const struct sbx_inject *inject = &cred->api_key.inject.v[k];
        size_t mark = sbx_check_enter_index(c, ".apiKey.inject", k);

        c->near = &inject->at;
        check_domain(c, allowed, inject->domain, &inject->domain, "domain");
        sbx_check_leave(c, mark);
    }
    if (cred->oauth.set)
        check_oauth_hosts(c, allowed, &cred->oauth);
}

void sbx_check_coverage(struct sbx_checker *c)
{
    struct allowed allowed;

    if (!c->a->credentials.len)
        return;
    if (!parse_allowed(c, &allowed)) {
        sbx_check_report(c, SBX_ERROR, "no-memory", NULL, "credentials", NULL, "no memory");
        return;
    }
    for (size_t i = 0; i < c->a->credentials.len; i++) {
        size_t mark = sbx_check_enter_index(c, "credentials", i);

        check_credential(c, &allowed, &c->a->credentials.v[i]);
        sbx_check_leave(c, mark);
    }
    c->near = NULL;
    free(allowed.v);
}
