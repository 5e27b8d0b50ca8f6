#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "oci.h"
#include "sbx/boot.h"
#include "sbx/file.h"

#define SPEC_FILE "spec.json"
#define RUN_FILE "run.json"
#define RUNNER_FILE "runner" /* "PID START": the OCI runtime while it starts the container */
#define RUNNER_MS 5000       /* a killed process is gone at once unless a file system hangs */
#define LOCK_POLL_MS 5       /* between two tries */

void box_release(struct box *b)
{
    free(b->name);
    free(b->path);
    json_decref(b->spec);
    if (b->dir >= 0)
        close(b->dir);
    if (b->lock >= 0)
        close(b->lock);
}

const char *box_text(const struct box *b, const char *key)
{
    const char *text = json_string_value(json_object_get(b->spec, key));

    return text ? text : "";
}

static json_t *load(int dir, const char *name)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(OCI_SPEC_MAX);

    if (sbx_file_read(dir, name, &text, NULL))
        return NULL;
    return json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
}

/* ---- does it run? ---- */

/* Start time of a living process in clock ticks since boot; 0: none, or a zombie. */
static unsigned long long start_time(pid_t pid)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(4096);
    unsigned long long start = 0;
    char path[64], state = 'Z';
    const char *end;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (pid <= 0 || sbx_file_read(AT_FDCWD, path, &text, NULL) || !text.ptr)
        return 0;
    end = strrchr(text.ptr, ')'); /* the command's name may hold anything */
    if (!end || sscanf(end + 1,
                       " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                       "%*s %*s %*s %llu",
                       &state, &start) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : start;
}

void box_look(struct box *b)
{
    SBX_AUTO_JSON json_t *run = load(b->dir, RUN_FILE);
    const char *boot = json_string_value(json_object_get(run, "boot"));
    const char *started = json_string_value(json_object_get(run, "startedAt"));
    pid_t pid = (pid_t)json_integer_value(json_object_get(run, "pid"));
    unsigned long long then = (unsigned long long)json_integer_value(json_object_get(run, "start"));
    char now[SBX_BOOT_ID_SIZE];

    b->pid = 0;
    snprintf(b->started_at, sizeof(b->started_at), "%s", started ? started : "");
    sbx_boot_id(now);
    if (boot && strcmp(boot, now) == 0 && then && start_time(pid) == then)
        b->pid = pid;
}

