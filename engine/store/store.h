/* What the files of this folder share. Public: sbx/store.h. */
#ifndef SBX_STORE_PRIVATE_H
#define SBX_STORE_PRIVATE_H

#include <jansson.h>
#include <sys/types.h>

#include "cache.h"
#include "sbx/buf.h"
#include "sbx/digest.h"
#include "sbx/json.h"
#include "sbx/store.h"
#include "sbx/tree.h"

struct sbx_store {
    char *state;
    struct sbx_cache *cache;
    int layers; /* STATE/layers */
    int images; /* STATE/images */
};

/* store.c; waits for it */
enum sbx_code sbx_store_lock(struct sbx_store *s, const char *name, bool alone, int *ret_fd,
                             struct sbx_err *err);

/* ---- manifest.c: JSON of images; pure ---- */

struct sbx_descriptor {
    const char *media_type;
    char digest[SBX_DIGEST_TEXT_SIZE];
    int64_t size; /* -1: not said */
};
/* One image to import. Of a docker archive: names of entries; of an OCI manifest: digests. */
struct sbx_manifest {
    const char *config;  /* entry name or digest */
    const char **layers; /* the same, lowest first */
    int64_t *sizes;      /* OCI: declared sizes, else NULL */
    size_t n_layers;
    const char **names; /* full references */
    size_t n_names;
    const char *digest; /* of the manifest; of a docker archive NULL */
    bool is_oci;        /* it has OCI's types; a registry may have Docker's */
};
struct sbx_config {
    const char **diff_ids;
    size_t n_layers;
    const char *const *env, *const *entrypoint, *const *cmd, *const *labels;
    const char *workdir, *user, *os, *architecture;
    int64_t created;
};

/* `text` is untrusted; results live in arena. SBX_OK, SBX_SYNTAX, SBX_SCHEMA, SBX_LIMIT, SBX_UNSUPPORTED */
enum sbx_code sbx_manifest_docker(const char *text, size_t len, struct sbx_arena *arena,
                                  struct sbx_manifest **ret, size_t *ret_n, struct sbx_err *err);
enum sbx_code sbx_manifest_oci(const char *text, size_t len, struct sbx_arena *arena,
                               struct sbx_manifest *ret, struct sbx_err *err);
/* An index: `names[i]` is the full reference of entry i or NULL. */
struct sbx_index {
    struct sbx_descriptor *v;
    const char **names;
    size_t n, best; /* of those for us, the one that fits best */
};
enum sbx_code sbx_manifest_index(const char *text, size_t len, const struct sbx_store_platform *ours,
                                 struct sbx_arena *arena, struct sbx_index *ret,
                                 struct sbx_err *err);
enum sbx_code sbx_config_parse(const char *text, size_t len, struct sbx_arena *arena,
                               struct sbx_config *ret, struct sbx_err *err);
enum sbx_code sbx_layout_check(const char *text, size_t len, struct sbx_err *err);
/* Parts of it, for config.c too. */
enum sbx_code sbx_text_json(const char *text, size_t len, json_t **ret, struct sbx_err *err);
enum sbx_code sbx_json_text(const json_t *object, const char *key, const char *fallback,
                            struct sbx_arena *arena, const char **ret, struct sbx_err *err);
enum sbx_code sbx_json_list(const json_t *object, const char *key, size_t max,
                            struct sbx_arena *arena, const char ***ret, size_t *ret_n,
                            struct sbx_err *err);
bool sbx_media_is_index(const char *media_type);
bool sbx_media_is_image(const char *media_type); /* a manifest or index of one, or of no type */
bool sbx_media_is_manifest(const char *media_type);

/* ---- entry.c: rules for the names of entries; pure ---- */

