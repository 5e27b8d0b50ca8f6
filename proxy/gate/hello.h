/**
 * @file
 * The server name and the protocols of a TLS ClientHello (RFC 8446, 4.1.2; RFC 6066, 3; RFC 7301), strict, from bytes in any
 * pieces and spread over any records. Pure.
 */
#ifndef SBX_GATE_HELLO_H
#define SBX_GATE_HELLO_H

#include <stdbool.h>
#include <stddef.h>

#include "bounds.h"
#include "sbx/buf.h"

enum sbx_hello_state {
    SBX_HELLO_MORE,    /**< more bytes are needed */
    SBX_HELLO_NOT_TLS, /**< another protocol */
    SBX_HELLO_DONE,
    SBX_HELLO_BAD, /**< begins like TLS, but is none that a server would read in one way only */
};

struct sbx_hello {
    size_t at;          /**< bytes of the stream taken so far: whole records */
    struct sbx_buf msg; /**< the handshake message without record headers */
    bool named;         /**< there is a server name */
    bool ech;           /**< there is an encrypted inner hello, or a dummy of one (GC C5) */
    bool alpn;          /**< protocols are offered; of those the gate knows: */
    bool offers_h1, offers_h2;
    size_t name_len;
    char name[256];     /**< as sent, any bytes; the shown length counts */
};

#define SBX_HELLO_INIT { .msg = SBX_BUF_INIT(SBX_GATE_HELLO_MAX) }

/**
 * Go on with all bytes of the stream so far.
 * @param buf  from the first byte of the connection on
 */
enum sbx_hello_state sbx_hello_read(struct sbx_hello *h, const char *buf, size_t len);
void sbx_hello_release(struct sbx_hello *h);

#endif
