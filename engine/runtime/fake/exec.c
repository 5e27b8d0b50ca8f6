#include "fake.h"

#include <stdio.h>
#include <string.h>

static void join(const char *const *argv, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; argv[i] && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " " : "", argv[i]);
}

enum sbx_code sbx_fake_drain(int fd, struct sbx_buf *b, struct sbx_err *err)
{
    char piece[65536];
    ssize_t n;

    if (fd < 0)
        return SBX_OK;
    while ((n = read(fd, piece, sizeof(piece))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sbx_err_errno(err, "read");
        if (sbx_buf_add(b, piece, (size_t)n))
            return sbx_err_set(err, SBX_LIMIT, "more than the fake holds");
    }
    return SBX_OK;
}

static int play(struct fake *f, const char *line, const struct sbx_fake_exec *e)
{
    for (struct fake_script *s = f->scripts; s; s = s->next) {
        int status;

        if (strncmp(line, s->prefix, strlen(s->prefix)) != 0)
            continue;
        if (!s->script)
            return sbx_buf_adds(e->out, s->out) ? -SBX_NO_MEMORY : s->status;
        status = s->script(s->ctx, e);
        if (status != SBX_FAKE_PASS)
            return status;
    }
    return 0;
}

static void say(int fd, const struct sbx_buf *b)
{
    for (size_t done = 0; fd >= 0 && done < b->len;) {
        ssize_t n = write(fd, b->ptr + done, b->len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return; /* the reader went away: as with a real process, its own affair */
        done += (size_t)n;
    }
}

enum sbx_code sbx_fake_exec(struct sbx_runtime *rt, const char *id, const struct sbx_exec *exec,
                            int *ret_status, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) in = SBX_BUF_INIT(SBX_FAKE_STREAM_MAX);
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_FAKE_STREAM_MAX);
    SBX_AUTO(sbx_buf) err_out = SBX_BUF_INIT(SBX_FAKE_STREAM_MAX);
    struct fake *f = (struct fake *)rt;
    struct fake_container *c = sbx_fake_find(f, id);
    char line[2048];
    enum sbx_code rc;
    int status;

    join(exec->argv, line, sizeof(line));
    rc = sbx_fake_call(f, err, "exec", "%s %s", c ? c->state.name : id, line);
    if (rc)
        return rc;
    if (!c)
        return sbx_err_set(err, SBX_NOT_FOUND, "no such container");
    if (!c->state.running)
        return sbx_err_set(err, SBX_UNAVAILABLE, "the container is not running");
    rc = sbx_fake_drain(exec->in, &in, err);
    if (rc)
        return rc;
    status = play(f, line, &(struct sbx_fake_exec){ rt, c->state.id, exec, &in, &out, &err_out });
    say(exec->out, &out);
    say(exec->tty ? exec->out : exec->err_fd, &err_out);
    if (status < 0)
        return sbx_err_set(err, (enum sbx_code) - status, "scripted failure");
    *ret_status = status;
    return SBX_OK;
}
