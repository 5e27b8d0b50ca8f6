/**
 * @file
 * What both TLS sides of an intercepted connection agree to: versions, protocols, whom to trust. Made at
 * the first interception: reading the host's roots costs some 30 ms and 5 MiB.
 */
#ifndef SBX_GATE_TRUST_H
#define SBX_GATE_TRUST_H

#include "hello.h"
#include "leaf.h"
#include "tls.h"

struct sbx_trust;

/** Opens the host's bundle of roots, which Landlock closes afterwards; reads it later. NULL: no memory. */
struct sbx_trust *sbx_trust_new(void);
void sbx_trust_free(struct sbx_trust *t); /**< NULL is fine. */

/** What of a client's offer of protocols goes on to the server. */
struct sbx_offer {
    bool alpn, h1, h2; /**< alpn: there is an offer at all */
};

/**
 * Towards a server: it must prove to be `host` by the host's roots, or by those of `extra`.
 * @param extra PEM, checked before with sbx_trust_check(); NULL: none
 * @return the caller's, or NULL: no memory
 */
SSL *sbx_trust_outward(struct sbx_trust *t, const char *extra, const struct sbx_host *host,
                       struct sbx_offer offer);
/**
 * Towards a client: the gate is `host`, by a leaf of the sandbox's authority, and speaks what `spoken`
 * says: "h2", "http/1.1", or NULL: it does not take part in the choice. Static texts.
 */
SSL *sbx_trust_inward(struct sbx_trust *t, struct sbx_authority *a, const struct sbx_host *host,
                      const char *spoken);
/** Are these PEM certificates, one at least, and no private key? */
SBX_MUST_USE enum sbx_code sbx_trust_check(const char *pem, size_t len, struct sbx_err *err);

#endif
