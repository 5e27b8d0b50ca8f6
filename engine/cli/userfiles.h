/**
 * @file
 * The user's settings.yaml and policy.yaml as the verbs need them (decision C10).
 */
#ifndef SBX_CLI_USERFILES_H
#define SBX_CLI_USERFILES_H

#include "cli.h"
#include "sbx/bindings.h"
#include "sbx/sandbox.h"

struct sbx_user_files {
    struct sbx_settings settings;
    struct sbx_policy_file file;
    struct sbx_user_policy policy; /**< of both, for the engine; borrows from the arena */
};

/** Read both files; absent ones are empty. Findings go to `cli->diags`; all lives in `cli->arena`. */
SBX_MUST_USE enum sbx_code sbx_user_files_read(struct sbx_cli *cli, const struct sbx_paths *paths,
                                               struct sbx_user_files *ret, struct sbx_err *err);
/** The same once more: remarks were made before, only errors are told. */
SBX_MUST_USE enum sbx_code sbx_user_files_again(struct sbx_cli *cli, const struct sbx_paths *paths,
                                                struct sbx_user_files *ret, struct sbx_err *err);
/** The policy as the files say now; findings were shown before. Lives in `arena`. */
SBX_MUST_USE enum sbx_code sbx_user_policy_now(const struct sbx_paths *paths,
                                               struct sbx_arena *arena, struct sbx_user_policy *ret,
                                               struct sbx_err *err);
/** Change policy.yaml under its lock. Remarks on it are left to whoever reads it before or after. */
SBX_MUST_USE enum sbx_code sbx_user_policy_edit(struct sbx_cli *cli, const struct sbx_paths *paths,
                                                sbx_policy_edit_fn *edit, void *data,
                                                struct sbx_err *err);
/** Take the rules for one sandbox out of policy.yaml as it is now. */
SBX_MUST_USE enum sbx_code sbx_user_rules_cut(struct sbx_cli *cli, const struct sbx_paths *paths,
                                              const char *sandbox, struct sbx_err *err);
struct sbx_session;
/** Take the rules for one sandbox out of policy.yaml: a later one of its name starts without them. */
SBX_MUST_USE enum sbx_code sbx_user_rules_drop(struct sbx_cli *cli, const struct sbx_session *s,
                                               const char *sandbox, struct sbx_err *err);
/** Write the preset into policy.yaml, all else in it kept; NULL un-initialises it, and forgets approvals. */
SBX_MUST_USE enum sbx_code sbx_user_preset_write(struct sbx_cli *cli, const struct sbx_paths *paths,
                                                 const char *preset, struct sbx_err *err);

#endif
