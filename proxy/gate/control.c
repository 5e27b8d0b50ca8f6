/* The control socket: one JSON object a line in, one out, or an HTTP GET (docs/gate-config.md, 4). See
 * gate.h. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fds.h"
#include "gate.h"
#include "inbound.h"
#include "sbx/digest.h"
#include "sbx/json.h"

struct client {
    struct sbx_control *control;
    struct sbx_list node;
    struct sbx_source source;
    struct sbx_buf in, out; /* out: what the socket did not take yet */
    bool last;              /* an HTTP answer: close behind it */
    struct sbx_passed passed; /* came with the bytes in hand; closed when their line is served */
};

struct sbx_control {
    struct sbx_gate *gate;
    struct sbx_source listener;
    struct sbx_list clients;
    unsigned n;
    uid_t owner;
};

json_t *sbx_control_failure(const char *text)
{
    return json_pack("{s:b, s:s}", "ok", 0, "error", text);
}

static json_t *op_ping(struct sbx_gate *g, json_t *request)
{
    (void)request;
    return json_pack("{s:b, s:I, s:i, s:I, s:I}", "ok", 1, "generation",
                     (json_int_t)g->config->generation, "tunnels", (int)g->nactive, "offset",
                     (json_int_t)sbx_log_offset(&g->log), "lost", (json_int_t)g->log.lost);
}

static json_t *op_reload(struct sbx_gate *g, json_t *request)
{
    struct sbx_err err = SBX_ERR_INIT;

    (void)request;
    if (sbx_gate_reload(g, &err))
        return sbx_control_failure(err.text);
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
    return json_pack("{s:b, s:I, s:o}", "ok", 1, "offset", (json_int_t)sbx_log_offset(&g->log), "blocked",
                     list);
}

static json_t *op_stats(struct sbx_gate *g, json_t *request)
{
    (void)request;
    return json_pack("{s:b, s:I, s:I, s:i, s:i, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "ok", 1,
                     "generation", (json_int_t)g->config->generation, "uptimeMs",
                     (json_int_t)(g->loop.now - g->started_at), "connections", (int)g->nconns,
                     "tunnels", (int)g->nactive, "accepted", (json_int_t)g->accepted,
                     "dnsAnswered", (json_int_t)g->dns_answered, "names",
                     (int)sbx_names_count(g->names), "allowed", (json_int_t)g->log.allowed,
                     "denied", (json_int_t)g->log.denied, "errors", (json_int_t)g->log.errors,
                     "tunnelBytes", (json_int_t)g->relayed, "offset", (json_int_t)sbx_log_offset(&g->log),
                     "lost", (json_int_t)g->log.lost, "broker", sbx_secrets_connected(g->secrets));
}

static json_t *op_policy(struct sbx_gate *g, json_t *request)
{
    const struct sbx_config *c = g->config;
    json_t *policy = json_loadb(c->text, c->text_len, 0, NULL);
    char digest[SBX_DIGEST_TEXT_SIZE];

    (void)request;
    if (!policy || sbx_digest(c->text, c->text_len, digest)) {
        json_decref(policy);
        return sbx_control_failure("out of memory");
    }
    return json_pack("{s:b, s:I, s:s, s:o, s:o}", "ok", 1, "generation", (json_int_t)c->generation,
                     "digest", digest, "policy", policy, "upstream", sbx_upstream_json(g->upstream));
}

/* Which step of the plan is at work: it stands in the records from here on. */
static json_t *op_step(struct sbx_gate *g, json_t *request)
{
    const char *id = json_string_value(json_object_get(request, "id"));

    if (!id || strlen(id) > SBX_GATE_STEP_MAX)
        return sbx_control_failure("step: \"id\" is needed");
    strcpy(g->log.step, id);
    return json_pack("{s:b, s:I}", "ok", 1, "offset", (json_int_t)sbx_log_offset(&g->log));
}

static json_t *op_shutdown(struct sbx_gate *g, json_t *request)
{
    (void)request;
    g->end_reason = "asked to end";
    g->loop.stop = true;
    return json_pack("{s:b}", "ok", 1);
}

static const struct {
    const char *name, *path; /* path: of an HTTP GET, or NULL */
    json_t *(*run)(struct sbx_gate *g, json_t *request);
} ops[] = {
    { "ping", NULL, op_ping },       { "reload", NULL, op_reload },
    { "blocked", NULL, op_blocked }, { "stats", "/v0/stats", op_stats },
    { "step", NULL, op_step },       { "policy", "/v0/policy", op_policy }, { "shutdown", NULL, op_shutdown },
    { "ports", "/v0/ports", sbx_inbound_list }, { "unpublish", NULL, sbx_inbound_unpublish },
};

/* A broker's end of a socket pair: the values of injected fields come through it. */
static json_t *take_broker(struct sbx_gate *g, struct sbx_passed *passed)
{
    int fd = passed->n ? passed->fd[0] : -1;

    if (fd < 0)
        return sbx_control_failure("broker: a descriptor must come along");
    passed->fd[0] = -1;
    if (sbx_secrets_connect(g->secrets, fd))
        return sbx_control_failure("broker: not a SEQPACKET socket");
    return json_pack("{s:b}", "ok", 1);
}

