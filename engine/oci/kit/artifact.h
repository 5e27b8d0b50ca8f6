/* A kit's manifest: written, and read by the consumer's rules. Pure. */
#ifndef SBX_OCI_KIT_ARTIFACT_H
#define SBX_OCI_KIT_ARTIFACT_H

#include "sbx/kit.h"
#include "sbx/kit_artifact.h"

#define KIT_LAYERS_MAX 128 /* layers of a manifest that are looked at; all but one are ignored */

struct kit_blob {
    char digest[SBX_DIGEST_TEXT_SIZE];
    int64_t size;
};

struct kit_manifest {
    struct kit_blob config;
    bool has_layer;
    struct kit_blob layer;
};

/**
 * @return SBX_OK; SBX_SYNTAX, SBX_SCHEMA (no kit, or one against the rules); SBX_UNSUPPORTED (version 1);
 *         SBX_LIMIT
 */
SBX_MUST_USE enum sbx_code kit_manifest_parse(const char *text, size_t len,
                                              struct kit_manifest *ret, struct sbx_err *err);
/** Canonical bytes; malloc'd. */
SBX_MUST_USE enum sbx_code kit_manifest_write(const struct sbx_artifact *a,
                                              const struct kit_manifest *m, char **ret,
                                              struct sbx_err *err);

#define KIT_CREATED_SIZE 32 /* bytes of "1970-01-01T00:00:00Z" and more */
/** The date of artifacts: fixed, or SOURCE_DATE_EPOCH's. SBX_OK, SBX_USAGE. */
SBX_MUST_USE enum sbx_code kit_created(char out[KIT_CREATED_SIZE], struct sbx_err *err);

/* layer.c: the files as a compressed layer in a file without a name, made in `dir`. */
SBX_MUST_USE enum sbx_code kit_layer_make(const struct sbx_artifact *a, const char *dir,
                                          int *ret_fd, struct kit_blob *ret, struct sbx_err *err);
/* unpack.c: a layer below DIR/files. */
SBX_MUST_USE enum sbx_code kit_layer_unpack(int layer, int dir, struct sbx_err *err);

/* dist.c: the spec's bytes with `image` in place of sandbox.image (NULL: kept), without build. */
SBX_MUST_USE enum sbx_code kit_spec_distribute(const char *file, const char *text, size_t len,
                                               const char *image, struct sbx_buf *out,
                                               struct sbx_err *err);

#endif
