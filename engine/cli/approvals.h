/**
 * @file
 * Consent to what kits want of this machine and its private network (decision N11). It is remembered in
 * policy.yaml for a kit as it is: with its digest, and for the one resource.
 */
#ifndef SBX_CLI_APPROVALS_H
#define SBX_CLI_APPROVALS_H

#include "cli.h"
#include "sbx/plan.h"
#include "userfiles.h"

/**
 * Remember each rule of the plan that `approve` (what --approve named, NULL-terminated, may be NULL) means.
 * @return SBX_OK; SBX_IO, SBX_SCHEMA, SBX_LIMIT of policy.yaml; SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_approvals_remember(struct sbx_cli *cli,
                                                  const struct sbx_paths *paths,
                                                  const struct sbx_plan *plan,
                                                  const char *const *approve, struct sbx_err *err);
/** `policy` with what the plan consents to, as it would be once that is remembered; in arena. */
SBX_MUST_USE enum sbx_code sbx_approvals_assume(struct sbx_arena *arena,
                                                const struct sbx_user_policy *policy,
                                                const struct sbx_plan *plan,
                                                struct sbx_user_policy *ret, struct sbx_err *err);

#endif
