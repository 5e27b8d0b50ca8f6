/*
 * Enter the namespaces of a running container and become a process in it. A small static program,
 * started from a sealed memory file: whatever a hostile image makes it execute, /proc/self/exe is
 * never a file of the host that could be written to. Not dumpable until that exec, so nobody
 * inside can look into it. It takes its orders from enter.h and knows nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <termios.h>
#include <unistd.h>

#include "enter.h"

#define NAMESPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define ARGS_MAX 65536 /* strings of argv or environment: more than exec() takes */
#define PATH_SIZE 4096

static void fail(enum enter_stage stage, const char *call)
{
    struct enter_status s = { .what = ENTER_FAILED, .stage = stage, .number = errno };

    strncpy(s.text, call, sizeof(s.text) - 1);
    send(ENTER_STATUS, &s, sizeof(s), MSG_NOSIGNAL);
    _exit(125);
}

static void need(int rc, const char *call)
{
    if (rc < 0)
        fail(ENTER_SETUP, call);
}

static const struct enter_request *take_request(void)
{
    struct stat st;
    const struct enter_request *r;

    for (int fd = ENTER_REQUEST; fd <= ENTER_STATUS; fd++)
        need(fcntl(fd, F_SETFD, FD_CLOEXEC), "fcntl");
    need(fstat(ENTER_REQUEST, &st), "fstat");
    r = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, ENTER_REQUEST, 0);
    if (r == MAP_FAILED || (size_t)st.st_size < sizeof(*r) || r->magic != ENTER_MAGIC ||
        r->size != (size_t)st.st_size || r->n_argv < 1 || r->n_argv > ARGS_MAX ||
        r->n_env > ARGS_MAX || r->n_groups > ENTER_GROUPS_MAX) {
        errno = EPROTO;
        fail(ENTER_SETUP, "request");
    }
    return r;
}

/* A child of our parent, in the container's pid namespace; we only tell its number. */
static void step_inside(void)
{
    struct clone_args args = { .flags = CLONE_PARENT };
    struct enter_status s = { .what = ENTER_STARTED };
    long pid = syscall(SYS_clone3, &args, sizeof(args));

    need((int)pid, "clone3");
    if (!pid)
        return;
    s.number = (int32_t)pid;
    send(ENTER_STATUS, &s, sizeof(s), MSG_NOSIGNAL);
    _exit(0);
}

static void send_terminal(int master)
{
    struct enter_status s = { .what = ENTER_TERMINAL };
    char control[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec iov = { &s, sizeof(s) };
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
    };
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &master, sizeof(master));
    need((int)sendmsg(ENTER_STATUS, &m, MSG_NOSIGNAL), "send terminal");
}

/* A terminal of the container's own devpts; its other end is opened by number, not by name. */
static void make_terminal(const struct enter_request *r)
{
    struct winsize size = { .ws_row = (unsigned short)r->rows, .ws_col = (unsigned short)r->cols };
    int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW), slave, off = 0;
    struct statfs fs;

    need(master, "open /dev/pts/ptmx");
    need(fstatfs(master, &fs), "fstatfs");
    if (fs.f_type != DEVPTS_SUPER_MAGIC) {
        errno = ENODEV;
        fail(ENTER_SETUP, "/dev/pts");
    }
    need(ioctl(master, TIOCSPTLCK, &off), "unlock terminal");
    slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    need(slave, "open terminal");
    if (size.ws_row && size.ws_col)
        need(ioctl(master, TIOCSWINSZ, &size), "size of terminal");
    need(fchown(slave, r->uid, (gid_t)-1), "owner of terminal");
    send_terminal(master);
    for (int fd = 0; fd < 3; fd++)
        need(dup2(slave, fd), "dup2");
    need(ioctl(0, TIOCSCTTY, 0), "controlling terminal");
}

/* Pipes of ours are opened again by name inside (/dev/stdout): they must be the user's. */
static void own_pipes(uid_t uid)
{
    for (int fd = 0; fd < 3; fd++) {
        struct statfs fs;

        if (fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC)
            need(fchown(fd, uid, (gid_t)-1), "owner of pipe");
    }
}

