/* Connections: their life, their turns. See gate.h. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "intercept.h"

enum { CLASS_FIRST, CLASS_NEW, CLASS_LAST = SBX_LOOP_CLASSES - 1 };

unsigned sbx_conn_class(const struct sbx_conn *c)
{
    bool ending = c->gone || c->server.reset;
    unsigned rank = 0;

    if (!ending && c->bulky)
        return CLASS_LAST;
    if (!ending && c->turns >= SBX_GATE_YOUNG && sbx_conn_is_active(c->state))
        return CLASS_FIRST;
    /* An end waits like a beginning: where many come, as many go. */
    if (!c->asked.dest)
        return CLASS_NEW;
    rank = sbx_dest_rank(c->asked.dest, c->gate->loop.now, CLASS_LAST - CLASS_NEW);
    return rank ? CLASS_NEW + rank : CLASS_FIRST;
}

void sbx_conn_wake(struct sbx_conn *c)
{
    c->turn.class = sbx_conn_class(c);
    sbx_loop_again(&c->gate->loop, &c->turn);
}

static void on_client(struct sbx_source *s, uint32_t events)
{
    struct sbx_conn *c = sbx_container_of(s, struct sbx_conn, client.source);

    sbx_side_note(&c->client, events);
    c->gone |= (events & (EPOLLERR | EPOLLHUP)) != 0;
    sbx_conn_wake(c);
}

static void drop_server(struct sbx_conn *c)
{
    sbx_side_close(&c->gate->loop, &c->server, false);
    c->kept.usable = false;
}

