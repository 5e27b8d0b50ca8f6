/**
 * @file
 * Our one seccomp profile (profile.json, in the Engine's format) for both runtimes: the docker backend
 * hands it to the Engine, the oci backend converts it to `linux.seccomp` of a bundle.
 * OCI Runtime Specification 1.0, "Seccomp"; Docker, "Seccomp security profiles for Docker".
 *
 * One key is ours: `sbxUserns` true or false keeps a row for containers that may, or may not, make
 * user namespaces; it is taken out before anyone else reads the profile.
 */
#ifndef SBX_SECCOMP_H
#define SBX_SECCOMP_H

#include <jansson.h>
#include <stdbool.h>

#include "sbx/err.h"

#define SBX_SECCOMP_MAX (1 << 20) /* bytes of a profile; ours is 16 KiB */

/**
 * Read a profile and settle the switch.
 * @param ret the caller's (json_decref)
 * @return SBX_OK, SBX_NOT_FOUND, SBX_IO, SBX_LIMIT, SBX_SYNTAX, SBX_SCHEMA or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_seccomp_read(const char *path, bool userns_allowed, json_t **ret,
                                            struct sbx_err *err);

/** What the conditions of rows are judged by. */
struct sbx_seccomp_host {
    const char *const *caps;  /**< bounding set, "CAP_CHOWN", NULL-terminated */
    const char *machine;      /**< uname -m: "x86_64" */
    int major, minor;         /**< kernel */
};

/**
 * The profile as `linux.seccomp`: rows whose conditions hold, architectures of this machine.
 * @param ret the caller's
 * @return SBX_OK, SBX_SCHEMA (an unknown condition is an error: skipping it would open something),
 *         SBX_UNSUPPORTED (machine), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_seccomp_oci(const json_t *profile,
                                           const struct sbx_seccomp_host *host, json_t **ret,
                                           struct sbx_err *err);

#endif
