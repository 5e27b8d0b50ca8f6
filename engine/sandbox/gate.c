/* sbx-gate: started unprivileged for the doors of a helper (docs/gate-config.md 4). */
#include "net.h"

#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define GATE_USER "sbx-gate"
#define GATE_UID 64718          /* where there is no such user: an id that Debian gives nobody */
#define ASK_TIMEOUT_MS 3000
#define ANSWER_MAX 1048576      /* bytes of one answer on the control socket */
#define AGAIN_MS 20
#define MAP_MODE 0600

/* Never root, never 1000 (quotas are per uid and the agent's files belong to that one). */
static uid_t gate_uid(void)
{
    struct passwd *user;

    if (geteuid() != 0)
        return 0; /* stay who we are */
    user = getpwnam(GATE_USER);
    return user && user->pw_uid && user->pw_uid != SBX_AGENT_UID ? user->pw_uid : GATE_UID;
}

struct gate_fds {
    int upstream, config, log, log_dir, map, netns, control, status, ended, ca_cert, ca_key, pidfd;
};

static void close_fds(struct gate_fds *f)
{
    int all[] = { f->upstream, f->config, f->log, f->log_dir, f->map, f->netns, f->control, f->status, f->ended,
                  f->ca_cert, f->ca_key };

    for (size_t i = 0; i < SBX_ARRAY_LEN(all); i++)
        if (all[i] >= 0)
            close(all[i]);
}

static enum sbx_code open_fds(struct sbx_box *box, struct gate_fds *f, struct sbx_err *err)
{
    enum sbx_code rc = sbx_helper_connect(box, &f->netns, err);

