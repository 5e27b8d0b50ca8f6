/**
 * @file
 * What a proxy request asks for: host, port and, for absolute-form, the path to send on.
 */
#ifndef SBX_GATE_TARGET_H
#define SBX_GATE_TARGET_H

#include "body.h"
#include "sbx/policy.h"

struct sbx_inject; /* inject.h */

struct sbx_target {
    bool connect;
    bool secure;  /**< over TLS: the port that needs no saying is 443 */
    bool upgrade; /**< asks for WebSocket, and the request goes on as asking for it */
    struct sbx_host host;
    uint16_t port;
    const struct sbx_inject *strike; /**< rules whose fields end here; borrowed */
    size_t nstrike;
    struct sbx_slice path;      /**< absolute-form: origin-form, may lack its "/" (see rewrite) */
};

/**
 * Read the target of a parsed request head and check its Host fields. The name is strict (wire
 * grammar); nothing is resolved.
 * @param ret host and port may be set (for the log) even if the request is refused
 * @return 0, or -1 with f set
 */
int sbx_target_read(const struct sbx_head *h, struct sbx_target *ret, struct sbx_fault *f);

/**
 * The same for a request inside an intercepted connection to host:port: origin-form, or an https URL;
 * target, Host and connection must agree (421 `misdirected`), and Host is needed.
 */
int sbx_target_read_inner(const struct sbx_head *h, const struct sbx_host *host, uint16_t port,
                          struct sbx_target *ret, struct sbx_fault *f);

/** Does a field say "Upgrade: websocket" and nothing else, and Connection that it counts? */
bool sbx_is_websocket(const struct sbx_head *h);
/** The head of the request as it goes to the server. SBX_OK, SBX_LIMIT or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_rewrite_request(const struct sbx_head *h, const struct sbx_target *t,
                                               const struct sbx_body *body, struct sbx_buf *out);
/** How a reply goes on to the client. */
struct sbx_reply_plan {
    bool chunked;    /**< the gate writes chunks */
    bool close;      /**< say "Connection: close" */
    bool upgrade;    /**< 101: the connection is WebSocket from here on */
    bool keep_length; /**< pass Content-Length on though no body follows (HEAD, 304) */
};
SBX_MUST_USE enum sbx_code sbx_rewrite_reply(const struct sbx_head *h, const struct sbx_body *body,
                                             const struct sbx_reply_plan *plan,
                                             struct sbx_buf *out);
/** Trailer lines that may follow a reply, with the empty line at the end. */
SBX_MUST_USE enum sbx_code sbx_rewrite_trailers(const struct sbx_buf *lines, struct sbx_buf *out);

#endif
