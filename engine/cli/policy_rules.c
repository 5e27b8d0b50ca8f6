#include "policy_rules.h"

#include <string.h>

#include "out.h"
#include "sbx/policy_json.h"

enum sbx_code sbx_rules_from(const struct sbx_session *s, const char *sandbox, json_t **ret,
                             struct sbx_err *err)
{
    static const struct sbx_plan nothing = { .name = "" };

    return sandbox ? sbx_sandbox_gate_config(s->engine, sandbox, ret, err)
                   : sbx_gate_config_json(&nothing, &s->files.policy, 1, ret, err);
}

void sbx_question_release(struct sbx_question *q) { sbx_policy_free(q->policy); }

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

/* The addresses that gate.json has for the name, as the gate judges them: one that is open is enough, else the
 * verdict on the first is the answer. Names that the gate resolves are judged when it does. */
static enum sbx_code judge_addresses(struct sbx_question *q, const json_t *addresses,
                                     struct sbx_err *err)
{
    const json_t *one;
    size_t i;
    struct sbx_verdict first = { .reason = NULL };
    const char *text = NULL;

    if (q->verdict.decision != SBX_ALLOW || q->verdict.host_resource ||
        q->host.kind != SBX_HOST_NAME)
        return SBX_OK;
    json_array_foreach((json_t *)addresses, i, one) {
        const char *literal = json_string_value(one);
        struct sbx_verdict v;
        struct sbx_host host;

        if (!literal || sbx_host_parse(literal, strlen(literal), &host, NULL) ||
            host.kind == SBX_HOST_NAME)
            return sbx_err_set(err, SBX_SCHEMA, "hosts.%s[%zu]: not an address", q->host.text, i);
        v = sbx_policy_judge_address(q->policy, &host.address, q->port);
        if (v.decision == SBX_ALLOW)
            return SBX_OK;
        if (!text) {
            first = v;
            text = literal;
        }
    }
    if (text) {
        q->verdict = first;
        q->address = text;
    }
    return SBX_OK;
}

enum sbx_code sbx_question_ask(struct sbx_cli *cli, const char *sandbox, const char *text,
                               struct sbx_question *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = true };
    SBX_AUTO_JSON json_t *config = NULL;
    struct target t;
    enum sbx_code rc = from_url(text, &t, err);

    if (!rc && sbx_target_parse(t.text, t.len, t.port, &ret->host, &ret->port, err))
        rc = sbx_err_wrap(err, SBX_USAGE, "%s", text);
    if (!rc)
        rc = sbx_session_open(&s, cli, NULL, err);
    if (!rc)
        rc = sbx_rules_from(&s, sandbox, &config, err);
    if (!rc)
        rc = sbx_policy_from_json(json_object_get(config, "rules"),
                                  json_object_get(config, "publicTestRanges"), &ret->policy, err);
    if (rc)
        return rc;
    ret->value = sbx_arena_printf(cli->arena, ret->host.kind == SBX_HOST_IPV6 ? "[%s]:%u" : "%s:%u",
                                  ret->host.text, ret->port);
    if (!ret->value)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    ret->verdict = sbx_policy_judge(ret->policy, &ret->host, ret->port);
    if (json_is_true(json_object_get(config, "learn")))
        ret->verdict = sbx_policy_learn(&ret->host, ret->verdict);
    rc = judge_addresses(ret, json_object_get(json_object_get(config, "hosts"), ret->host.text),
                         err);
    if (!rc && ret->address && !(ret->address = sbx_arena_strdup(cli->arena, ret->address)))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return rc;
}

void sbx_question_explain(const struct sbx_question *q, const char *sandbox,
                          char out[SBX_EXPLAIN_MAX])
{
    struct sbx_host host = q->host;

    if (q->address && sbx_host_parse(q->address, strlen(q->address), &host, NULL))
        host = q->host; /* it was parsed before */
    sbx_verdict_explain(q->policy, &q->verdict, sandbox, &host, q->port, out);
}

static const struct sbx_rule *nearest(const struct sbx_question *q, const char **ret_why)
{
    bool open = q->verdict.decision == SBX_ALLOW || q->address ||
                strcmp(q->verdict.reason, "default-deny") != 0;

    return open ? NULL : sbx_policy_nearest(q->policy, &q->host, q->port, ret_why);
}

json_t *sbx_question_nearest(const struct sbx_question *q)
{
    const char *why = NULL;
    const struct sbx_rule *r = nearest(q, &why);

    return r ? json_pack("{s:s,s:s,s:s,s:s}", "rule", r->id, "origin", r->origin, "resource",
                         r->text, "why", why)
             : json_null();
}

void sbx_question_print_nearest(struct sbx_cli *cli, const struct sbx_question *q)
{
    const char *why = NULL;
    const struct sbx_rule *r = nearest(q, &why);

    if (r)
        fprintf(cli->out, "Nearest rule: %s (%s, %s) %s\n", sbx_out_clean(cli->arena, r->text),
                sbx_out_clean(cli->arena, r->id), sbx_out_clean(cli->arena, r->origin), why);
}

const char *sbx_rule_status(const struct sbx_rule *r)
{
    struct sbx_pattern p;
    const char *inert = NULL;

    if (!sbx_pattern_parse(r->text, r->source, &p, &inert, NULL) && inert)
        return "never-matches";
    if (r->source == SBX_RULE_KIT && r->decision == SBX_ALLOW && !r->consented &&
        sbx_pattern_needs_consent(&r->pattern))
        return "needs-approval";
    return "active";
}
