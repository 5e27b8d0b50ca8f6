/**
 * @file
 * The sandbox's certificate authority as the gate uses it: it comes by descriptor, and the gate mints a
 * certificate for each name it intercepts, on demand, kept for the next connection.
 */
#ifndef SBX_GATE_LEAF_H
#define SBX_GATE_LEAF_H

#include <openssl/x509.h>
#include <time.h>

#include "bounds.h"
#include "sbx/err.h"
#include "sbx/policy.h"

struct sbx_authority;

/**
 * Read certificate and key, PEM; the descriptors stay the caller's. The key is kept in locked memory
 * where the system allows that.
 * @param ret the caller's: sbx_authority_free()
 * @return SBX_OK, SBX_SCHEMA (no certificate authority, or not its key), SBX_LIMIT or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_authority_open(int cert_fd, int key_fd, struct sbx_authority **ret,
                                              struct sbx_err *err);
void sbx_authority_free(struct sbx_authority *a); /**< NULL is fine. */

/**
 * The certificate of a host: from the cache, or new. Valid from a day before `now` for 30 days, never
 * longer than the authority itself.
 * @return borrowed until the next call; NULL: no memory
 */
X509 *sbx_leaf_find(struct sbx_authority *a, const struct sbx_host *host, time_t now);
EVP_PKEY *sbx_leaf_key(struct sbx_authority *a); /**< The key of every leaf; borrowed. NULL: no memory. */
unsigned sbx_leaf_count(const struct sbx_authority *a); /**< Of leaves in the cache. */

#endif