json_t *sbx_control_answer(struct sbx_gate *g, struct sbx_passed *passed, const char *line, size_t len)
{
    SBX_AUTO_JSON json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *op = json_string_value(json_object_get(request, "op"));

    if (!op)
        return sbx_control_failure("one JSON object a line with \"op\" is expected");
    if (strcmp(op, "publish") == 0)
        return sbx_inbound_publish(g, request, passed);
    if (strcmp(op, "broker") == 0)
        return take_broker(g, passed);
    for (size_t i = 0; i < SBX_ARRAY_LEN(ops); i++)
        if (strcmp(ops[i].name, op) == 0)
            return ops[i].run(g, request);
    return sbx_control_failure("unknown op");
}

static void close_passed(struct client *c)
{
    for (unsigned i = 0; i < c->passed.n; i++)
        if (c->passed.fd[i] >= 0)
            close(c->passed.fd[i]);
    c->passed.n = 0;
}

static void drop(struct client *c)
{
    sbx_loop_close(&c->control->gate->loop, &c->source);
    sbx_list_remove(&c->node);
    c->control->n--;
    close_passed(c);
    sbx_buf_release(&c->in);
    sbx_buf_release(&c->out);
    free(c);
}

/* 1: all is out, 0: the socket is full, -1: the client is gone. */
static int flush(struct client *c)
{
    while (c->out.len) {
        ssize_t n = send(c->source.fd, c->out.ptr, c->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return -1;
        sbx_buf_drop(&c->out, (size_t)n);
    }
    return 1;
}

static int answer_line(struct client *c, const char *line, size_t len)
{
    SBX_AUTO_JSON json_t *answer = sbx_control_answer(c->control->gate, &c->passed, line, len);
    SBX_AUTO_FREE char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

    return !text || sbx_buf_adds(&c->out, text) || sbx_buf_adds(&c->out, "\n") ? -1 : 0;
}

/* "GET /v0/policy HTTP/1.1" and whatever fields: for people with curl --unix-socket. */
static int answer_get(struct client *c)
{
    const char *path = c->in.ptr + 4, *end = memchr(path, ' ', c->in.len - 4);
    SBX_AUTO_JSON json_t *answer = NULL;
    SBX_AUTO_FREE char *text = NULL;

    for (size_t i = 0; end && i < SBX_ARRAY_LEN(ops); i++)
        if (ops[i].path && strlen(ops[i].path) == (size_t)(end - path) &&
            memcmp(ops[i].path, path, (size_t)(end - path)) == 0)
            answer = ops[i].run(c->control->gate, NULL);
    c->last = true;
    if (!answer)
        return sbx_buf_adds(&c->out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                                     "Connection: close\r\n\r\n") ? -1 : 0;
    text = json_dumps(answer, JSON_INDENT(2));
    return !text || sbx_buf_addf(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
                                 strlen(text) + 1, text) ? -1 : 0;
}

/* The next question of the buffer. 1: answered, 0: there is none, -1: close. */
static int answer_next(struct client *c)
{
    char *nl = c->in.len ? memchr(c->in.ptr, '\n', c->in.len) : NULL;
    size_t len;

    if (c->in.len >= 4 && memcmp(c->in.ptr, "GET ", 4) == 0) {
        if (!memmem(c->in.ptr, c->in.len, "\r\n\r\n", 4))
            return 0;
        return answer_get(c) ? -1 : 1;
    }
    if (!nl)
        return 0;
    len = (size_t)(nl - c->in.ptr);
    if (answer_line(c, c->in.ptr, len))
        return -1;
    close_passed(c);
    sbx_buf_drop(&c->in, len + 1);
    return 1;
}

/* One answer at a time: who does not read gets no second one. 0 or -1: close. */
static int converse(struct client *c)
{
    int rc;

    while ((rc = flush(c)) > 0) {
        if (c->last)
            return -1;
        rc = answer_next(c);
        if (rc <= 0)
            break;
    }
    return rc < 0 || (!c->out.len && c->in.len == c->in.max) ? -1 : 0;
}

static ssize_t receive(struct client *c, char *to, size_t size)
{
    int fds[SBX_GATE_PASSED];
    unsigned n_fds = 0;
    ssize_t n = sbx_fds_receive(c->source.fd, to, size, fds, SBX_GATE_PASSED, &n_fds);

    for (unsigned i = 0; i < n_fds; i++) {
        if (c->passed.n < SBX_GATE_PASSED)
            c->passed.fd[c->passed.n++] = fds[i];
        else
            close(fds[i]);
    }
    return n;
}

static void on_client(struct sbx_source *s, uint32_t events)
{
    struct client *c = sbx_container_of(s, struct client, source);
    int rc = converse(c); /* what waited for the socket to take more */
    size_t size;

    (void)events;
    while (!rc && (size = c->in.max - c->in.len)) {
        char *room = sbx_buf_room(&c->in, size);
        ssize_t n = room ? receive(c, room, size) : 0;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n > 0)
            sbx_buf_commit(&c->in, (size_t)n);
        rc = n > 0 ? converse(c) : -1;
    }
    if (rc)
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
    c->source = (struct sbx_source){ .fd = fd, .on = on_client };
    c->in.max = SBX_GATE_CONTROL_LINE_MAX;
    c->out.max = 2 * SBX_GATE_CONFIG_MAX + 65536; /* the policy, indented */
    sbx_list_append(&ctl->clients, &c->node);
    ctl->n++;
    if (sbx_loop_add(&ctl->gate->loop, &c->source, EPOLLIN | EPOLLOUT | EPOLLET))
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
    ctl->listener = (struct sbx_source){ .fd = fd, .on = on_listener };
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
