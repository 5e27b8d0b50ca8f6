/**
 * @file
 * What the files of the gate share: the gate, a connection of the proxy or the transparent door, and
 * the steps a connection goes through:
 *
 *     request.c HEAD       bytes of a request head come in; transparent.c skips this state
 *     judge.c   ADMITTED   by name and port; waits for its turn among others to the same destination;
 *               RESOLVING  (resolve.c); by address
 *     dial.c    DIALING    the addresses in turn
 *     chain.c   CHAIN      a tunnel through the proxy of this machine, where it has one
 *     tunnel.c  TUNNEL     CONNECT, transparent, upgraded: bytes both ways; hold.c: the first ones;
 *                          websocket.c: frames of an upgraded one are checked
 *     intercept.c SHAKE    TLS ends here: of both sides; then HEAD, with requests in origin-form
 *     session.c H2         or both sides speak HTTP/2, until the end
 *     forward.c FORWARD    one request and its reply, then HEAD again; reply.c: the head of the reply
 *     answer.c  ANSWER     the gate's own reply, then HEAD again or LINGER and the end (a transparent
 *                          connection is reset instead)
 */
#ifndef SBX_GATE_H
#define SBX_GATE_H

#include "body.h"
#include "cache.h"
#include "config.h"
#include "log.h"
#include "hello.h"
#include "loop.h"
#include "names.h"
#include "relay.h"
#include "resolve.h"
#include "secrets.h"
#include "target.h"
#include "upstream.h"

/** A destination: how many connections there are, and how many came lately. */
struct sbx_dest {
    struct sbx_dest *next;
    struct sbx_list node; /**< of those that nobody is connected to now */
    unsigned count;
    unsigned lately;      /**< connections begun; halved every second */
    uint64_t lately_at;   /**< loop time of the last halving */
    uint16_t port;
    char host[SBX_HOST_MAX + 3];
};

#define SBX_GATE_ADDRESS 0xc6120001u /* 198.18.0.1, the doors: also in proxy/netns */
#define SBX_HOST_ADDRESS 0xc6120003u /* 198.18.0.3, host.docker.internal (docs/gate-config.md, 4) */

#define SBX_GATE_DEST_BUCKETS 1024 /* of the counters a destination; a few entries each at worst */

struct sbx_gate {
    struct sbx_loop loop;
    struct sbx_config *config;
    struct sbx_watch watch;
    struct sbx_err config_fault; /**< of the newest file, if it was bad and the old rules stay */
    struct sbx_source signals;   /**< signalfd: SIGTERM, SIGINT */
    struct sbx_source notify;    /**< inotify of the configuration's directory, or fd -1 */
    struct sbx_timer poll;       /**< instead of it */
    struct sbx_log log;
    struct sbx_resolver *resolver;
    struct sbx_cache *cache;
    struct sbx_names *names;
    struct sbx_authority *authority; /**< leaf.h; NULL: none was given, nothing can be intercepted */
    struct sbx_secrets *secrets;
    struct sbx_trust *trust;         /**< trust.h */
    size_t h2_spare;                 /**< bytes that windows of HTTP/2 may grow by, all together */
    struct sbx_upstream *upstream; /**< NULL: this machine needs no proxy */
    uint64_t started_at;         /**< loop time */
    uint64_t accepted, dns_answered, relayed; /**< connections, answers, bytes of tunnels */
    uint64_t requests;           /**< allowed ones, for their numbers */
    struct sbx_pool pool;
    struct sbx_list pending;     /**< connections without a server, the oldest first */
    struct sbx_list active;      /**< connected ones */
    struct sbx_list idle;        /**< those that have no request now, the longest first */
    struct sbx_list dead;        /**< closed, freed at the end of the round */
    unsigned nconns, nactive, conns_max;
    unsigned crowd;              /**< most connections since memory was given back */
    bool trimmed;                /**< it was, while some of a crowd were still there */
    struct sbx_dest *dests[SBX_GATE_DEST_BUCKETS];
    struct sbx_list idle_dests;  /**< remembered though nobody is connected, the oldest first */
    unsigned nidle_dests;
    struct sbx_doors *doors;
    struct sbx_control *control;
    struct sbx_inbound *inbound; /**< inbound.c; NULL until a port is published */
    int ended_fd;
    const char *end_reason;      /**< static; set when the loop shall stop */
};

enum sbx_conn_state {
    SBX_CONN_HEAD, SBX_CONN_RESOLVING, SBX_CONN_DIALING, SBX_CONN_CHAIN, SBX_CONN_TUNNEL, SBX_CONN_FORWARD,
    SBX_CONN_ANSWER, SBX_CONN_LINGER, SBX_CONN_DEAD, SBX_CONN_SHAKE,
    SBX_CONN_H2, SBX_CONN_ADMITTED,
};

