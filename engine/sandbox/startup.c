/* Startup commands: written as a list for PID 1, which runs them; their outcome told (F4). */
#include "net.h"
#include "steps.h"

#include "sbx/text.h"

#include <string.h>

#define NUMBER_MAX 9       /* digits of a command's number and of an exit status */
#define ODD_MAX 200        /* bytes shown of what cannot be understood, and of a kit's name */
#define OUTCOMES_MAX 10000 /* lines that are judged: more than a plan has commands */
#define STATUS_MAX 1048576 /* bytes of PID 1's status file */
#define TEXT_MAX 4194304   /* bytes of the list and of the environment's file */

/* export NAME='VALUE' of the recorded environment, for scripts of PID 1. */
static enum sbx_code environment(const struct sbx_box *box, struct sbx_buf *out)
{
    enum sbx_code rc = SBX_OK;

    for (const char *const *e = box->record.env; !rc && *e; e++) {
        const char *equals = strchr(*e, '=');
        size_t name = equals ? (size_t)(equals - *e) : 0;

        if (!name || strspn(*e, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") <
                         name)
            continue; /* no shell can hold it */
        rc = sbx_buf_addf(out, "export %.*s='", (int)name, *e);
        for (const char *c = equals + 1; !rc && *c; c++)
            rc = *c == '\'' ? sbx_buf_adds(out, "'\\''") : sbx_buf_add(out, c, 1);
        if (!rc)
            rc = sbx_buf_adds(out, "'\n");
    }
    return rc;
}

enum sbx_code sbx_queue_startup(struct sbx_box *box, struct sbx_batch *b, struct sbx_err *err)
{
    struct sbx_entry env = { "write", SBX_STARTUP_DIR "/environment", 0644, 0, 0, false };
    struct sbx_entry list = { "write", SBX_STARTUP_DIR "/list", 0644, 0, 0, false };
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(TEXT_MAX);
    enum sbx_code rc = environment(box, &text);

    rc = rc ? sbx_err_set(err, rc, "environment: too large")
            : sbx_batch_add(b, &env, text.ptr ? text.ptr : "", text.len, err);
    for (size_t i = 0; !rc && i < box->plan->n_steps; i++)
        if (box->plan->steps[i].phase == SBX_PHASE_STARTUP)
            rc = sbx_batch_file(b, &box->plan->steps[i].files[0], err);
    if (rc)
        return rc;
    sbx_buf_clear(&text);
    rc = sbx_plan_startup_list(box->plan, &text);
    return rc ? sbx_err_set(err, rc, "startup list: too large")
              : sbx_batch_add(b, &list, text.ptr ? text.ptr : "", text.len, err);
}

struct outcome {
    char *kit, *number, *status, *last;
};

static bool is_number(const char *text)
{
    size_t len = strlen(text);

    return len && len <= NUMBER_MAX && strspn(text, "0123456789") == len;
}

/* KIT INDEX EXIT LASTLINE between tabs. Root inside can write the file too: it is taken as a claim. */
static bool parse(char *line, struct outcome *ret)
{
    ret->kit = strsep(&line, "\t");
    ret->number = line ? strsep(&line, "\t") : NULL;
    ret->status = line ? strsep(&line, "\t") : NULL;
    ret->last = line ? line : "";
    return ret->number && ret->status && is_number(ret->number) &&
           (!strcmp(ret->status, "-") || is_number(ret->status));
}

/* Any bytes, for a terminal and for the history. */
static char *escaped(const char *text, size_t max)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(TEXT_MAX);

    if (sbx_text_escape(&out, text, strnlen(text, max)))
        return NULL;
    return strdup(out.ptr ? out.ptr : "");
}

