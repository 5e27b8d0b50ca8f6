#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "oci.h"
#include "sbx/file.h"

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* true once the process ended */
static bool ended(int pidfd, int64_t wait_ms)
{
    int64_t end = now_ms() + wait_ms;

    for (;;) {
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        int64_t left = end - now_ms();
        int n = poll(&p, 1, left > 0 ? (int)left : 0);

        if (n > 0)
            return true;
        if (n == 0 && left <= 0)
            return false;
    }
}

#define KILL_WAIT_MS 10000 /* a process in uninterruptible sleep does not die sooner for waiting */

static enum sbx_code end_process(const struct box *b, int timeout_s, struct sbx_err *err)
{
    SBX_AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, b->pid, 0);
    struct box again = *b;

    if (pidfd < 0)
        return errno == ESRCH ? SBX_OK : sbx_err_errno(err, "pidfd of process %d", (int)b->pid);
    box_look(&again); /* still the same process, now that it cannot be replaced any more */
    if (again.pid != b->pid)
        return SBX_OK;
    if (timeout_s > 0) {
        syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0);
        if (ended(pidfd, timeout_s * 1000LL))
            return SBX_OK;
    }
    syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    if (!ended(pidfd, KILL_WAIT_MS))
        return sbx_err_set(err, SBX_TIMEOUT, "process %d does not end", (int)b->pid);
    return SBX_OK;
}

enum sbx_code oci_stop(struct sbx_runtime *rt, const char *id, int timeout_s, struct sbx_err *err)
{
    SBX_AUTO(box) b = BOX_INIT;
    enum sbx_code rc = box_lock((struct oci *)rt, id, &b, err);

    if (!rc && b.pid)
        rc = end_process(&b, timeout_s, err);
    return rc ? rc : box_cleanup(&b, err);
}

enum sbx_code oci_remove(struct sbx_runtime *rt, const char *id, struct sbx_err *err)
{
    struct oci *o = (struct oci *)rt;
    SBX_AUTO_FD int lock = -1;
    SBX_AUTO(box) b = BOX_INIT;
    enum sbx_code rc = box_lock(o, id, &b, err);

    if (rc == SBX_NOT_FOUND) { /* perhaps half-made */
        rc = oci_lock(o, &lock, err);
        return rc ? rc : box_sweep(o, err);
    }
    if (!rc && b.pid)
        rc = end_process(&b, 0, err);
    if (!rc)
        rc = box_cleanup(&b, err);
    if (!rc)
        rc = oci_lock(o, &lock, err);
    if (rc)
        return rc;
    /* first what makes it a container: a command killed from here on leaves a half-made one */
    if (unlinkat(b.dir, "spec.json", 0) && errno != ENOENT)
        return sbx_err_errno(err, "remove %s/spec.json", b.path);
    return sbx_dir_remove(o->containers, b.name, err);
}

/* ---- inspect, list ---- */

static enum sbx_code describe(const struct box *b, struct sbx_arena *arena,
                              struct sbx_container *ret, struct sbx_err *err)
{
    struct sbx_container c = {
        .id = sbx_arena_strdup(arena, b->id),
        .name = sbx_arena_strdup(arena, box_text(b, "name")),
        .labels = sbx_json_texts(json_object_get(b->spec, "labels"), arena),
        .running = b->pid > 0,
        .pid = b->pid,
        .started_at = sbx_arena_strdup(arena, b->started_at),
    };

    if (!c.id || !c.name || !c.labels || !c.started_at)
        return oci_no_memory(err);
    *ret = c;
    return SBX_OK;
}

enum sbx_code oci_inspect(struct sbx_runtime *rt, const char *id, struct sbx_arena *arena,
                          struct sbx_container *ret, struct sbx_err *err)
{
    SBX_AUTO(box) b = BOX_INIT;
    enum sbx_code rc = box_open((struct oci *)rt, id, &b, err);

    return rc ? rc : describe(&b, arena, ret, err);
}

struct listing {
    struct sbx_arena *arena;
    struct sbx_container *v;
    size_t n, cap;
};

static enum sbx_code list_one(struct oci *o, struct box *b, void *ctx, struct sbx_err *err)
{
    struct listing *l = ctx;

    (void)o;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct sbx_container *grown = sbx_arena_array(l->arena, cap, sizeof(*grown));

        if (!grown)
            return oci_no_memory(err);
        if (l->n)
            memcpy(grown, l->v, l->n * sizeof(*grown));
        l->v = grown;
        l->cap = cap;
    }
    return describe(b, l->arena, &l->v[l->n++], err);
}

enum sbx_code oci_list(struct sbx_runtime *rt, struct sbx_arena *arena, struct sbx_container **ret,
                       size_t *ret_n, struct sbx_err *err)
{
    struct listing l = { .arena = arena };
    enum sbx_code rc = box_each((struct oci *)rt, list_one, &l, err);

    if (rc)
        return rc;
    *ret = l.v;
    *ret_n = l.n;
    return SBX_OK;
}
