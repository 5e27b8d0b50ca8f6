/**
 * @file
 * The plan: a composed artifact and the user's options, turned into data. What is made (container,
 * environment, mounts), which steps run, in which order and when, and what the gate is told.
 *
 * Everything here is pure: no process, no network, no container; the same input gives the same plan,
 * whatever the runtime. A plan owns all it points to (one arena) and never changes after it was made.
 * sbx_plan_json() is what `sbx plan` prints, what the state keeps, and what the digest is taken of;
 * contents of files stand in it by digest and size.
 * Source: kit specification v2 "lifecycle" 8 to 11.5, decisions "Files and order".
 */
#ifndef SBX_PLAN_H
#define SBX_PLAN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/arena.h"
#include "sbx/digest.h"
#include "sbx/kit.h"
#include "sbx/policy.h"
#include "sbx/runtime.h"

#define SBX_PLAN_VERSION 1
#define SBX_AGENT_UID 1000
#define SBX_AGENT_HOME "/home/agent"
/** Working directory of a sandbox without a workspace, and `${WORKDIR}` then. */
#define SBX_WORKDIR_DEFAULT SBX_AGENT_HOME "/workspace"
#define SBX_PROXY_URL "http://gateway.docker.internal:3128"
#define SBX_CA_FILE "/usr/local/share/ca-certificates/sbx-ca.crt"   /* our certificate alone */
#define SBX_CA_BUNDLE "/etc/ssl/certs/ca-certificates.crt"          /* public roots and ours */
#define SBX_STARTUP_DIR "/etc/durable-startup.d"
#define SBX_PLAN_JSON_MAX 67108864 /* bytes; 20,000 files of a kit need about 6 MB */

/** When a step runs; a set. */
enum sbx_when { SBX_AT_CREATE = 1, SBX_AT_START = 2, SBX_AT_ADD = 4 };

enum sbx_phase {
    SBX_PHASE_IMAGE,           /**< found or pulled */
    SBX_PHASE_CONTAINER,       /**< settings, mounts and environment: the container is made */
    SBX_PHASE_NETWORK,         /**< started, its network closed, the gate up */
    SBX_PHASE_DEFAULTS,        /**< hosts, resolver, trust, proxy, sudo, profile */
    SBX_PHASE_HOME,            /**< files/home, before install */
    SBX_PHASE_INSTALL,         /**< one step a command */
    SBX_PHASE_HOME_AGAIN,      /**< files/home once more: the kit's file wins (F1) */
    SBX_PHASE_SETUP_FILES,     /**< setup.files */
    SBX_PHASE_STARTUP,         /**< one step a command; run by PID 1 */
    SBX_PHASE_WORKSPACE_FILES, /**< files/workspace */
    SBX_PHASE_INSTRUCTIONS,    /**< the agent's profile file and kits-memory/ */
    SBX_PHASE_COUNT
};

/** A file that a step writes. */
struct sbx_plan_file {
    const char *path; /**< absolute, inside */
    unsigned mode;
    int uid, gid;
    bool only_if_missing;
    bool mounted; /**< kept in the state and mounted, since runtimes put their own file there */
    /** NULL; "ca", "ca-bundle", "environment": made when written; "profile": merged with an old one */
    const char *generated;
    const char *kit;       /**< NULL: the engine's own */
    const char *at;        /**< "hello/spec.yaml:12:5"; NULL: nowhere */
    const char *digest;    /**< of the content; NULL when there is none yet */
    size_t size;
    const void *data;   /**< content; NULL when `source` is set, size is 0 or it is generated */
    const char *source; /**< absolute path on the host to read it from */
};

/** One step; `files` for the phases of files, `argv` for install and startup, else only what it is. */
struct sbx_plan_step {
    const char *id; /**< "install/hello/1": phase, kit, number within both from 1 */
    enum sbx_phase phase;
    unsigned when; /**< set of enum sbx_when */
    const char *kit, *at, *description;
    const char *const *argv; /**< NULL-terminated */
    const char *user;        /**< "0", "1000", a name */
    bool background;
    unsigned number; /**< N of "command N of kit K" in messages */
    struct sbx_plan_file *files;
    size_t n_files;
};

/** A variable of the recorded environment (F10); a later stage replaces an earlier one's. */
struct sbx_plan_env {
    const char *name, *value;
    const char *origin; /**< "engine", "kit hello", "user", "credential github" */
    bool weak;          /**< only where the image does not set it */
};