/** Is there a server, and the connection in the list of active ones? */
static inline bool sbx_conn_is_active(enum sbx_conn_state s)
{
    return s == SBX_CONN_TUNNEL || s == SBX_CONN_FORWARD || s == SBX_CONN_SHAKE ||
           s == SBX_CONN_H2;
}

/** What the first bytes of a tunnel's client are. */
enum sbx_seen { SBX_SEEN_NOTHING, SBX_SEEN_TLS, SBX_SEEN_HTTP, SBX_SEEN_OTHER };

/** The request that a connection works on; owned by it and cleared for the next one. */
struct sbx_asked {
    bool connect, to_head, bodyless, keep; /**< keep: the client connection may go on afterwards */
    bool upgrade;                /**< asks for WebSocket: a 101 makes a tunnel of it */
    bool ech;                    /**< the ClientHello carries an encrypted one, or a dummy */
    enum sbx_seen seen;
    unsigned minor;
    char method[SBX_GATE_METHOD_MAX + 1];
    struct sbx_host host;
    uint16_t port;
    struct sbx_config *config;   /**< a reference: the configuration of the verdict */
    struct sbx_verdict verdict;  /**< by name; its rule lives as long as `config` */
    const struct sbx_upstream_proxy *via; /**< the proxy of this machine; NULL: dialled itself */
    struct sbx_addresses addresses; /**< judged good, or the proxy's */
    size_t next_address;
    uint64_t dial_ends;          /**< loop time */
    struct sbx_dest *dest;
    bool logged;                 /**< exactly one record a request */
    bool open;                   /**< allowed and recorded: its end is to be recorded too */
    uint64_t number;             /**< of the request, since the gate's start; in both records */
    uint64_t began;              /**< loop time at which its server was reached */
    uint64_t bytes_in, bytes_out; /**< from the server to the sandbox; from the sandbox */
    bool unlogged;               /**< it was allowed and could not be recorded */
};

/** The server behind a forwarded request, kept for the next one to the same target. */
struct sbx_kept {
    struct sbx_host host;
    uint16_t port;
    struct in6_addr address;
    uint64_t generation;
    bool usable;
    bool fresh; /**< it has served no request yet */
};

/** One address that is being tried. */
struct sbx_attempt {
    struct sbx_source source;
    struct sbx_conn *conn;
    struct in6_addr address;
    uint64_t began; /**< loop time */
    uint32_t events; /**< told and not looked at yet */
};

struct sbx_hold;      /* hold.c */
struct sbx_websocket; /* websocket.c */
struct sbx_intercept; /* intercept.h */

struct sbx_conn {
    struct sbx_gate *gate;
    struct sbx_list node;
    enum sbx_conn_state state;
    struct sbx_side client, server;
    struct sbx_pipe up, down;    /**< client to server, server to client */
    struct sbx_timer timer;
    struct sbx_turn turn;
    struct sbx_waiter waiter;
    uint64_t active_at;          /**< loop time of the last byte of a tunnel or body */
    unsigned turns;              /**< that it has had, up to SBX_GATE_YOUNG */
    bool bulky;                  /**< its last turn moved much */
    bool gone;                   /**< its client has reset it or ended for good */
    bool draining;               /**< a side has failed; the other one still gets what came before */
    struct sbx_buf in;           /**< from the client, not used yet */
    struct sbx_scan scan;
    struct sbx_asked asked;
    struct sbx_kept kept;
    struct in6_addr address;     /**< dialled */
    bool transparent;
    struct in6_addr to;          /**< transparent: where the program connected to */
    struct sbx_intercept *inter; /**< TLS ends here; NULL: it does not */
    struct sbx_websocket *websocket; /**< a tunnel that carries one; NULL: any bytes */
    struct sbx_hold *hold;       /**< of a tunnel whose client's first bytes are not known yet */
    struct sbx_attempt attempts[SBX_GATE_ATTEMPTS];
    struct sbx_buf out_head;     /**< of the forwarded request; kept until the reply begins */
    struct sbx_body up_body, down_body;
    struct sbx_buf reply;        /**< from the server, not used yet */
    struct sbx_scan reply_scan;
    unsigned interim;            /**< 1xx replies so far */
    bool served;                 /**< not its first request */
    bool reused, reply_begun, reply_done, chunk_reply, client_close;
    uint64_t lingered;           /**< bytes dropped behind an answer */
};

