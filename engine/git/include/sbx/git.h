/**
 * @file
 * Kits from git: the tree of one commit, exported into the cache and never fetched again. Kit
 * specification "distribution"; decision C5.
 */
#ifndef SBX_GIT_H
#define SBX_GIT_H

#include "sbx/cache.h"
#include "sbx/err.h"

#define SBX_GIT_BYTES_MAX                                                                          \
    (4LL << 30) /* bytes of a repository, and of files of a commit; those with kits have some MiB */
#define SBX_GIT_FILE_BYTES_MAX                                                                     \
    (256 << 20) /* bytes of a file: libgit2 has it in memory; as of kits from registries */
#define SBX_GIT_FILES_MAX 200000 /* files of a commit; the largest public one with kits has 2,000 */
#define SBX_GIT_SILENCE_MS                                                                         \
    60000 /* of a server without a sign of life; a big repository is counted in less */

/** One commit of a repository. */
struct sbx_git_source {
    const char *url;    /**< https://, ssh://, http://, file:// */
    const char *commit; /**< 40 hexadecimal digits; for a look-up a branch, a tag or NULL (HEAD) */
    const char *subdir; /**< clean, below the root; NULL: the root */
    long limit_ms;      /**< of the whole call; 0: as long as it goes on */
    long silence_ms;    /**< without a sign of life; 0: SBX_GIT_SILENCE_MS */
};

/**
 * The directory `subdir` of the commit, in the cache; its content must not be changed. From the second
 * time on without a network. Of several calls for one commit, in any processes, one fetches.
 *
 * SIGINT, SIGTERM and SIGHUP are held meanwhile: when one comes, everything half-made is removed and the
 * signal takes effect; where the process survives that, the call returns SBX_CANCELED.
 * @param ret_dir malloc'd
 * @return SBX_OK; SBX_NOT_FOUND (no such commit or directory); SBX_UNSUPPORTED (a submodule or files of
 *         LFS in the kit); SBX_CONSENT (no log-in, an unknown host key); SBX_UNAVAILABLE; SBX_TIMEOUT;
 *         SBX_CANCELED; SBX_LIMIT; SBX_IO; SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_git_fetch(const char *cache, const struct sbx_git_source *s,
                                         char **ret_dir, struct sbx_err *err);
/**
 * The commit that a branch, a tag or HEAD is now; 40 digits and a NUL. A beginning of a commit is taken
 * for the one branch or tag that has it. SBX_NOT_FOUND, and the codes of sbx_git_fetch().
 */
SBX_MUST_USE enum sbx_code sbx_git_look(const struct sbx_git_source *s, char ret_commit[41],
                                        struct sbx_err *err);
/**
 * Is an exported commit of the cache, CACHE/git/NAME, what the commit says? Every byte, mode of a file, link
 * and name counts; no network. Unknown where an earlier version exported it, or libgit2 is missing. Under
 * sbx_cache_use() or sbx_cache_alone().
 * @param ret_what malloc'd; of SBX_CACHE_CHANGED the first that differs ("kits/a/spec.yaml has another
 *                 content"), else NULL
 * @return SBX_OK, SBX_IO, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_git_verify(const char *cache, const char *name,
                                          enum sbx_cache_state *ret, char **ret_what,
                                          struct sbx_err *err);

#endif
