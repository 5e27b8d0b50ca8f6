/* What import.c and import_image.c share. */
#ifndef SBX_STORE_IMPORT_H
#define SBX_STORE_IMPORT_H

#include "store.h"

#define MEDIA_MANIFEST "application/vnd.oci.image.manifest.v1+json"

struct import {
    struct sbx_store *store;
    struct sbx_source *src;
    struct sbx_arena *arena;
    const char **names; /* what the caller gets */
    size_t n_names;
};

/* One image from the source into the store: layers, record, names. `manifest`: the text of an OCI one, or NULL. */
enum sbx_code sbx_import_image(struct import *im, const struct sbx_manifest *m,
                               const char *manifest, size_t manifest_len, struct sbx_err *err);

#endif
