/**
 * @file
 * Blobs by digest in the cache directory, an OCI image layout that other tools read too. Content is
 * verified before it gets its name and never changes after; the whole directory may be deleted at any
 * time. OCI Image Specification 1.1, "Image Layout".
 *
 *     CACHE/oci-layout, index.json, blobs/sha256/HEX
 *     CACHE/partial/HEX        what a download brought so far; its lock is the download's
 *     CACHE/names/HEX          the references by which a kit or a commit was fetched, one a line
 */
#ifndef SBX_CACHE_H
#define SBX_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sbx/arena.h"
#include "sbx/digest.h"
#include "sbx/err.h"
#include "sbx/tree.h"

struct sbx_cache; /* opaque; not for several threads at once */

/** Nothing is made on disk before something is written. SBX_OK or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_cache_open(const char *dir, struct sbx_cache **ret,
                                          struct sbx_err *err);
void sbx_cache_close(struct sbx_cache *c); /**< NULL is fine */
SBX_DEFINE_AUTO_PTR(sbx_cache, sbx_cache_close);
const char *sbx_cache_dir(const struct sbx_cache *c);

/**
 * From now on do not wait until blobs are on the disk. After a crash they are read, and verified, before they
 * count as here.
 */
void sbx_cache_hurry(struct sbx_cache *c);

