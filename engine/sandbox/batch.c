/* Many small writes inside the container at once, by PID 1 or one exec of `/run/sbx/init batch`. */
#include "net.h"
#include "steps.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define ANSWERS_MAX 16777216 /* bytes; a line a record */
#define ERRORS_NAMED 3       /* in one message */

void sbx_batch_release(struct sbx_batch *b)
{
    if (b->fd >= 0)
        close(b->fd);
    free(b->paths);
    sbx_arena_free(b->arena);
    *b = (struct sbx_batch)SBX_BATCH_INIT;
}

static enum sbx_code keep_path(struct sbx_batch *b, const char *path, struct sbx_err *err)
{
    if (b->n == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 32;
        const char **more = realloc(b->paths, cap * sizeof(*more));

        if (!more)
            return sbx_out_of_memory(err);
        b->paths = more;
        b->cap = cap;
    }
    b->paths[b->n] = sbx_arena_strdup(b->arena, path);
    return b->paths[b->n++] ? SBX_OK : sbx_out_of_memory(err);
}

static enum sbx_code begin(struct sbx_batch *b, struct sbx_err *err)
{
    if (b->fd >= 0)
        return SBX_OK;
    b->arena = sbx_arena_new();
    b->fd = memfd_create("sbx-batch", MFD_CLOEXEC);
    return b->arena && b->fd >= 0 ? SBX_OK : sbx_err_errno(err, "memory for files");
}

enum sbx_code sbx_batch_add(struct sbx_batch *b, const struct sbx_entry *e, const void *data,
                            size_t len, struct sbx_err *err)
{
    char header[4200];
    int n;
    enum sbx_code rc = begin(b, err);

    if (rc)
        return rc;
    if (strchr(e->path, '\n'))
        return sbx_err_set(err, SBX_SCHEMA, "%s: a line break in a path", e->path);
    if (!strcmp(e->verb, "user")) /* user 0 UID GID 0 0 NAME:HOME */
        n = snprintf(header, sizeof(header), "user 0 %d %d 0 0 %s\n", e->uid, e->gid, e->path);
    else
        n = snprintf(header, sizeof(header), "%s %zu %o %d %d %d %s\n", e->verb, len, e->mode,
                     e->uid, e->gid, e->if_missing, e->path);
    if (n >= (int)sizeof(header))
        return sbx_err_set(err, SBX_LIMIT, "%.100s...: path too long", e->path);
    if (sbx_write_all(b->fd, header, (size_t)n) || sbx_write_all(b->fd, data, len))
        return sbx_err_errno(err, "%s", e->path);
    return keep_path(b, e->path, err);
}

enum sbx_code sbx_batch_file(struct sbx_batch *b, const struct sbx_plan_file *f,
                             struct sbx_err *err)
{
    struct sbx_entry entry = { "write", f->path, f->mode, f->uid, f->gid, f->only_if_missing };
    SBX_AUTO(sbx_buf) content = SBX_BUF_INIT(SBX_KIT_FILE_MAX);
    enum sbx_code rc = sbx_plan_file_read(f, &content, err);

    return rc ? rc : sbx_batch_add(b, &entry, content.ptr ? content.ptr : "", content.len, err);
}

static bool is_answer(const char *line)
{
    return !strcmp(line, "ok") || !strcmp(line, "kept") || !strncmp(line, "error ", 6);
}

/* Match the answers with the records; errors are gathered, not only the first. */
static enum sbx_code judge(const struct sbx_batch *b, char *text, struct sbx_buf *head,
                           struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) errors = SBX_BUF_INIT(SBX_ERR_TEXT_MAX);
    size_t n = 0, failed = 0;
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!is_answer(line) || n == b->n) {
            if (head && !n && (sbx_buf_adds(head, line) || sbx_buf_adds(head, "\n")))
                return sbx_out_of_memory(err);
            continue;
        }
        if (!strncmp(line, "error ", 6) && failed++ < ERRORS_NAMED)
            if (sbx_buf_addf(&errors, "%s%s: %s", failed > 1 ? "; " : "", b->paths[n], line + 6))
                failed += ERRORS_NAMED; /* full: enough was named */
        n++;
    }
    if (failed)
        return sbx_err_set(err, SBX_FAILED, "%s", errors.ptr);
    if (n < b->n)
        return sbx_err_set(err, SBX_FAILED, "%s: was not written (%zu of %zu were)", b->paths[n], n,
                           b->n);
    return SBX_OK;
}

/* The first records of a start go to PID 1 itself, which asks for them; later ones need an exec. */
static enum sbx_code run(struct sbx_box *box, const struct sbx_batch *b, struct sbx_buf *out,
                         int *ret_status, struct sbx_err *err)
{
    static const char *const argv[] = { "/run/sbx/init", "batch", NULL };
    struct sbx_inside x = { .argv = argv, .user = "0", .workdir = "/", .in = b->fd, .out = out };
    enum sbx_code rc = box->steps < 0 ? SBX_UNAVAILABLE : sbx_serve(box, b->fd, out, err);

    return rc == SBX_UNAVAILABLE ? sbx_inside(box, &x, ret_status, err) : rc;
}

enum sbx_code sbx_batch_run(struct sbx_box *box, struct sbx_batch *b, struct sbx_buf *head,
                            struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(ANSWERS_MAX);
    int status = 0;
    enum sbx_code rc;

    if (!b->n)
        return SBX_OK;
    if (lseek(b->fd, 0, SEEK_SET) < 0)
        return sbx_err_errno(err, "files");
    rc = run(box, b, &out, &status, err);
    if (rc)
        return rc;
    if (box->info->kind == SBX_RUNTIME_FAKE && !out.len)
        return status ? sbx_err_set(err, SBX_FAILED, "status %d", status) : SBX_OK;
    if (sbx_buf_adds(&out, "\n"))
        return sbx_out_of_memory(err);
    return judge(b, out.ptr, head, err);
}
