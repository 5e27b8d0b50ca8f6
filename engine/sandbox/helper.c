/* sbx-netns: started for a namespace, asked over its SEQPACKET socket (docs/gate-config.md 3). */
#include "net.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ASK_TIMEOUT_MS 5000

enum sbx_code sbx_helper_connect(struct sbx_box *box, int *ret, struct sbx_err *err)
{
    bool holder = box->record.net == SBX_NET_HOLDER;

    return sbx_socket_connect(box, holder ? "net/holder/netns.sock" : "net/netns.sock",
                              SOCK_SEQPACKET, ret, err);
}

enum sbx_code sbx_helper_ask(int sock, const char *request, int fd, char *answer, size_t size,
                             struct sbx_err *err)
{
    struct pollfd p = { .fd = sock, .events = POLLIN };
    ssize_t n;

    if (sbx_send_with(sock, request, strlen(request), &fd, fd >= 0) < 0)
        return sbx_err_errno(err, "ask the namespace helper to %s", request);
    if (poll(&p, 1, ASK_TIMEOUT_MS) <= 0)
        return sbx_err_set(err, SBX_TIMEOUT, "the namespace helper does not answer \"%s\"",
                           request);
    n = recv(sock, answer, size - 1, 0);
    if (n <= 0)
        return sbx_err_set(err, SBX_UNAVAILABLE, "the namespace helper is gone");
    answer[n] = '\0';
    if (!strncmp(answer, "ok", 2))
        return SBX_OK;
    return sbx_err_set(err, SBX_FAILED, "namespace helper: %s: %s", request, answer);
}

static enum sbx_code spawn(struct sbx_box *box, const char *mode, int pidfd, int listener,
                           int status, int ended, pid_t *ret, struct sbx_err *err)
{
    const char *argv[] = { "sbx-netns", "--mode", mode, "--socket-fd", "3", "--status-fd", "4",
                           "--ended-fd", "5", pidfd >= 0 ? "--pidfd" : NULL, "6", NULL };
    char path[4096];
    struct sbx_spawn s = { .path = path, .argv = argv,
                           .fds = { listener, status, ended, pidfd, -1 } };

    snprintf(path, sizeof(path), "%s/sbx-netns", box->e->paths.libexec);
    return sbx_spawn(&s, ret, err);
}

int sbx_open_ended(struct sbx_box *box)
{
    return openat(box->dirfd, "net/ended", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
                  0600);
}

enum sbx_code sbx_helper_start(struct sbx_box *box, const char *mode, int pidfd,
                               unsigned long long *ret_cookie, struct sbx_err *err)
{
    SBX_AUTO_FD int listener = -1;
    SBX_AUTO_FD int ended = -1;
    SBX_AUTO_FD int read_end = -1;
    SBX_AUTO_FD int write_end = -1;
    struct sbx_pidfile p = { 0 };
    char line[512] = "";
    int ends[2];
    enum sbx_code rc;

    if (mkdirat(box->dirfd, "net", 0700) && errno != EEXIST)
        return sbx_err_errno(err, "%s/net", box->dir);
    rc = sbx_socket_listen(box, "net/netns.sock", SOCK_SEQPACKET, 0600, &listener, err);
    if (rc)
        return rc;
    ended = sbx_open_ended(box);
    if (ended < 0 || pipe2(ends, O_CLOEXEC))
        return sbx_err_errno(err, "%s/net/ended", box->dir);
    read_end = ends[0];
    write_end = ends[1];
    rc = spawn(box, mode, pidfd, listener, write_end, ended, &p.pid, err);
    if (rc)
        return rc;
    sbx_fault_point("helper");
    p.start = sbx_process_start(p.pid);
    close(sbx_take_fd(&write_end));
    rc = sbx_pidfile_write(box, "net/helper.json", &p, err);
    if (!rc)
        rc = sbx_status_line(read_end, "namespace helper", line, sizeof(line), err);
    if (!rc && sscanf(line, "%llu", &p.cookie) != 1)
        rc = sbx_err_set(err, SBX_FAILED, "namespace helper: unexpected answer \"%s\"", line);
    if (!rc)
        rc = sbx_pidfile_write(box, "net/helper.json", &p, err);
    if (rc)
        sbx_process_end(&p);
    else
        *ret_cookie = p.cookie;
    return rc;
}
