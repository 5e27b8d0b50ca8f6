#include <string.h>

#include "check.h"
#include "sbx/provider.h"

static bool given(const char *text)
{
    return text && *text;
}

/* Version 2 asks for more, and composition refuses what is warned of here (S18). */
static void report_unwired(struct sbx_checker *c, const struct sbx_credential *cred)
{
    bool old = sbx_check_is_old(c);

    sbx_check_report(c, old ? SBX_NOTE : SBX_WARNING, "unwired-credential", &cred->service, NULL,
                     old ? "name its hosts in network.serviceDomains" : "add apiKey.inject or oauth",
                     "nothing says where the credential goes, and the service is not in the provider "
                     "registry%s (%.80s)",
                     old ? "" : "; a sandbox is refused with it", cred->service);
}

static void check_service(struct sbx_checker *c, const struct sbx_credential *cred)
{
    if (given(cred->service) && !sbx_is_kit_name(cred->service))
        sbx_check_report(c, SBX_WARNING, "bad-name", &cred->service, "service",
                         "use a-z, 0-9 and \"-\" inside, 1 to 64 characters",
                         "not a service name (%.80s)", cred->service);
    if (given(cred->provider) && !sbx_provider_find(cred->provider))
        sbx_check_report(c, SBX_WARNING, "unknown-provider", &cred->provider, "provider",
                         "write header and format in apiKey.inject",
                         "not in the provider registry (%.80s)", cred->provider);
    if (given(cred->service) && !cred->api_key.inject.len && !cred->oauth.set &&
        !sbx_provider_find(given(cred->provider) ? cred->provider : cred->service))
        report_unwired(c, cred);
}

static void check_inject(struct sbx_checker *c, const struct sbx_inject *i)
{
    const char *colon = i->username ? strchr(i->username, ':') : NULL;

    if (!given(i->header) && !given(i->username))
        sbx_check_report(c, SBX_WARNING, "nothing-injected", NULL, NULL,
                         "add header and format, or username",
                         "puts nothing into requests; it only ties the domain to the service");
    else if (given(i->header) && !given(i->username) && !given(i->format))
        sbx_check_report(c, SBX_WARNING, "bad-format", &i->header, "format",
                         "write the header's value, with %s for the credential",
                         "a header needs a format");
    if (colon)
        sbx_check_report(c, SBX_WARNING, "bad-username", &i->username, "username",
                         "HTTP Basic ends the name at the first colon (RFC 7617)",
                         "holds a colon (%.80s)", i->username);
}

static void check_api_key(struct sbx_checker *c, const struct sbx_api_key *k)
{
    size_t mark = sbx_check_enter(c, ".apiKey", "");

    c->near = &k->at;
    if (!given(k->name))
        sbx_check_report(c, SBX_NOTE, "no-variable", &k->name, "name", NULL,
                         "not given: the agent sees no variable, the gate does all");
    else if (!sbx_is_shell_name(k->name)) /* an error only where a variable will be set (S12) */
        sbx_check_report(c, k->proxy_managed ? SBX_ERROR : SBX_WARNING, "bad-variable", &k->name, "name",
                         "use letters, digits and \"_\", no digit first",
                         "not the name of a variable (%.80s)", k->name);
    else
        sbx_check_reserved(c, &k->name, "name", k->name);
    for (size_t i = 0; i < k->inject.len; i++) {
        size_t inner = sbx_check_enter_index(c, ".inject", i);

        c->near = &k->inject.v[i].at;
        check_inject(c, &k->inject.v[i]);
        sbx_check_leave(c, inner);
    }
    sbx_check_leave(c, mark);
}

static void check_oauth(struct sbx_checker *c, const struct sbx_oauth *o)
{
    size_t mark = sbx_check_enter(c, ".oauth", "");

    c->near = &o->at;
    if (!o->passthrough && (!given(o->sentinel_access) || !given(o->sentinel_refresh)))
        sbx_check_report(c, SBX_ERROR, "missing-field",
                         given(o->sentinel_access) ? &o->sentinel_refresh : &o->sentinel_access,
                         given(o->sentinel_access) ? "sentinels.refreshToken"
                                                   : "sentinels.accessToken",
                         "write what the agent shall see in place of the token", "is required");
    if (o->file_set && !given(o->file_path))
        sbx_check_report(c, SBX_ERROR, "missing-field", &o->file_path, "credentialFile.path",
                         "name the file", "is required");
    if (o->file_set && !given(o->file_template) && !o->file_structure)
        sbx_check_report(c, SBX_ERROR, "missing-field", &o->file_structure,
                         "credentialFile.structure", "write the JSON that the agent reads",
                         "is required");
    if (given(o->file_template))
        sbx_check_report(c, SBX_NOTE, "template-deprecated", &o->file_template,
                         "credentialFile.template", "write structure instead",
                         o->file_structure ? "is not used beside structure"
                                           : "is kept for old kits");
    sbx_check_leave(c, mark);
}

static void check_twice(struct sbx_checker *c, size_t at)
{
    const struct sbx_credential *cred = &c->a->credentials.v[at];

    for (size_t i = 0; i < at; i++) {
        const char *service = c->a->credentials.v[i].service;

        if (!given(service) || !given(cred->service) || strcmp(service, cred->service))
            continue;
        sbx_check_report(c, SBX_ERROR, "same-service", &cred->service, "service",
                         "keep one entry per service", "given twice (%.80s)", service);
        return;
    }
}

void sbx_check_credentials(struct sbx_checker *c)
{
    for (size_t i = 0; i < c->a->credentials.len; i++) {
        const struct sbx_credential *cred = &c->a->credentials.v[i];
        size_t mark = sbx_check_enter_index(c, "credentials", i);

        c->near = &cred->at;
        check_service(c, cred);
        check_twice(c, i);
        if (cred->api_key.set)
            check_api_key(c, &cred->api_key);
        c->near = &cred->at;
        if (cred->oauth.set)
            check_oauth(c, &cred->oauth);
        sbx_check_leave(c, mark);
    }
    c->near = NULL;
}