enum sbx_entry_kind {
    SBX_ENTRY_ROOT, /* "./": the layer's own directory */
    SBX_ENTRY_PLAIN,
    SBX_ENTRY_WHITEOUT, /* `name` is what goes */
    SBX_ENTRY_OPAQUE,   /* the directory hides the lower ones */
    SBX_ENTRY_SKIP,     /* aufs book-keeping */
};
struct sbx_entry_name {
    enum sbx_entry_kind kind;
    char path[4096];   /* clean: no leading "./", no trailing "/", no "//" */
    const char *name;  /* last component, inside path */
    size_t parent_len; /* bytes of path that are the parent; 0: the root */
};
/* SBX_OK; SBX_SCHEMA with what is wrong. Without `layer`, whiteout names mean nothing special. */
enum sbx_code sbx_entry_name(const char *text, bool layer, struct sbx_entry_name *ret,
                             struct sbx_err *err);

/* ---- source.c: an archive or a directory to import ---- */

struct sbx_source;
enum sbx_code sbx_source_open(struct sbx_store *s, const char *path, struct sbx_source **ret,
                              struct sbx_err *err);
/* The store's own cache as a source. */
enum sbx_code sbx_source_cache(struct sbx_store *s, struct sbx_source **ret, struct sbx_err *err);
void sbx_source_close(struct sbx_source *src);
SBX_DEFINE_AUTO_PTR(sbx_source, sbx_source_close);
bool sbx_source_has(struct sbx_source *src, const char *name);
/* A small entry as text, NUL-terminated, owned by the source. SBX_NOT_FOUND. */
enum sbx_code sbx_source_text(struct sbx_source *src, const char *name, const char **ret,
                              size_t *ret_len, struct sbx_err *err);
/* The entry's bytes as a blob in the cache, verified if `expect`. */
enum sbx_code sbx_source_blob(struct sbx_source *src, const char *name, const char *expect,
                              char ret_digest[SBX_DIGEST_TEXT_SIZE], struct sbx_err *err);

/* ---- unpack.c: layers ---- */

/*
 * Unpack the blob `digest` into STATE/layers under a temporary name; *ret_tmp is "" when the layer
 * is there already. Checks the diff id.
 */
#define SBX_LAYER_TMP_SIZE 128
enum sbx_code sbx_layer_unpack(struct sbx_store *s, const char *digest, const char *diff_id,
                               int64_t *budget, char ret_tmp[SBX_LAYER_TMP_SIZE],
                               struct sbx_err *err);
bool sbx_layer_present(struct sbx_store *s, const char *diff_id);
/* On the disk, give it its name, and note its size beside it (a lost note only makes a list show less). */
enum sbx_code sbx_layer_settle(struct sbx_store *s, const char *tmp, const char *diff_id,
                               int64_t size, struct sbx_err *err);
int64_t sbx_layer_size(struct sbx_store *s, const char *diff_id);

/* ---- record.c: the tables in STATE/images ---- */

struct sbx_record {
    const char *id; /* "sha256:…" */
    const char *const *diff_ids;
    size_t n_layers;
    const char *manifest; /* digest or "" */
    const char *config;   /* its exact bytes */
    int64_t size;
};
enum sbx_code sbx_record_read(struct sbx_store *s, const char *hex, struct sbx_arena *arena,
                              struct sbx_record *ret, struct sbx_err *err);
enum sbx_code sbx_names_read(struct sbx_store *s, json_t **ret, struct sbx_err *err);
enum sbx_code sbx_names_write(struct sbx_store *s, json_t *names, struct sbx_err *err);
typedef enum sbx_code (*each_fn)(struct sbx_store *s, const char *name, void *ctx,
                                 struct sbx_err *err);
/* Call for every name in a directory; the first failure ends it. */
enum sbx_code sbx_store_each(struct sbx_store *s, int dir, each_fn each, void *ctx,
                             struct sbx_err *err);
bool sbx_is_record(const char *name); /* 64 digits and ".json" */
/* Remove layers that no record names. Needs import.lock. */
enum sbx_code sbx_store_sweep(struct sbx_store *s, struct sbx_err *err);
/* Write record and names of one image, tables locked. */
enum sbx_code sbx_record_add(struct sbx_store *s, const struct sbx_record *r,
                             const char *const *names, size_t n, struct sbx_err *err);

#endif
