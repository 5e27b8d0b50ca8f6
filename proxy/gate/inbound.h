/**
 * @file
 * Ports inward: the engine hands over listening sockets of the host (docs/gate-config.md 4); a connection
 * to one goes to 127.0.0.1 or ::1 inside, by a socket that the helper makes there. Datagrams too: each
 * address that sends some has a socket inside.
 */
#ifndef SBX_GATE_INBOUND_H
#define SBX_GATE_INBOUND_H

#include <jansson.h>

#include "gate.h"

/** Descriptors that came with a request, in order; those that are taken become -1. */
struct sbx_passed {
    int fd[SBX_GATE_PASSED];
    unsigned n;
};

/** control.c: one line of the control socket; the caller's to decref, NULL: no memory. */
json_t *sbx_control_answer(struct sbx_gate *g, struct sbx_passed *passed, const char *line, size_t len);

json_t *sbx_control_failure(const char *text); /**< {"ok":false,"error":TEXT} */

/** {"op":"publish","id":TEXT,"port":N,"protocol":"tcp|udp"} (tcp: if not given) with a listener and a connection to the helper. */
json_t *sbx_inbound_publish(struct sbx_gate *g, json_t *request, struct sbx_passed *passed);
/** {"op":"unpublish","id":TEXT}: the listener and its connections end. */
json_t *sbx_inbound_unpublish(struct sbx_gate *g, json_t *request);
/** {"op":"ports"}: {"ok":true,"ports":[{"id","protocol","port","connections"}]} */
json_t *sbx_inbound_list(struct sbx_gate *g, json_t *request);
void sbx_inbound_close(struct sbx_gate *g);

#endif
