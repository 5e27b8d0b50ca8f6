/*
 * sbx-netns: enters or makes a sandbox's network namespace, closes it, makes the doors, gives up
 * its privileges and hands the doors to the gate. docs/gate-config.md section 3, network.md 1 to 4.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "confine.h"
#include "normal.h"
#include "rules.h"
#include "serve.h"

enum mode { MODE_NONE, MODE_ENTER, MODE_CREATE, MODE_HOLDER };

struct options {
    enum mode mode;
    const char *socket_path;
    int socket_fd, pid_fd, status_fd, ended_fd;
    uint64_t host_cookie; /* 0: not given; no namespace has it */
};

static const char usage[] =
    "usage: sbx-netns --mode enter|create|holder [--socket-fd N | --socket PATH] [--pidfd N]\n"
    "                 [--status-fd N] [--ended-fd N] [--host-cookie N]\n"
    "The network helper of a sandbox. sbx starts it; docs/gate-config.md describes it.\n";

static const struct option long_options[] = {
    { "mode", required_argument, NULL, 'm' },
    { "socket-fd", required_argument, NULL, 's' },
    { "socket", required_argument, NULL, 'S' },
    { "pidfd", required_argument, NULL, 'p' },
    { "status-fd", required_argument, NULL, 't' },
    { "ended-fd", required_argument, NULL, 'e' },
    { "host-cookie", required_argument, NULL, 'c' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

static bool parse_fd(const char *text, int *ret)
{
    char *end;
    long v;

    errno = 0;
    v = strtol(text, &end, 10);
    if (errno || end == text || *end || v < 0 || v > 1 << 20) /* fs.nr_open's default */
        return false;
    *ret = (int)v;
    return true;
}

static bool parse_mode(const char *text, enum mode *ret)
{
    static const char *const names[] = { "", "enter", "create", "holder" };

    for (size_t i = 1; i < SBX_ARRAY_LEN(names); i++)
        if (!strcmp(text, names[i])) {
            *ret = (enum mode)i;
            return true;
        }
    return false;
}

static bool parse_one(int c, const char *text, struct options *o)
{
    char *end;

    switch (c) {
    case 'm':
        return parse_mode(text, &o->mode);
    case 's':
        return parse_fd(text, &o->socket_fd);
    case 'S':
        o->socket_path = text;
        return true;
    case 'p':
        return parse_fd(text, &o->pid_fd);
    case 't':
        return parse_fd(text, &o->status_fd);
    case 'e':
        return parse_fd(text, &o->ended_fd);
    case 'c':
        errno = 0;
        o->host_cookie = strtoull(text, &end, 10);
        return !errno && end != text && !*end && *text != '-';
    default:
        return false;
    }
}

static enum sbx_code parse(int argc, char **argv, struct options *o, struct sbx_err *err)
{
    int c, index = 0;

    opterr = 0;
    while ((c = getopt_long(argc, argv, "", long_options, &index)) != -1)
        if (!parse_one(c, optarg, o))
            return sbx_err_set(err, SBX_USAGE, "bad option %s", argv[optind - 1]);
    if (optind != argc)
        return sbx_err_set(err, SBX_USAGE, "unexpected argument %s", argv[optind]);
    if (!o->mode)
        return sbx_err_set(err, SBX_USAGE, "--mode is needed");
    if ((o->socket_fd < 0) == !o->socket_path)
        return sbx_err_set(err, SBX_USAGE, "one of --socket-fd and --socket is needed");
    if (o->mode == MODE_ENTER && o->pid_fd < 0)
        return sbx_err_set(err, SBX_USAGE, "--mode enter needs --pidfd");
    return SBX_OK;
}

/* The watched process lives still: the namespace just entered is its, not a recycled number's. */
static enum sbx_code check_alive(int pid_fd, struct sbx_err *err)
{
    struct pollfd p = { pid_fd, POLLIN, 0 };

    if (poll(&p, 1, 0) < 0)
        return sbx_err_errno(err, "look at the container's process");
    if (p.revents & POLLNVAL)
        return sbx_err_set(err, SBX_USAGE, "--pidfd %d is not open", pid_fd);
    return p.revents ? sbx_err_set(err, SBX_FAILED, "the container has ended") : SBX_OK;
}

static enum sbx_code move(const struct options *o, struct sbx_err *err)
{
    if (o->mode == MODE_ENTER && setns(o->pid_fd, CLONE_NEWNET))
        return sbx_err_errno(err, "enter the container's network namespace");
    if (o->mode == MODE_CREATE && unshare(CLONE_NEWNET))
        return sbx_err_errno(err, "make a network namespace");
    return SBX_OK;
}

/* Into the namespace, and sure that it is the right one. Nothing is written. */
static enum sbx_code arrive(const struct options *o, struct sbx_ns *ret, bool *ret_again,
                            struct sbx_err *err)
{
    struct sbx_ns before = { 0, o->host_cookie };
    enum sbx_code rc = SBX_OK;

    if (o->mode != MODE_HOLDER)
        rc = sbx_ns_read(&before, err);
    if (!rc)
        rc = move(o, err);
    if (!rc)
        rc = sbx_ns_read(ret, err);
    if (!rc)
        rc = sbx_ns_differs(&before, ret, err);
    if (!rc && o->pid_fd >= 0)
        rc = check_alive(o->pid_fd, err);
    return rc ? rc : sbx_ns_closed(ret_again, err);
}

/* The rules go first: no packet that finds a route shall find a program inside. */
static enum sbx_code shape(bool again, struct sbx_doors *doors, struct sbx_err *err)
{
    bool ipv6 = sbx_normal_ipv6();
    enum sbx_code rc = sbx_rules_load(ipv6, again, err);

    if (!rc)
        rc = sbx_normal_sysctls(ipv6, err);
    if (!rc)
        rc = sbx_normal_apply(ipv6, err);
    if (!rc)
        rc = sbx_doors_open(ipv6, doors, err);
    return rc;
}

/* A socket at PATH, and whose directory it is: that user may ask. */
static enum sbx_code bind_path(const char *path, int *ret, uid_t *owner, struct sbx_err *err)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    char dir[sizeof(at.sun_path)], *slash;
    struct stat st;

    if (strlen(path) >= sizeof(at.sun_path) || path[0] != '/')
        return sbx_err_set(err, SBX_USAGE,
                           "--socket %s: want an absolute path of at most %zu bytes", path,
                           sizeof(at.sun_path) - 1);
    strcpy(at.sun_path, path);
    strcpy(dir, path);
    slash = strrchr(dir, '/');
    slash[slash == dir] = '\0';
    if (stat(dir, &st))
        return sbx_err_errno(err, "look at %s", dir);
    *owner = st.st_uid;
    unlink(path); /* of an earlier start of this holder; there is one a directory */
    *ret = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    umask(0); /* the directory keeps others out; peers are checked besides */
    if (*ret < 0 || bind(*ret, (struct sockaddr *)&at, sizeof(at)) ||
        listen(*ret, SBX_SERVE_CLIENTS))
        return sbx_err_errno(err, "listen at %s", path);
    return SBX_OK;
}

static enum sbx_code open_server(const struct options *o, struct sbx_server *s, struct sbx_err *err)
{
    struct stat st;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signal_fd < 0)
        return sbx_err_errno(err, "take signals");
    s->watch_fd = o->pid_fd;
    if (o->socket_path)
        return bind_path(o->socket_path, &s->listen_fd, &s->owner, err);
    if (fstat(o->socket_fd, &st) || !S_ISSOCK(st.st_mode))
        return sbx_err_set(err, SBX_USAGE, "--socket-fd %d is not a socket", o->socket_fd);
    s->listen_fd = o->socket_fd;
    s->owner = st.st_uid; /* of the process that made the socket */
    return SBX_OK;
}

