/**
 * @file
 * Heads of HTTP/1 requests and replies (RFC 9112), strict: what two readers could understand
 * differently is refused. Pure functions over bytes; slices point into the caller's buffer.
 * Order: sbx_head_scan() until it finds the end, then sbx_head_parse_request() or _reply(),
 * then sbx_frame_request() or sbx_frame_reply() (body.h).
 */
#ifndef SBX_GATE_HEAD_H
#define SBX_GATE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bounds.h"

struct sbx_slice {
    const char *ptr;
    size_t len;
};

/** Why something is refused: the status for the client and the `reason` of the log, both stable. */
struct sbx_fault {
    unsigned status;
    const char *reason;
};

/** Fill it; -1, for the caller to return. */
static inline int sbx_refuse(struct sbx_fault *f, unsigned status, const char *reason)
{
    *f = (struct sbx_fault){ status, reason };
    return -1;
}

/** Fields that the gate itself looks at. */
enum sbx_field_id {
    SBX_FIELD_OTHER,
    SBX_FIELD_HOST,
    SBX_FIELD_CONTENT_LENGTH,
    SBX_FIELD_TRANSFER_ENCODING,
    SBX_FIELD_CONNECTION,
    SBX_FIELD_HOP, /**< Keep-Alive, Proxy-*, TE, Trailer, Upgrade: meant for the next hop only */
    SBX_FIELD_ALT_SVC,
    SBX_FIELD_POLICY, /**< X-Sbx-Policy: only the gate says it */
};

struct sbx_field_line {
    struct sbx_slice name, value; /**< value without blanks around it */
    enum sbx_field_id id;
    bool named; /**< named by a Connection field: ends here */
};

struct sbx_head {
    struct sbx_slice method, target; /**< of a request */
    unsigned status;                 /**< of a reply */
    struct sbx_slice phrase;
    unsigned minor; /**< HTTP/1.minor: 0 or 1 */
    bool close;      /**< Connection: close */
    bool keep_alive; /**< Connection: keep-alive */
    unsigned nfields;
    struct sbx_field_line fields[SBX_GATE_FIELDS_MAX];
};

/** State of the search for a head's end; zero it for each head. */
struct sbx_scan {
    size_t line; /**< where the current line starts */
    size_t seen; /**< bytes looked at */
    unsigned lines;
    bool blank;  /**< an empty line came in front: one is no fault (RFC 9112, 2.2) */
};

/**
 * Look for the end of a head in all bytes that came so far.
 * @return its length with the empty line; 0: more bytes are needed; -1: refused (f is set)
 */
ssize_t sbx_head_scan(struct sbx_scan *s, const char *buf, size_t len, bool reply,
                      struct sbx_fault *f);
/** Take a scanned head apart. 0, or -1 with f set. */
int sbx_head_parse_request(const char *buf, size_t len, struct sbx_head *ret, struct sbx_fault *f);
int sbx_head_parse_reply(const char *buf, size_t len, struct sbx_head *ret, struct sbx_fault *f);
/** Only the field lines, with the empty line behind them (trailers). */
int sbx_head_parse_fields(const char *buf, size_t len, struct sbx_head *ret, struct sbx_fault *f);

enum sbx_field_id sbx_field_identify(struct sbx_slice name); /**< any case */

bool sbx_head_is_token(struct sbx_slice text); /**< only characters of a token, RFC 9110, 5.6.2; an empty one is */
bool sbx_slice_is(struct sbx_slice s, const char *text);     /**< equal, exactly */
bool sbx_slice_is_nocase(struct sbx_slice s, const char *text); /**< equal but for ASCII case */

#endif
