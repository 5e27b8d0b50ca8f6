/* What the files for OCI layouts share. */
#ifndef SBX_OCI_KIT_LAYOUT_H
#define SBX_OCI_KIT_LAYOUT_H

#include <jansson.h>

#include "remote.h"

#define NAME_KEY "org.opencontainers.image.ref.name"
#define LAYOUT_PATH 128 /* bytes of "blobs/sha256/HEX" */

struct layout {
    struct kit_remote rm;
    int dir;
    char *path; /* as it was given */
    char *unpacked; /* an archive's content, below the cache; NULL: it is a directory */
};

void layout_blob_path(const char *digest, char path[LAYOUT_PATH]);
enum sbx_code layout_read_json(struct layout *l, const char *path, json_t **ret,
                               struct sbx_err *err);

/* archive.c: the layout in a tar file, in a directory that is *ret_dir while *ret_lock is open. */
enum sbx_code layout_unpack_archive(const char *file, const char *cache, char **ret_dir, int *ret_lock,
                                    struct sbx_err *err);

/* layout_refer.c */
bool layout_has_subject(const char *text, size_t len);
enum sbx_code layout_referrers(struct kit_remote *rm, const char *digest, struct sbx_arena *arena,
                               struct sbx_oci_doc *ret, struct sbx_err *err);

#endif