/* conn.c */
void sbx_conn_accept(struct sbx_gate *g, int fd); /**< proxy door; takes the descriptor */
/** A connection in the loop; NULL: full or no memory, the descriptor is still the caller's. */
struct sbx_conn *sbx_conn_open(struct sbx_gate *g, int fd);
void sbx_conn_close(struct sbx_conn *c, bool reset);
void sbx_conn_next(struct sbx_conn *c); /**< done with a request: the next head */
void sbx_conn_arm(struct sbx_conn *c, uint64_t ms);
void sbx_conn_run(struct sbx_conn *c); /**< go on in the present state */
/**
 * Queue its turn. Who goes first: open connections that move little, and new ones and those that end to a
 * destination that had few lately; then heads; then the others, where fewer came before where more came; last
 * who moves much.
 */
void sbx_conn_wake(struct sbx_conn *c);
unsigned sbx_conn_class(const struct sbx_conn *c); /**< of sbx_turn */
/** Make room: close the oldest connection without a server, or else the one idle for longest. */
void sbx_conn_shed(struct sbx_gate *g);
/** Put a connection at the end of another list of the gate. */
void sbx_conn_move(struct sbx_conn *c, struct sbx_list *to);
void sbx_gate_free_dead(struct sbx_gate *g);

/* request.c */
#define SBX_CONN_IN_MAX (SBX_GATE_HEAD_MAX + 2 * SBX_GATE_SMALL_BUFFER) /* bytes: a head and what came with it */
void sbx_head_run(struct sbx_conn *c); /**< HEAD: take a request in */
/** Read into c->in, at most `max` bytes held. >0 bytes, 0 end, -1 nothing now, -2 failed. */
ssize_t sbx_conn_fill(struct sbx_conn *c, size_t max);

/* judge.c */
void sbx_judge_start(struct sbx_conn *c);
void sbx_judge_run(struct sbx_conn *c); /**< ADMITTED: it is its turn */
/** Find and dial the server of an allowed request; again, where a kept one has gone. */
void sbx_judge_dial(struct sbx_conn *c);
/** Is the open or pending connection still right under the present configuration? */
bool sbx_judge_again(struct sbx_conn *c);
void sbx_asked_clear(struct sbx_conn *c);
/** A record with what is known of the connection and its request; `dialled`: the address too. */
struct sbx_record sbx_record_of(const struct sbx_conn *c, bool dialled);
/** False: an "allow" that cannot be recorded; the error is, if anything can, and it must not go on. */
bool sbx_log_asked(struct sbx_conn *c, const char *decision, const char *reason, unsigned status);
/** The end of an allowed request, with its bytes and time; does nothing the second time. */
void sbx_log_end(struct sbx_conn *c);

/* transparent.c */
/** Takes the descriptor. `to`, `port`: what the program inside connected to. */
void sbx_transparent_accept(struct sbx_gate *g, int fd, const struct in6_addr *to, uint16_t port);

/* dial.c */
void sbx_dial_start(struct sbx_conn *c);
void sbx_dial_run(struct sbx_conn *c); /**< DIALING: look at the attempts */
/** Use the kept server of an intercepted connection, whatever addresses its name has now. False: none. */
bool sbx_dial_reuse(struct sbx_conn *c);
/** May the request be sent a second time? */
bool sbx_asked_is_safe(const struct sbx_asked *a);
void sbx_dial_forward(struct sbx_conn *c); /**< The server is ready for a request: log it, send it. */
void sbx_dial_cancel(struct sbx_conn *c); /**< close the attempts that are under way */
void sbx_dial_timeout(struct sbx_conn *c);
/**
 * The server is reached: on to TUNNEL, SHAKE or FORWARD.
 * @param ready it is a kept connection, over which requests have gone or TLS is there already
 */
void sbx_dial_connected(struct sbx_conn *c, bool ready);

/* chain.c */
void sbx_chain_start(struct sbx_conn *c);
void sbx_chain_run(struct sbx_conn *c);
void sbx_chain_timeout(struct sbx_conn *c);

/* tunnel.c, forward.c */
void sbx_tunnel_start(struct sbx_conn *c);
void sbx_tunnel_begin(struct sbx_conn *c); /**< nothing is held: what is in c->in goes on */
void sbx_tunnel_run(struct sbx_conn *c);
int sbx_tunnel_accept(struct sbx_conn *c); /**< Tell a proxy client that it is connected. 0, or -1. */
/** Allowed; does nothing the second time. False: not recorded, no byte may pass. */
bool sbx_tunnel_log(struct sbx_conn *c);
void sbx_forward_start(struct sbx_conn *c);
void sbx_forward_run(struct sbx_conn *c);
void sbx_forward_idle_timeout(struct sbx_conn *c); /**< shared with tunnels */
/** The request or its reply cannot go on. */
void sbx_forward_give_up(struct sbx_conn *c, unsigned status, const char *reason, const char *text);

