/**
 * @file
 * The rules in force, as the gate has them or would have them, and questions to them.
 */
#ifndef SBX_CLI_POLICY_RULES_H
#define SBX_CLI_POLICY_RULES_H

#include "cli.h"
#include "sbx/policy.h"
#include "session.h"

/**
 * gate.json of a sandbox, or (sandbox NULL) what one without kits would get.
 * @param ret the caller's to decref
 */
SBX_MUST_USE enum sbx_code sbx_rules_from(const struct sbx_session *s, const char *sandbox,
                                          json_t **ret, struct sbx_err *err);

/** "May it reach this?", asked by `policy check` and `policy explain`. Starts as { 0 }. */
struct sbx_question {
    struct sbx_policy *policy;
    struct sbx_host host;
    uint16_t port;
    const char *value; /**< "host:port" in canonical form; in the cli's arena */
    struct sbx_verdict verdict;
    /** The verdict is on this address, which settings.yaml `network.hosts` gives the name; NULL: on the name. */
    const char *address;
};
void sbx_question_release(struct sbx_question *q);
SBX_DEFINE_AUTO(sbx_question, sbx_question_release);
/**
 * @param sandbox NULL: the rules for all
 * @param text    HOST, HOST:PORT, address or URL; the port is 443 where none is given
 */
SBX_MUST_USE enum sbx_code sbx_question_ask(struct sbx_cli *cli, const char *sandbox,
                                            const char *text, struct sbx_question *ret,
                                            struct sbx_err *err);
/** {"rule","origin","resource","why"} of the rule that would nearly allow it; JSON null: none. */
json_t *sbx_question_nearest(const struct sbx_question *q);
/** "Nearest rule: ..." unless there is none. */
void sbx_question_print_nearest(struct sbx_cli *cli, const struct sbx_question *q);
/** One line on the verdict, with the rule that would open what is closed. */
void sbx_question_explain(const struct sbx_question *q, const char *sandbox,
                          char out[SBX_EXPLAIN_MAX]);

/** State of a rule: "active", "needs-approval" (N11) or "never-matches"; static. */
const char *sbx_rule_status(const struct sbx_rule *r);

#endif