    if (!rc)
        rc = sbx_socket_listen(box, "net/gate.sock", SOCK_STREAM, 0600, &f->control, err);
    if (!rc)
        rc = sbx_host_proxy_open(box, &f->upstream, err);
    if (rc)
        return rc;
    f->config = openat(box->dirfd, "gate", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->map = openat(box->dirfd, "addresses", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                    MAP_MODE);
    f->ended = sbx_open_ended(box);
    f->ca_cert = openat(box->dirfd, "ca/cert.pem", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    f->ca_key = openat(box->dirfd, "ca/key.pem", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (f->config < 0 || f->map < 0 || f->ended < 0 || f->ca_cert < 0 || f->ca_key < 0)
        return sbx_err_errno(err, "%s", box->dir);
    return sbx_logs_open(box, gate_uid(), &f->log_dir, &f->log, err);
}

/* One more descriptor of the child, and the option that tells its number there. */
static size_t add_fd(struct sbx_spawn *s, int *fds, const char **argv, size_t n, const char *option,
                     int fd)
{
    static const char *const numbers[] = { "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15" };

    argv[n++] = option;
    argv[n++] = numbers[*fds];
    s->fds[(*fds)++] = fd;
    s->fds[*fds] = -1;
    return n;
}

static enum sbx_code spawn(struct sbx_box *box, const struct gate_fds *f, bool fresh, pid_t *ret,
                           struct sbx_err *err)
{
    const char *argv[28] = { "sbx-gate", "--config-dir-fd", "3", "--log-fd", "4", "--map-fd", "5",
                             "--netns-fd", "6", "--control-fd", "7", "--status-fd", "8",
                             "--ended-fd", "9", "--log-dir-fd", "10", "--ca-cert-fd", "11",
                             "--ca-key-fd", "12" };
    size_t n = 21;
    char path[4096];
    struct sbx_spawn s = { .path = path, .argv = argv, .uid = gate_uid(),
                           .fds = { f->config, f->log, f->map, f->netns, f->control, f->status,
                                    f->ended, f->log_dir, f->ca_cert, f->ca_key, -1 } };
    int fds = 10;

    if (fresh)
        argv[n++] = "--fresh";
    if (f->pidfd >= 0)
        n = add_fd(&s, &fds, argv, n, "--pidfd", f->pidfd);
    if (f->upstream >= 0)
        n = add_fd(&s, &fds, argv, n, "--upstream-fd", f->upstream);
    snprintf(path, sizeof(path), "%s/sbx-gate", box->e->paths.libexec);
    return sbx_spawn(&s, ret, err);
}

static enum sbx_code start(struct sbx_box *box, struct gate_fds *f, bool fresh,
                           struct sbx_pidfile *p, struct sbx_err *err)
{
    int ends[2];
    enum sbx_code rc = open_fds(box, f, err);

    if (rc)
        return rc;
    if (pipe2(ends, O_CLOEXEC))
        return sbx_err_errno(err, "pipe");
    box->gate_status = ends[0];
    f->status = ends[1];
    rc = spawn(box, f, fresh, &p->pid, err);
    if (rc)
        return rc;
    sbx_fault_point("gate");
    p->start = sbx_process_start(p->pid);
    rc = sbx_pidfile_write(box, "net/gate.pid.json", p, err);
    if (rc)
        sbx_process_end(p);
    return rc;
}

enum sbx_code sbx_gate_begin(struct sbx_box *box, int pidfd, bool fresh, unsigned long long cookie,
                             struct sbx_err *err)
{
    struct gate_fds f = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, pidfd };
    struct sbx_pidfile p = { .cookie = cookie };
    enum sbx_code rc = start(box, &f, fresh, &p, err);

    close_fds(&f);
    return rc ? sbx_err_wrap(err, rc, "gate of sandbox %s", box->name) : SBX_OK;
}

enum sbx_code sbx_gate_ready(struct sbx_box *box, struct sbx_err *err)
{
    char line[512] = "";
    SBX_AUTO_FD int status = sbx_take_fd(&box->gate_status);
    enum sbx_code rc = sbx_status_line(status, "gate", line, sizeof(line), err);

    if (rc) {
        sbx_gate_end(box);
        return sbx_err_wrap(err, rc, "gate of sandbox %s", box->name);
    }
    sbx_broker_ensure(box);
    return SBX_OK;
}

bool sbx_gate_alive(struct sbx_box *box)
{
    struct sbx_pidfile p;

    return sbx_pidfile_read(box, "net/gate.pid.json", &p) && sbx_process_alive(&p);
}

static enum sbx_code read_line(int fd, struct sbx_buf *out, struct sbx_err *err)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    while (!out->len || out->ptr[out->len - 1] != '\n') {
        char *room = sbx_buf_room(out, 4096);
        ssize_t n;

        if (!room)
            return sbx_err_set(err, SBX_LIMIT, "the gate's answer is too long");
        if (poll(&p, 1, ASK_TIMEOUT_MS) <= 0)
            return sbx_err_set(err, SBX_TIMEOUT, "the gate does not answer");
        n = read(fd, room, 4096);
        if (n <= 0)
            return sbx_err_set(err, SBX_UNAVAILABLE, "the gate closed its control socket");
        sbx_buf_commit(out, (size_t)n);
    }
    return SBX_OK;
}

enum sbx_code sbx_gate_ask(struct sbx_box *box, json_t *request, json_t **ret, struct sbx_err *err)
{
    return sbx_gate_ask_with(box, request, NULL, 0, ret, err);
}

enum sbx_code sbx_gate_ask_with(struct sbx_box *box, json_t *request, const int *fds, size_t n,
                                json_t **ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *mine = request;
    SBX_AUTO_JSON json_t *answer = NULL;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(ANSWER_MAX);
    SBX_AUTO_FD int fd = -1;
    ssize_t sent;
    enum sbx_code rc;

    if (!mine || sbx_json_canonical(mine, &text) || sbx_buf_adds(&text, "\n"))
        return sbx_out_of_memory(err);
    rc = sbx_socket_connect(box, "net/gate.sock", SOCK_STREAM, &fd, err);
    if (rc)
        return rc;
    sent = sbx_send_with(fd, text.ptr, text.len, fds, n); /* they come with its first byte */
    if (sent < 0 || sbx_write_all(fd, text.ptr + sent, text.len - (size_t)sent))
        return sbx_err_errno(err, "ask the gate");
    sbx_buf_clear(&text);
    rc = read_line(fd, &text, err);
    if (rc)
        return rc;
    answer = json_loadb(text.ptr, text.len, 0, NULL);
    if (!json_is_true(json_object_get(answer, "ok"))) {
        const char *why = json_string_value(json_object_get(answer, "error"));

        return sbx_err_set(err, SBX_FAILED, "gate: %s", why ? why : "unexpected answer");
    }
    if (ret)
        *ret = json_incref(answer);
    return SBX_OK;
}

void sbx_gate_end(struct sbx_box *box)
{
    int64_t until = sbx_now_ms() + SBX_READY_TIMEOUT_MS;
    struct sbx_pidfile p;

    if (sbx_pidfile_read(box, "net/gate.pid.json", &p)) {
        sbx_process_end(&p);
        return;
    }
    if (sbx_gate_ask(box, json_pack("{s:s}", "op", "shutdown"), NULL, NULL))
        return;
    for (int fd = -1; !sbx_socket_connect(box, "net/gate.sock", SOCK_STREAM, &fd, NULL); fd = -1) {
        close(fd);
        if (sbx_now_ms() > until)
            return;
        poll(NULL, 0, AGAIN_MS);
    }
}
