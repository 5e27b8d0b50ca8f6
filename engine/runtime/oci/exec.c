#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "oci.h"
#include "sbx/file.h"

#define CONSOLE_WAIT_MS 10000 /* for the runtime to send the terminal; it does so before it returns */

struct run {
    struct oci *o;
    struct box *b;
    const struct sbx_exec *exec;
    struct streams streams;
    char stem[64];   /* of this exec's files in the container's directory */
    int process;     /* memfd with the process as JSON */
    int console;     /* listening socket, -1: no terminal */
};

static void run_release(struct run *r)
{
    char name[80];

    streams_release(&r->streams);
    if (r->process >= 0)
        close(r->process);
    if (r->console >= 0)
        close(r->console);
    for (int i = 0; i < 3; i++) {
        static const char *const ends[] = { "pid", "log", "tty" };

        snprintf(name, sizeof(name), "%s.%s", r->stem, ends[i]);
        unlinkat(r->b->dir, name, 0);
    }
}

static enum sbx_code write_process(struct run *r, const struct user *user, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *json = oci_process(r->b, r->exec, user);
    SBX_AUTO_FREE char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

    if (!text)
        return sbx_err_set(err, SBX_SCHEMA, "arguments or environment are not UTF-8");
    r->process = memfd_create("process", MFD_CLOEXEC);
    if (r->process < 0 || sbx_write_all(r->process, text, strlen(text)))
        return sbx_err_errno(err, "memfd");
    return SBX_OK;
}

/* The runtime opens the terminal inside and sends it here. */
static enum sbx_code listen_console(struct run *r, struct sbx_err *err)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    if (!r->exec->tty)
        return SBX_OK;
    r->console = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* the directory's path may be longer than a socket address */
    snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%s.tty", r->b->dir, r->stem);
    if (r->console < 0 || bind(r->console, (struct sockaddr *)&a, sizeof(a)) ||
        listen(r->console, 1))
        return sbx_err_errno(err, "console socket");
    return SBX_OK;
}

static enum sbx_code take_console(struct run *r, struct sbx_err *err)
{
    struct pollfd p = { .fd = r->console, .events = POLLIN };
    char name[4096], control[CMSG_SPACE(sizeof(int))];
    struct iovec iov = { name, sizeof(name) };
    struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
                        .msg_controllen = sizeof(control) };
    SBX_AUTO_FD int peer = -1;
    struct cmsghdr *c;
    int master;

    if (!r->exec->tty)
        return SBX_OK;
    if (poll(&p, 1, CONSOLE_WAIT_MS) == 1)
        peer = accept4(r->console, NULL, NULL, SOCK_CLOEXEC);
    if (peer < 0 || recvmsg(peer, &m, MSG_CMSG_CLOEXEC) < 0)
        return sbx_err_set(err, SBX_FAILED, "the OCI runtime sent no terminal");
    c = CMSG_FIRSTHDR(&m);
    if (!c || c->cmsg_type != SCM_RIGHTS)
        return sbx_err_set(err, SBX_FAILED, "the OCI runtime sent no terminal");
    memcpy(&master, CMSG_DATA(c), sizeof(master));
    streams_terminal(&r->streams, master);
    return SBX_OK;
}

static enum sbx_code spawn(struct run *r, pid_t *ret, struct sbx_err *err)
{
    char process[64], pid_file[80], log[80], tty[80];
    const char *argv[20] = { r->o->program, "--root", "runc", "--log", log, "--log-format", "json",
                             "exec", "--detach", "--process", process, "--pid-file", pid_file };
    size_t n = 13;
    struct program p = { .argv = argv, .in = r->streams.child[0], .out = r->streams.child[1],
                         .err_fd = r->streams.child[2], .cwd = r->b->path };

