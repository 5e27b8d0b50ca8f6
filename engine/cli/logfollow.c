/* policy log --follow: records as they come, over a removal and a new sandbox of the name. */
#include "logfollow.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include "logview.h"
#include "out.h"

#define LOOK_MS 250 /* between two looks at the logs */
#define LAST 10     /* records shown of before, where nothing else is asked: as tail does */

/* One log that is followed. */
struct tail {
    const char *name;
    FILE *log;
    ino_t ino;
    bool gone; /* removed, and read to its end */
};

struct follow {
    struct sbx_cli *cli;
    struct sbx_session *session;
    const struct sbx_follow *what;
    struct tail *v;
    size_t n;
    char *line; /* of getline() */
    size_t size;
};

static const char *field(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));

    return text ? text : "";
}

static void print_human(struct sbx_cli *cli, const json_t *r)
{
    long long port = json_integer_value(json_object_get(r, "port"));
    long long count = json_integer_value(json_object_get(r, "count"));
    const char *rule = field(r, "rule"), *host = field(r, "host");
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new(); /* of one line: this may go on for days */
    const char *where;

    if (!arena)
        return;
    where = port ? sbx_arena_printf(arena, strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host, port)
                 : host;
    if (*field(r, "event")) { /* of the gate itself */
        fprintf(cli->out, "%s %s gate %s %s\n", sbx_out_clean(arena, field(r, "time")),
                sbx_out_clean(arena, field(r, "sandbox")), sbx_out_clean(arena, field(r, "event")),
                sbx_out_clean(arena, field(r, "reason")));
        return;
    }
    fprintf(cli->out, "%s %s %-5s %s %s", sbx_out_clean(arena, field(r, "time")),
            sbx_out_clean(arena, field(r, "sandbox")), sbx_out_clean(arena, field(r, "decision")),
            sbx_out_clean(arena, where && *where ? where : "-"),
            sbx_out_clean(arena, field(r, "reason")));
    if (*rule)
        fprintf(cli->out, " %s (%s)", sbx_out_clean(arena, rule),
                sbx_out_clean(arena, field(r, "origin")));
    fprintf(cli->out, count > 1 ? " x%lld\n" : "\n", count);
}

/* Is it a line that people see? Ends of requests are for programs. Quotes inside of values are escaped. */
static bool is_shown(const struct follow *f, const char *line)
{
    return f->what->raw || f->cli->format != SBX_FORMAT_TABLE ||
           !strstr(line, "\"event\":\"close\"");
}

static void print_record(struct follow *f, const char *line, size_t len)
{
    json_t *record = len > SBX_LOG_LINE_MAX ? NULL : json_loadb(line, len, 0, NULL);
    struct sbx_cli *cli = f->cli;

    if (!json_is_object(record) || !sbx_log_is_since(record, f->what->since))
        ;
    else if (f->what->raw || cli->format != SBX_FORMAT_TABLE)
        fwrite(line, 1, len, cli->out);
    else if (is_shown(f, line))
        print_human(cli, record);
    json_decref(record);
}

/* Whole lines up to the end; a line that is being written waits. */
static void drain(struct follow *f, struct tail *t)
{
    ssize_t len;

    while (t->log && (len = getline(&f->line, &f->size, t->log)) > 0) {
        if (f->line[len - 1] != '\n') {
            fseeko(t->log, -(off_t)len, SEEK_CUR);
            break;
        }
        print_record(f, f->line, (size_t)len);
    }
    if (t->log)
        clearerr(t->log);
}

/* Stand before the last `limit` records; before all of them where a time is given. */
static void begin(struct follow *f, struct tail *t)
{
    size_t limit = f->what->limit ? f->what->limit : f->what->since ? SIZE_MAX : LAST, n = 0, skip;
    ssize_t len;

    while ((len = getline(&f->line, &f->size, t->log)) > 0)
        n += f->line[len - 1] == '\n' && is_shown(f, f->line);
    skip = n > limit ? n - limit : 0;
    rewind(t->log);
    while (skip && getline(&f->line, &f->size, t->log) > 0)
        skip -= is_shown(f, f->line);
}

/* Open the log once it is there, and the next part or the one of a new sandbox after it. */
static enum sbx_code look(struct follow *f, struct tail *t, bool first, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const char *path = NULL;
    struct stat st;
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_sandbox_log_path(f->session->engine, t->name, arena, &path, first ? err : NULL);
    if (rc) /* of those that were not named one may not have begun yet */
        return first && f->cli->args.n ? rc : SBX_OK;
    t->gone = strstr(path, "/logs/") != NULL && !strstr(path, "/sandboxes/");
    if (stat(path, &st) || (t->log && st.st_ino == t->ino))
        return SBX_OK;
    drain(f, t); /* to the end of the part that was rotated away */
    if (t->log)
        fclose(t->log);
    t->log = sbx_log_open_part(path, false, &st);
    if (!t->log && errno == ENOENT)
        return SBX_OK; /* in the middle of a rotation */
    if (!t->log)
        return sbx_err_errno(err, "read %s", path);
    t->ino = st.st_ino;
    if (first)
        begin(f, t);
    return SBX_OK;
}

/* Is there anything left that could say something? */
static bool alive(const struct follow *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (!f->v[i].gone)
            return true;
    return false;
}

static enum sbx_code loop(struct follow *f, struct sbx_err *err)
{
    struct pollfd p = { .fd = sbx_interrupt_fd(), .events = POLLIN };
    bool first = true, more = true;
    enum sbx_code rc = SBX_OK;

    while (!rc && more) {
        for (size_t i = 0; !rc && i < f->n; i++) {
            rc = look(f, &f->v[i], first, err);
            if (!rc)
                drain(f, &f->v[i]);
        }
        first = false;
        more = alive(f);
        if (fflush(f->cli->out) || ferror(f->cli->out))
            return SBX_OK; /* the reader has gone; main says what is to be said */
        if (!rc && more && poll(&p, 1, LOOK_MS) > 0) {
            f->cli->status = 130;
            return SBX_OK;
        }
    }
    return rc;
}

enum sbx_code sbx_log_follow(struct sbx_cli *cli, struct sbx_session *s,
                             const struct sbx_texts *names, const struct sbx_follow *what,
                             struct sbx_err *err)
{
    struct follow f = { .cli = cli, .session = s, .what = what, .n = names->n };
    enum sbx_code rc;

    f.v = sbx_arena_array(cli->arena, names->n + 1, sizeof(*f.v));
    if (!f.v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < f.n; i++)
        f.v[i].name = names->v[i];
    rc = loop(&f, err);
    for (size_t i = 0; i < f.n; i++)
        if (f.v[i].log)
            fclose(f.v[i].log);
    free(f.line);
    if (!rc)
        cli->printed = true; /* JSON Lines are the value */
    return rc;
}
