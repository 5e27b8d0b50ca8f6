#include "groups.h"
#include "remote.h"

#define S struct sbx_sandbox_opts

static const char *const pulls[] = { "always", "missing", "never", NULL };
static const char *const runtimes[] = { "auto", "docker", "oci", NULL };
const char *const sbx_preset_names[] = { "allow-all", "balanced", "deny-all", NULL };

const struct sbx_opt sbx_sandbox_rows[] = {
    SBX_TEXT(S, name, "name", 0, "NAME", "Name of the sandbox (default: AGENT-DIRECTORY)"),
    SBX_TEXT(S, image, "template", 't', "IMAGE", "Use this image instead of the agent's"),
    SBX_TEXT(S, pull, "pull", 0, "WHEN", "Pull the image: always, missing (default) or never",
             .choices = pulls),
    SBX_NUMBER(S, cpus, "cpus", 0, "N",
               "Processors the sandbox may use (0: the kit's limit, or none)"),
    SBX_TEXT(S, memory, "memory", 'm', "SIZE", "Memory limit, such as 512m or 8g"),
    SBX_LISTOF(S, env, "env", 'e', "NAME[=VALUE]",
               "Set a variable; without a value it is copied from here (repeatable)"),
    SBX_LISTOF(S, env_files, "env-file", 0, "FILE", "Read variables from a file (repeatable)"),
    SBX_LISTOF(S, approve, "approve", 0, "WHAT",
               "Consent to what a kit asks for, and remember it for the kit as it is (repeatable)"),
    SBX_LISTOF(S, allow_network, "allow-network", 0, "RESOURCE",
               "Add a rule of yours for this sandbox, as policy allow does (repeatable)"),
    SBX_LISTOF(S, deny_network, "deny-network", 0, "RESOURCE",
               "The same, a rule that denies: it wins over every other (repeatable)"),
    SBX_LISTOF(S, publish, "publish", 'p', "[[IP:]PORT:]SANDBOX_PORT",
               "Let this machine reach a port of the sandbox (repeatable)"),
    SBX_LISTOF(S, sockets, "allow-socket", 0, "PATH",
               "Accept this socket inside a mounted directory (repeatable)"),
    SBX_TEXT(S, upstream_ca, "upstream-ca", 0, "FILE",
             "Trust these certificates (PEM) too, where the gate adds a credential to requests"),
    SBX_SWITCH(S, privileged, "allow-privileged", 0,
               "Accept a kit that asks for a privileged container"),
    SBX_SWITCH(S, userns, "allow-userns", 0, "Let processes inside make user namespaces"),
    SBX_SWITCH(S, learn, "learn", 0,
               "Let public hosts pass that no kit allows, and record them for policy suggest"),
    SBX_SWITCH(S, weak_network, "weak-network", 0,
               "Accept a host where the network cannot be isolated as designed"),
    SBX_SWITCH(S, strict_startup, "strict-startup", 0,
               "Fail when a foreground startup command fails"),
    SBX_SWITCH(S, keep_failed, "keep-failed", 0,
               "Keep the sandbox when making it fails, to look inside"),
    SBX_REFUSED("clone", 0, SBX_OPT_SWITCH, NULL, "working on a private clone is not built yet"),
    SBX_REFUSED("branch", 0, SBX_OPT_TEXT, "NAME", "gone from sbx; pass a git worktree as PATH"),
    SBX_REFUSED("credential", 0, SBX_OPT_LIST, "S=V", "credentials are not built yet"),
    SBX_REFUSED("skills", 0, SBX_OPT_TEXT, "MODE", "the shared skills store is not built"),
    SBX_REFUSED("static-mcp", 0, SBX_OPT_TEXT, "NAMES", "MCP servers are not built"),
    SBX_REFUSED("cloud", 0, SBX_OPT_SWITCH, NULL,
                "there is no cloud: sandboxes run on this machine"),
    SBX_OPT_END
};

#define KIT_ARGS                                                                                   \
    SBX_LISTOF(struct sbx_kit_opts, args, "kit-arg", 0, "[KIT.]NAME=VALUE",                        \
               "Value of a kit's argument, for all kits or one (repeatable)"),                     \
        SBX_LISTOF(struct sbx_kit_opts, args_files, "kit-args-file", 0, "FILE",                    \
                   "Read values of kit arguments from a file, NAME=VALUE a line (repeatable)"),    \
        SBX_SWITCH(                                                                                \
            struct sbx_kit_opts, plain_http, "plain-http", 0,                                      \
            "Take kits from registries without TLS too (those on this machine need no flag)"),     \
        SBX_OPT_END

const struct sbx_opt sbx_kit_rows[] = {
    SBX_LISTOF(struct sbx_kit_opts, kits, "kit", 0, "KIT",
               "Add a kit: directory, built-in name, digest, commit in git (repeatable, in order)"),
    KIT_ARGS
};

const struct sbx_opt sbx_kit_arg_rows[] = { KIT_ARGS };

struct sbx_resolve sbx_kit_resolve(struct sbx_cli *cli, const struct sbx_kit_opts *o,
                                   const char *word)
{
    return (struct sbx_resolve){
        .word = word,
        .remote = sbx_cli_remote(cli, &(struct sbx_remote_opts){ o->plain_http }),
        .kits = o->kits.v,
        .n_kits = o->kits.n,
        .args = o->args.v,
        .n_args = o->args.n,
        .args_files = o->args_files.v,
        .n_args_files = o->args_files.n,
    };
}

const struct sbx_opt sbx_runtime_rows[] = {
    SBX_TEXT(struct sbx_runtime_opts, runtime, "runtime", 0, "KIND",
             "auto (default: a running Docker Engine, else runc or crun), docker or oci",
             .choices = runtimes),
    SBX_TEXT(struct sbx_runtime_opts, oci_runtime, "oci-runtime", 0, "NAME",
             "With docker a runtime the Engine knows; with oci the path of runc or crun"),
    SBX_OPT_END
};
