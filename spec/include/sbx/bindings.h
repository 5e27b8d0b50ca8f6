/**
 * @file
 * The user's own files (decision C10): settings.yaml, policy.yaml and credentials.yaml. Read strictly,
 * by tables, with positions; written so that a crash leaves the old file or the new one. All are
 * optional: an absent file is one without keys.
 */
#ifndef SBX_BINDINGS_H
#define SBX_BINDINGS_H

#include <stdbool.h>

#include "sbx/arena.h"
#include "sbx/diag.h"
#include "sbx/kit.h"
#include "sbx/policy.h"

#define SBX_BINDINGS_MAX 4194304 /* bytes of one file: the rules below at 400 bytes each */
#define SBX_POLICY_FILE_RULES_MAX SBX_KIT_ITEMS_MAX /* what is written has to be read again: the decoder's bound */
#define SBX_RULE_ID_MAX 64       /* bytes of a rule's id; it is typed by people */

/* ---- settings.yaml ---- */

/** `images: {AGENT: IMAGE}`: the image of an agent in place of its kit's. */
struct sbx_settings_image { const char *agent, *image; };
/** `network.hosts: {NAME: [ADDRESS, ...]}`: asked before the host's resolver. NULL-terminated. */
struct sbx_settings_host { const char *name; const char *const *addresses; };

#define SBX_SETTINGS_CACHE_MAX (20LL << 30) /* bytes; any kit fits (8 GiB packed), and most disks have it */

/** `registries: {HOST: {mirrors: [URL, ...], plainHttp: BOOL}}`. NULL-terminated. */
struct sbx_settings_registry { const char *host; const char *const *mirrors; bool plain_http; };

/** `network.proxy`: what this machine itself has to use; each NULL: as the environment says. */
struct sbx_settings_proxy {
    const char *http, *https;     /**< "http://[USER:PASSWORD@]HOST:PORT", or "direct" */
    const char *const *no_proxy;  /**< NULL-terminated */
    const char *credentials_file; /**< holds one line, USER:PASSWORD; absolute, or "~/" */
};

struct sbx_settings {
    const char *runtime; /**< "auto", "docker" or "oci"; "auto" when not given */
    const char *pull;    /**< "always", "missing" or "never"; "missing" when not given */
    const struct sbx_settings_image *images;
    size_t n_images;
    const struct sbx_settings_host *hosts; /**< names in canonical form, each once */
    size_t n_hosts;
    int64_t cache_max; /**< `cache.max`: bytes of what was fetched; SBX_SETTINGS_CACHE_MAX when not given */
    const struct sbx_settings_registry *registries; /**< each host once */
    size_t n_registries;
    /** `network.publicTestRanges`: CIDRs; only a test build (SBX_FAULTS) heeds them. NULL-terminated. */
    const char *const *public_test_ranges;
    struct sbx_settings_proxy proxy;
};

/**
 * @param path  of settings.yaml; a missing file gives the defaults
 * @param arena owns the values
 * @param diags gathers findings with positions; remarks too
 * @return SBX_OK; SBX_SYNTAX or SBX_SCHEMA (diags has the errors, err sums up); SBX_IO, SBX_LIMIT,
 *         SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_settings_load(const char *path, struct sbx_arena *arena,
                                             struct sbx_diags *diags, struct sbx_settings *ret,
                                             struct sbx_err *err);
/** Image of an agent, NULL: none is set. */
const char *sbx_settings_image(const struct sbx_settings *s, const char *agent);

/* ---- policy.yaml ---- */

/** A rule of the user. */
struct sbx_policy_entry {
    enum sbx_decision decision;
    const char *resource; /**< a pattern of sbx/policy.h, as written */
    const char *id;       /**< unique; made of the rule where the file has none, so that it stays */
    const char *sandbox;  /**< for this sandbox alone; NULL: for all */
    struct sbx_pos at;    /**< line 0: not from a file */
};

/**
 * A kit's rule for this machine or its private network that the user approved (N11). It is this kit's as
 * it was: another digest or another resource is another question.
 */
struct sbx_policy_approval {
    const char *kit, *digest;
    const char *resource; /**< the kit's rule, as the kit wrote it */
    const char *id;       /**< sbx_policy_approval_id(); not in the file */
    struct sbx_pos at;    /**< line 0: not from a file */
};

struct sbx_policy_file {
    bool initialized;   /**< `policy init` was run (N1) */
    const char *preset; /**< never NULL; "balanced" when not given */
    struct sbx_policy_entry *rules;
    size_t n_rules;
    const char *head; /**< comment lines at the top of the file, kept when it is written; may be NULL */
    struct sbx_policy_approval *approvals;
    size_t n_approvals;
};

