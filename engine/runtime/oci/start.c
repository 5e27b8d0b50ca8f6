#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "oci.h"
#include "sbx/file.h"

#define LOG_FILE "runtime.log"

struct start {
    struct oci *o;
    struct box *b;
    int complain; /* where the child says what went wrong */
};

/*
 * The namespace is opened once and handed on as a descriptor: between a check of a path and its use
 * the process behind /proc/PID could be another one. Never the host's own network.
 */
static enum sbx_code open_netns(const char *path, int *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat theirs, ours;

    if (fd < 0)
        return sbx_err_errno(err, "network namespace %s", path);
    if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET)
        return sbx_err_set(err, SBX_UNSUPPORTED, "%s is not a network namespace", path);
    if (fstat(fd, &theirs) || stat("/proc/self/ns/net", &ours))
        return sbx_err_errno(err, "network namespace %s", path);
    if (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev)
        return sbx_err_set(err, SBX_DENIED, "%s is the host's own network", path);
    if (stat("/proc/1/ns/net", &ours) == 0 && theirs.st_ino == ours.st_ino)
        return sbx_err_set(err, SBX_DENIED, "%s is the host's own network", path);
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

static enum sbx_code write_filter(struct start *s, const json_t *config, struct sbx_err *err)
{
    const json_t *seccomp = json_object_get(json_object_get(config, "linux"), "seccomp");
    SBX_AUTO(sbx_buf) filter = SBX_BUF_INIT(OCI_FILTER_MAX);
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc;

    if (!seccomp) /* privileged */
        return SBX_OK;
    rc = oci_filter(s->o, seccomp, &filter, err);
    if (rc)
        return rc;
    fd = openat(s->b->dir, OCI_FILTER_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || sbx_write_all(fd, filter.ptr, filter.len))
        return sbx_err_errno(err, "write %s/" OCI_FILTER_FILE, s->b->path);
    return SBX_OK;
}

static enum sbx_code write_bundle(struct start *s, int netns, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *config = NULL;
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FD int fd = -1;
    char path[64];
    enum sbx_code rc;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), netns);
    rc = oci_bundle(s->o, s->b, netns < 0 ? NULL : path, &config, err);
    if (!rc)
        rc = write_filter(s, config, err);
    if (rc)
        return rc;
    text = json_dumps(config, JSON_COMPACT);
    if (!text)
        return sbx_err_set(err, SBX_SCHEMA, "the container's settings are not all UTF-8");
    fd = openat(s->b->dir, "config.json", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || sbx_write_all(fd, text, strlen(text)))
        return sbx_err_errno(err, "write %s/config.json", s->b->path);
    return SBX_OK;
}

static int overlay_options(const struct box *b, char *to, size_t size)
{
    size_t n = json_array_size(json_object_get(b->spec, "layers"));
    size_t len = (size_t)snprintf(to, size,
                                  "redirect_dir=off,metacopy=off,upperdir=upper,"
                                  "workdir=work,lowerdir=");

    for (size_t i = n ? n : 1; i-- > 0 && len < size;)
        len += (size_t)snprintf(to + len, size - len, "l/%zu%s", i, i ? ":" : "");
    return len < size ? 0 : -1;
}

/*
 * In a mount namespace of its own, so that the mount is gone with the last process that sees it
 * (the container's), whoever is killed when. nodev: devices live in /dev, which is another mount.
 */
static int prepare(void *ctx)
{
    struct start *s = ctx;
    char options[4096];

    if (box_starting(s->b)) {
        dprintf(s->complain, "write who starts it: %s", strerror(errno));
        return -1;
    }
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL)) {
        dprintf(s->complain, "make a mount namespace: %s", strerror(errno));
        return -1;
    }
    if (overlay_options(s->b, options, sizeof(options))) {
        dprintf(s->complain, "too many layers");
        return -1;
    }
    if (mount("overlay", "rootfs", "overlay", MS_NODEV, options)) {
        dprintf(s->complain, "mount the root file system (overlay): %s%s", strerror(errno),
                errno == EINVAL
                    ? "; the state directory must be on a file system that overlayfs can "
                      "write to (ext4, xfs, btrfs, tmpfs)"
                    : "");
        return -1;
    }
    return oci_root_prepare(s->o, s->b, s->complain);
}

