/**
 * @file
 * Rules of the user's policy.yaml: read from the words of a command, added to the file.
 */
#ifndef SBX_CLI_POLICY_EDIT_H
#define SBX_CLI_POLICY_EDIT_H

#include "cli.h"
#include "userfiles.h"

/* One resource of the command line and what became of it. */
struct sbx_edit_change {
    const char *resource, *id;
    struct sbx_pattern pattern;
    enum sbx_decision decision; /* rm: of the rule found */
    const char *covered_by;     /* NULL: it was added; else the rule that says it already */
    const char *kit;            /* rm: an approval of this kit's rule; NULL: a rule */
};

struct sbx_edit {
    struct sbx_cli *cli;
    const char *sandbox;
    enum sbx_decision decision;
    struct sbx_edit_change *v;
    size_t n, cap;
};

bool sbx_edit_same_scope(const char *a, const char *b);
SBX_MUST_USE enum sbx_code sbx_edit_push(struct sbx_edit *e, const struct sbx_edit_change *c,
                                         struct sbx_err *err);
/** "a, b,c". SBX_OK, SBX_USAGE or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_edit_take(struct sbx_edit *e, const char *list, struct sbx_err *err);
/** For sbx_policy_file_edit(): add those that no rule says already; `data` is the edit. */
enum sbx_code sbx_edit_add(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                           struct sbx_err *err);

/** Rules for a sandbox that is being made (--allow-network, --deny-network). */
struct sbx_new_rules {
    struct sbx_cli *cli;
    const struct sbx_paths *paths;
    const char *const *approve; /* of --approve; remembered with them */
    struct sbx_edit allow, deny;
    const char *written; /* the sandbox they were written for; NULL: none were */
};
SBX_MUST_USE enum sbx_code sbx_new_rules_check(struct sbx_new_rules *r, struct sbx_cli *cli,
                                               const struct sbx_texts *allow,
                                               const struct sbx_texts *deny, struct sbx_err *err);
/** Called when the plan's name is this create's; `data` is the rules, with `paths` and `approve` set. */
enum sbx_code sbx_new_rules_write(void *data, const struct sbx_plan *plan, struct sbx_err *err);

#endif