/* Replaced without fsync: after a power cut nothing runs and nobody asks. */
static int replace(int dir, const char *name, const char *text)
{
    SBX_AUTO_FD int fd = openat(dir, ".new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || sbx_write_all(fd, text, strlen(text)))
        return -1;
    return renameat(dir, ".new", dir, name);
}

enum sbx_code box_created(int dir, const char *text, struct sbx_err *err)
{
    return replace(dir, SPEC_FILE, text) ? sbx_err_errno(err, "write " SPEC_FILE) : SBX_OK;
}

enum sbx_code box_settle(const struct box *b, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(b->dir, SPEC_FILE, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || (fsync(fd) && errno != EINVAL) || (fsync(b->dir) && errno != EINVAL))
        return sbx_err_errno(err, "sync %s/" SPEC_FILE, b->path);
    return SBX_OK;
}

enum sbx_code box_started(struct box *b, pid_t pid, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *run = NULL;
    SBX_AUTO_FREE char *text = NULL;
    struct timespec now;
    struct tm tm;
    char boot[SBX_BOOT_ID_SIZE], second[32];
    unsigned long long start = start_time(pid);

    if (!start)
        return sbx_err_set(err, SBX_FAILED, "its first process ended at once");
    sbx_boot_id(boot);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(b->started_at, sizeof(b->started_at), "%.20s.%09ldZ", second, now.tv_nsec);
    run = json_pack("{s:i, s:I, s:s, s:s}", "pid", (int)pid, "start", (json_int_t)start, "boot",
                    boot, "startedAt", b->started_at);
    text = run ? json_dumps(run, JSON_COMPACT) : NULL;
    if (!text)
        return oci_no_memory(err);
    if (replace(b->dir, RUN_FILE, text))
        return sbx_err_errno(err, "write %s/" RUN_FILE, b->path);
    b->pid = pid;
    return SBX_OK;
}

int box_starting(const struct box *b)
{
    SBX_AUTO_FD int fd = openat(b->dir, RUNNER_FILE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                                0600);

    return fd < 0 || dprintf(fd, "%d %llu\n", (int)getpid(), start_time(getpid())) < 0 ? -1 : 0;
}

/* The runtime of a start whose command was killed dies with that command, but a moment later. */
static void end_runner(struct box *b)
{
    struct sbx_patience p = sbx_patience_begin(NULL, RUNNER_MS);
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(64);
    SBX_AUTO_FD int pidfd = -1;
    unsigned long long start = 0, now;
    int pid = 0;

    if (sbx_file_read(b->dir, RUNNER_FILE, &text, NULL) || !text.ptr ||
        sscanf(text.ptr, "%d %llu", &pid, &start) != 2 || pid <= 1)
        return;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    now = start_time(pid);
    if (pidfd < 0 || !start || (now && now != start))
        return;
    /* 0: its first thread is dead, others may still be making a cgroup; the descriptor waits for all. */
    if (now)
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    if (sbx_patience_poll(&p, pidfd))
        return; /* what it holds is found by the cgroup */
}

enum sbx_code box_cleanup(struct box *b, struct sbx_err *err)
{
    enum sbx_code rc;

    end_runner(b);
    oci_cgroup_kill(b->id);
    rc = oci_cgroup_remove(b->id, err);
    if (!rc)
        rc = sbx_dir_remove(b->dir, "runc", err);
    if (!rc && unlinkat(b->dir, "pid", 0) && errno != ENOENT)
        rc = sbx_err_errno(err, "remove %s/pid", b->path);
    if (!rc && unlinkat(b->dir, RUNNER_FILE, 0) && errno != ENOENT)
        rc = sbx_err_errno(err, "remove %s/" RUNNER_FILE, b->path);
    b->pid = 0;
    return rc;
}

/* ---- opening ---- */

static enum sbx_code open_dir(struct oci *o, const char *name, struct box *b, struct sbx_err *err)
{
    b->name = strdup(name);
    if (!b->name || asprintf(&b->path, "%s/containers/%s", o->state, name) < 0) {
        b->path = NULL;
        return oci_no_memory(err);
    }
    b->dir = openat(o->containers, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (b->dir < 0 && (errno == ENOENT || errno == ENOTDIR))
        return sbx_err_set(err, SBX_NOT_FOUND, "no such container");
    if (b->dir < 0)
        return sbx_err_errno(err, "open %s", b->path);
    b->spec = load(b->dir, SPEC_FILE);
    b->id = json_string_value(json_object_get(b->spec, "id"));
    if (!b->id)
        return sbx_err_set(err, SBX_NOT_FOUND, "no such container (it was not created to its end)");
    box_look(b);
    return SBX_OK;
}

/* "sbx-demo.0123456789ab" -> "sbx-demo" */
static bool id_to_name(const char *id, char *name, size_t size)
{
    size_t len = strlen(id);
    const char *dot = len > OCI_ID_RANDOM ? id + len - OCI_ID_RANDOM - 1 : NULL;

    if (!dot || *dot != '.' || strspn(dot + 1, "0123456789abcdef") != OCI_ID_RANDOM)
        return false;
    return snprintf(name, size, "%.*s", (int)(dot - id), id) < (int)size;
}

enum sbx_code box_open(struct oci *o, const char *id, struct box *ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct box b = BOX_INIT;
    char name[OCI_ID_MAX];
    const char *full;
    enum sbx_code rc;

    if (!arena)
        return oci_no_memory(err);
    if (!sbx_name_valid(id) && !id_to_name(id, name, sizeof(name)))
        return sbx_err_set(err, SBX_NOT_FOUND, "no such container");
    if (id_to_name(id, name, sizeof(name)) && sbx_name_valid(name)) {
        rc = open_dir(o, name, &b, err);
        if (!rc && strcmp(b.id, id) == 0) {
            *ret = b;
            return SBX_OK;
        }
        box_release(&b);
        b = (struct box)BOX_INIT;
    }
    full = sbx_name_full(arena, o->app, id);
    rc = full ? open_dir(o, full, &b, err) : oci_no_memory(err);
    if (rc)
        box_release(&b);
    else
        *ret = b;
    return rc;
}

static enum sbx_code lock_file(struct oci *o, int fd, const char *path, struct sbx_err *err)
{
    struct sbx_patience p = sbx_patience_begin(&o->rt, OCI_LOCK_MS);

    while (flock(fd, LOCK_EX | LOCK_NB)) { /* the kernel has no timed flock */
        enum sbx_code rc = sbx_patience_look(&p);

        if (errno != EWOULDBLOCK && errno != EINTR)
            return sbx_err_errno(err, "lock %s", path);
        if (rc)
            return sbx_patience_error(err, rc, "another sbx command on it");
        poll(NULL, 0, LOCK_POLL_MS);
    }
    return SBX_OK;
}

enum sbx_code box_lock(struct oci *o, const char *id, struct box *ret, struct sbx_err *err)
{
    enum sbx_code rc = box_open(o, id, ret, err);
    struct stat st;

    if (rc)
        return rc;
    ret->lock = openat(ret->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (ret->lock < 0)
        return sbx_err_errno(err, "open %s/lock", ret->path);
    rc = lock_file(o, ret->lock, ret->path, err);
    if (rc)
        return rc;
    if (fstatat(ret->dir, SPEC_FILE, &st, 0)) /* removed while we waited */
        return sbx_err_set(err, SBX_NOT_FOUND, "no such container");
    box_look(ret);
    return SBX_OK;
}

enum sbx_code box_running(struct oci *o, const char *id, struct box *ret, struct sbx_err *err)
{
    enum sbx_code rc = box_open(o, id, ret, err);

    if (!rc && !ret->pid)
        return sbx_err_set(err, SBX_UNAVAILABLE, "the container is not running");
    return rc;
}

static enum sbx_code open_containers(struct oci *o, DIR **ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(o->containers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *ret = fd < 0 ? NULL : fdopendir(fd);
    if (!*ret)
        return sbx_err_errno(err, "read %s/containers", o->state);
    (void)sbx_take_fd(&fd);
    return SBX_OK;
}

enum sbx_code box_each(struct oci *o,
                       enum sbx_code (*each)(struct oci *o, struct box *b, void *ctx,
                                             struct sbx_err *err),
                       void *ctx, struct sbx_err *err)
{
    struct dirent *e;
    DIR *d;
    enum sbx_code rc = open_containers(o, &d, err);

    if (rc)
        return rc;
    while (!rc && (e = readdir(d))) {
        SBX_AUTO(box) b = BOX_INIT;

        if (e->d_name[0] == '.' || !sbx_name_valid(e->d_name) || open_dir(o, e->d_name, &b, NULL))
            continue;
        if (strcmp(box_text(&b, "app"), sbx_name_app(o->app)) == 0)
            rc = each(o, &b, ctx, err);
    }
    closedir(d);
    return rc;
}

enum sbx_code oci_lock(struct oci *o, int *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = openat(o->containers, ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    enum sbx_code rc;

    if (fd < 0)
        return sbx_err_errno(err, "open %s/containers/.lock", o->state);
    rc = lock_file(o, fd, "the list of containers", err);
    if (!rc)
        *ret = sbx_take_fd(&fd);
    return rc;
}

enum sbx_code box_sweep(struct oci *o, struct sbx_err *err)
{
    struct dirent *e;
    DIR *d;
    enum sbx_code rc = open_containers(o, &d, err);

    if (rc)
        return rc;
    while (!rc && (e = readdir(d))) {
        char spec[512];
        struct stat st;

        if (strcmp(e->d_name, ".lock") == 0 || strcmp(e->d_name, ".") == 0 ||
            strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(spec, sizeof(spec), "%.255s/" SPEC_FILE, e->d_name);
        if (fstatat(o->containers, spec, &st, 0) ? errno == ENOENT
                                                 : !st.st_size) /* empty: a power failure */
            rc = sbx_dir_remove(o->containers, e->d_name, err);
    }
    closedir(d);
    return rc;
}
