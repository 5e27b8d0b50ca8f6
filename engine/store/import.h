/* What import.c and import_image.c share. */
#ifndef SBX_STORE_IMPORT_H
#define SBX_STORE_IMPORT_H

#include "store.h"

#define MEDIA_MANIFEST "application/vnd.oci.image.manifest.v1+json"

struct import {
    struct sbx_store *store;
    struct sbx_source *src;
    const struct sbx_store_progress *progress;
    struct sbx_arena *arena;
    const char **names; /* what the caller gets */
    size_t n_names;
};

/* One image from the source into the store: layers, record, names. `manifest_size` of an OCI manifest. */
enum sbx_code sbx_import_image(struct import *im, const struct sbx_manifest *m,
                               size_t manifest_size, struct sbx_err *err);

#endif