    snprintf(process, sizeof(process), "/proc/%d/fd/%d", (int)getpid(), r->process);
    snprintf(pid_file, sizeof(pid_file), "%s.pid", r->stem);
    snprintf(log, sizeof(log), "%s.log", r->stem);
    snprintf(tty, sizeof(tty), "%s.tty", r->stem);
    if (r->exec->tty) {
        argv[n++] = "--console-socket";
        argv[n++] = tty;
    }
    argv[n] = r->b->id;
    return oci_spawn(&p, ret, err);
}

/* A shell's answer to a command that could not be started. */
static enum sbx_code not_started(struct run *r, int *ret_status, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) log = SBX_BUF_INIT(4096);
    char path[4200];
    const char *text;

    snprintf(path, sizeof(path), "%.4000s/%s.log", r->b->path, r->stem);
    oci_log_message(path, &log);
    text = log.ptr ? log.ptr : "the OCI runtime gave no reason";
    if (strstr(text, "executable file not found") || strstr(text, "no such file or directory"))
        *ret_status = 127;
    else if (strstr(text, "permission denied") || strstr(text, "exec format error") ||
             strstr(text, "is a directory"))
        *ret_status = 126;
    else
        return sbx_err_set(err, SBX_FAILED, "%.800s", text);
    return SBX_OK;
}

static enum sbx_code read_pid(struct run *r, pid_t *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(32);
    char name[80];
    enum sbx_code rc;

    snprintf(name, sizeof(name), "%s.pid", r->stem);
    rc = sbx_file_read(r->b->dir, name, &text, err);
    if (rc)
        return rc;
    *ret = (pid_t)strtol(text.ptr ? text.ptr : "", NULL, 10);
    return *ret > 0 ? SBX_OK : sbx_err_set(err, SBX_FAILED, "the OCI runtime wrote no pid");
}

/* It is our child: we are the subreaper of what the runtime left. */
static enum sbx_code follow(struct run *r, int *ret_status, struct sbx_err *err)
{
    SBX_AUTO_FD int pidfd = -1;
    pid_t pid;
    enum sbx_code rc = read_pid(r, &pid, err);

    if (rc)
        return rc;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return sbx_err_errno(err, "pidfd of process %d", (int)pid);
    rc = take_console(r, err);
    if (!rc)
        rc = streams_run(&r->streams, pidfd, pid, err);
    if (rc && rc != SBX_TIMEOUT)
        syscall(SYS_pidfd_send_signal, pidfd, 9, NULL, 0);
    *ret_status = oci_wait(pid);
    return rc;
}

static enum sbx_code run(struct run *r, int *ret_status, struct sbx_err *err)
{
    int reaper = 0, status;
    pid_t pid;
    enum sbx_code rc;

    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1))
        return sbx_err_errno(err, "become subreaper");
    rc = spawn(r, &pid, err);
    streams_close_child(&r->streams);
    if (!rc) {
        status = oci_wait(pid);
        rc = status ? not_started(r, ret_status, err) : follow(r, ret_status, err);
    }
    prctl(PR_SET_CHILD_SUBREAPER, reaper);
    return rc;
}

enum sbx_code oci_exec(struct sbx_runtime *rt, const char *id, const struct sbx_exec *exec,
                       int *ret_status, struct sbx_err *err)
{
    static unsigned counter;
    SBX_AUTO(box) b = BOX_INIT;
    struct run r = { .o = (struct oci *)rt, .b = &b, .exec = exec, .process = -1, .console = -1 };
    SBX_AUTO_FD int root = -1;
    struct user user;
    enum sbx_code rc = box_running(r.o, id, &b, err);

    if (rc)
        return rc;
    snprintf(r.stem, sizeof(r.stem), "exec-%d-%u", (int)getpid(), counter++);
    rc = streams_open(&r.streams, exec, err);
    if (!rc)
        rc = oci_root_open(&b, &root, err);
    if (!rc)
        rc = oci_user(root, exec->user ? exec->user : box_text(&b, "user"), &user, err);
    if (!rc)
        rc = write_process(&r, &user, err);
    if (!rc)
        rc = listen_console(&r, err);
    if (!rc)
        rc = run(&r, ret_status, err);
    run_release(&r);
    return rc;
}
