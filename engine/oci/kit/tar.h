/*
 * Reading a tar archive front to back: POSIX ustar and pax, GNU's long names, the old format (pax(1)).
 * Everything in it comes from strangers. Which names and kinds are welcome is the caller's matter; what
 * two readers could understand differently (sparse files, a directory with content, NUL in a name) is refused.
 */
#ifndef SBX_OCI_KIT_TAR_H
#define SBX_OCI_KIT_TAR_H

#include <stdbool.h>
#include <stdint.h>

#include "sbx/err.h"

#define TAR_NAME_MAX 4096       /* bytes with NUL: PATH_MAX */
#define TAR_RECORDS_MAX 1048576 /* bytes of one entry's pax records; attributes of 64 KiB are the largest real ones */

/* The next `len` bytes, fewer only at the end of it all. */
typedef enum sbx_code tar_read_fn(void *ctx, void *to, size_t len, size_t *ret_n,
                                  struct sbx_err *err);

struct tar_in {
    tar_read_fn *read;
    void *ctx;
    int64_t left;    /* bytes of the entry's content that were not read */
    unsigned padding; /* zeros behind it */
};

struct tar_entry {
    char name[TAR_NAME_MAX]; /* as it is written; not empty */
    char type;               /* '0' file, '5' directory, '1' hard link, '2' symlink, '3' '4' devices, '6' FIFO */
    unsigned mode;           /* permissions, as they are written */
    int64_t size;            /* bytes of content; files only */
};

/* *ret_more false: the archive is over. SBX_SYNTAX, SBX_SCHEMA, SBX_LIMIT, and what `read` says. */
SBX_MUST_USE enum sbx_code tar_next(struct tar_in *t, struct tar_entry *e, bool *ret_more,
                                    struct sbx_err *err);
/* Content of the entry; *ret_n 0: that was all. */
SBX_MUST_USE enum sbx_code tar_data(struct tar_in *t, void *to, size_t len, size_t *ret_n,
                                    struct sbx_err *err);

#endif
