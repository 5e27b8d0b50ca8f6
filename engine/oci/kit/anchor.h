/* The image that a kit stands on: found, and kept with the kit. */
#ifndef SBX_OCI_KIT_ANCHOR_H
#define SBX_OCI_KIT_ANCHOR_H

#include "remote.h"

struct kit_image {
    struct sbx_place place; /* registry, repository, tag, digest */
    const char *pinned;     /* "name@sha256:..." as the kit's author spells the name */
    char digest[SBX_DIGEST_TEXT_SIZE];
};

/* Look up what the tag has now. `text` is sandbox.image. */
SBX_MUST_USE enum sbx_code kit_image_pin(const struct sbx_kit_io *io, const char *text,
                                         struct sbx_arena *arena, struct kit_image *ret,
                                         struct sbx_err *err);
/*
 * Put the image's index (with all it names) into the kit's repository under _kit_TAG. ret->anchor says that it is
 * there, ret->note why it is not; in a layout, or where `how` wants none, neither.
 */
SBX_MUST_USE enum sbx_code kit_anchor_make(const struct sbx_kit_io *io, const struct kit_image *i,
                                           struct kit_remote *to, struct sbx_cache *cache,
                                           enum sbx_anchor how, const char *tag,
                                           struct sbx_arena *arena, struct sbx_pushed *ret,
                                           struct sbx_err *err);
/* Copy a manifest and all that it names, to the byte; within one registry blobs are mounted. */
SBX_MUST_USE enum sbx_code kit_copy_whole(struct kit_remote *from, struct kit_remote *to,
                                          struct sbx_cache *cache, const char *digest,
                                          const char *tag, struct sbx_err *err);

#endif
