/*
 * The image of a sandbox. A local one is found at once; getting one from afar can take minutes, so
 * that runs in a thread with a handle of its own and the user's interrupt is followed meanwhile.
 */
#include "box.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

struct job {
    struct sbx_engine *e; /* NULL once canceled: nobody listens any more */
    pthread_mutex_t lock;
    struct sbx_runtime *rt;
    struct sbx_arena *arena;
    char *reference;
    enum sbx_pull pull;
    int done[2];
    enum sbx_code rc;
    struct sbx_err err;
};

static void job_free(struct job *j)
{
    sbx_runtime_close(j->rt);
    sbx_arena_free(j->arena);
    free(j->reference);
    for (int i = 0; i < 2; i++)
        if (j->done[i] >= 0)
            close(j->done[i]);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

static void line(void *ctx, const char *text)
{
    struct job *j = ctx;

    pthread_mutex_lock(&j->lock);
    if (j->e)
        sbx_event_send(j->e, SBX_EVENT_OUTPUT, "image", "%s", text);
    pthread_mutex_unlock(&j->lock);
}

static void bytes(void *ctx, const char *layer, int64_t done, int64_t total)
{
    struct job *j = ctx;

    pthread_mutex_lock(&j->lock);
    if (j->e)
        sbx_event_bytes(j->e, "image", layer, done, total);
    pthread_mutex_unlock(&j->lock);
}

static void *work(void *arg)
{
    struct job *j = arg;
    struct sbx_progress progress = { line, j, bytes };
    struct sbx_image image;

    j->rc = sbx_runtime_image_ensure(j->rt, j->reference, j->pull, &progress, j->arena, &image,
                                     &j->err);
    if (write(j->done[1], "", 1) != 1)
        j->rc = SBX_IO; /* an empty pipe takes a byte */
    return NULL;
}

static struct job *job_new(struct sbx_box *box, const char *reference, enum sbx_pull pull,
                           struct sbx_err *err)
{
    struct job *j = calloc(1, sizeof(*j));
    enum sbx_code rc = j ? SBX_OK : sbx_out_of_memory(err);

    if (rc)
        return NULL;
    *j = (struct job){ .e = box->e, .pull = pull, .done = { -1, -1 } };
    pthread_mutex_init(&j->lock, NULL);
    j->reference = strdup(reference);
    j->arena = sbx_arena_new();
    if (!j->reference || !j->arena || pipe2(j->done, O_CLOEXEC))
        rc = sbx_out_of_memory(err);
    if (!rc)
        rc = sbx_engine_open_runtime(box->e, box->info->kind, &j->rt, err);
    if (rc) {
        job_free(j);
        return NULL;
    }
    return j;
}

/* Until it is done, or the user has had enough: then the thread ends with the process. */
static enum sbx_code wait_for(struct sbx_box *box, struct job *j, pthread_t thread,
                              struct sbx_err *err)
{
    struct pollfd p[2] = { { .fd = j->done[0], .events = POLLIN },
                           { .fd = box->e->config.interrupt_fd, .events = POLLIN } };
    enum sbx_code rc;

    while (poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    if (!p[0].revents) {
        pthread_mutex_lock(&j->lock);
        j->e = NULL;
        pthread_mutex_unlock(&j->lock);
        pthread_detach(thread);
        return sbx_err_set(err, SBX_CANCELED, "interrupted");
    }
    pthread_join(thread, NULL);
    rc = j->rc;
    if (rc && err)
        *err = j->err;
    job_free(j);
    return rc;
}

static enum sbx_code get_from_afar(struct sbx_box *box, const char *reference, enum sbx_pull pull,
                                   struct sbx_err *err)
{
    struct job *j = job_new(box, reference, pull, err);
    pthread_t thread;

    if (!j)
        return err ? err->code : SBX_FAILED;
    if (pthread_create(&thread, NULL, work, j)) {
        job_free(j);
        return sbx_err_set(err, SBX_FAILED, "cannot start a thread");
    }
    return wait_for(box, j, thread, err);
}

enum sbx_code sbx_image_get(struct sbx_box *box, enum sbx_pull pull, struct sbx_image *ret,
                            struct sbx_err *err)
{
    const char *reference = box->plan->image;
    bool ours = !strncmp(reference, "sbx.local/", strlen("sbx.local/")); /* no registry has it */
    enum sbx_code rc;

    if (ours && pull == SBX_PULL_ALWAYS)
        pull = SBX_PULL_MISSING;
    if (box->info->kind == SBX_RUNTIME_FAKE)
        return sbx_runtime_image_ensure(box->rt, reference, pull, NULL, box->arena, ret, err);
    if (pull != SBX_PULL_ALWAYS) {
        rc = sbx_runtime_image_ensure(box->rt, reference, SBX_PULL_NEVER, NULL, box->arena, ret, err);
        if (rc != SBX_NOT_FOUND || pull == SBX_PULL_NEVER)
            return rc;
    }
    rc = get_from_afar(box, reference, pull, err);
    return rc ? rc
              : sbx_runtime_image_ensure(box->rt, reference, SBX_PULL_NEVER, NULL, box->arena, ret,
                                         err);
}
