/* Directories in which a command makes something below CACHE/kits, until it is whole. */
#ifndef SBX_KIT_WORK_H
#define SBX_KIT_WORK_H

#include "sbx/err.h"

/**
 * A new directory; nobody removes it while *ret_fd is open (its lock). What killed commands left goes
 * first.
 * @param ret_dir malloc'd
 */
SBX_MUST_USE enum sbx_code kit_work_make(const char *cache, char **ret_dir, int *ret_fd,
                                         struct sbx_err *err);

#endif
