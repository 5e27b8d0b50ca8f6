#include "serve.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIXED 6   /* poll entries before the clients': listener, signals, watched process, DNS, TCP doors */
#define FDS_MAX 3 /* descriptors in one message: the doors */

struct clients {
    int fd[SBX_SERVE_CLIENTS]; /* -1: free */
    int gate;                  /* index of the one that holds the doors; -1: none */
};

struct request {
    char text[SBX_SERVE_MESSAGE];
    int fd; /* -1: none came along */
};

/* Take the descriptor of a message; any beyond the first are closed. */
static int take_fd(struct msghdr *m)
{
    int taken = -1;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
            if (taken < 0)
                taken = fd;
            else
                close(fd);
        }
    }
    return taken;
}

/* False: the client is gone. */
static bool receive(int fd, struct request *r)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))];
    struct iovec io = { r->text, sizeof(r->text) - 1 };
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (n < 0)
        return false;
    r->fd = take_fd(&m);
    if (!n) { /* its end, or an empty message, which may bring a descriptor all the same */
        if (r->fd >= 0)
            close(r->fd);
        return false;
    }
    r->text[n] = '\0';
    if (r->text[n - 1] == '\n')
        r->text[n - 1] = '\0';
    if (m.msg_flags & MSG_TRUNC)
        strcpy(r->text, "(too long)");
    return true;
}

/* False: the client does not read its answers, or is gone. */
static bool answer(int fd, const char *text, const int *fds, size_t n)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS_MAX * sizeof(int))] = { 0 };
    struct iovec io = { (void *)text, strlen(text) };
    struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };

    if (n) {
        struct cmsghdr *c = (struct cmsghdr *)control;

        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE(n * sizeof(int));
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n * sizeof(int));
    }
    return sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

static bool answer_error(int fd, const struct sbx_err *err)
{
    char text[SBX_SERVE_MESSAGE];

    snprintf(text, sizeof(text), "error %.240s", err->text);
    return answer(fd, text, NULL, 0);
}

static bool give_doors(struct sbx_server *s, struct clients *c, int who)
{
    int fds[FDS_MAX];
    size_t n = 0;

    if (c->gate >= 0 && c->gate != who)
        return answer(c->fd[who], "error a gate is connected already", NULL, 0);
    c->gate = who;
    fds[n++] = s->doors.tcp4;
    if (s->doors.tcp6 >= 0)
        fds[n++] = s->doors.tcp6;
    fds[n++] = s->doors.udp4;
    return answer(c->fd[who], n == 3 ? "ok tcp4 tcp6 udp4" : "ok tcp4 udp4", fds, n);
}

static bool is_pidfd(int fd)
{
    siginfo_t info;

    /* 3 is P_PIDFD. Not our child, so a pidfd gives ECHILD; another descriptor EBADF. */
    return fd >= 0 && (waitid((idtype_t)3, (id_t)fd, &info, WNOHANG | WEXITED | WNOWAIT) == 0 ||
                       errno == ECHILD);
}

static bool take_watch(struct sbx_server *s, int client, struct request *r)
{
    if (!is_pidfd(r->fd))
        return answer(client, "error watch needs a pidfd", NULL, 0);
    if (s->watch_fd >= 0)
        close(s->watch_fd);
    s->watch_fd = r->fd;
    r->fd = -1;
    return answer(client, "ok", NULL, 0);
}

static bool give_socket(int client, int family, int type)
{
    SBX_AUTO_FD int fd = socket(family, type | SOCK_CLOEXEC, 0);
    struct sbx_err err = SBX_ERR_INIT;

    if (fd < 0) {
        sbx_err_errno(&err, "make a socket");
        return answer_error(client, &err);
    }
    return answer(client, "ok", &fd, 1);
}

static bool give_cookie(const struct sbx_server *s, int client)
{
    char text[SBX_SERVE_MESSAGE];

    snprintf(text, sizeof(text), "ok %" PRIu64 " %" PRIu64, s->ns.cookie, s->ns.inode);
    return answer(client, text, NULL, 0);
}

