/**
 * @file
 * Images from registries into the store: what the oci runtime has in place of an Engine's pull.
 * OCI Image Specification 1.1; Docker's media types too.
 */
#ifndef SBX_IMAGE_PULL_H
#define SBX_IMAGE_PULL_H

#include "sbx/registry.h"
#include "sbx/store.h"

/**
 * Fetch an image for this machine's platform and make it one of the store's, named `reference`. Layers
 * that are in the cache are not fetched again.
 * @param progress called by several threads, never at the same time
 * @return SBX_OK; SBX_UNSUPPORTED (no image for this platform, a format of before 2016); the codes of
 *         sbx/registry.h and sbx_store_import()
 */
SBX_MUST_USE enum sbx_code sbx_image_pull(struct sbx_store *s, const char *reference,
                                          const struct sbx_oci_progress *progress,
                                          struct sbx_err *err);

#endif