enum sbx_plan_mount_kind { SBX_PLAN_WORKSPACE, SBX_PLAN_VOLUME, SBX_PLAN_TMPFS };

struct sbx_plan_mount {
    enum sbx_plan_mount_kind kind;
    const char *source; /**< WORKSPACE: host path; VOLUME: its key, hashed with app and sandbox */
    const char *target;
    bool read_only, noexec;
    int64_t size;  /**< bytes; 0: not limited */
    unsigned mode; /**< 0: the default */
    int uid;
    const char *kit, *at;
};

struct sbx_plan_port { int container; const char *protocol, *name, *kit; };

/** A kit's network rule; preset and user rules are no part of a plan (sbx_gate_config_json). */
struct sbx_plan_rule {
    enum sbx_decision decision;
    const char *pattern, *id, *kit, *at;
    /** Host resource and private ranges (N11); `consented` when the plan was made: it may be taken back */
    bool needs_consent, consented;
    const char *kit_digest;        /**< of a kit that the base extends; NULL: `kit` is one of plan.kits */
    const char *inert;             /**< why it can never match (S2); NULL: it can */
};

struct sbx_plan {
    struct sbx_arena *arena;
    char digest[SBX_DIGEST_TEXT_SIZE]; /**< of the canonical JSON */
    const char *name, *app, *agent;    /**< agent: name of the base kit */
    const char *image;
    const char *hostname, *workdir;
    double cpus;    /**< 0: no limit */
    int64_t memory; /**< bytes; 0: no limit */
    const char *gpu;
    bool privileged, userns;
    struct sbx_plan_env *env;
    size_t n_env;
    struct sbx_plan_mount *mounts;
    size_t n_mounts;
    struct sbx_plan_port *ports;
    size_t n_ports;
    struct sbx_plan_rule *rules;
    size_t n_rules;
    struct sbx_kit_ref *kits; /**< base first */
    size_t n_kits;
    struct sbx_plan_step *steps; /**< in the order of a create */
    size_t n_steps;
    /* launch of the agent; entrypoint empty: a login shell */
    const char *const *entrypoint, *const *interactive, *const *noninteractive;
    const char *const *services; /**< credential services the kits name */
};

struct sbx_workspace {
    const char *path; /**< absolute, clean, existing: the caller resolved it */
    bool read_only;
};

struct sbx_plan_options {
    const char *name; /**< of the sandbox */
    const char *app;  /**< NULL: "sbx" */
    const char *image; /**< template override; NULL: the kit's */
    const struct sbx_workspace *workspaces; /**< the first is the primary */
    size_t n_workspaces;
    const char *const *env; /**< the user's, "K=V", NULL-terminated; may be NULL */
    double cpus;            /**< 0: the kit's */
    int64_t memory;         /**< bytes; 0: the kit's */
    bool allow_privileged;  /**< N10 */
    bool allow_userns;      /**< N21 */
    const char *const *approve; /**< patterns of kits the user consents to (N11); may be NULL */
    const struct sbx_approval *approvals; /**< and those remembered of earlier */
    size_t n_approvals;
};

/**
 * Make the plan.
 *
 * @param a       composed (sbx_compose); not kept, but embedded and static file contents are
 *                borrowed until the plan is freed
 * @param diags   gathers remarks: sensitive paths, inert rules, overridden variables
 * @param ret     the caller's: sbx_plan_free(); written only on success
 * @return SBX_OK; SBX_CONSENT (privileged not allowed); SBX_USAGE (an approval that no kit asks for); SBX_SCHEMA (bad option or a kit that cannot
 *         be planned; err names it); SBX_LIMIT, SBX_IO (a file of files/ vanished), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_plan_make(const struct sbx_artifact *a,
                                         const struct sbx_plan_options *options,
                                         struct sbx_diags *diags, struct sbx_plan **ret,
                                         struct sbx_err *err);
/** Is this rule of a kit, with this digest, among the approvals? A kit without a digest never is. */
bool sbx_plan_is_approved(const struct sbx_approval *v, size_t n, const char *kit,
                          const char *digest, const char *pattern);
/** Digest of the kit that a rule of the plan is from; NULL: not known. */
const char *sbx_plan_rule_digest(const struct sbx_plan *p, const struct sbx_plan_rule *r);
/** Is what the user gives with --approve this rule's pattern, in any spelling of the same resource? */
bool sbx_plan_is_approval(const char *given, const char *pattern);
void sbx_plan_free(struct sbx_plan *p); /**< NULL is fine */
SBX_DEFINE_AUTO_PTR(sbx_plan, sbx_plan_free);

