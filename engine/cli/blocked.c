/* What the gate refused while an attached agent ran, told when it has ended (decision N6). */
#include <string.h>

#include "logview.h"
#include "session.h"

#define BLOCKED_SHOWN 10 /* hosts in the summary; the log has the rest */

static const char *path_of(struct sbx_session *s, const char *name)
{
    struct sbx_err unused = SBX_ERR_INIT;
    const char *path = NULL;

    return sbx_sandbox_log_path(s->engine, name, s->cli->arena, &path, &unused) ? NULL : path;
}

struct sbx_log_mark sbx_blocked_mark(struct sbx_session *s, const char *name)
{
    const char *path = path_of(s, name);
    struct stat st;

    if (!path || stat(path, &st))
        return (struct sbx_log_mark){ 0 };
    return (struct sbx_log_mark){ st.st_ino, st.st_size };
}

/* What came behind the mark; the part that has it may have been rotated away. */
static void read_since(struct sbx_log_view *v, FILE *log[SBX_LOG_PARTS], struct sbx_log_mark mark)
{
    struct sbx_err unused = SBX_ERR_INIT;
    bool seen = !mark.ino;

    for (int i = 0; i < SBX_LOG_PARTS; i++) {
        struct stat st;

        if (!log[i] || fstat(fileno(log[i]), &st))
            continue;
        if (st.st_ino == mark.ino && fseeko(log[i], mark.size, SEEK_SET))
            return;
        seen |= st.st_ino == mark.ino;
        if ((seen || i == SBX_LOG_PARTS - 1) && sbx_log_view_add(v, log[i], &unused))
            return;
    }
}

void sbx_blocked_tell(struct sbx_session *s, const char *name, struct sbx_log_mark mark)
{
    SBX_AUTO(sbx_log_view) v = { .arena = s->cli->arena };
    struct sbx_err unused = SBX_ERR_INIT;
    FILE *log[SBX_LOG_PARTS] = { NULL };
    const char *path = path_of(s, name);
    size_t n = 0;

    if (!path || sbx_log_open(path, log, &unused))
        return;
    read_since(&v, log, mark);
    sbx_log_close(log);
    sbx_log_view_sort(&v);
    for (size_t i = 0; i < v.n; i++) {
        if (v.rows[i].section != SBX_LOG_BLOCKED || ++n > BLOCKED_SHOWN)
            continue;
        sbx_cli_note(s->cli, "blocked: %s (%s), %lld time%s", v.rows[i].host, v.rows[i].reason,
                     v.rows[i].count, v.rows[i].count == 1 ? "" : "s");
    }
    if (n > BLOCKED_SHOWN)
        sbx_cli_note(s->cli, "blocked: %zu more; see: sbx policy log %s", n - BLOCKED_SHOWN, name);
}
