/* What the gate refused while an attached agent ran, told when it has ended (decision N6). */
#include <string.h>

#include "logview.h"
#include "session.h"

#define BLOCKED_SHOWN 10 /* hosts in the summary; the log has the rest */

static FILE *open_log(struct sbx_session *s, const char *name)
{
    struct sbx_err unused = SBX_ERR_INIT;
    const char *path = NULL;

    if (sbx_sandbox_log_path(s->engine, name, s->cli->arena, &path, &unused))
        return NULL;
    return fopen(path, "re");
}

long sbx_blocked_mark(struct sbx_session *s, const char *name)
{
    FILE *log = open_log(s, name);
    long end = 0;

    if (!log)
        return 0;
    if (!fseek(log, 0, SEEK_END))
        end = ftell(log);
    fclose(log);
    return end < 0 ? 0 : end;
}

void sbx_blocked_tell(struct sbx_session *s, const char *name, long mark)
{
    SBX_AUTO(sbx_log_view) v = { .arena = s->cli->arena };
    struct sbx_err unused = SBX_ERR_INIT;
    FILE *log = open_log(s, name);
    size_t n = 0;

    if (!log)
        return;
    if (!fseek(log, mark, SEEK_SET) && !sbx_log_view_add(&v, log, &unused))
        sbx_log_view_sort(&v);
    fclose(log);
    for (size_t i = 0; i < v.n; i++) {
        if (v.rows[i].section != SBX_LOG_BLOCKED || ++n > BLOCKED_SHOWN)
            continue;
        sbx_cli_note(s->cli, "blocked: %s (%s), %lld time%s", v.rows[i].host, v.rows[i].reason,
                     v.rows[i].count, v.rows[i].count == 1 ? "" : "s");
    }
    if (n > BLOCKED_SHOWN)
        sbx_cli_note(s->cli, "blocked: %zu more; see: sbx policy log %s", n - BLOCKED_SHOWN, name);
}
