#include <string.h>

#include "out.h"
#include "policy_rules.h"
#include "sbx/policy_json.h"
#include "session.h"
#include "verbs.h"

struct check_opts {
    const char *sandbox, *protocol;
    bool verbose;
};

static const char *const protocols[] = { "tcp", "udp", NULL };

static const struct sbx_opt rows[] = {
    SBX_TEXT(struct check_opts, sandbox, "sandbox", 0, "NAME",
             "Ask the gate of this sandbox, kits included"),
    SBX_TEXT(struct check_opts, protocol, "protocol", 0, "PROTOCOL",
             "tcp (default); udp is always denied", .choices = protocols),
    SBX_SWITCH(struct check_opts, verbose, "verbose", 0, "Name the rule that decides"), SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };

/* What of TARGET is host and port: a URL gives both, and its scheme the port. */
struct target {
    const char *text;
    size_t len;
    uint16_t port;
};

static enum sbx_code from_url(const char *text, struct target *t, struct sbx_err *err)
{
    const char *colons = strstr(text, "://"), *at;

    *t = (struct target){ text, strlen(text), 443 };
    if (!colons)
        return SBX_OK;
    if (!strncasecmp(text, "http:", 5))
        t->port = 80;
    else if (strncasecmp(text, "https:", 6))
        t->port = 0;
    t->text = colons + 3;
    t->len = strcspn(t->text, "/?#");
    at = memrchr(t->text, '@', t->len);
    if (at) {
        t->len -= (size_t)(at + 1 - t->text);
        t->text = at + 1;
    }
    /* "[v6]" and "[v6]:port": only a colon behind the bracket is a port. */
    at = memrchr(t->text, ':', t->len);
    if (!t->port && (!at || memchr(at, ']', t->len - (size_t)(at - t->text))))
        return sbx_err_set(err, SBX_USAGE, "%s: which port? Write HOST:PORT", text);
    return SBX_OK;
}

static json_t *answer_json(const char *target, const char *context, const char *value,
                           const struct sbx_verdict *v, bool allowed, const char *reason)
{
    return json_pack("{s:b,s:o,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "allowed", (int)allowed,
                     "deny_kind",
                     allowed ? json_null() : json_string(v->rule ? "explicit" : "implicit"),
                     "context", context, "action", "net:connect:tcp", "resource_type", "net:domain",
                     "resource_value", value, "target", target, "type", "network", "reason", reason,
                     "rule", v->rule ? json_string(v->rule->id) : json_null(), "origin",
                     v->rule ? json_string(v->rule->origin) : json_null());
}

static enum sbx_code print(struct sbx_cli *cli, const struct sbx_policy *p,
                           const struct sbx_host *host, uint16_t port, struct sbx_err *err)
{
    const struct check_opts *o = cli->options;
    struct sbx_verdict v = sbx_policy_judge(p, host, port);
    bool udp = o->protocol && !strcmp(o->protocol, "udp"),
         allowed = v.decision == SBX_ALLOW && !udp;
    const char *reason = udp ? "udp" : v.reason;
    const char *value = sbx_arena_printf(
        cli->arena, host->kind == SBX_HOST_IPV6 ? "[%s]:%u" : "%s:%u", host->text, port);
    char why[SBX_EXPLAIN_MAX];

    cli->status = allowed ? 0 : sbx_code_exit(SBX_DENIED);
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli,
                             answer_json(cli->args.v[0], o->sandbox ? o->sandbox : "global", value,
                                         &v, allowed, reason),
                             err);
    fprintf(cli->out, "%s: %s\n", allowed ? "Allowed" : "Denied", value);
    if (o->verbose && v.rule)
        fprintf(cli->out, "Rule: %s (%s) %s\n", v.rule->id, v.rule->origin, v.rule->text);
    if (udp)
        fprintf(cli->out, "Reason: UDP is not forwarded\n");
    else if (!allowed) {
        sbx_verdict_explain(p, &v, host, port, why);
        fprintf(cli->out, "Reason: %s\n", sbx_out_clean(cli->arena, why));
    }
    return SBX_OK;
}

static enum sbx_code check(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct check_opts *o = cli->options;
    SBX_AUTO_PTR(sbx_policy) p = NULL;
    SBX_AUTO_JSON json_t *config = NULL;
    struct sbx_host host;
    struct target t;
    uint16_t port;
    enum sbx_code rc = from_url(cli->args.v[0], &t, err);

    if (!rc && sbx_target_parse(t.text, t.len, t.port, &host, &port, err))
        rc = sbx_err_wrap(err, SBX_USAGE, "%s", cli->args.v[0]);
    if (!rc)
        rc = sbx_rules_of(cli, o->sandbox, &config, err);
    if (!rc)
        rc = sbx_policy_from_json(json_object_get(config, "rules"),
                                  json_object_get(config, "publicTestRanges"), &p, err);
    return rc ? rc : print(cli, p, &host, port, err);
}

static const struct sbx_verb v_network = {
    .name = "network",
    .summary = "Would a connection be allowed?",
    .args = "TARGET",
    .about = "TARGET is HOST, HOST:PORT, an address or a URL; the port is 443 where none is given. "
             "The answer is\n"
             "the gate's own, by name and port; the addresses of a name are judged again when it "
             "connects.\n"
             "Exit status 0: allowed, 4: denied.",
    .example = "sbx policy check network api.example.com\n"
               "sbx policy check network --sandbox my-sandbox http://deb.debian.org/",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct check_opts),
    .min = 1,
    .max = 1,
    .run = check,
};
static const struct sbx_verb *const subs[] = { &v_network };

const struct sbx_verb sbx_verb_policy_check = {
    .name = "check",
    .summary = "Ask the policy",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
