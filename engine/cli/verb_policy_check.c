#include <string.h>

#include "out.h"
#include "policy_rules.h"
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
    SBX_SWITCH(struct check_opts, verbose, "verbose", 0,
               "Accepted: the rule that decides is named always", .hidden = true),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };

static json_t *answer_json(const char *target, const char *context, const struct sbx_question *q,
                           bool allowed, bool udp)
{
    const struct sbx_verdict *v = &q->verdict;
    const struct sbx_rule *rule = udp ? NULL : v->rule; /* rules are for TCP */
    json_t *nearest = udp ? json_null() : sbx_question_nearest(q);

    return json_pack("{s:b,s:o,s:s,s:s,s:s,s:s,s:s,s:s?,s:s,s:s,s:o,s:o,s:o}", "allowed",
                     (int)allowed, "deny_kind",
                     allowed ? json_null() : json_string(rule ? "explicit" : "implicit"), "context",
                     context, "action", udp ? "net:connect:udp" : "net:connect:tcp",
                     "resource_type", "net:domain", "resource_value", q->value, "target", target,
                     "address", udp ? NULL : q->address, "type", "network", "reason",
                     udp ? "udp" : v->reason, "rule", rule ? json_string(rule->id) : json_null(),
                     "origin", rule ? json_string(rule->origin) : json_null(), "nearest", nearest);
}

static enum sbx_code print(struct sbx_cli *cli, const struct sbx_question *q, struct sbx_err *err)
{
    const struct check_opts *o = cli->options;
    const struct sbx_verdict *v = &q->verdict;
    bool udp = o->protocol && !strcmp(o->protocol, "udp"),
         allowed = v->decision == SBX_ALLOW && !udp;
    char why[SBX_EXPLAIN_MAX];

    cli->status = allowed ? 0 : sbx_code_exit(SBX_DENIED);
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(
            cli, answer_json(cli->args.v[0], o->sandbox ? o->sandbox : "global", q, allowed, udp),
            err);
    fprintf(cli->out, "%s: %s\n", allowed ? "Allowed" : "Denied", q->value);
    if (v->rule && !udp)
        fprintf(cli->out, "Rule: %s (%s) %s\n", sbx_out_clean(cli->arena, v->rule->id),
                sbx_out_clean(cli->arena, v->rule->origin),
                sbx_out_clean(cli->arena, v->rule->text));
    if (udp)
        fprintf(cli->out, "Reason: UDP is not forwarded\n");
    else if (!v->rule || !allowed) {
        if (q->address)
            fprintf(cli->out, "Address: %s (network.hosts of settings.yaml)\n",
                    sbx_out_clean(cli->arena, q->address));
        sbx_question_explain(q, o->sandbox, why);
        fprintf(cli->out, "Reason: %s\n", sbx_out_clean(cli->arena, why));
        sbx_question_print_nearest(cli, q);
    }
    return SBX_OK;
}

static enum sbx_code check(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct check_opts *o = cli->options;
    SBX_AUTO(sbx_question) q = { .policy = NULL };
    enum sbx_code rc = sbx_question_ask(cli, o->sandbox, cli->args.v[0], &q, err);

    return rc ? rc : print(cli, &q, err);
}

static const struct sbx_verb v_network = {
    .name = "network",
    .summary = "Would a connection be allowed?",
    .args = "TARGET",
    .about =
        "TARGET is HOST, HOST:PORT, an address or a URL; the port is 443 where none is given. "
        "The answer is\n"
        "the gate's own, by name and port, and by the addresses that network.hosts of settings.yaml "
        "gives the\n"
        "name; those of other names are judged when it connects.\n"
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
