/**
 * @file
 * The proxy that this machine itself has to use (N26): what the engine read from the user's environment and
 * settings, handed over once at the start through a descriptor, since it may hold a password. It does
 * not change while the gate runs.
 *
 *     {"http": PROXY|null, "https": PROXY|null, "noProxy": ["corp.example", "10.0.0.0/8"]}
 *     PROXY: {"host": "proxy.corp.example", "port": 3128, "authorization": "Basic ..."|null}
 *
 * `http` serves `http://` requests (absolute-form), `https` tunnels and transparent connections (CONNECT).
 */
#ifndef SBX_GATE_UPSTREAM_H
#define SBX_GATE_UPSTREAM_H

#include <jansson.h>

#include "sbx/buf.h"
#include "sbx/policy.h"

struct sbx_upstream_proxy {
    struct sbx_host host;
    uint16_t port;
    char *authorization; /**< value of Proxy-Authorization; NULL: none. A secret */
};

struct sbx_upstream {
    struct sbx_upstream_proxy http, https; /**< port 0: none */
    char **direct; /**< lower case; NULL-terminated */
};

/**
 * Read it whole from `fd`, which stays the caller's; the text is wiped.
 * @param ret the caller's: sbx_upstream_free(); NULL when neither proxy is set
 * @return SBX_OK, SBX_SYNTAX, SBX_SCHEMA, SBX_LIMIT, SBX_IO or SBX_NO_MEMORY; errors show no value
 */
SBX_MUST_USE enum sbx_code sbx_upstream_read(int fd, struct sbx_upstream **ret, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_upstream_parse(const char *text, size_t len,
                                              struct sbx_upstream **ret, struct sbx_err *err);
void sbx_upstream_free(struct sbx_upstream *u); /**< Wipes; NULL is fine. */
SBX_DEFINE_AUTO_PTR(sbx_upstream, sbx_upstream_free);

/**
 * The proxy for a request; NULL: none. As curl reads NO_PROXY: a name stands for itself and all below
 * it, with or without a leading dot; addresses and ranges for literal addresses; "*" for everything; as
 * Go does, ":port" may follow.
 * @param u may be NULL
 */
const struct sbx_upstream_proxy *sbx_upstream_for(const struct sbx_upstream *u,
                                                  const struct sbx_host *host, uint16_t port,
                                                  bool tunnel);
/** What it is, without passwords: {"http": "HOST:PORT"|null, ...}; NULL: no memory. */
json_t *sbx_upstream_json(const struct sbx_upstream *u);
/** The head that asks the proxy for a tunnel. SBX_OK, SBX_LIMIT or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_upstream_connect(const struct sbx_upstream_proxy *p,
                                                const struct sbx_host *host, uint16_t port,
                                                struct sbx_buf *out);
/** The head of a request in origin-form, as sbx_rewrite_request() made it, for the proxy. */
SBX_MUST_USE enum sbx_code sbx_upstream_absolute(const struct sbx_upstream_proxy *p,
                                                 const struct sbx_host *host, uint16_t port,
                                                 const struct sbx_buf *head, struct sbx_buf *out);

/** What the proxy said to CONNECT. */
struct sbx_upstream_answer {
    bool open;          /**< 2xx: what follows the head belongs to the tunnel */
    const char *reason; /**< else: of the log, stable */
    char text[96];      /**< else: for the client */
};

/**
 * The next head of the proxy's reply, in all bytes that came so far. Pure.
 * @param interim counts 1xx replies, which are skipped; starts at 0
 * @return bytes of the head; 0: more are needed, or one was skipped (*ret_skip > 0: drop so many); -1: refused
 */
ssize_t sbx_upstream_answer(const char *buf, size_t len, unsigned *interim, size_t *ret_skip,
                            struct sbx_upstream_answer *ret);

#endif
