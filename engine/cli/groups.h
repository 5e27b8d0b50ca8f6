/**
 * @file
 * Option groups that several verbs share: what a sandbox is made of, which kits, which runtime.
 */
#ifndef SBX_CLI_GROUPS_H
#define SBX_CLI_GROUPS_H

#include "cli.h"
#include "sbx/resolve.h"

/** How a sandbox is made (run, create, plan). */
struct sbx_sandbox_opts {
    const char *name, *image, *pull, *memory, *upstream_ca;
    double cpus;
    struct sbx_texts env, env_files, approve, sockets, publish, allow_network, deny_network;
    bool learn, keep_failed, strict_startup, privileged, userns, weak_network;
};
extern const struct sbx_opt sbx_sandbox_rows[];

/** Which kits (run, create, plan). */
struct sbx_kit_opts {
    struct sbx_texts kits, args, args_files;
    bool plain_http;
};
extern const struct sbx_opt sbx_kit_rows[];
extern const struct sbx_opt sbx_kit_arg_rows[]; /**< the same struct, without --kit */
/** What these options say, for the resolver; `word` may be NULL. */
struct sbx_resolve sbx_kit_resolve(struct sbx_cli *cli, const struct sbx_kit_opts *o,
                                   const char *word);

/** Which runtime (whatever makes a sandbox or handles images). */
struct sbx_runtime_opts {
    const char *runtime, *oci_runtime;
};
extern const struct sbx_opt sbx_runtime_rows[];

extern const char *const sbx_preset_names[]; /**< NULL-terminated */

/* A group of rows at a member of the verb's options. */
#define SBX_GROUP(heading, rows, s, member)                                                        \
    {                                                                                              \
        .title = heading, .v = rows, .at = offsetof(s, member)                                     \
    }

#endif