/* reply.c */
bool sbx_reply_run_head(struct sbx_conn *c); /**< FORWARD, before the reply has begun. True: more may be at hand. */

/* websocket.c */
/** The reply makes a WebSocket of the connection. 0, or -1: no memory. */
int sbx_websocket_start(struct sbx_conn *c, const struct sbx_head *reply);
/** Check what is in c->in and c->reply; what may not go on yet, or never, is taken out. */
void sbx_websocket_held(struct sbx_conn *c);
/**
 * Read from a side to the pool's spare buffer.
 * @param ret_read as sbx_side_read()
 * @return how many bytes in the spare buffer may go on
 */
ssize_t sbx_websocket_read(struct sbx_conn *c, struct sbx_side *from, ssize_t *ret_read);
/** Has a side sent a frame that may not be? Then both are told, and the connection ends: nothing else is to be done. */
bool sbx_websocket_over(struct sbx_conn *c);
void sbx_websocket_free(struct sbx_conn *c);

/* hold.c */
enum sbx_held {
    SBX_HELD_MORE, SBX_HELD_TLS, SBX_HELD_OTHER,
    SBX_HELD_NOTHING, /**< the client ended without a byte */
    SBX_HELD_CLOSED,  /**< it was wrong: the connection is closed */
};
/** Hold the client's first bytes if there is something to find out. 0, or -1: no memory. */
int sbx_hold_start(struct sbx_conn *c, bool strict);
/** Read until it is known what the client's first bytes are; a wrong server name closes. */
enum sbx_held sbx_hold_look(struct sbx_conn *c);
const struct sbx_hello *sbx_hold_hello(const struct sbx_conn *c);
/** Log a refusal and reset the connection. `host`: another one than asked for, or NULL. */
void sbx_hold_deny(struct sbx_conn *c, const char *reason, const char *host);
/** Look at them. False: the connection was closed. Without c->hold afterwards they are on their way. */
bool sbx_hold_run(struct sbx_conn *c);
bool sbx_hold_timeout(struct sbx_conn *c); /**< False: not the hold's */
void sbx_hold_free(struct sbx_conn *c);

/* answer.c */
const char *sbx_fault_text(const char *reason); /**< One line for people, without its end. */
/** Refuse the request with a reply of the gate; logs it. `reason` and `rule` as the log has them. */
void sbx_answer_fault(struct sbx_conn *c, const struct sbx_fault *f);
void sbx_answer_denied(struct sbx_conn *c, const struct sbx_verdict *v);
void sbx_answer_error(struct sbx_conn *c, unsigned status, const char *reason, const char *text);
void sbx_answer_run(struct sbx_conn *c);
void sbx_linger_run(struct sbx_conn *c);

/* reload.c */
/** Take a new gate.json if there is one. SBX_OK also when the file is the one in use; `err` is needed. */
SBX_MUST_USE enum sbx_code sbx_gate_reload(struct sbx_gate *g, struct sbx_err *err);
/** The same before a decision: what fails is reported once to the ended descriptor. */
void sbx_gate_refresh(struct sbx_gate *g);
SBX_MUST_USE enum sbx_code sbx_gate_watch(struct sbx_gate *g, struct sbx_err *err);

/* dest.c */
/** Count a connection to host:port; NULL: no memory. */
struct sbx_dest *sbx_dest_take(struct sbx_gate *g, const char *host, uint16_t port);
void sbx_dest_give(struct sbx_gate *g, struct sbx_dest *d);
/** How busy it is: 0 to `max`, one more for each doubling of what came lately. */
unsigned sbx_dest_rank(const struct sbx_dest *d, uint64_t now, unsigned max);
void sbx_dests_free(struct sbx_gate *g); /**< those that nobody is connected to */

/* doors.c */
struct sbx_doors;
SBX_MUST_USE enum sbx_code sbx_doors_open(struct sbx_gate *g, int netns_fd, int pidfd,
                                          struct sbx_err *err);
void sbx_doors_close(struct sbx_gate *g);

/* control.c */
struct sbx_control;
SBX_MUST_USE enum sbx_code sbx_control_open(struct sbx_gate *g, int fd, struct sbx_err *err);
void sbx_control_close(struct sbx_gate *g);

/* confine.c */
/** Landlock, seccomp, no dump, no core. A kernel without Landlock goes without it. log_dir_fd: or -1. */
SBX_MUST_USE enum sbx_code sbx_confine(int config_dir_fd, int log_dir_fd, struct sbx_err *err);

#endif