/** The plan as JSON, without its own digest; NULL: no memory. */
json_t *sbx_plan_json(const struct sbx_plan *p);
/**
 * A plan from its JSON (the state's copy).
 * @param blobs directory with the contents, named by the 64 digits of their digest; kept as `source`
 * @return SBX_OK, SBX_SCHEMA (not a plan of this version), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_plan_parse(const json_t *json, const char *blobs,
                                          struct sbx_plan **ret, struct sbx_err *err);

/** Refuse by name what this runtime cannot do (F12): SBX_OK or SBX_UNSUPPORTED. */
SBX_MUST_USE enum sbx_code sbx_plan_check(const struct sbx_plan *p,
                                          const struct sbx_runtime_info *info,
                                          struct sbx_err *err);

/**
 * The argv that starts the agent (seed "entrypoint + command"; the user's arguments replace the
 * tail unless the first one begins with "-").
 * @param args may be NULL; NULL-terminated
 * @return NULL-terminated, in arena; NULL: no memory
 */
const char *const *sbx_plan_launch(const struct sbx_plan *p, bool interactive,
                                   const char *const *args, struct sbx_arena *arena);

/** Bytes of a planned file into `out`; nothing for one that is generated without content. */
SBX_MUST_USE enum sbx_code sbx_plan_file_read(const struct sbx_plan_file *f, struct sbx_buf *out,
                                              struct sbx_err *err);

/**
 * The agent's profile file: `fresh` (base instructions and kits section) put into what is there. The
 * section between the sentinels is replaced, the base's text added once, all else stays.
 * @return SBX_OK, SBX_LIMIT, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_instructions_merge(const char *old, size_t len, const char *fresh,
                                                  struct sbx_buf *out);

/** /etc/durable-startup.d/list (docs/gate-config.md section 5), one line a startup step. */
SBX_MUST_USE enum sbx_code sbx_plan_startup_list(const struct sbx_plan *p, struct sbx_buf *out);
/** Does some startup step of this plan hold up the agent? */
bool sbx_plan_has_startup(const struct sbx_plan *p);
/** Value of a variable of the plan's environment, NULL: none. */
const char *sbx_plan_env_get(const struct sbx_plan *p, const char *name);

const char *sbx_phase_name(enum sbx_phase phase); /**< "install", "setup-files" ... */

/* ---- the gate ---- */

/** One of the user's own rules, as policy.yaml has it. */
struct sbx_user_rule {
    enum sbx_decision decision;
    const char *pattern;
    const char *id;      /**< NULL: made of its number */
    const char *sandbox; /**< for this sandbox alone; NULL: for all */
    unsigned line;       /**< of policy.yaml, for its origin; 0: nowhere */
};

/** A kit's rule that the user approved (N11), as policy.yaml has it. */
struct sbx_approval { const char *kit, *digest, *pattern; };

/** An entry of settings.yaml `network.hosts`. */
struct sbx_host_entry { const char *name; const char *const *addresses; };

/** The proxy of this machine, of settings.yaml; each NULL: as the environment says. */
struct sbx_host_proxy {
    const char *http, *https;     /**< "http://[USER:PASSWORD@]HOST:PORT", or "direct" */
    const char *const *no_proxy;  /**< NULL-terminated */
    const char *credentials_file; /**< one line, USER:PASSWORD */
};

/** What the user's files say about the network; borrowed. */
struct sbx_user_policy {
    const char *preset; /**< NULL: "balanced" */
    const struct sbx_user_rule *rules;
    size_t n_rules;
    const struct sbx_host_entry *hosts;
    size_t n_hosts;
    const char *const *test_ranges; /**< publicTestRanges of test builds; may be NULL */
    struct sbx_host_proxy proxy;    /**< no part of gate.json: it may hold a password */
    const struct sbx_approval *approvals;
    size_t n_approvals;
};

/**
 * gate.json of docs/gate-config.md section 2. What the plan says was consented to counts as long as it
 * is among the policy's approvals.
 * @param policy     NULL: preset balanced, nothing else
 * @param generation counts the versions of one sandbox's file, from 1
 * @param ret        the caller's to decref
 * @return SBX_OK, SBX_SCHEMA (a rule or preset that does not parse: err names it), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_gate_config_json(const struct sbx_plan *p,
                                                const struct sbx_user_policy *policy,
                                                unsigned generation, json_t **ret,
                                                struct sbx_err *err);

#endif