/** Is the blob here? `ret_size` may be NULL. */
bool sbx_blob_has(struct sbx_cache *c, const char *digest, int64_t *ret_size);
/** Copy from `read` to its end into the cache, at most `max` bytes; verified if `expect`. */
SBX_MUST_USE enum sbx_code sbx_blob_put(struct sbx_cache *c, sbx_read_fn read, void *ctx,
                                        const char *expect, int64_t max,
                                        char ret_digest[SBX_DIGEST_TEXT_SIZE], int64_t *ret_size,
                                        struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_blob_put_mem(struct sbx_cache *c, const void *data, size_t len,
                                            const char *expect,
                                            char ret_digest[SBX_DIGEST_TEXT_SIZE],
                                            struct sbx_err *err);
/** SBX_OK with a descriptor to read, SBX_NOT_FOUND, SBX_IO. */
SBX_MUST_USE enum sbx_code sbx_blob_open(struct sbx_cache *c, const char *digest, int *ret_fd,
                                         struct sbx_err *err);
void sbx_blob_remove(struct sbx_cache *c, const char *digest);
/** Name a manifest in CACHE/index.json. */
SBX_MUST_USE enum sbx_code sbx_blob_index(struct sbx_cache *c, const char *digest, size_t size,
                                          const char *media_type, const char *name,
                                          struct sbx_err *err);
/** Each name in CACHE/index.json, until `each` says false. */
typedef bool sbx_blob_index_fn(void *ctx, const char *digest, const char *name);
void sbx_blob_index_each(struct sbx_cache *c, sbx_blob_index_fn *each, void *ctx);
/**
 * Note by which reference a kit or a commit was fetched, for people. Under sbx_cache_use().
 * @param name of its manifest ("sha256:...") or of the commit
 */
SBX_MUST_USE enum sbx_code sbx_cache_name(struct sbx_cache *c, const char *name,
                                          const char *reference, struct sbx_err *err);
/** Take names of what is gone out of CACHE/index.json and CACHE/names. Under sbx_cache_alone(). */
SBX_MUST_USE enum sbx_code sbx_blob_index_tidy(struct sbx_cache *c, struct sbx_err *err);

/* ---- what is there ---- */

struct sbx_cache_entry {
    const char *kind;  /**< "blob", "kit", "git", "partial" (a download), "leftover" (of a killed command) */
    const char *name;  /**< of its file or directory */
    const char *place; /**< directory below the cache */
    int64_t size, used; /**< bytes; Unix seconds of the last use */
};
/** All, the longest unused first; in arena. */
SBX_MUST_USE enum sbx_code sbx_cache_list(struct sbx_cache *c, struct sbx_arena *arena,
                                          struct sbx_cache_entry **ret, size_t *ret_n,
                                          struct sbx_err *err);
/** What was fetched: a manifest with its blobs and the unpacked kit, a commit, or a file that belongs to none. */
struct sbx_cache_thing {
    const char *kind; /**< "image", "kit", "artifact" (another one), or its file's: "git", "blob", "partial" ... */
    const char *name; /**< "sha256:..." of the manifest or the blob, the commit, else the file's name */
    const char *const *references; /**< by which it was fetched, the first one first; NULL-terminated */
    const struct sbx_cache_entry *const *files; /**< that are here; one may belong to several things */
    size_t n_files;
    int64_t size, used; /**< of the files: bytes together, the last use */
};
/** All things that `v` (of sbx_cache_list()) is, the longest unused first; in arena, as `v` is. SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_cache_things(struct sbx_cache *c, const struct sbx_cache_entry *v,
                                            size_t n, struct sbx_arena *arena,
                                            struct sbx_cache_thing **ret, size_t *ret_n,
                                            struct sbx_err *err);
/** Is a command at work on it, or does one hold it? Under sbx_cache_alone(). */
bool sbx_cache_held(struct sbx_cache *c, const struct sbx_cache_entry *e);
/**
 * Remove one; what is at work or held by a command stays (*ret_gone false). It comes again when it is
 * needed. Under sbx_cache_alone().
 */
SBX_MUST_USE enum sbx_code sbx_cache_drop(struct sbx_cache *c, const struct sbx_cache_entry *e,
                                          bool *ret_gone, struct sbx_err *err);

#define SBX_CACHE_PARTIAL_S 604800 /* seconds that a cut download waits for its next attempt: a week */

/**
 * Remove what was used longest ago until `max` bytes are left, and leftovers; nothing that was used since
 * `began` (Unix seconds). SBX_BUSY: somebody fetches, nothing was done.
 */
SBX_MUST_USE enum sbx_code sbx_cache_trim(struct sbx_cache *c, int64_t max, int64_t began,
                                          int64_t *ret_freed, struct sbx_err *err);
bool sbx_cache_grew(void);        /**< Did this process put something into it? */
void sbx_cache_note_growth(void); /**< It did. */

/* ---- who uses it ---- */

/** While the descriptor is open nothing goes: for what is looked up, then opened. Waits for a removal. */
SBX_MUST_USE enum sbx_code sbx_cache_use(struct sbx_cache *c, int *ret_fd, struct sbx_err *err);
/** Nobody uses it, as long as the descriptor is open; SBX_BUSY: somebody does. */
SBX_MUST_USE enum sbx_code sbx_cache_alone(struct sbx_cache *c, int *ret_fd, struct sbx_err *err);
/** Mark a directory of the cache as used; it stays until this process ends. Under sbx_cache_use(). */
void sbx_cache_hold(const char *path);
/** What a check finds: of an unpacked kit against its blobs, of a commit's files against the commit. */
enum sbx_cache_state {
    SBX_CACHE_WHOLE,
    SBX_CACHE_CHANGED, /**< it is not what it ought to be */
    SBX_CACHE_UNKNOWN, /**< what would say so is not here, or there is nowhere to look */
};
/** Does a blob's content have the digest that its name says? */
SBX_MUST_USE enum sbx_code sbx_cache_check(struct sbx_cache *c, const struct sbx_cache_entry *e,
                                           bool *ret_good, struct sbx_err *err);

/** Wait until the tree of a directory is on the disk; not for all that others write. 0, or -1 with errno. */
int sbx_cache_sync_tree(int dir);

/* ---- a blob that comes in pieces and may be cut ---- */

struct sbx_blob_writer; /* opaque: a download; it holds the blob's lock */

/**
 * Begin or go on. Waits while another command downloads the same blob, so that it comes once.
 * @param ret NULL: the blob is here
 */
SBX_MUST_USE enum sbx_code sbx_blob_writer_open(struct sbx_cache *c, const char *digest,
                                                int64_t size, struct sbx_blob_writer **ret,
                                                struct sbx_err *err);
int64_t sbx_blob_writer_have(const struct sbx_blob_writer *w); /**< bytes that are here */
/** SBX_OK, SBX_SCHEMA (more than the size that was said), SBX_IO. */
SBX_MUST_USE enum sbx_code sbx_blob_writer_add(struct sbx_blob_writer *w, const void *data,
                                               size_t len, struct sbx_err *err);
/** Forget what is here: the server begins anew. */
SBX_MUST_USE enum sbx_code sbx_blob_writer_restart(struct sbx_blob_writer *w, struct sbx_err *err);
/** Verify and name it. SBX_SCHEMA: wrong size or digest; then nothing of it is kept. */
SBX_MUST_USE enum sbx_code sbx_blob_writer_finish(struct sbx_blob_writer *w, struct sbx_err *err);
/** What is here stays for the next attempt. NULL is fine. */
void sbx_blob_writer_free(struct sbx_blob_writer *w);
SBX_DEFINE_AUTO_PTR(sbx_blob_writer, sbx_blob_writer_free);

#endif