/** As sbx_settings_load(); patterns are checked too, those that never match are remarks. */
SBX_MUST_USE enum sbx_code sbx_policy_file_load(const char *path, struct sbx_arena *arena,
                                                struct sbx_diags *diags,
                                                struct sbx_policy_file *ret, struct sbx_err *err);
/**
 * Write it, mode 0600, making the directory (0700) if need be. A symlink is followed, so that a file
 * kept elsewhere stays there. Rules without an id get one in the file.
 * @return SBX_OK, SBX_SCHEMA (a rule or preset that would not load), SBX_IO, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_policy_file_save(const char *path, const struct sbx_policy_file *f,
                                                struct sbx_err *err);
/**
 * Load, change and save under a lock, so that two commands at once lose nothing.
 *
 * @param edit changes `f`, with memory of `arena`; anything but SBX_OK leaves the file alone and is
 *             returned
 */
typedef enum sbx_code sbx_policy_edit_fn(struct sbx_policy_file *f, struct sbx_arena *arena,
                                         void *data, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_policy_file_edit(const char *path, sbx_policy_edit_fn *edit,
                                                void *data, struct sbx_diags *diags,
                                                struct sbx_err *err);
/** Id of a rule that has none: "r-" and 12 hexadecimal digits of what it says; in arena. */
const char *sbx_policy_rule_id(const struct sbx_policy_entry *e, struct sbx_arena *arena);
/** Name of an approval: "a-" and 12 hexadecimal digits of what it says; in arena. */
const char *sbx_policy_approval_id(const struct sbx_policy_approval *a, struct sbx_arena *arena);
/** Is this a preset's name? */
bool sbx_policy_is_preset(const char *name);

/* ---- credentials.yaml: where the user's credentials are, and where they may go ---- */

/** One place to look for a credential: variables, or a file. */
struct sbx_discovery {
    struct sbx_origin at;
    struct sbx_strs env;     /**< in this order; empty: `path` */
    bool file_set;
    const char *path;        /**< as written; "~" is the user's home */
    const char *parser;      /**< "raw", or "json:<dotted.path>"; NULL: raw */
};

/** Who sees the credential (N16). */
enum sbx_delivery { SBX_DELIVERY_GATE, SBX_DELIVERY_CONTAINER };

struct sbx_binding {
    struct sbx_origin at;
    const char *id;      /**< as written: "github", "github@work" */
    const char *service; /**< "github" */
    const char *variant; /**< "work"; NULL: the default */
    SBX_LIST(sbx_discovery) discovery;
    struct sbx_strs api_key_domains; /**< where a key may be sent: hosts and wildcards of sbx/policy.h */
    struct sbx_strs oauth_domains;   /**< where tokens may be sent; the same list unless the file differs */
    enum sbx_delivery delivery;
};

/** A workspace's choice among variants. */
struct sbx_remembered {
    struct sbx_pos at;
    const char *workspace; /**< absolute path */
    const char *service, *binding; /**< "github", "github@work" */
};

struct sbx_credentials {
    SBX_LIST(sbx_binding) bindings;
    struct sbx_remembered *remembered;
    size_t n_remembered;
};

/**
 * As sbx_settings_load(). Two forms are read: `discovery` and `allowedDomains`, and, as other programs
 * write it, `apiKey.domains` and `oauth.domains`.
 */
SBX_MUST_USE enum sbx_code sbx_credentials_load(const char *path, struct sbx_arena *arena,
                                                struct sbx_diags *diags,
                                                struct sbx_credentials *ret, struct sbx_err *err);
/** The binding of this id; NULL: none. */
const struct sbx_binding *sbx_credentials_find(const struct sbx_credentials *c, const char *id);
/** What the workspace remembers for the service; NULL: nothing. */
const char *sbx_credentials_remembered(const struct sbx_credentials *c, const char *workspace,
                                       const char *service);

/** A change of credentials.yaml; all that is NULL is left alone. */
struct sbx_credentials_change {
    const struct sbx_binding *set; /**< put in place of the one with its id, or added */
    const char *remove;            /**< id of a binding; SBX_NOT_FOUND if there is none */
    const char *workspace, *service, *binding; /**< remember this choice; binding NULL: forget it */
};
/**
 * Load, change and save under a lock, mode 0600. Only the lines of what changes are written anew, in
 * the form with `discovery`; comments and order of all others stay. In a file of one line (flow style)
 * only the comments at its top do.
 *
 * @return as loading and saving; SBX_SCHEMA too for a change that would not load
 */
SBX_MUST_USE enum sbx_code sbx_credentials_edit(const char *path,
                                                const struct sbx_credentials_change *change,
                                                struct sbx_diags *diags, struct sbx_err *err);

#endif
