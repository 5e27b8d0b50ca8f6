/**
 * @file
 * The decision log (docs/gate-config.md, "Log records"): one JSON line and one write(2) a record.
 * Equal denials past a budget are counted; the file has a hard cap.
 */
#ifndef SBX_GATE_LOG_H
#define SBX_GATE_LOG_H

#include <netinet/in.h>

#include "bounds.h"
#include "logfile.h"
#include "loop.h"
#include "sbx/buf.h"
#include "sbx/policy.h"

struct sbx_record {
    const char *door;     /**< "proxy", "transparent", "dns" */
    const char *proxy;    /**< "forward", "forward-bypass", "transparent", "network" */
    const char *protocol; /**< "http", "connect", "tls", "tcp", "dns" */
    const char *method;   /**< NULL: none */
    const char *host;     /**< NULL: not known; any bytes, escaped on the way out */
    uint16_t port;
    const struct in6_addr *address; /**< NULL: none dialled */
    const char *decision;           /**< "allow", "deny", "error" */
    const char *rule, *origin;      /**< NULL: none */
    const char *reason;             /**< stable */
    unsigned status;                /**< 0: none */
    uint64_t count;                 /**< 0 is written as 1 */
    bool ech;                       /**< written only when set */
    uint64_t request;               /**< ties the end of a request to its decision; 0: none */
    const char *address_text;       /**< in place of `address`: "upstream"; NULL: none */
    const char *event;              /**< NULL: a decision; "close", "start", "end" are none */
    uint64_t bytes_in, bytes_out;   /**< of an event: to the sandbox, from it */
    uint64_t duration_ms;
};

/** A denied target, for the control operation `blocked`. */
struct sbx_blocked {
    uint64_t offset; /**< of the log when it was denied last */
    char host[SBX_HOST_MAX + 3];
    uint16_t port;
    char reason[48];
    uint64_t count;
};

struct sbx_denial {
    char host[SBX_HOST_MAX + 3];
    char reason[48], door[12], proxy[16], protocol[12], decision[8];
    uint16_t port;
    uint64_t seen, held; /**< in this minute; those held back from the file */
};

struct sbx_log {
    struct sbx_logfile file;
    struct sbx_loop *loop;
    const char *sandbox;   /**< borrowed; set whenever the configuration changes */
    char step[SBX_GATE_STEP_MAX + 1]; /**< of the plan, that is at work; "": none is known */
    uint64_t allowed, denied, errors; /**< decisions, each counted once */
    uint64_t lost;         /**< records that could not be written */
    uint64_t told;         /**< of those, said in the file by a record `records-lost` */
    struct sbx_timer minute;
    struct sbx_denial *denials; /**< SBX_GATE_DENIAL_KEYS */
    size_t ndenials;
    uint64_t overflow;          /**< denials of this minute beyond the keys */
    struct sbx_blocked *blocked; /**< a ring of SBX_GATE_BLOCKED */
    size_t nblocked, next_blocked;
};

/** `dir`: of the log, for rotation; -1: it ends at its cap. Both descriptors become the log's. */
SBX_MUST_USE enum sbx_code sbx_log_init(struct sbx_log *l, int fd, int dir, struct sbx_loop *loop,
                                        struct sbx_err *err);
void sbx_log_release(struct sbx_log *l); /**< Writes what was counted. */
/** False: what is allowed could not be recorded, and must not go on. What is refused may be lost. */
bool sbx_log(struct sbx_log *l, const struct sbx_record *r);
/** What is no decision: the end of a request, of the gate. It may be lost, which is counted. */
void sbx_log_event(struct sbx_log *l, const struct sbx_record *r);
/** Bytes written since the beginning, of parts that were rotated away too. */
uint64_t sbx_log_offset(const struct sbx_log *l);
/** Can the next record be written, as far as can be known? */
bool sbx_log_ready(struct sbx_log *l);
/** Append text as a JSON string, quotes included; bytes that are not UTF-8 become \ufffd. */
SBX_MUST_USE enum sbx_code sbx_log_escape(struct sbx_buf *out, const char *text);

#endif