static enum sbx_code why(const struct box *b, const struct sbx_buf *said, int status,
                         struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) log = SBX_BUF_INIT(4096);
    char path[4096];

    snprintf(path, sizeof(path), "%.4000s/" LOG_FILE, b->path);
    oci_log_message(path, &log);
    if (log.len)
        return sbx_err_set(err, SBX_FAILED, "%.800s", log.ptr);
    if (said->len)
        return sbx_err_set(err, SBX_FAILED, "%.800s", said->ptr);
    return sbx_err_set(err, SBX_FAILED, "the OCI runtime ended with status %d", status);
}

/*
 * What the child says before it becomes the runtime (the pipe closes at exec), and the runtime's end.
 * It reads files of a root that may be hostile: a FIFO, a file system that never answers. When it is
 * killed the processes that it began end with their pipe to it or by the container's cgroup.
 */
static enum sbx_code follow(struct start *s, pid_t pid, int fd, struct sbx_buf *said,
                            int *ret_status, struct sbx_err *err)
{
    struct sbx_patience prepare = sbx_patience_begin(&s->o->rt, OCI_PREPARE_MS), start;
    enum sbx_code rc = oci_hear(fd, &prepare, said), waited;

    if (rc)
        kill(pid, SIGKILL);
    start = sbx_patience_begin(&s->o->rt, OCI_START_MS);
    start.before = prepare.before;
    waited = oci_wait_for(pid, &start, ret_status);
    rc = rc ? rc : waited;
    return rc ? sbx_patience_error(err, rc, "the OCI runtime's start") : SBX_OK;
}

static enum sbx_code run(struct start *s, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) said = SBX_BUF_INIT(4096);
    const char *argv[] = { s->o->program,  "--root", "runc", "--log",    LOG_FILE,
                           "--log-format", "json",   "run",  "--detach", "--pid-file",
                           "pid",          s->b->id, NULL };
    struct program p = { .argv = argv,
                         .in = -1,
                         .out = -1,
                         .err_fd = -1,
                         .cwd = s->b->path,
                         .prepare = prepare,
                         .ctx = s };
    int fds[2], status = 0;
    pid_t pid;
    enum sbx_code rc, settled;

    if (pipe2(fds, O_CLOEXEC))
        return sbx_err_errno(err, "pipe");
    s->complain = fds[1];
    rc = oci_spawn(&p, &pid, err);
    close(fds[1]);
    if (!rc) {
        settled = box_settle(s->b, err); /* while the runtime is at work */
        rc = follow(s, pid, fds[0], &said, &status, settled ? NULL : err);
        rc = settled ? settled : rc;
    }
    if (!rc && status)
        rc = why(s->b, &said, status, err);
    close(fds[0]);
    return rc;
}

static enum sbx_code read_pid(const struct box *b, pid_t *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(32);
    enum sbx_code rc = sbx_file_read(b->dir, "pid", &text, err);

    if (rc)
        return rc;
    *ret = (pid_t)strtol(text.ptr ? text.ptr : "", NULL, 10);
    return *ret > 0 ? SBX_OK : sbx_err_set(err, SBX_FAILED, "the OCI runtime wrote no pid");
}

enum sbx_code oci_start(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    SBX_AUTO(box) b = BOX_INIT;
    SBX_AUTO_FD int netns = -1;
    struct start s = { o, &b, -1 };
    struct sbx_err ignored = SBX_ERR_INIT;
    pid_t pid = 0;
    enum sbx_code rc = box_lock(o, id, &b, err);

    if (rc || b.pid)
        return rc;
    rc = box_cleanup(&b, err);
    unlinkat(b.dir, LOG_FILE, 0);
    if (!rc && *box_text(&b, "netns"))
        rc = open_netns(box_text(&b, "netns"), &netns, err);
    if (!rc)
        rc = write_bundle(&s, netns, err);
    if (rc)
        return rc;
    rc = run(&s, err);
    if (!rc)
        rc = read_pid(&b, &pid, err);
    if (!rc)
        rc = box_started(&b, pid, err);
    if (rc && box_cleanup(&b, &ignored))
        return rc; /* the next command cleans up */
    return rc;
}
