/**
 * @file
 * The seam between an intercepted connection and what reads HTTP in it. TLS ends at the gate on both
 * sides (intercept.c, tls.c); ALPN of the client is what the server chose out of the client's own offer,
 * so both sides speak the same version and one session object stands between them.
 *
 * HTTP/1 is the states HEAD and FORWARD of conn.c and forward.c, over sides that decrypt. HTTP/2 is the
 * object `sbx_h2` below: bytes in, bytes out, no socket, no loop, no clock. Order of calls, all in one
 * thread, none of them from inside another:
 *
 *     sbx_h2_new(&host, now)
 *     repeat:  sbx_h2_tick(h, now)
 *              for each side with bytes, while sbx_h2_wants(h, side):  sbx_h2_input(h, side, ...)
 *              for each side that takes bytes: sbx_h2_output(h, side, ...) until it gives 0; input on one
 *              side makes output on both
 *     end of a side's stream: sbx_h2_ended(h, side)
 *     sbx_h2_done(h): flush, then close both sides;   sbx_h2_free(h)
 */
#ifndef SBX_GATE_HTTP_H
#define SBX_GATE_HTTP_H

#include "head.h"
#include "sbx/err.h"
#include "sbx/policy.h"

/** A header field; the slices are borrowed for the time of the call they are given in. */
struct sbx_http_field {
    struct sbx_slice name, value;
};

/** A request whose header section is complete, as the client sent it. */
struct sbx_http_ask {
    struct sbx_slice method, scheme, authority, path; /**< pseudo-fields; len 0: absent */
    struct sbx_slice host;                            /**< the field "host"; len 0: absent */
};

/** What the gate answers instead of the server. */
struct sbx_http_no {
    unsigned status;   /**< 403, 405, 421, 400, 503 */
    bool denied;       /**< with "x-sbx-policy: denied" */
    char text[SBX_EXPLAIN_MAX + 2]; /**< the body: one line with its "\n"; text/plain; charset=utf-8 */
};

/** A request that went on has come to its end, whatever it is. */
struct sbx_http_over {
    uint64_t number;       /**< as judge() gave it */
    const char *method;    /**< borrowed */
    uint64_t bytes_in;     /**< to the client: heads, bodies, trailers */
    uint64_t bytes_out;    /**< from the client */
    uint64_t duration_ms;
};

/** The connection as the HTTP layer sees it. All slots are set. */
struct sbx_http_host {
    void *ctx;
    /**
     * Judge one request under the present configuration, before anything of it goes to the server, and
     * write its record. Checks that scheme is https and that authority and host (either may be absent)
     * name the host and port of this connection (else 421), the method (TRACE, TRACK, CONNECT: 405),
     * the right (403) and that it can be logged (503).
     * @param ret_number for over(); written when it goes on, and not 0
     * @return true: it goes on, with the fields of add(); false: answer `no`, pass nothing on
     */
    bool (*judge)(void *ctx, const struct sbx_http_ask *ask, uint64_t *ret_number,
                  struct sbx_http_no *no);
    /**
     * A request that breaks the protocol is refused or reset: write its record. `ask`: may be NULL.
     * @return what the client is told: static, without a line end
     */
    const char *(*fault)(void *ctx, const struct sbx_http_ask *ask, unsigned status,
                         const char *reason);
    /** Exactly once a request that judge() let go on. */
    void (*over)(void *ctx, const struct sbx_http_over *what);
    /** Does a field of the client end here because the gate says it? Any case; '_' and '.' count as '-'. */
    bool (*strikes)(void *ctx, struct sbx_slice name);
    /**
     * Field number `i` (from 0) that the gate adds to a request that goes on; names are in lower case.
     * The value is a secret: it stands in locked memory, goes to the server's encoder only (never into a
     * table: NGHTTP2_NV_FLAG_NO_INDEX; copies are wiped), never to the client, a log or an error text.
     * @return false: there are no more
     */
    bool (*add)(void *ctx, unsigned i, struct sbx_http_field *ret);
    /** Bytes that windows may still grow by, of all connections together; NULL: none grows. */
    size_t *spare;
};

/* ---- HTTP/2: h2.c ---- */

enum sbx_http_end { SBX_HTTP_CLIENT, SBX_HTTP_SERVER };

struct sbx_h2;

/**
 * Both preambles are ready to be output. NULL: no memory.
 * @param host   copied; its ctx must outlive the object
 * @param now_ms the loop's clock
 */
struct sbx_h2 *sbx_h2_new(const struct sbx_http_host *host, uint64_t now_ms);
void sbx_h2_free(struct sbx_h2 *h); /**< NULL is fine. */
/**
 * What time it is: before input, and when the time that was asked for has come. Ends what was silent for
 * too long (bounds.h), so output may follow.
 * @return milliseconds until it wants to know again
 */
uint64_t sbx_h2_tick(struct sbx_h2 *h, uint64_t now_ms);
/**
 * Take decrypted bytes that came from a side: all of them. Sends nothing by itself. A side that breaks the
 * protocol gets its GOAWAY as output, and sbx_h2_done() says when all is over.
 * @return 0, or -1: nothing that comes from this side is of use any more
 */
int sbx_h2_input(struct sbx_h2 *h, enum sbx_http_end from, const void *data, size_t len);
/** Bytes for a side, at most `max`, in the order they must go. 0: none now. */
size_t sbx_h2_output(struct sbx_h2 *h, enum sbx_http_end to, void *buf, size_t max);
/** May bytes of this side be given? False while what is held for either side is at its bound. */
bool sbx_h2_wants(const struct sbx_h2 *h, enum sbx_http_end from);
/** The side's stream has ended (or failed): streams that need it end with a status or a reset. */
void sbx_h2_ended(struct sbx_h2 *h, enum sbx_http_end side);
/** Streams that are open now: closing the connection would cut them. */
unsigned sbx_h2_streams(const struct sbx_h2 *h);
/** No new stream begins any more: GOAWAY to the client; those that are open go on to their end. */
void sbx_h2_drain(struct sbx_h2 *h);
/** Nothing goes on any more: both sides may be closed once the output is empty. */
bool sbx_h2_done(const struct sbx_h2 *h);

#endif