static void on_server(struct sbx_source *s, uint32_t events)
{
    struct sbx_conn *c = sbx_container_of(s, struct sbx_conn, server.source);

    sbx_side_note(&c->server, events);
    if (sbx_conn_is_active(c->state) || c->state == SBX_CONN_CHAIN)
        sbx_conn_wake(c);
    else if (c->server.tls ? !sbx_intercept_still(c) : events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        drop_server(c); /* kept for another request: bytes or an end nobody asked for */
}

static void on_timer(struct sbx_timer *t)
{
    struct sbx_conn *c = sbx_container_of(t, struct sbx_conn, timer);

    switch (c->state) {
    case SBX_CONN_HEAD:
        if (!c->in.len) {
            if (!sbx_intercept_rest(c))
                sbx_conn_close(c, false);
            return;
        }
        sbx_answer_fault(c, &(struct sbx_fault){ 408, "head-timeout" });
        return;
    case SBX_CONN_RESOLVING:
        sbx_resolve_cancel(&c->waiter);
        sbx_answer_error(c, 504, c->asked.via ? "upstream-timeout" : "resolve-timeout",
                         "the host's resolver did not answer in time");
        return;
    case SBX_CONN_ADMITTED:
        sbx_judge_run(c);
        return;
    case SBX_CONN_DIALING:
        sbx_dial_timeout(c);
        return;
    case SBX_CONN_CHAIN:
        sbx_chain_timeout(c);
        return;
    case SBX_CONN_TUNNEL:
    case SBX_CONN_FORWARD:
        sbx_forward_idle_timeout(c);
        return;
    case SBX_CONN_SHAKE:
        sbx_intercept_timeout(c);
        return;
    case SBX_CONN_H2:
        sbx_session_timeout(c);
        return;
    case SBX_CONN_ANSWER:
    case SBX_CONN_LINGER:
        sbx_conn_close(c, true);
        return;
    case SBX_CONN_DEAD:
        return;
    }
}

static void on_turn(struct sbx_turn *t)
{
    struct sbx_conn *c = sbx_container_of(t, struct sbx_conn, turn);
    uint64_t moved = c->gate->pool.moved;
    bool again;

    if (c->turns < SBX_GATE_YOUNG)
        c->turns++;
    sbx_conn_run(c);
    c->bulky = c->gate->pool.moved - moved >= SBX_GATE_BULKY;
    again = !sbx_list_empty(&t->node);
    if (!again || c->state == SBX_CONN_DEAD)
        return;
    sbx_list_remove(&t->node); /* to the class that it has now */
    sbx_conn_wake(c);
}

void sbx_conn_arm(struct sbx_conn *c, uint64_t ms)
{
    if (sbx_loop_arm(&c->gate->loop, &c->timer, ms)) /* no memory for a timer: no connection */
        sbx_conn_close(c, true);
}

void sbx_conn_move(struct sbx_conn *c, struct sbx_list *to)
{
    sbx_list_remove(&c->node);
    sbx_list_append(to, &c->node);
}

/* N18: a full gate gives up who waits longest without a server, then who has had no request for longest; with
 * none, the newcomer. */
void sbx_conn_shed(struct sbx_gate *g)
{
    struct sbx_conn *c;

    if (sbx_list_empty(&g->pending)) {
        if (!sbx_list_empty(&g->idle))
            sbx_session_leave(sbx_container_of(g->idle.next, struct sbx_conn, node));
        return;
    }
    c = sbx_container_of(g->pending.next, struct sbx_conn, node);
    if (!c->asked.logged && c->state != SBX_CONN_HEAD)
        sbx_log_asked(c, "error", "too-many-tunnels", 0);
    sbx_conn_close(c, true);
}

static unsigned limit(const struct sbx_gate *g)
{
    return g->config->tunnels < g->conns_max ? g->config->tunnels : g->conns_max;
}

static void refuse(struct sbx_gate *g, int fd)
{
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nX-Sbx-Policy: limit\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n";
    struct sbx_record r = { .door = "proxy", .proxy = "forward", .protocol = "http",
                            .decision = "error", .reason = "too-many-tunnels", .status = 503 };

    sbx_log(&g->log, &r);
    if (send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = 0; /* nobody there any more: closing is all that is left */
    close(fd);
}

static struct sbx_conn *new_conn(struct sbx_gate *g, int fd)
{
    struct sbx_conn *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->gate = g;
    c->client.source = (struct sbx_source){ fd, on_client, true };
    c->server.source = (struct sbx_source){ .fd = -1, .on = on_server };
    c->timer.on = on_timer;
    c->turn.on = on_turn;
    for (unsigned i = 0; i < SBX_GATE_ATTEMPTS; i++)
        c->attempts[i].source.fd = -1;
    sbx_list_init(&c->turn.node);
    c->in.max = SBX_CONN_IN_MAX;
    c->out_head.max = SBX_GATE_HEAD_MAX + SBX_GATE_TARGET_MAX + 256;
    c->reply.max = SBX_GATE_REPLY_HEAD_MAX + SBX_GATE_SMALL_BUFFER;
    return c;
}

struct sbx_conn *sbx_conn_open(struct sbx_gate *g, int fd)
{
    struct sbx_conn *c;

    if (g->nconns >= limit(g))
        sbx_conn_shed(g);
    c = g->nconns < limit(g) ? new_conn(g, fd) : NULL;
    if (!c || sbx_loop_add(&g->loop, &c->client.source,
                           EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)) {
        free(c);
        return NULL;
    }
    if (g->nconns >= SBX_GATE_CROWD) /* the rest it has from its listener */
        sbx_socket_crowd(fd);
    sbx_list_append(&g->pending, &c->node);
    g->nconns++;
    g->accepted++;
    g->pool.crowded = g->nconns >= SBX_GATE_CROWD;
    return c;
}

void sbx_conn_accept(struct sbx_gate *g, int fd)
{
    struct sbx_conn *c = sbx_conn_open(g, fd);

    if (!c) {
        refuse(g, fd);
        return;
    }
    sbx_conn_arm(c, SBX_GATE_HEAD_MS);
    if (c->state == SBX_CONN_DEAD)
        return;
    c->client.readable = c->client.writable = true; /* often its head is there: not to wait for the event */
    sbx_conn_wake(c);
}

static void reset_on_close(const struct sbx_side *s)
{
    if (s->source.fd >= 0 && !s->failed) /* one that was reset needs none */
        sbx_socket_reset(s->source.fd);
}

void sbx_conn_close(struct sbx_conn *c, bool reset)
{
    struct sbx_gate *g = c->gate;

    if (c->state == SBX_CONN_DEAD)
        return;
    if ((c->state == SBX_CONN_ADMITTED || c->state == SBX_CONN_RESOLVING || c->state == SBX_CONN_DIALING ||
         c->state == SBX_CONN_CHAIN || c->state == SBX_CONN_SHAKE) && !c->asked.logged)
        sbx_log_asked(c, "error", "client-closed", 0);
    if (c->state == SBX_CONN_TUNNEL)
        sbx_tunnel_log(c); /* it was connected, though nobody has said a word */
    sbx_session_free(c);   /* the ends of its requests go to the log */
    if (sbx_conn_is_active(c->state))
        g->nactive--;
    c->state = SBX_CONN_DEAD;
    if (reset) {
        reset_on_close(&c->client);
        reset_on_close(&c->server);
    }
    sbx_side_close(&g->loop, &c->client, reset);
    sbx_side_close(&g->loop, &c->server, reset);
    sbx_dial_cancel(c);
    sbx_loop_disarm(&g->loop, &c->timer);
    sbx_resolve_cancel(&c->waiter);
    sbx_list_remove(&c->turn.node);
    sbx_list_remove(&c->node);
    sbx_list_append(&g->dead, &c->node);
    sbx_asked_clear(c);
    g->nconns--;
    g->pool.crowded = g->nconns >= SBX_GATE_CROWD;
}

static void free_conn(struct sbx_conn *c)
{
    sbx_pipe_clear(&c->gate->pool, &c->up);
    sbx_pipe_clear(&c->gate->pool, &c->down);
    sbx_hold_free(c);
    sbx_websocket_free(c);
    sbx_intercept_free(c);
    sbx_buf_release(&c->in);
    sbx_buf_release(&c->out_head);
    sbx_buf_release(&c->reply);
    sbx_body_release(&c->up_body);
    sbx_body_release(&c->down_body);
    free(c);
}

/* What a crowd has left behind between the blocks of the others goes back to the system once it is gone. */
static void trim(struct sbx_gate *g)
{
    if (g->nconns > g->crowd)
        g->crowd = g->nconns;
    if (g->crowd >= SBX_GATE_TRIM && g->nconns <= g->crowd / 4)
        g->trimmed = true;
    else if (g->trimmed && !g->nconns)
        g->trimmed = false; /* the last of the crowd has left */
    else
        return;
    sbx_pool_trim(&g->pool);
    malloc_trim(0);
    g->crowd = g->nconns;
}

void sbx_gate_free_dead(struct sbx_gate *g)
{
    while (!sbx_list_empty(&g->dead)) {
        struct sbx_conn *c = sbx_container_of(g->dead.next, struct sbx_conn, node);

        sbx_list_remove(&c->node);
        free_conn(c);
    }
    trim(g);
}

/* A client that has left for good waits for nothing; elsewhere reading finds out what it has left behind. */
static bool is_pointless(const struct sbx_conn *c)
{
    return c->gone && (c->state == SBX_CONN_ADMITTED || c->state == SBX_CONN_RESOLVING ||
                       c->state == SBX_CONN_DIALING || c->state == SBX_CONN_CHAIN || c->state == SBX_CONN_FORWARD);
}

void sbx_conn_run(struct sbx_conn *c)
{
    if (is_pointless(c)) {
        sbx_conn_close(c, true);
        return;
    }
    switch (c->state) {
    case SBX_CONN_HEAD:
        sbx_head_run(c);
        return;
    case SBX_CONN_CHAIN:
        sbx_chain_run(c);
        return;
    case SBX_CONN_TUNNEL:
        sbx_tunnel_run(c);
        return;
    case SBX_CONN_FORWARD:
        sbx_forward_run(c);
        return;
    case SBX_CONN_SHAKE:
        sbx_intercept_run(c);
        return;
    case SBX_CONN_H2:
        sbx_session_run(c);
        return;
    case SBX_CONN_ANSWER:
        sbx_answer_run(c);
        return;
    case SBX_CONN_LINGER:
        sbx_linger_run(c);
        return;
    case SBX_CONN_ADMITTED:
        sbx_judge_run(c);
        return;
    case SBX_CONN_DIALING:
        sbx_dial_run(c);
        return;
    case SBX_CONN_RESOLVING:
    case SBX_CONN_DEAD:
        return;
    }
}
