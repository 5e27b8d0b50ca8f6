/* Directories in which a command makes something below CACHE/kits, until it is whole. */
#ifndef SBX_KIT_WORK_H
#define SBX_KIT_WORK_H

#include "sbx/cache.h"

/**
 * A new directory; nobody removes it while *ret_fd is open (its lock). What killed commands left goes
 * first.
 * @param ret_dir malloc'd
 */
SBX_MUST_USE enum sbx_code kit_work_make(const char *cache, char **ret_dir, int *ret_fd,
                                         struct sbx_err *err);

/**
 * fetch.c: the kit of a manifest's digest into an empty directory, from blobs of the cache that are whole.
 * SBX_NOT_FOUND: one is not there; SBX_SCHEMA, SBX_SYNTAX, ...: what is there makes no kit.
 */
SBX_MUST_USE enum sbx_code kit_fill_from_cache(struct sbx_cache *cache, const char *digest, int dir,
                                               struct sbx_err *err);

#endif