static enum sbx_code start(const struct options *o, struct sbx_server *s, struct sbx_err *err)
{
    bool again = false;
    enum sbx_code rc = arrive(o, &s->ns, &again, err);

    if (!rc)
        rc = shape(again, &s->doors, err);
    if (!rc)
        rc = open_server(o, s, err);
    if (!rc) {
        int keep[] = { s->listen_fd, s->signal_fd,  s->watch_fd,   o->status_fd,
                       o->ended_fd,  s->doors.tcp4, s->doors.tcp6, s->doors.udp4 };

        rc = sbx_confine_detach(keep, SBX_ARRAY_LEN(keep), err);
    }
    return rc ? rc : sbx_confine(err);
}

static void say(int fd, const char *text)
{
    if (fd >= 0 && write(fd, text, strlen(text)) < 0)
        return; /* who asked for it is gone */
}

static int fail(const struct options *o, const struct sbx_err *err)
{
    char line[SBX_ERR_TEXT_MAX + 16];

    snprintf(line, sizeof(line), "error %s\n", err->text);
    say(o->status_fd >= 0 ? o->status_fd : STDERR_FILENO, line);
    return sbx_code_exit(err->code);
}

int main(int argc, char **argv)
{
    struct options o = { .socket_fd = -1, .pid_fd = -1, .status_fd = -1, .ended_fd = -1 };
    struct sbx_server s = { .doors = SBX_DOORS_INIT };
    struct sbx_err err = SBX_ERR_INIT;
    char line[128];

    if (argc == 2 && !strcmp(argv[1], "--help"))
        return fputs(usage, stdout) < 0;
    if (parse(argc, argv, &o, &err)) {
        fprintf(stderr, "sbx-netns: %s\n%s", err.text, usage);
        return sbx_code_exit(err.code);
    }
    signal(SIGPIPE, SIG_IGN);
    if (o.mode == MODE_HOLDER && o.status_fd < 0)
        o.status_fd = dup(STDOUT_FILENO); /* the container's log */
    if (start(&o, &s, &err))
        return fail(&o, &err);
    snprintf(line, sizeof(line), "ok %" PRIu64 " %" PRIu64 "\n", s.ns.cookie, s.ns.inode);
    say(o.status_fd, line);
    if (o.status_fd >= 0)
        close(o.status_fd);
    snprintf(line, sizeof(line), "helper: %s\n", sbx_serve(&s));
    say(o.ended_fd, line);
    _exit(0);
}