static void set_caps(uint64_t effective)
{
    struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct d[2] = { 0 };

    for (int i = 0; i < 2; i++)
        d[i].effective = d[i].permitted = (uint32_t)(effective >> (32 * i));
    need((int)syscall(SYS_capset, &h, d), "capset");
}

static void drop_bounding(uint64_t keep)
{
    for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
        if (!(keep >> cap & 1))
            need(prctl(PR_CAPBSET_DROP, cap), "drop capability");
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/*
 * The filter goes on last but one: to put it on without no_new_privs takes CAP_SYS_ADMIN, to give
 * that up takes only capset(), which a filter that lets anything work allows.
 */
static void become(const struct enter_request *r)
{
    struct rlimit files = { r->files, r->files };
    gid_t groups[ENTER_GROUPS_MAX];
    struct sock_fprog program = {
        .len = (unsigned short)r->n_filter,
        .filter = (struct sock_filter *)(void *)((char *)r + r->filter),
    };

    for (uint32_t i = 0; i < r->n_groups; i++)
        groups[i] = r->groups[i];
    need(setrlimit(RLIMIT_NOFILE, &files), "setrlimit");
    drop_bounding(r->bounding);
    need(setgroups(r->n_groups, groups), "setgroups");
    need(prctl(PR_SET_KEEPCAPS, 1), "keep capabilities");
    need(setresgid(r->gid, r->gid, r->gid), "setresgid");
    need(setresuid(r->uid, r->uid, r->uid), "setresuid");
    need(prctl(PR_SET_DUMPABLE, 0), "not dumpable");
    set_caps(r->effective | 1ULL << CAP_SYS_ADMIN);
    if (r->n_filter)
        need((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "seccomp");
    set_caps(r->effective);
}

static void default_signals(void)
{
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
}

/* As a shell finds a program; EACCES of one place is remembered while others are tried. */
static void run(const char *path, char *const *argv, char *const *env)
{
    char full[PATH_SIZE];
    int denied = 0;

    if (strchr(argv[0], '/')) {
        execve(argv[0], argv, env);
        fail(ENTER_EXEC, "exec");
    }
    for (;;) {
        size_t n = strcspn(path, ":"), len = strlen(argv[0]);

        if (n + len + 2 <= sizeof(full)) {
            memcpy(full, path, n);
            full[n] = '/';
            memcpy(full + n + (n > 0), argv[0], len + 1);
            execve(full, argv, env);
            if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
                fail(ENTER_EXEC, "exec");
            denied |= errno == EACCES;
        }
        if (!path[n])
            break;
        path += n + 1;
    }
    errno = denied ? EACCES : ENOENT;
    fail(ENTER_EXEC, "exec");
}

int main(void)
{
    const struct enter_request *r = take_request();
    char **argv = calloc(r->n_argv + 1, sizeof(*argv)), **env = calloc(r->n_env + 1, sizeof(*env));
    char *next = (char *)r + r->strings, *cwd = next, *path;

    if (!argv || !env)
        fail(ENTER_SETUP, "memory");
    path = cwd + strlen(cwd) + 1;
    next = path + strlen(path) + 1;
    for (uint32_t i = 0; i < r->n_argv; i++, next += strlen(next) + 1)
        argv[i] = next;
    for (uint32_t i = 0; i < r->n_env; i++, next += strlen(next) + 1)
        env[i] = next;
    need(prctl(PR_SET_DUMPABLE, 0), "not dumpable");
    if (setns(ENTER_PIDFD, NAMESPACES))
        fail(errno == ESRCH ? ENTER_GONE : ENTER_SETUP, "setns");
    step_inside();
    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL); /* not our caller's keys */
    need(setsid(), "setsid");
    default_signals();
    umask(022);
    if (r->tty)
        make_terminal(r);
    else
        own_pipes(r->uid);
    become(r);
    if (chdir(cwd))
        fail(ENTER_DIRECTORY, "chdir");
    run(path, argv, env);
}
