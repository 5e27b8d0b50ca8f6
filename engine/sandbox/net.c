/* The order in which namespace, helper, gate and container come up (network.md 4). */
#include "net.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum sbx_net_mode sbx_net_mode_for(const struct sbx_runtime_info *info)
{
    if (info->kind == SBX_RUNTIME_FAKE)
        return SBX_NET_NONE;
    if (info->netns_by_path)
        return SBX_NET_CREATE;
    return info->can_enter ? SBX_NET_ENTER : SBX_NET_HOLDER;
}

static int open_pidfd(pid_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);

    if (fd >= 0)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

/*
 * A name for the namespace that stays the same over restarts: each helper is another process, but a
 * container's configuration is written once.
 */
static enum sbx_code name_namespace(struct sbx_box *box, struct sbx_err *err)
{
    struct sbx_pidfile helper;
    char target[64];
    const char *path = sbx_box_path(box, "net/ns");

    if (!path || !sbx_pidfile_read(box, "net/helper.json", &helper))
        return sbx_err_set(err, SBX_FAILED, "the namespace helper is gone");
    snprintf(target, sizeof(target), "/proc/%d/ns/net", (int)helper.pid);
    unlink(path);
    return symlink(target, path) ? sbx_err_errno(err, "%s", path) : SBX_OK;
}

static enum sbx_code before_create(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO_FD int self = open_pidfd(getpid()); /* we die: no helper is left */
    unsigned long long cookie = 0;
    enum sbx_code rc = sbx_helper_start(box, "create", self, &cookie, err);

    if (!rc)
        rc = name_namespace(box, err);
    return rc ? rc : sbx_gate_begin(box, -1, true, cookie, err);
}

static enum sbx_code before_holder(struct sbx_box *box, struct sbx_err *err)
{
    unsigned long long cookie = 0;
    enum sbx_code rc = sbx_holder_start(box, &cookie, err);
    struct sbx_pidfile none = { .cookie = cookie };

    if (!rc) /* no process of ours, but its cookie is asked for later */
        rc = sbx_pidfile_write(box, "net/helper.json", &none, err);
    return rc ? rc : sbx_gate_begin(box, -1, true, cookie, err);
}

enum sbx_code sbx_net_before(struct sbx_box *box, struct sbx_container_spec *spec,
                             struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    if (box->record.net == SBX_NET_CREATE) {
        rc = before_create(box, err);
        if (spec) {
            spec->netns = SBX_NETNS_PATH;
            spec->netns_ref = sbx_box_path(box, "net/ns");
        }
    } else if (box->record.net == SBX_NET_HOLDER) {
        rc = before_holder(box, err);
        if (spec) {
            spec->netns = SBX_NETNS_CONTAINER;
            spec->netns_ref = box->record.holder;
        }
    }
    return rc;
}

/* Is this pid our container on our kernel? Then its root shows the very file that we mounted. */
static enum sbx_code check_pid(struct sbx_box *box, pid_t pid, struct sbx_err *err)
{
    struct stat ours, theirs;
    char path[80];

    if (pid <= 0)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "the container's process is not visible here: does the Engine run on "
                           "another machine or in a virtual machine?");
    snprintf(path, sizeof(path), "/proc/%d/root/run/sbx/init", (int)pid);
    if (fstatat(box->dirfd, "run/init", &ours, 0))
        return sbx_err_errno(err, "%s/run/init", box->dir);
    if (stat(path, &theirs) || ours.st_ino != theirs.st_ino || ours.st_size != theirs.st_size)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "process %d is not the container: its kernel is another one, and no gate "
                           "can be put before its network",
                           (int)pid);
    return SBX_OK;
}

/* A descriptor of PID 1, checked after it was opened: the number cannot have been reused. */
static enum sbx_code container_pidfd(struct sbx_box *box, int *ret, struct sbx_err *err)
{
    struct sbx_container c;
    SBX_AUTO_FD int fd = -1;
    struct pollfd p = { .events = POLLIN };
    enum sbx_code rc = sbx_runtime_inspect(box->rt, box->record.container, box->arena, &c, err);