/* False: this client's connection ends. `quit` is set when we shall. */
static bool handle(struct sbx_server *s, struct clients *c, int who, bool *quit)
{
    struct request r = { .fd = -1 };
    int fd = c->fd[who];
    bool stays;

    if (!receive(fd, &r))
        return false;
    if (!strcmp(r.text, "doors"))
        stays = give_doors(s, c, who);
    else if (!strcmp(r.text, "watch"))
        stays = take_watch(s, fd, &r);
    else if (!strcmp(r.text, "socket tcp4"))
        stays = give_socket(fd, AF_INET, SOCK_STREAM);
    else if (!strcmp(r.text, "socket tcp6"))
        stays = give_socket(fd, AF_INET6, SOCK_STREAM);
    else if (!strcmp(r.text, "socket udp4"))
        stays = give_socket(fd, AF_INET, SOCK_DGRAM);
    else if (!strcmp(r.text, "socket udp6"))
        stays = give_socket(fd, AF_INET6, SOCK_DGRAM);
    else if (!strcmp(r.text, "cookie"))
        stays = give_cookie(s, fd);
    else if (!strcmp(r.text, "quit"))
        stays = answer(fd, "ok", NULL, 0), *quit = true;
    else
        stays = answer(fd, "error unknown request", NULL, 0);
    if (r.fd >= 0)
        close(r.fd);
    return stays;
}

static void end_client(struct sbx_server *s, struct clients *c, int who)
{
    close(c->fd[who]);
    c->fd[who] = -1;
    if (c->gate != who)
        return;
    c->gate = -1;
    sbx_doors_refuse(&s->doors);
}

static void take_client(struct sbx_server *s, struct clients *c)
{
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    struct ucred peer;
    socklen_t len = sizeof(peer);

    if (fd < 0)
        return;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
        (peer.uid != 0 && peer.uid != s->owner)) {
        answer(fd, "error not your sandbox", NULL, 0);
        close(fd);
        return;
    }
    for (int i = 0; i < SBX_SERVE_CLIENTS; i++)
        if (c->fd[i] < 0) {
            c->fd[i] = fd;
            return;
        }
    answer(fd, "error too many connections", NULL, 0);
    close(fd);
}

static void serve_clients(struct sbx_server *s, struct clients *c, const struct pollfd *p,
                          bool *quit)
{
    /* The gate first: a successor that waits for the doors finds them free. */
    if (c->gate >= 0 && p[c->gate].revents && !handle(s, c, c->gate, quit))
        end_client(s, c, c->gate);
    for (int i = 0; i < SBX_SERVE_CLIENTS; i++)
        if (c->fd[i] >= 0 && c->fd[i] == p[i].fd && i != c->gate && p[i].revents &&
            !handle(s, c, i, quit))
            end_client(s, c, i);
}

const char *sbx_serve(struct sbx_server *s)
{
    struct clients c = { .gate = -1 };
    struct pollfd p[FIXED + SBX_SERVE_CLIENTS];
    bool quit = false;

    for (int i = 0; i < SBX_SERVE_CLIENTS; i++)
        c.fd[i] = -1;
    while (!quit) {
        p[0] = (struct pollfd){ s->listen_fd, POLLIN, 0 };
        p[1] = (struct pollfd){ s->signal_fd, POLLIN, 0 };
        p[2] = (struct pollfd){ s->watch_fd, POLLIN, 0 };
        p[3] = (struct pollfd){ c.gate < 0 ? s->doors.udp4 : -1, POLLIN, 0 };
        p[4] = (struct pollfd){ c.gate < 0 ? s->doors.tcp4 : -1, POLLIN, 0 };
        p[5] = (struct pollfd){ c.gate < 0 ? s->doors.tcp6 : -1, POLLIN, 0 };
        for (int i = 0; i < SBX_SERVE_CLIENTS; i++)
            p[FIXED + i] = (struct pollfd){ c.fd[i], POLLIN, 0 };
        if (poll(p, SBX_ARRAY_LEN(p), -1) < 0 && errno != EINTR)
            return "poll failed";
        if (p[2].revents)
            return "container ended";
        if (p[1].revents)
            return "terminated by a signal";
        if (p[3].revents)
            sbx_doors_refuse_dns(&s->doors);
        if (p[4].revents || p[5].revents)
            sbx_doors_refuse(&s->doors);
        serve_clients(s, &c, p + FIXED, &quit);
        if (p[0].revents & (POLLERR | POLLNVAL))
            return "its socket failed";
        if (p[0].revents)
            take_client(s, &c);
    }
    return "asked to quit";
}
