#include <string.h>

#include "out.h"
#include "policy_rules.h"
#include "verbs.h"

struct explain_opts {
    const char *sandbox;
};

static const struct sbx_opt rows[] = { SBX_TEXT(struct explain_opts, sandbox, "sandbox", 0, "NAME",
                                                "Explain for this sandbox, kits included"),
                                       SBX_OPT_END };
static const struct sbx_opt_group groups[] = { { .v = rows } };

/* What one rule that matches does to the answer. */
static const char *effect(const struct sbx_question *q, const struct sbx_rule *r)
{
    const char *status = sbx_rule_status(r);

    if (q->verdict.rule && !strcmp(q->verdict.rule->id, r->id) && strcmp(status, "needs-approval"))
        return "decides";
    if (strcmp(status, "active"))
        return status;
    return q->verdict.decision == SBX_DENY && r->decision == SBX_ALLOW ? "overruled" : "agrees";
}

typedef enum sbx_code rule_fn(void *ctx, const struct sbx_rule *r, struct sbx_err *err);

/* Deny rules first, since one of them is enough; each kind in the order preset, user, kits. */
static enum sbx_code each(const struct sbx_question *q, rule_fn *one, void *ctx,
                          struct sbx_err *err)
{
    static const enum sbx_decision order[] = { SBX_DENY, SBX_ALLOW };
    const struct sbx_rule *rules = NULL;
    size_t n = sbx_policy_rules(q->policy, &rules);
    enum sbx_code rc = SBX_OK;

    for (size_t k = 0; k < SBX_ARRAY_LEN(order); k++)
        for (size_t i = 0; !rc && i < n; i++)
            if (rules[i].decision == order[k] &&
                sbx_pattern_matches(&rules[i].pattern, &q->host, q->port))
                rc = one(ctx, &rules[i], err);
    return rc;
}

struct listing {
    const struct sbx_question *q;
    struct sbx_columns columns;
    json_t *list;
};

static enum sbx_code add_row(void *ctx, const struct sbx_rule *r, struct sbx_err *err)
{
    struct listing *l = ctx;
    char number[16];
    const char *cells[] = { number,    r->decision == SBX_ALLOW ? "allow" : "deny",
                            r->text,   r->id,
                            r->origin, effect(l->q, r) };

    snprintf(number, sizeof(number), "%zu", l->columns.len + 1);
    return sbx_columns_add(&l->columns, cells, err);
}

static enum sbx_code add_json(void *ctx, const struct sbx_rule *r, struct sbx_err *err)
{
    struct listing *l = ctx;
    json_t *o = json_pack("{s:s,s:s,s:s,s:s,s:s}", "decision",
                          r->decision == SBX_ALLOW ? "allow" : "deny", "resource", r->text, "rule",
                          r->id, "origin", r->origin, "effect", effect(l->q, r));

    return json_array_append_new(l->list, o) ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory")
                                             : SBX_OK;
}

static enum sbx_code as_value(struct sbx_cli *cli, const struct sbx_question *q,
                              struct sbx_err *err)
{
    const struct explain_opts *o = cli->options;
    struct listing l = { .q = q, .list = json_array() };
    enum sbx_code rc = each(q, add_json, &l, err);

    if (rc) {
        json_decref(l.list);
        return rc;
    }
    return sbx_out_value(cli,
                         json_pack("{s:b,s:s,s:s,s:s?,s:s,s:s,s:o,s:o}", "allowed",
                                   q->verdict.decision == SBX_ALLOW, "target", cli->args.v[0],
                                   "resource_value", q->value, "address", q->address, "context",
                                   o->sandbox ? o->sandbox : "global", "reason", q->verdict.reason,
                                   "rules", l.list, "nearest", sbx_question_nearest(q)),
                         err);
}

static enum sbx_code as_table(struct sbx_cli *cli, const struct sbx_question *q,
                              struct sbx_err *err)
{
    const struct explain_opts *o = cli->options;
    static const char *const head[] = { "#", "DECISION", "RESOURCE", "RULE", "ORIGIN", "EFFECT" };
    struct listing l = {
        .q = q,
        .columns = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) },
    };
    char why[SBX_EXPLAIN_MAX];
    enum sbx_code rc = each(q, add_row, &l, err);

    if (rc)
        return rc;
    sbx_question_explain(q, o->sandbox, why);
    if (q->address)
        fprintf(cli->out, "%s is %s by network.hosts of settings.yaml\n", q->host.text,
                sbx_out_clean(cli->arena, q->address));
    fprintf(cli->out, "%s\n\n", sbx_out_clean(cli->arena, why));
    if (l.columns.len)
        sbx_columns_print(&l.columns, cli->out);
    else
        fputs("No rule matches.\n", cli->out);
    sbx_question_print_nearest(cli, q);
    return SBX_OK;
}

static enum sbx_code explain(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct explain_opts *o = cli->options;
    SBX_AUTO(sbx_question) q = { .policy = NULL };
    enum sbx_code rc = sbx_question_ask(cli, o->sandbox, cli->args.v[0], &q, err);

    if (rc)
        return rc;
    return cli->format == SBX_FORMAT_TABLE ? as_table(cli, &q, err) : as_value(cli, &q, err);
}

const struct sbx_verb sbx_verb_policy_explain = {
    .name = "explain",
    .summary = "Show every rule that speaks about a host",
    .args = "TARGET",
    .about =
        "TARGET is HOST, HOST:PORT, an address or a URL; the port is 443 where none is given. Deny "
        "rules come\n"
        "first, since one of them is enough. ORIGIN is the preset, the line of your policy.yaml, "
        "or "
        "the kit with\n"
        "file and line. EFFECT: \"decides\", \"agrees\", \"overruled\" by a deny rule, "
        "\"needs-approval\" (a kit's wish\n"
        "for this machine or its private network), \"never-matches\".",
    .example = "sbx policy explain --sandbox my-sandbox api.example.com",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct explain_opts),
    .min = 1,
    .max = 1,
    .run = explain,
};
