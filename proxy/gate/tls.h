/**
 * @file
 * TLS on a side of a connection (relay.h): OpenSSL over the side's own socket, non-blocking. Once a side
 * has a `tls`, sbx_side_read() and what sends through a pipe deal with plain bytes of the inside.
 */
#ifndef SBX_GATE_TLS_H
#define SBX_GATE_TLS_H

#include <openssl/ssl.h>

#include "relay.h"

/**
 * Begin TLS on a side; the role is set in `ssl` (SSL_set_accept_state() or connect). Takes `ssl`.
 * @param early bytes that were read from the socket before; taken over and emptied; may be NULL
 * @return 0, or -1: no memory (and `ssl` is freed)
 */
int sbx_tls_begin(struct sbx_side *s, SSL *ssl, struct sbx_buf *early);
/** Go on with the handshake. 1: done, 0: the peer's turn, -1: failed. */
int sbx_tls_shake(struct sbx_side *s);
/** Why the handshake failed: a short text, static or of OpenSSL. */
const char *sbx_tls_fault(const struct sbx_side *s);
/** The peer's certificate is what it failed on. */
bool sbx_tls_distrusts(const struct sbx_side *s);
/** The peer's alert said that it does not trust our certificate. */
bool sbx_tls_distrusted(const struct sbx_side *s);
/** Does the peer speak HTTP/2? Otherwise HTTP/1.1, said or not. */
bool sbx_tls_is_h2(const struct sbx_side *s);
/** As sbx_side_read(). An end without the peer's word that it is one is a failure. */
ssize_t sbx_tls_read(struct sbx_side *s, char *buf, size_t len);
/** Bytes taken (of those, all are sent), 0: none now, -1: failed. After 0 the same bytes come again. */
ssize_t sbx_tls_write(struct sbx_side *s, const char *buf, size_t len);
void sbx_tls_shut(struct sbx_side *s); /**< Say that nothing more comes, if that can be said at once. */
void sbx_tls_free(struct sbx_side *s); /**< Forget TLS; none is fine. */

#endif
