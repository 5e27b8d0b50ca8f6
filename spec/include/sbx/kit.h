/**
 * @file
 * Kits: from bytes to the canonical artifact, and from artifacts to the composed one.
 *
 *   load -> decode (v1 | v2) -> validate -> [extends -> mixins ->] compose
 *
 * Each arrow is one function; nothing here touches the network, a process or a container. An
 * artifact owns all it points to (one arena) and never changes after it was made. Every element
 * carries its origin: which kit, file, line and column it comes from.
 * Source: the kit specification v2 (spec anatomy, lifecycle 2 to 6), decisions S1 to S30.
 */
#ifndef SBX_KIT_H
#define SBX_KIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/arena.h"
#include "sbx/args.h"
#include "sbx/diag.h"
#include "sbx/file.h"

#define SBX_SPEC_MAX 1048576     /* bytes of a spec file; the largest real one is 12 KiB */
#define SBX_KIT_ITEMS_MAX 10000  /* entries of one list or mapping of a spec; the longest real list has 37 */
#define SBX_KIT_FILES_MAX 20000  /* entries below files/ */
#define SBX_KIT_FILE_MAX 268435456 /* bytes of one file below files/; it is held in memory once */

/** Where an element was written. */
struct sbx_origin {
    const char *kit; /**< name of the kit */
    struct sbx_pos pos;
};

/** A list of strings. `set` tells an empty list from an absent one; `at` runs parallel to `v`. */
struct sbx_strs {
    const char **v;
    struct sbx_origin *at;
    size_t len;
    bool set;
};

struct sbx_pair { const char *name, *value; struct sbx_origin at; };
struct sbx_pairs { struct sbx_pair *v; size_t len; bool set; };

struct sbx_inject {
    struct sbx_origin at;
    const char *domain, *header, *format, *username; /**< NULL: not given; `scheme` is expanded */
    const char *scheme; /**< as written ("bearer", "basic"), for messages; NULL: not given */
};

struct sbx_api_key {
    struct sbx_origin at;
    bool set;
    const char *name; /**< environment variable; NULL or "": none */
    bool proxy_managed;
    struct { struct sbx_inject *v; size_t len; bool set; } inject;
};

struct sbx_oauth {
    struct sbx_origin at;
    bool set;
    const char *token_host, *token_path;
    struct sbx_strs resource_hosts, skip_if_env;
    bool sentinels_set;
    const char *sentinel_access, *sentinel_refresh;
    bool file_set;
    const char *file_path, *file_template;
    json_t *file_structure; /**< owned by the artifact; NULL: none */
    bool fields_set;
    const char *field_access, *field_refresh, *field_expires, *field_scope;
    bool passthrough;
};

struct sbx_credential {
    struct sbx_origin at;
    const char *service, *description, *provider;
    bool required;
    struct sbx_api_key api_key;
    struct sbx_oauth oauth;
};

struct sbx_install {
    struct sbx_origin at;
    const char *command, *user, *description; /**< user NULL: "0" */
};

struct sbx_startup {
    struct sbx_origin at;
    struct sbx_strs command; /**< argv; the string form is already {"sh","-c",text} */
    const char *user, *description; /**< user NULL: "1000" */
    bool background;
};

struct sbx_setup_file {
    struct sbx_origin at;
    const char *path, *content, *mode, *description; /**< mode NULL: "0644" */
    bool only_if_missing;
};

enum sbx_target { SBX_TARGET_HOME, SBX_TARGET_WORKSPACE };

/** A regular file below files/. */
struct sbx_static_file {
    struct sbx_origin at; /**< `pos.file` is its path below the kit's root, line 0 */
    enum sbx_target target;
    const char *path;     /**< below the target, clean, no leading slash */
    unsigned mode;        /**< 0644 or 0755 (decision F2) */
    size_t size;          /**< bytes */
    const void *data;     /**< the content; NULL while `source` is set */
    bool borrowed;        /**< `data` is the program's own, not the artifact's */
    const char *source;   /**< absolute path of the file to read it from; NULL: in `data` */
};

struct sbx_volume {
    struct sbx_origin at;
    const char *path, *type, *size, *mode; /**< type NULL or "": volume; "tmpfs" */
};

struct sbx_port {
    struct sbx_origin at;
    int container;
    const char *protocol, *name;
};

struct sbx_arg {
    struct sbx_origin at;
    const char *name;
    const char *default_value; /**< NULL: none; "" is a value */
    bool required;
    const char *description, *pattern;
    struct sbx_strs choices; /**< enum */
};

struct sbx_build {
    bool set;
    struct sbx_origin at;
    const char *context, *dockerfile, *target;
    struct sbx_pairs args;
    struct sbx_strs platforms;
};

