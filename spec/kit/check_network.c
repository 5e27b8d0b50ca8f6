/* Host patterns, and whether the hosts that get credentials may be reached at all (S2, S9). */
#include <string.h>

#include "check.h"
#include "sbx/policy.h"

void sbx_check_pattern(struct sbx_checker *c, const char *const *place, const char *value)
{
    struct sbx_err err = SBX_ERR_INIT;
    const char *inert = NULL;
    struct sbx_pattern p;

    if (sbx_pattern_parse(value, SBX_RULE_KIT, &p, &inert, &err))
        sbx_check_report(c, SBX_ERROR, "bad-pattern", place, NULL, NULL, "%s", err.text);
    else if (inert)
        sbx_check_report(c, SBX_WARNING, "pattern-never-matches", place, NULL, inert,
                         "never matches a request (%.200s)", value);
}

static bool covered(const struct sbx_checker *c, const struct sbx_pattern *host)
{
    for (size_t i = 0; i < c->a->allow.len; i++) {
        struct sbx_pattern p;

        if (!sbx_pattern_parse(c->a->allow.v[i], SBX_RULE_KIT, &p, NULL, NULL) &&
            sbx_pattern_covers(&p, host))
            return true;
    }
    return false;
}

/* Requests go to port 443 unless the domain names another, so a rule for that port is enough. */
static void check_domain(struct sbx_checker *c, const char *domain, const void *field,
                         const char *key)
{
    bool old = c->a->schema_version && !strcmp(c->a->schema_version, "1");
    struct sbx_pattern host;

    if (!domain || !*domain || sbx_pattern_parse(domain, SBX_RULE_KIT, &host, NULL, NULL))
        return;
    if (host.port_lo == 0 && host.port_hi == 65535)
        host.port_lo = host.port_hi = 443;
    if (covered(c, &host))
        return;
    sbx_check_report(c, c->composed && !old ? SBX_ERROR : SBX_WARNING, "uncovered-domain", field,
                     key, "add it to permissions.network.allow",
                     "no allow rule covers this host (%.200s)", domain);
}

static void check_oauth_hosts(struct sbx_checker *c, const struct sbx_oauth *o)
{
    c->near = &o->at;
    check_domain(c, o->token_host, &o->token_host, "oauth.tokenEndpoint.host");
    for (size_t i = 0; i < o->resource_hosts.len; i++) {
        size_t mark = sbx_check_enter(c, ".oauth.resourceHosts[%zu]", i);

        c->near = o->resource_hosts.at ? &o->resource_hosts.at[i] : &o->at;
        check_domain(c, o->resource_hosts.v[i], NULL, NULL);
        sbx_check_leave(c, mark);
    }
}

void sbx_check_coverage(struct sbx_checker *c)
{
    for (size_t i = 0; i < c->a->credentials.len; i++) {
        const struct sbx_credential *cred = &c->a->credentials.v[i];
        size_t mark = sbx_check_enter(c, "credentials[%zu]", i);

        for (size_t k = 0; k < cred->api_key.inject.len; k++) {
            const struct sbx_inject *inject = &cred->api_key.inject.v[k];
            size_t inner = sbx_check_enter(c, ".apiKey.inject[%zu]", k);

            c->near = &inject->at;
            check_domain(c, inject->domain, &inject->domain, "domain");
            sbx_check_leave(c, inner);
        }
        if (cred->oauth.set)
            check_oauth_hosts(c, &cred->oauth);
        sbx_check_leave(c, mark);
    }
    c->near = NULL;
}
