/* The control socket: one JSON object a line in, one out (docs/gate-config.md, 4). See gate.h. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "gate.h"
#include "sbx/json.h"

struct client {
    struct sbx_control *control;
    struct sbx_list node;
    struct sbx_source source;
    struct sbx_buf in;
};

struct sbx_control {
    struct sbx_gate *gate;
    struct sbx_source listener;
    struct sbx_list clients;
    unsigned n;
    uid_t owner;
};

static json_t *failure(const char *text)
{
    return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static json_t *op_ping(struct sbx_gate *g, json_t *request)
{
    (void)request;
    return json_pack("{s:b, s:I, s:i, s:I, s:I}", "ok", 1, "generation",
                     (json_int_t)g->config->generation, "tunnels", (int)g->nactive, "offset",
                     (json_int_t)g->log.offset, "lost", (json_int_t)g->log.lost);
}

static json_t *op_reload(struct sbx_gate *g, json_t *request)
{
    struct sbx_err err = SBX_ERR_INIT;

    (void)request;
    if (sbx_gate_reload(g, &err))
        return failure(err.text);
    return json_pack("{s:b, s:I}", "ok", 1, "generation", (json_int_t)g->config->generation);
}

/* Targets denied since an offset of the log, the latest SBX_GATE_BLOCKED different ones (F5). */
static json_t *op_blocked(struct sbx_gate *g, json_t *request)
{
    json_int_t since = json_integer_value(json_object_get(request, "since"));
    json_t *list = json_array();

    for (size_t i = 0; list && i < g->log.nblocked; i++) {
        const struct sbx_blocked *b = &g->log.blocked[i];

        if ((json_int_t)b->offset < since)
            continue;
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:I}", "host", b->host, "port",
                                              (int)b->port, "reason", b->reason, "count",
                                              (json_int_t)b->count));
    }
    return json_pack("{s:b, s:I, s:o}", "ok", 1, "offset", (json_int_t)g->log.offset, "blocked",
                     list);
}

static json_t *serve(struct sbx_gate *g, const char *line, size_t len)
{
    static const struct {
        const char *name;
        json_t *(*run)(struct sbx_gate *g, json_t *request);
    } ops[] = { { "ping", op_ping }, { "reload", op_reload }, { "blocked", op_blocked } };
    SBX_AUTO_JSON json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *op = json_string_value(json_object_get(request, "op"));

    if (!op)
        return failure("one JSON object a line with \"op\" is expected");
    for (size_t i = 0; i < SBX_ARRAY_LEN(ops); i++)
        if (strcmp(ops[i].name, op) == 0)
            return ops[i].run(g, request);
    return failure("unknown op");
}

static void drop(struct client *c)
{
    sbx_loop_close(&c->control->gate->loop, &c->source);
    sbx_list_remove(&c->node);
    c->control->n--;
    sbx_buf_release(&c->in);
    free(c);
}

/* Answers go out in one piece: the engine reads them before it asks again. */
static int reply(struct client *c, const char *line, size_t len)
{
    SBX_AUTO_JSON json_t *answer = serve(c->control->gate, line, len);
    SBX_AUTO_FREE char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
    size_t n = text ? strlen(text) : 0;

    if (!n)
        return -1;
    text[n] = '\n';
    return send(c->source.fd, text, n + 1, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)(n + 1) ? 0 : -1;
}

static int take_lines(struct client *c)
{
    char *nl;

    while (c->in.len && (nl = memchr(c->in.ptr, '\n', c->in.len))) {
        size_t len = (size_t)(nl - c->in.ptr);

        if (reply(c, c->in.ptr, len))
            return -1;
        sbx_buf_drop(&c->in, len + 1);
    }
    return c->in.len == c->in.max ? -1 : 0;
}

static void on_client(struct sbx_source *s, uint32_t events)
{
    struct client *c = sbx_container_of(s, struct client, source);
    size_t size = c->in.max - c->in.len;
    char *room = sbx_buf_room(&c->in, size);
    ssize_t n;

    (void)events;
    n = room ? recv(s->fd, room, size, MSG_DONTWAIT) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop(c);
        return;
    }
    sbx_buf_commit(&c->in, (size_t)n);
    if (take_lines(c))
        drop(c);
}

static bool may_talk(const struct sbx_control *ctl, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
           (peer.uid == 0 || peer.uid == ctl->owner);
}

static void on_listener(struct sbx_source *s, uint32_t events)
{
    struct sbx_control *ctl = sbx_container_of(s, struct sbx_control, listener);
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct client *c;

    (void)events;
    if (fd < 0)
        return;
    c = ctl->n < SBX_GATE_CONTROL_CLIENTS && may_talk(ctl, fd) ? calloc(1, sizeof(*c)) : NULL;
    if (!c) {
        close(fd);
        return;
    }
    c->control = ctl;
    c->source = (struct sbx_source){ fd, on_client };
    c->in.max = SBX_GATE_CONTROL_LINE_MAX;
    sbx_list_append(&ctl->clients, &c->node);
    ctl->n++;
    if (sbx_loop_add(&ctl->gate->loop, &c->source, EPOLLIN))
        drop(c);
}

enum sbx_code sbx_control_open(struct sbx_gate *g, int fd, struct sbx_err *err)
{
    struct sbx_control *ctl = calloc(1, sizeof(*ctl));
    struct stat st;

    if (!ctl)
        return sbx_err_set(err, SBX_NO_MEMORY, "control: out of memory");
    g->control = ctl;
    ctl->gate = g;
    ctl->listener = (struct sbx_source){ fd, on_listener };
    sbx_list_init(&ctl->clients);
    if (fstat(g->watch.dirfd, &st)) /* the directory is the engine's user's */
        return sbx_err_errno(err, "control");
    ctl->owner = st.st_uid;
    if (sbx_loop_add(&g->loop, &ctl->listener, EPOLLIN))
        return sbx_err_errno(err, "control socket");
    return SBX_OK;
}

void sbx_control_close(struct sbx_gate *g)
{
    struct sbx_control *ctl = g->control;

    if (!ctl)
        return;
    while (!sbx_list_empty(&ctl->clients))
        drop(sbx_container_of(ctl->clients.next, struct client, node));
    sbx_loop_close(&g->loop, &ctl->listener);
    free(ctl);
    g->control = NULL;
}