struct sbx_resources {
    bool set;
    struct sbx_origin at;
    bool cpu_set;
    double cpu;        /**< cores; 0: no limit */
    const char *memory; /**< as written; NULL: not given */
    int64_t memory_mb;  /**< MiB of `memory`, rounded down; 0: no limit */
    const char *gpu;
};

/** How an agent is started (lifecycle, "entrypoint + command"). */
struct sbx_launch {
    struct sbx_strs entrypoint;  /**< binary and always-on arguments */
    struct sbx_strs interactive; /**< tail with a terminal; not set: `noninteractive` */
    struct sbx_strs noninteractive;
};

/** Where single fields were written, for diagnostics; private to spec/kit. */
struct sbx_places;
struct sbx_v1;
/** Which values took the place of references to arguments; private to spec/kit. */
struct sbx_substitution;

/** One kit of a composition. */
struct sbx_kit_ref {
    const char *name, *kind, *reference, *digest; /**< reference as the user or kit wrote it */
    const char *agent_context; /**< a mixin's own text (kits-memory/<name>.md); NULL: none */
    const char *schema_version; /**< rules of version 1 are milder, for its elements only */
};

#define SBX_LIST(type) struct { struct type *v; size_t len; bool set; }

struct sbx_artifact {
    struct sbx_arena *arena;
    struct sbx_origin at;
    /* manifest */
    const char *schema_version, *kind, *name, *version, *display_name, *description, *source_url;
    bool sandbox_set; /**< a `sandbox:` block was written */
    const char *image, *binary, *ai_filename; /**< NULL: not given */
    struct sbx_strs run_options, interactive_options; /**< flat lists as the reference prints them */
    struct sbx_launch launch;
    struct sbx_build build;
    struct sbx_resources resources;
    bool security_set, privileged;
    SBX_LIST(sbx_volume) volumes;
    /* the rest, in the reference's names: caps.network, publishedPorts, commands ... */
    const char *extends;
    struct sbx_origin extends_at;
    struct sbx_strs mixins, locked, licenses;
    bool requires_set;
    const char *requires_agent;
    struct sbx_origin requires_at;
    SBX_LIST(sbx_arg) args;
    bool caps_set;
    struct sbx_strs allow, deny;
    SBX_LIST(sbx_port) ports;
    SBX_LIST(sbx_credential) credentials;
    bool environment_set;
    struct sbx_pairs variables;
    SBX_LIST(sbx_install) install;
    SBX_LIST(sbx_startup) startup;
    SBX_LIST(sbx_setup_file) setup_files;
    SBX_LIST(sbx_static_file) files;
    const char *agent_context;
    struct sbx_origin agent_context_at;
    struct sbx_strs warnings; /**< deprecations, in the reference's number and order (S12) */
    const struct sbx_v1 *v1; /**< what version 1 said, private to spec/kit; NULL: not of version 1 */
    const struct sbx_places *places; /**< NULL: only the elements' own origins are known */
    struct sbx_substitution *substitution; /**< NULL: loaded as written */
    bool embedded;
    /* SHA-256 of two lines, the digest of the spec's bytes and that of the files as an uncompressed
     * archive (S30, F2; spec/kit/archive.c). NULL after sbx_kit_check() and in a composed artifact. */
    const char *digest;
    /* composed artifacts only */
    SBX_LIST(sbx_kit_ref) kits; /**< what was composed, base first */
    SBX_LIST(sbx_kit_ref) parents; /**< what the base extends, nearest first; they are merged in */
};

void sbx_artifact_free(struct sbx_artifact *a); /**< Free it; NULL is fine. */
SBX_DEFINE_AUTO_PTR(sbx_artifact, sbx_artifact_free);

/** A kit compiled into the program. */
struct sbx_embedded_file { const char *path; const unsigned char *data; size_t len; unsigned mode; };
struct sbx_embedded_kit {
    const char *name;
    bool agent; /**< kits/agents, else kits/mixins */
    const struct sbx_embedded_file *files; /**< spec.yaml first, then files/... */
    size_t n_files;
};

/** Names of the spec in a kit's directory; the second only counts where the first is not there. */
#define SBX_KIT_SPEC_NAMES { "spec.yaml", "spec.yml" }

/**
 * Load a kit: a directory with spec.yaml (or spec.yml) and files/, or one spec file (then without
 * files/); "-" reads the spec from standard input. Decodes strictly and validates.
 *
 * @param diags gathers every finding, remarks of valid kits too; positions name `path`'s files
 * @param ret   the caller's: sbx_artifact_free(); written only on success
 * @return SBX_OK; SBX_SCHEMA or SBX_SYNTAX (then diags has at least one error and err sums it up);
 *         SBX_NOT_FOUND, SBX_IO, SBX_LIMIT, SBX_NO_MEMORY (err says it)
 */
