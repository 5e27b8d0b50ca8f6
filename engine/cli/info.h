/**
 * @file
 * A sandbox as ls and inspect show it: JSON with the names that scripts for sbx know.
 */
#ifndef SBX_CLI_INFO_H
#define SBX_CLI_INFO_H

#include "cli.h"
#include "sbx/sandbox.h"

json_t *sbx_info_row_json(const struct sbx_sandbox_info *i); /**< one of `ls`; NULL: no memory */
/** `inspect`, with the preset that holds; NULL: no memory */
json_t *sbx_info_full_json(const struct sbx_sandbox_info *i, const struct sbx_user_policy *policy);
/** [{"host_ip","host_port","sandbox_port","protocol","name","kit"}] */
json_t *sbx_published_json(const struct sbx_published *v, size_t n);
/** "active", "needs-approval" or "never-matches", as `policy ls` says; static. */
const char *sbx_plan_rule_status(const struct sbx_plan *p, const struct sbx_plan_rule *r,
                                 const struct sbx_user_policy *policy);
/** "allow 10.0.0.0/8 (kit db): closed, since not approved"; in arena. */
const char *sbx_plan_rule_text(struct sbx_arena *arena, const struct sbx_plan *p,
                               const struct sbx_plan_rule *r, const struct sbx_user_policy *policy);
/** "balanced, and 2 rules of yours", of those for all and for this sandbox; in arena. */
const char *sbx_policy_text(struct sbx_arena *arena, const struct sbx_user_policy *p,
                            const char *sandbox);
/** "127.0.0.1:8080->3000/tcp4"; in arena. */
const char *sbx_published_text(struct sbx_arena *arena, const struct sbx_published *p);
/** Those of a running sandbox with commas; NULL: none. In arena. */
const char *sbx_info_ports(struct sbx_arena *arena, const struct sbx_sandbox_info *i);
/** "PATH", "PATH (+2)"; in arena. */
const char *sbx_info_workspace(struct sbx_arena *arena, const struct sbx_sandbox_info *i);

#endif
