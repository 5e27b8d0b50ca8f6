/* Names of environment variables: reserved ones (S10), and ones that the engine may override. */
#include <string.h>

#include "check.h"

static bool starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

void sbx_check_reserved(struct sbx_checker *c, const void *field, const char *key, const char *name)
{
    static const char *const prefixes[] = { "DASH_", "SBX_", "DOCKER_" };
    bool old = sbx_check_is_old(c);

    for (size_t i = 0; i < SBX_ARRAY_LEN(prefixes); i++)
        if (starts(name, prefixes[i]))
            sbx_check_report(c, old ? SBX_WARNING : SBX_ERROR, "reserved-variable", field, key,
                             "choose a name that does not begin with DASH_, SBX_ or DOCKER_",
                             "is reserved for the runtime (%.80s)", name);
}

static bool is_proxy_name(const char *name)
{
    static const char *const names[] = {
        "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy",
        "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
        "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

static bool is_risky(const char *name)
{
    static const char *const names[] = { "HOME", "USER", "SHELL", "PATH" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return starts(name, "LD_");
}

static void check_variable(struct sbx_checker *c, const struct sbx_pair *p)
{
    size_t mark = sbx_check_enter(c, ".", p->name);

    if (!sbx_is_shell_name(p->name))
        sbx_check_report(c, SBX_ERROR, "bad-variable", NULL, NULL,
                         "use letters, digits and \"_\", no digit first",
                         "not the name of a variable");
    sbx_check_reserved(c, NULL, NULL, p->name);
    if (is_risky(p->name))
        sbx_check_report(c, SBX_WARNING, "risky-variable", NULL, NULL, NULL,
                         "the runtime may override it");
    else if (is_proxy_name(p->name) && !*p->value)
        sbx_check_report(c, SBX_WARNING, "risky-variable", NULL, NULL,
                         "remove it: the gate is the only way out", "an empty value turns no proxy off");
    else if (is_proxy_name(p->name))
        sbx_check_report(c, SBX_WARNING, "risky-variable", NULL, NULL, NULL,
                         "the engine's own value counts; NO_PROXY is merged with it");
    sbx_check_leave(c, mark);
}

void sbx_check_environment(struct sbx_checker *c)
{
    size_t mark = sbx_check_enter(c, "environment.variables", "");

    for (size_t i = 0; i < c->a->variables.len; i++) {
        c->near = &c->a->variables.v[i].at;
        check_variable(c, &c->a->variables.v[i]);
    }
    c->near = NULL;
    sbx_check_leave(c, mark);
}