SBX_MUST_USE enum sbx_code sbx_kit_load(const char *path, struct sbx_diags *diags,
                                        struct sbx_artifact **ret, struct sbx_err *err);
/** The same without `digest`, which alone costs more than all the rest: for validate and inspect. */
SBX_MUST_USE enum sbx_code sbx_kit_check(const char *path, struct sbx_diags *diags,
                                         struct sbx_artifact **ret, struct sbx_err *err);

/** How to load a kit; all zero is sbx_kit_check(). */
struct sbx_kit_options {
    /**
     * Fill in arguments, in the spec and in files/: these values, else the declared defaults. NULL:
     * the kit is taken as written, references are text.
     */
    struct sbx_arg_values *args;
    /**
     * With args NULL: what a value with a reference will be is not known, so no rule is held against it. A field
     * that holds no text stays empty, with a note.
     */
    bool open_args;
    bool digest; /**< of the bytes as they are, whatever the arguments */
    bool for_use; /**< extends and mixins will be applied: no remark that they were not */
};
/**
 * sbx_kit_load() with options. Besides what it says, `args` may fail a kit: references that are
 * malformed or not declared, values that are missing or break their enum or pattern (SBX_SCHEMA).
 */
SBX_MUST_USE enum sbx_code sbx_kit_load_with(const char *path, const struct sbx_kit_options *options,
                                             struct sbx_diags *diags, struct sbx_artifact **ret,
                                             struct sbx_err *err);
/** sbx_kit_load() from memory; `file` names it in positions. No files/. */
SBX_MUST_USE enum sbx_code sbx_kit_load_bytes(const char *file, const char *text, size_t len,
                                              struct sbx_diags *diags, struct sbx_artifact **ret,
                                              struct sbx_err *err);
/** The same from the program's own kits. The artifact borrows the embedded bytes. */
SBX_MUST_USE enum sbx_code sbx_kit_load_embedded(const struct sbx_embedded_kit *kit,
                                                 struct sbx_diags *diags,
                                                 struct sbx_artifact **ret, struct sbx_err *err);
/** The same with options; the digest is always taken. */
SBX_MUST_USE enum sbx_code sbx_kit_load_embedded_with(const struct sbx_embedded_kit *kit,
                                                      const struct sbx_kit_options *options,
                                                      struct sbx_diags *diags,
                                                      struct sbx_artifact **ret,
                                                      struct sbx_err *err);

/**
 * The agent that a mixin is for: requires.agent, or `extends` in version 1, where a mixin could name it so
 * (S19; nothing is merged). NULL: any agent.
 */
const char *sbx_artifact_agent(const struct sbx_artifact *a);

/** The artifact as the public reference spells it (RB 0, corpus); NULL: no memory. */
json_t *sbx_artifact_json(const struct sbx_artifact *a);

/**
 * Append the artifact as a spec of version 2, which loads to the same artifact but for its warnings and
 * what is below files/ (and, of a kit of version 1, `schemaVersion` and the flat interactive options). Comments and the author's layout are gone.
 * @return SBX_OK, SBX_LIMIT (of `out`), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_artifact_yaml(const struct sbx_artifact *a, struct sbx_buf *out,
                                             struct sbx_err *err);

/**
 * The grammar of schemaVersion "1" or "2" as JSON Schema (draft 2020-12). NULL: no memory, or no such
 * version.
 */
json_t *sbx_kit_schema(unsigned version);

/** Names that no user kit may take in a composition (S30). */
bool sbx_kit_name_reserved(const char *name);

/**
 * Digest of the program's own kit of this name, as sbx_kit_load_embedded() gives it; NULL: there is no
 * such kit. The text stays valid during the composition.
 */
typedef const char *sbx_builtin_digest_fn(const char *name, void *data);

/**
 * Load the kit that another one names in `extends` or `mixins`, for use. Relative references are
 * relative to the file that `at` names, and stay in its tree (S24).
 * @return SBX_OK, or the error, which names the reference; SBX_UNSUPPORTED: this kind cannot be had
 */
typedef enum sbx_code sbx_kit_fetch_fn(void *data, const char *reference, struct sbx_origin at,
                                       struct sbx_diags *diags, struct sbx_artifact **ret,
                                       struct sbx_err *err);
#define SBX_EXTENDS_MAX 5 /* parents above a kit; the specification's bound */

