/**
 * @file
 * What authorities of sandboxes and the certificates that they sign have in common (RFC 5280). For the programs of this
 * project; OpenSSL's queue of errors is the caller's to clear.
 */
#ifndef SBX_CERT_H
#define SBX_CERT_H

#include <stdbool.h>
#include <openssl/types.h>

/** Add an extension from its text form. `issuer` may be the certificate itself. False: no memory, or not one. */
bool sbx_cert_extend(X509 *cert, X509 *issuer, int nid, const char *value);
/** Give it a random serial number. False: there is no randomness or memory. */
bool sbx_cert_number(X509 *cert);

#endif
