/**
 * @file
 * Interception: TLS of a connection to a host with a rule of injection ends at the gate, and begins anew
 * towards the server. Everything else is relayed untouched (tunnel.c).
 *
 *     HELLO    the ClientHello is read (hold.c); its server name must be the host's
 *     SERVER   TLS towards the server, offering what the client offers
 *     CLIENT   TLS towards the client, speaking what the server has chosen; then
 *     OPEN     HTTP/1: the states HEAD to ANSWER of gate.h; HTTP/2: the state H2 (session.c)
 *
 * A request that needs a new connection to the server goes through DIALING and SERVER again.
 */
#ifndef SBX_GATE_INTERCEPT_H
#define SBX_GATE_INTERCEPT_H

#include "gate.h"
#include "http.h"
#include "trust.h"

enum sbx_step { SBX_STEP_HELLO, SBX_STEP_SERVER, SBX_STEP_CLIENT, SBX_STEP_OPEN };

struct sbx_intercept {
    enum sbx_step step;
    struct sbx_host host;    /**< whom the client asked for */
    uint16_t port;
    struct sbx_offer offer;  /**< of the client, as far as the gate knows it */
    bool h2;                 /**< both sides speak HTTP/2 */
    struct sbx_h2 *session;  /**< while they do */
    bool idle;               /**< it has no stream */
    struct sbx_config *head; /**< whose rules have struck fields from the head in c->out_head */
    bool resting;            /**< the timer is to give up the server, not the client */
    const char *fault;       /**< the server could not be reached over TLS: the reason; static */
    char fault_text[256];
};

/** Is the connection that was just dialled to be intercepted? */
bool sbx_intercept_wanted(const struct sbx_conn *c);
/** The server is connected: begin, or go on with a request that needed a new connection. */
void sbx_intercept_start(struct sbx_conn *c);
void sbx_intercept_run(struct sbx_conn *c); /**< the state SHAKE */
void sbx_intercept_timeout(struct sbx_conn *c);
void sbx_intercept_free(struct sbx_conn *c);
/** The rules of the connection in a configuration. */
const struct sbx_inject *sbx_intercept_rules(const struct sbx_conn *c,
                                             const struct sbx_config *config, size_t *ret_len);
/** Are all values there that the rules need? */
bool sbx_intercept_ready(const struct sbx_conn *c);
/**
 * The head of a request with the values put in, on its way to the server.
 * @return 0, or -1: no memory, a value has gone, or the rules have changed since the head was written
 */
int sbx_intercept_send_head(struct sbx_conn *c);
void sbx_session_start(struct sbx_conn *c); /**< Both sides are ready for HTTP/2. */
void sbx_session_run(struct sbx_conn *c);   /**< the state H2 */
void sbx_session_timeout(struct sbx_conn *c);
/** Close an idle connection of any kind to make room; one of HTTP/2 is told to come again. */
void sbx_session_leave(struct sbx_conn *c);
void sbx_session_free(struct sbx_conn *c);  /**< Its requests end with it; none is fine. */
/** How long a connection without a request waits until its timer looks at it; others than intercepted too. */
uint64_t sbx_intercept_idle_ms(struct sbx_conn *c);
/** That time is over: in a crowd only the server is given up. True: the client may wait on. */
bool sbx_intercept_rest(struct sbx_conn *c);
/** The kept connection said something between two requests. True: it may be used on. */
bool sbx_intercept_still(struct sbx_conn *c);

#endif