/** What composition asks its caller; every field may be empty. */
struct sbx_compose_opts {
    const char *const *references; /**< parallel to base and mixins (1 + n), as the user wrote them */
    /** S30: a kit with a reserved name must be the built-in itself. NULL: only embedded ones pass. */
    sbx_builtin_digest_fn *builtin_digest;
    void *data; /**< for builtin_digest */
    /** Resolves extends and mixins of the base. NULL: they are left alone. */
    sbx_kit_fetch_fn *fetch;
    void *fetch_data;
};

/**
 * Merge a sandbox kit with what it extends, from the topmost parent down (seed "extends", S6, S7, S19
 * to S21). Nothing is validated; sbx_compose() does this and validates.
 *
 * @param opts `fetch` loads the parents
 * @param ret  the caller's; NULL: the kit extends nothing, take it as it is
 * @return SBX_OK, SBX_CONFLICT, SBX_SCHEMA or SBX_LIMIT (diags has the errors, err sums up),
 *         SBX_NO_MEMORY, what `fetch` returned
 */
SBX_MUST_USE enum sbx_code sbx_kit_extend(const struct sbx_artifact *kit,
                                          const struct sbx_compose_opts *opts,
                                          struct sbx_diags *diags, struct sbx_artifact **ret,
                                          struct sbx_err *err);

/**
 * Compose one sandbox kit with mixins (seed "composition", S5, S7, S21, S23, S26, S30), in this order:
 * what the base extends, the base, the mixins it names itself, `mixins`. The first and the third need
 * opts->fetch.
 * Checks kinds, unique and reserved names and requires.agent, merges, and validates the whole again;
 * the remarks of single kits are not repeated. Elements keep their origins, so that each rule,
 * variable, command and file tells its kit. `extends`, `mixins`, `args` and `requires` were the
 * business of the single kits: the composed artifact has none.
 *
 * @param base kind sandbox; without opts->fetch its extends and mixins have no effect
 * @param opts may be NULL
 * @param ret  the caller's; keeps nothing of the inputs but embedded bytes
 * @return SBX_OK, SBX_CONFLICT (kits contradict each other) or SBX_SCHEMA (then diags has the errors,
 *         err sums up), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_compose(const struct sbx_artifact *base,
                                       const struct sbx_artifact *const *mixins, size_t n,
                                       const struct sbx_compose_opts *opts, struct sbx_diags *diags,
                                       struct sbx_artifact **ret, struct sbx_err *err);

/** One element of an artifact: what provenance lists, and what `locked` protects. */
struct sbx_element {
    const char *path;  /**< "sandbox.image", "credentials[service=github]", "setup.install[0]" */
    const char *value; /**< as text, whole: lists and mappings as JSON */
    struct sbx_origin at; /**< line 0: only the kit or file is known */
    const char *args;  /**< arguments whose values are in it: "channel, version"; NULL: none */
    bool adds;         /**< of a list that is concatenated: each element is a change of its own */
};
/**
 * List all elements in the order of the grammar.
 * @param arena owns list and texts that the artifact has not; the rest lives with the artifact
 * @return SBX_OK or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_artifact_elements(const struct sbx_artifact *a,
                                                 struct sbx_arena *arena,
                                                 struct sbx_element **ret, size_t *ret_n);

/** Validation of one artifact, the same for a single kit and a composed one (S23). */
void sbx_artifact_validate(const struct sbx_artifact *a, bool composed, struct sbx_diags *diags);

/** Content of a static file into `out` (at most SBX_KIT_FILE_MAX bytes). */
SBX_MUST_USE enum sbx_code sbx_static_file_read(const struct sbx_static_file *f,
                                                struct sbx_buf *out, struct sbx_err *err);

/** The same in pieces, for files of any size: `sink` gets exactly `f->size` bytes, or it is SBX_IO. */
SBX_MUST_USE enum sbx_code sbx_static_file_stream(const struct sbx_static_file *f,
                                                  sbx_file_sink *sink, void *context,
                                                  struct sbx_err *err);

/** Takes the next bytes of an archive. */
typedef sbx_file_sink sbx_archive_sink;
/**
 * Write the static files as the one canonical uncompressed archive (F2): what the digest is taken of,
 * and what the layer of the kit's OCI artifact holds.
 * @return SBX_OK, the sink's code, SBX_IO (a file cannot be read or changed), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_kit_archive(const struct sbx_artifact *a, sbx_archive_sink *sink,
                                           void *context, struct sbx_err *err);

/** Bytes of a size like "512m", "1.5g", "10GiB" (RB 7.11); false: not a size. */
bool sbx_size_parse(const char *text, int64_t *bytes);

#endif
