/**
 * @file
 * SHA-256 digests in the OCI spelling, "sha256:" and 64 lower-case hexadecimal digits
 * (OCI Image Specification 1.1, "Digests"), by OpenSSL's EVP.
 */
#ifndef SBX_DIGEST_H
#define SBX_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "sbx/err.h"

#define SBX_DIGEST_TEXT_SIZE 72 /* bytes of "sha256:<64 hex>" with its NUL */

struct sbx_hasher; /* opaque: a running SHA-256 */

struct sbx_hasher *sbx_hasher_new(void); /**< NULL: no memory */
void sbx_hasher_free(struct sbx_hasher *h);
SBX_DEFINE_AUTO_PTR(sbx_hasher, sbx_hasher_free);
void sbx_hasher_add(struct sbx_hasher *h, const void *data, size_t len);
/** Finish; the hasher starts anew. */
void sbx_hasher_text(struct sbx_hasher *h, char out[SBX_DIGEST_TEXT_SIZE]);

/** Digest of one piece of memory. SBX_OK or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_digest(const void *data, size_t len,
                                      char out[SBX_DIGEST_TEXT_SIZE]);
/** Is it exactly "sha256:" and 64 lower-case hexadecimal digits? */
bool sbx_digest_valid(const char *text);

#endif
