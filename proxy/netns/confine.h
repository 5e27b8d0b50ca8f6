/**
 * @file
 * What the helper gives up, so that what stays running can do little more than pass its sockets on.
 */
#ifndef SBX_NETNS_CONFINE_H
#define SBX_NETNS_CONFINE_H

#include <stddef.h>

#include "sbx/err.h"

/**
 * Own session, directory /, descriptors 0 to 2 on /dev/null, every other one closed but `keep`.
 * @param keep ascending order is not needed; -1 entries are skipped
 */
SBX_MUST_USE enum sbx_code sbx_confine_detach(const int *keep, size_t n, struct sbx_err *err);

/**
 * No capability, no new privilege, no core, no ptrace by equals, and a seccomp filter that leaves
 * sockets of the two Internet families, descriptors at hand and leaving. Not to be undone.
 */
SBX_MUST_USE enum sbx_code sbx_confine(struct sbx_err *err);

#endif
