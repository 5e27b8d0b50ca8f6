/**
 * @file
 * What the files of HTTP/2 share (http.h is the contract). A stream of the client and the one it became at
 * the server are one `sbx_h2_stream`; a body waits in its queue until the other side's window opens, and
 * only then is the sender's window opened again, so a queue never holds more than one window.
 *
 *     h2.c       the object: input, output, ends, time
 *     h2front.c  the session that faces the client: requests in
 *     h2reply.c  replies out
 *     h2back.c   the session that faces the server
 *     h2head.c   header lists: gathering, what goes on
 *     h2stream.c streams, queues
 *     h2window.c windows of the server that grow
 *     h2mem.c    memory of the sessions
 *     h2guard.c  what one side may ask for without any use
 */
#ifndef SBX_GATE_H2PART_H
#define SBX_GATE_H2PART_H

#include <nghttp2/nghttp2.h>
#include <sys/types.h>

#include "bounds.h"
#include "http.h"
#include "loop.h"
#include "sbx/buf.h"

/** Bytes of a body that wait for the other side. */
struct sbx_h2_queue {
    char *ptr;
    size_t off, len, cap;
};

/** One field of a list, by its place in the text. */
struct sbx_h2_mark {
    uint32_t name, name_len, value, value_len;
    bool secret; /**< came as "never index" */
};

/** A header list that comes in; only while its block is open. */
struct sbx_h2_list {
    struct sbx_buf text;
    struct sbx_h2_mark marks[SBX_GATE_FIELDS_MAX];
    unsigned n;
    size_t size; /**< as RFC 9113, 6.5.2 counts */
    bool over;   /**< past its bound: what is beyond was dropped */
    bool broken; /**< a field that is none */
};

/** Fields that go out. */
struct sbx_h2_fields {
    nghttp2_nv v[SBX_GATE_FIELDS_MAX + SBX_GATE_H2_ADDED + 4]; /* 4: the pseudo-fields */
    size_t n;
};

/** Tokens that come back with time and with use. */
struct sbx_h2_bucket {
    uint32_t left;
    uint64_t at_ms; /**< filled up to this time */
};

/** Why a side is sent away. */
struct sbx_h2_why {
    const char *reason; /**< for the log; NULL: it is not */
    uint32_t code;
};

/** Where a session has its memory from. */
struct sbx_h2_mem {
    nghttp2_mem calls;
    struct sbx_list blocks;
    bool wipe;
    bool failed; /**< the session is not to be used any more, nor deleted: sbx_h2_mem_release() */
};

struct sbx_h2_end {
    struct sbx_h2 *h;
    enum sbx_http_end which;
    nghttp2_session *session;
    struct sbx_h2_mem mem;
    struct sbx_h2_list *list;  /**< NULL: no header block is open */
    uint64_t list_ms;          /**< when it began */
    unsigned continuations;    /**< frames of the block */
    const uint8_t *out;        /**< rest of the frame that is being output */
    size_t out_len;
    struct sbx_h2_bucket resets, control;
    uint32_t window;           /**< of the connection, as it was told to this side */
    size_t held;               /**< bytes of bodies of this side that the other one has not taken */
    struct sbx_h2_why why;
    bool told;                 /**< GOAWAY: no new streams */
    bool away;                 /**< GOAWAY, and nothing behind it */
    bool leaves;               /**< a server: its own GOAWAY came */
    bool deaf;                 /**< takes no more input */
    bool ended;                /**< the stream of this side is over: nothing comes or goes */
};

struct sbx_h2 {
    struct sbx_http_host host;
    struct sbx_h2_end client, server;
    struct sbx_list streams;
    unsigned nstreams;
    uint64_t now_ms, idle_ms; /**< idle_ms: since when there is no stream */
    uint64_t watch_ms;        /**< when streams are looked at again */
    size_t borrowed;          /**< of host.spare */
    bool recorded;            /**< why the connection ends: once */
};

struct sbx_h2_stream {
    struct sbx_h2 *h;
    struct sbx_list node;
    uint64_t number;            /**< of judge(); 0: it never went on */
    uint64_t began_ms;          /**< when it went on */
    uint64_t bytes_in, bytes_out;
    char method[SBX_GATE_METHOD_MAX + 1];
    int32_t front, back;        /**< ids at the client and at the server; 0: closed there, or never there */
    struct sbx_h2_queue up, down;
    uint64_t moved_ms;          /**< when the last byte of a body moved on, or there was none */
    struct sbx_h2_list *trailers; /**< of the reply, until its body is out */
    unsigned interim;           /**< 1xx replies so far */
    uint32_t window;            /**< of the stream, as the server knows it */
    size_t at_once;             /**< bytes that the client took since it grew */
    bool up_ended, down_ended;  /**< the sender has said that this is all */
    bool up_waits, down_waits;  /**< the receiver's session waits for resume */
    bool to_head;               /**< the request is HEAD */
    bool answered;              /**< the reply is the gate's own; `down` holds its body */
    bool replied;               /**< the reply has begun */
    bool cut;                   /**< `cut_code` behind what `down` holds: the server will say no more */
    uint32_t cut_code;
    bool up_stopped;            /**< nobody reads the request's body any more */
    bool finished;              /**< the end of the reply is out */
};