    if (rc)
        return rc;
    if (!c.running)
        return sbx_err_set(err, SBX_FAILED, "the container ended at once, with status %d",
                           c.exit_code);
    fd = c.pid > 0 ? open_pidfd(c.pid) : -1;
    rc = check_pid(box, fd < 0 ? 0 : c.pid, err);
    if (rc)
        return rc;
    p.fd = fd;
    if (poll(&p, 1, 0))
        return sbx_err_set(err, SBX_FAILED, "the container ended at once");
    box->pid1 = c.pid;
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

static enum sbx_code after_enter(struct sbx_box *box, unsigned long long *ret_cookie,
                                 struct sbx_err *err)
{
    SBX_AUTO_FD int pidfd = -1;
    enum sbx_code rc = container_pidfd(box, &pidfd, err);

    if (!rc)
        rc = sbx_helper_start(box, "enter", pidfd, ret_cookie, err);
    return rc ? rc : sbx_gate_begin(box, pidfd, true, *ret_cookie, err);
}

static enum sbx_code known_cookie(struct sbx_box *box, unsigned long long *ret, struct sbx_err *err)
{
    struct sbx_pidfile helper;

    if (!sbx_pidfile_read(box, "net/helper.json", &helper) && !helper.cookie)
        return sbx_err_set(err, SBX_FAILED, "the namespace helper is gone");
    *ret = helper.cookie;
    return SBX_OK;
}

static enum sbx_code after_create(struct sbx_box *box, unsigned long long *ret_cookie,
                                  struct sbx_err *err)
{
    SBX_AUTO_FD int pidfd = -1;
    SBX_AUTO_FD int sock = -1;
    char answer[256];
    enum sbx_code rc = container_pidfd(box, &pidfd, err);

    if (!rc)
        rc = sbx_helper_connect(box, &sock, err);
    if (!rc)
        rc = sbx_helper_ask(sock, "watch", pidfd, answer, sizeof(answer), err);
    return rc ? rc : known_cookie(box, ret_cookie, err);
}

enum sbx_code sbx_net_after(struct sbx_box *box, unsigned long long *ret_cookie,
                            struct sbx_err *err)
{
    enum sbx_code rc;

    *ret_cookie = 0;
    if (box->record.net == SBX_NET_NONE)
        return SBX_OK;
    rc = box->record.net == SBX_NET_ENTER    ? after_enter(box, ret_cookie, err)
         : box->record.net == SBX_NET_CREATE ? after_create(box, ret_cookie, err)
                                             : known_cookie(box, ret_cookie, err);
    if (!rc)
        rc = sbx_gate_ready(box, err);
    return rc ? rc : sbx_mark_gate(box, *ret_cookie, err);
}

/* Ask the helper which namespace it serves; that also tells whether it lives. */
static enum sbx_code ask_cookie(struct sbx_box *box, unsigned long long *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int sock = -1;
    char answer[256];
    enum sbx_code rc = sbx_helper_connect(box, &sock, err);

    if (!rc)
        rc = sbx_helper_ask(sock, "cookie", -1, answer, sizeof(answer), err);
    if (!rc && sscanf(answer, "ok %llu", ret) != 1)
        rc = sbx_err_set(err, SBX_FAILED, "namespace helper: unexpected answer \"%s\"", answer);
    return rc;
}

enum sbx_code sbx_net_ensure(struct sbx_box *box, struct sbx_err *err)
{
    unsigned long long cookie = 0;
    enum sbx_code rc;

    if (box->record.net == SBX_NET_NONE)
        return SBX_OK;
    rc = ask_cookie(box, &cookie, err);
    if (rc)
        return sbx_err_wrap(err, SBX_UNAVAILABLE, "network of sandbox %s", box->name);
    if (sbx_gate_alive(box))
        return SBX_OK;
    sbx_gate_end(box); /* one that lives on while its pid file is broken holds the doors */
    rc = sbx_gate_begin(box, -1, false, cookie, err);
    if (!rc)
        rc = sbx_gate_ready(box, err);
    if (!rc)
        rc = sbx_ports_open(box, false, err);
    if (!rc)
        rc = sbx_history_add(box, "gate-restarted", NULL, err);
    return rc;
}

void sbx_net_end(struct sbx_box *box)
{
    struct sbx_pidfile p;

    sbx_gate_end(box);
    if (sbx_pidfile_read(box, "net/helper.json", &p))
        sbx_process_end(&p);
}