static enum sbx_code tell(struct sbx_box *box, const struct outcome *o, struct sbx_err *err)
{
    sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                   "startup failed: kit %s, command %s, exit %s%s%s (all of its output: "
                   "/var/log/sbx/startup/%s-%s.log inside)",
                   o->kit, o->number, o->status, *o->last ? ": " : "", o->last, o->kit, o->number);
    return sbx_history_add(box, "startup-failed",
                          json_pack("{s:s, s:s, s:s, s:s}", "kit", o->kit, "command", o->number,
                                    "exit", o->status, "lastLine", o->last),
                          err);
}

/* A line that PID 1 does not write. */
static enum sbx_code tell_odd(struct sbx_box *box, const char *line, struct sbx_err *err)
{
    SBX_AUTO_FREE char *text = escaped(line, ODD_MAX);

    if (!text)
        return sbx_out_of_memory(err);
    sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                   "startup: a line of its outcome cannot be understood (something inside may have "
                   "written it): %s",
                   text);
    return sbx_history_add(box, "startup-unclear", json_pack("{s:s}", "line", text), err);
}

/* One line; what failed first is kept as text in `first`. */
static enum sbx_code judge_line(struct sbx_box *box, char *line, char **first, struct sbx_err *err)
{
    SBX_AUTO_FREE char *whole = strdup(line);
    SBX_AUTO_FREE char *kit = NULL;
    SBX_AUTO_FREE char *last = NULL;
    struct outcome o;
    enum sbx_code rc;

    if (!whole)
        return sbx_out_of_memory(err);
    if (!parse(line, &o))
        return tell_odd(box, whole, err);
    if (!strcmp(o.status, "-") || !strtol(o.status, NULL, 10)) /* "-": in the background */
        return SBX_OK;
    o.kit = kit = escaped(o.kit, ODD_MAX);
    o.last = last = escaped(o.last, SIZE_MAX);
    if (!kit || !last)
        return sbx_out_of_memory(err);
    rc = tell(box, &o, err);
    if (!rc && !*first && asprintf(first, "kit %s, command %s, exit %s%s%s", o.kit, o.number, o.status,
                                   *o.last ? ": " : "", o.last) < 0) {
        *first = NULL;
        rc = sbx_out_of_memory(err);
    }
    return rc;
}

static enum sbx_code judge(struct sbx_box *box, char *text, struct sbx_err *err)
{
    SBX_AUTO_FREE char *first = NULL;
    char *save = NULL;
    enum sbx_code rc = SBX_OK;
    size_t told = 0;

    for (char *line = strtok_r(text, "\n", &save); line && !rc; line = strtok_r(NULL, "\n", &save))
        if (strcmp(line, "end") && told++ < OUTCOMES_MAX)
            rc = judge_line(box, line, &first, err);
    if (!rc && first && box->record.strict_startup)
        rc = sbx_err_set(err, SBX_FAILED, "startup failed: %s", first);
    return rc;
}

static enum sbx_code wait_for(struct sbx_box *box, struct sbx_err *err)
{
    static const char *const argv[] = { "/run/sbx/init", "wait", NULL };
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(STATUS_MAX);
    struct sbx_inside x = { .argv = argv, .user = "0", .workdir = "/", .in = -1, .out = &out };
    int status = 0;
    enum sbx_code rc = sbx_inside(box, &x, &status, err);

    if (rc)
        return sbx_err_wrap(err, rc, "startup");
    if (status)
        return sbx_err_set(err, SBX_FAILED, "startup: waiting for it ended with status %d", status);
    return judge(box, out.ptr ? out.ptr : (char[]){ "" }, err);
}

enum sbx_code sbx_step_startup(struct sbx_box *box, unsigned when, unsigned long long cookie,
                               struct sbx_err *err)
{
    struct sbx_stage stage;
    enum sbx_code rc = SBX_OK;

    (void)when;
    if (box->record.net != SBX_NET_NONE)
        rc = sbx_mark_done(box, cookie, err);
    if (rc || !sbx_plan_has_startup(box->plan))
        return rc;
    stage = sbx_stage_begin(box, sbx_step_of(box, SBX_PHASE_STARTUP), "Run startup commands");
    return sbx_stage_end(&stage, wait_for(box, err));
}