/* h2stream.c */
/** The stream that has this id in the session of `e`; NULL: none that still matters. */
struct sbx_h2_stream *sbx_h2_stream_find(struct sbx_h2_end *e, int32_t id);
/** NULL: no memory. */
struct sbx_h2_stream *sbx_h2_stream_new(struct sbx_h2 *h, int32_t front);
void sbx_h2_stream_free(struct sbx_h2_stream *s);
/** What is left of the request's body is of no use: its windows open, what comes is dropped. */
void sbx_h2_stream_stop_up(struct sbx_h2_stream *s);
/** Cut the stream at both ends that it still has; the client gets `code`. */
void sbx_h2_stream_cut(struct sbx_h2_stream *s, uint32_t code);
/** 0, or -1: no memory. */
int sbx_h2_queue_add(struct sbx_h2_queue *q, const void *data, size_t len);
size_t sbx_h2_queue_take(struct sbx_h2_queue *q, void *buf, size_t max);
void sbx_h2_queue_release(struct sbx_h2_queue *q);

/* h2head.c */
/** Open the list of a header block. 0, or -1: no memory. */
int sbx_h2_list_open(struct sbx_h2_end *e);
void sbx_h2_list_free(struct sbx_h2_list *l); /**< NULL is fine. */
/** 0; -1: no memory, or past every bound (e->why is set). */
int sbx_h2_list_add(struct sbx_h2_end *e, struct sbx_slice name, struct sbx_slice value,
                    uint8_t flags);
struct sbx_slice sbx_h2_list_find(const struct sbx_h2_list *l, const char *name);
/** :status, or 0. */
unsigned sbx_h2_list_status(const struct sbx_h2_list *l);
void sbx_h2_ask(const struct sbx_h2_list *l, struct sbx_http_ask *ret);
/**
 * The request as it goes on: authority as it was judged, without what ends here, with what the gate adds.
 * @param authority SBX_HOST_MAX + 16 bytes, written
 * @return 0, or -1: too many fields are added
 */
int sbx_h2_request_fields(struct sbx_h2 *h, const struct sbx_h2_list *l, char *authority,
                          struct sbx_h2_fields *ret);
void sbx_h2_reply_fields(const struct sbx_h2_list *l, struct sbx_h2_fields *ret);
void sbx_h2_trailer_fields(const struct sbx_h2_list *l, struct sbx_h2_fields *ret);
/** `name` is a literal; the value is borrowed until the frame was submitted. */
void sbx_h2_add(struct sbx_h2_fields *f, const char *name, struct sbx_slice value, uint8_t flags);

/* h2mem.c */
void sbx_h2_mem_init(struct sbx_h2_mem *m, bool wipe);
void sbx_h2_mem_release(struct sbx_h2_mem *m); /**< Free what is left. */

/* h2guard.c */
void sbx_h2_guard_init(struct sbx_h2_end *e);
/** A frame came. False: one too many of its kind, e->why is set. */
bool sbx_h2_guard_frame(struct sbx_h2_end *e, const nghttp2_frame_hd *hd);
/** A stream was cut through the fault of this side. False: as above. */
bool sbx_h2_guard_cut(struct sbx_h2_end *e);
void sbx_h2_guard_use(struct sbx_h2_end *e);  /**< A frame of use came from this side or went to it. */
void sbx_h2_guard_well(struct sbx_h2_end *e); /**< A stream ended well. */

/* h2front.c, h2reply.c, h2back.c */
nghttp2_session *sbx_h2_front_new(struct sbx_h2_end *e); /**< NULL: no memory */
nghttp2_session *sbx_h2_back_new(struct sbx_h2_end *e);  /**< NULL: no memory */
/** Pass a request on. 0 or -1. */
int sbx_h2_back_request(struct sbx_h2_stream *s, const struct sbx_h2_fields *f, bool has_body);
void sbx_h2_back_resume(struct sbx_h2_stream *s);
/** The stream is over at the server, for this reason. May free it. */
void sbx_h2_back_gone(struct sbx_h2_stream *s, uint32_t code);
/** Begin the reply. 0 or -1. */
int sbx_h2_front_reply(struct sbx_h2_stream *s, const struct sbx_h2_fields *f);
int sbx_h2_front_interim(struct sbx_h2_stream *s, const struct sbx_h2_fields *f);
void sbx_h2_front_resume(struct sbx_h2_stream *s);
/** Answer instead of the server. */
void sbx_h2_front_answer(struct sbx_h2_stream *s, const struct sbx_http_no *no);
/** The server has cut the stream: the client gets what came before, then the code. */
void sbx_h2_front_cut(struct sbx_h2_stream *s, uint32_t code);
/** The server can give no (whole) reply: 502 if none has begun, else the stream is cut. */
void sbx_h2_front_failed(struct sbx_h2_stream *s);

/* h2window.c */
/** `n` bytes of a body came from a side. */
void sbx_h2_window_held(struct sbx_h2_end *e, size_t n);
/** `n` bytes of the reply's body went on to the client. */
void sbx_h2_window_moved(struct sbx_h2_stream *s, size_t n);
void sbx_h2_window_return(struct sbx_h2 *h); /**< Give back what the connection has of the stock. */

/* h2.c */
/** Open the connection's and the stream's window of a session for bytes that moved on or were dropped. */
void sbx_h2_consume(struct sbx_h2_end *e, int32_t id, size_t n);
bool sbx_h2_no_server(const struct sbx_h2 *h); /**< It takes no request any more. */
bool sbx_h2_broken(const struct sbx_h2 *h);    /**< It has not left in order, but breaks the protocol. */
void sbx_h2_sent(struct sbx_h2_end *e, const nghttp2_frame *frame); /**< Take note of a GOAWAY. */
/**
 * The session of an end, its first SETTINGS submitted.
 * @param add sets the callbacks that only this end has
 * @return NULL: no memory
 */
nghttp2_session *sbx_h2_session_new(struct sbx_h2_end *e, void (*add)(nghttp2_session_callbacks *cb),
                                    const nghttp2_settings_entry *settings, size_t n);

#endif
