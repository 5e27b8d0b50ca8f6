/* One HTTP request by libcurl: what is sent, what came. No log-ins, no second attempts. */
#ifndef SBX_OCI_HTTP_H
#define SBX_OCI_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/arena.h"
#include "sbx/buf.h"
#include "sbx/late_curl.h"

#define HTTP_ERROR_MAX 65536   /* bytes kept of the body of a refusal; registries send some hundred */
#define HTTP_REDIRECTS_MAX 10  /* as docker */
#define HTTP_CONNECT_MS 15000  /* of one connection; TCP's second retransmission of a SYN is at 3 s */
#define HTTP_STALL_S 60        /* without one byte: storage behind a registry may think for long */
#define HTTP_HEADERS_MAX 131072 /* bytes of an answer's headers */
#define HTTP_CHALLENGES_MAX 8  /* WWW-Authenticate headers that are read */
#define HTTP_WARNING_MAX 500   /* bytes of a registry's warning that are shown */

/* TLS of one host: its own trust and our certificate (certs.d). */
struct sbx_tls {
    char *ca; /* PEM; NULL: only the system's */
    size_t ca_len;
    char *cert, *key; /* paths; NULL: none */
};
void sbx_tls_release(struct sbx_tls *t);
/* Read the directories `certs.d/HOST` of Docker and of the containers tools. */
SBX_MUST_USE enum sbx_code sbx_tls_read(const char *host, struct sbx_tls *ret, struct sbx_err *err);
/* The user's own such directory. */
void sbx_tls_user_dir(const char *tool, const char *host, char *out, size_t size);

struct sbx_http {
    const struct sbx_curl *curl;
    CURL *h; /* keeps its connections */
    struct sbx_tls tls;
    bool whole_trust; /* the system's directory of authorities did not do: its file, too */
    const char *host; /* whose certificates `tls` has */
    char reason[CURL_ERROR_SIZE];
    const atomic_bool *stop; /* true: bodies that are sent end; NULL: nobody ends them */
    void (*warned)(void *ctx, const char *text); /* Warning headers, printable; NULL: nobody listens */
    void *warned_ctx;
};

enum sbx_http_header {
    HTTP_LOCATION,
    HTTP_DIGEST,
    HTTP_TYPE,
    HTTP_LINK,
    HTTP_RANGE,
    HTTP_CONTENT_RANGE,
    HTTP_RETRY_AFTER,
    HTTP_SUBJECT,
    HTTP_CHUNK_MIN,
    HTTP_N_HEADERS
};

typedef enum sbx_code sbx_http_sink(void *ctx, const void *data, size_t len, struct sbx_err *err);

struct sbx_call {
    /* what is sent */
    const char *method, *url;
    const char *accept, *content_type; /* NULL: none */
    const char *authorization; /* value; sent to the origin of `url` only, never to where it leads */
    const char *range;         /* "bytes=5-"; NULL: none */
    const char *content_range; /* of a chunk; NULL: none */
    const char *body;          /* NULL: from body_fd */
    int body_fd;               /* -1: none */
    int64_t body_at, body_len;
    bool body_is_login;        /* never sent to where a redirect leads */
    void (*sent)(void *ctx, int64_t bytes); /* of this body so far; NULL: nobody listens */
    void *sent_ctx;
    sbx_http_sink *sink; /* takes the body of a good answer; NULL: `text` does */
    void *sink_ctx;
    long limit_ms; /* 0: none */
    size_t max;    /* bytes of `text` of a good answer */
    unsigned pages; /* of a list that came so far, but the last */
    /* what came */
    long status;
    const char *answered; /* the address that did, behind redirects */
    bool passing;   /* it failed in a way that may pass: try again */
    bool no_tls;    /* the other side speaks no TLS, or cannot be reached at this port */
    struct sbx_arena *arena;
    const char *headers[HTTP_N_HEADERS]; /* NULL: not sent */
    const char *challenges[HTTP_CHALLENGES_MAX];
    size_t n_challenges;
    struct sbx_buf text;
};
#define SBX_CALL_INIT { .body_fd = -1, .text = SBX_BUF_INIT(SIZE_MAX) }
void sbx_call_release(struct sbx_call *c);
SBX_DEFINE_AUTO(sbx_call, sbx_call_release);

/*
 * Send, follow redirects (307 and 308 with the body again, others of GET and HEAD only), read the answer. SBX_OK for every HTTP status; else why there was
 * none. May be called again with the same call.
 */
SBX_MUST_USE enum sbx_code sbx_http_send(struct sbx_http *h, struct sbx_call *c,
                                         struct sbx_err *err);

/* header.c */
void sbx_http_forget_headers(struct sbx_call *c);
/* A line of an answer's head. */
void sbx_http_take_header(struct sbx_http *h, struct sbx_call *c, const char *line, size_t len);

/* url.c */
bool sbx_url_loopback(const char *host);  /* "localhost", "127.1.2.3:80", "[::1]:80" */
/* "https://host:port" of a URL, in arena; NULL: not http or https, a log-in is in it, or no memory. */
const char *sbx_url_origin(struct sbx_http *h, struct sbx_arena *arena, const char *url);
/* A reference (Location) resolved against the URL it came from; NULL: broken. */
const char *sbx_url_resolve(struct sbx_http *h, struct sbx_arena *arena, const char *base,
                            const char *reference);

#endif
