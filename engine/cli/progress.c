/* Progress on stderr: drawn over one line on a terminal, plain lines otherwise. */
#include <string.h>

#include "blobs.h"
#include "out.h"
#include "session.h"

void sbx_progress_end(struct sbx_session *s)
{
    if (s->step_open)
        fputs("\r\033[K", s->cli->err);
    s->step_open = false;
}

static void draw_step(struct sbx_session *s, const char *text)
{
    sbx_progress_end(s);
    fprintf(s->cli->err, "  %.*s ...", s->width > 12 ? s->width - 8 : 72, text);
    s->step_open = true;
}

static void draw_done(struct sbx_session *s, const char *mark, const char *text, int64_t ms)
{
    sbx_progress_end(s);
    if (ms >= 100)
        fprintf(s->cli->err, "%s %s (%.1f s)\n", mark, text, (double)ms / 1000);
    else
        fprintf(s->cli->err, "%s %s\n", mark, text);
}

static void remember(struct sbx_session *s, const char *id, const char *text)
{
    struct sbx_step *step;

    if (s->n_steps == SBX_STEPS_OPEN) /* never, but if so, forget the oldest */
        memmove(s->steps, s->steps + 1, --s->n_steps * sizeof(*s->steps));
    step = &s->steps[s->n_steps++];
    snprintf(step->id, sizeof(step->id), "%s", id ? id : "");
    snprintf(step->text, sizeof(step->text), "%s", text);
}

/* The text of a step that ends, which is told by its id; `text` where nothing is known. */
static const char *recall(struct sbx_session *s, const char *id, const char *text, char *out,
                          size_t size)
{
    for (size_t i = s->n_steps; i-- > 0;)
        if (!strcmp(s->steps[i].id, id ? id : "")) {
            snprintf(out, size, "%s", s->steps[i].text);
            s->n_steps--;
            memmove(&s->steps[i], &s->steps[i + 1], (s->n_steps - i) * sizeof(*s->steps));
            return out;
        }
    return text;
}

static void draw(struct sbx_session *s, const struct sbx_event *e, const char *text)
{
    char known[sizeof(s->steps[0].text)];

    switch (e->kind) {
    case SBX_EVENT_BYTES:
        break;
    case SBX_EVENT_STEP:
        remember(s, e->step, text);
        draw_step(s, text);
        break;
    case SBX_EVENT_OUTPUT:
        sbx_progress_end(s);
        fprintf(s->cli->err, "    %s\n", text);
        break;
    case SBX_EVENT_DONE:
        draw_done(s, "*", recall(s, e->step, text, known, sizeof(known)), e->elapsed_ms);
        break;
    case SBX_EVENT_FAILED:
        draw_done(s, "!", recall(s, e->step, text, known, sizeof(known)), e->elapsed_ms);
        break;
    case SBX_EVENT_WARNING:
        sbx_progress_end(s);
        fprintf(s->cli->err, "warning: %s\n", text);
        break;
    case SBX_EVENT_NOTE:
        sbx_progress_end(s);
        fprintf(s->cli->err, "%s\n", text);
        break;
    }
}

static void print(struct sbx_session *s, const struct sbx_event *e, const char *text)
{
    /* NULL: says nothing that the step's begin or the error does not say. */
    static const char *const prefixes[] = {
        [SBX_EVENT_STEP] = "",     [SBX_EVENT_OUTPUT] = "  ",         [SBX_EVENT_DONE] = NULL,
        [SBX_EVENT_FAILED] = NULL, [SBX_EVENT_WARNING] = "warning: ", [SBX_EVENT_NOTE] = "",
    };

    if (prefixes[e->kind])
        fprintf(s->cli->err, "%s%s\n", prefixes[e->kind], text);
}

/* For scripts: a step is named by its id when it ends. */
static void tell(const struct sbx_session *s, const struct sbx_event *e)
{
    static const char *const kinds[] = {
        [SBX_EVENT_STEP] = "step",       [SBX_EVENT_OUTPUT] = "output", [SBX_EVENT_DONE] = "done",
        [SBX_EVENT_FAILED] = "failed",   [SBX_EVENT_NOTE] = "note",     [SBX_EVENT_BYTES] = "blob",
        [SBX_EVENT_WARNING] = "warning",
    };
    bool over = e->kind == SBX_EVENT_DONE || e->kind == SBX_EVENT_FAILED;
    json_t *event = over ? json_pack("{s:s,s:I}", "event", kinds[e->kind], "ms",
                                     (json_int_t)e->elapsed_ms)
                         : sbx_out_event_of(kinds[e->kind], e->text ? e->text : "");

    if (event && e->step)
        json_object_set_new(event, "step", json_string(e->step));
    sbx_out_event(s->cli, event);
}

/* A layer of an image: a bar, in place of the line of the step. */
static void count(struct sbx_session *s, const struct sbx_event *e)
{
    struct sbx_blobs *blobs = sbx_blobs_of(s->cli);

    if (!blobs)
        return; /* no memory for bars: the pull goes on */
    sbx_progress_end(s);
    blobs->progress.bytes(blobs, e->text, e->done, e->total);
}

void sbx_progress_event(void *ctx, const struct sbx_event *e)
{
    struct sbx_session *s = ctx;
    SBX_AUTO_PTR(sbx_arena) arena = NULL;
    const char *text;

    if (s->quiet && e->kind != SBX_EVENT_WARNING)
        return;
    if (e->kind == SBX_EVENT_BYTES) {
        count(s, e);
        return;
    }
    if (s->cli->blobs)
        sbx_blobs_leave(s->cli->blobs);
    arena = sbx_arena_new();
    text = arena ? sbx_out_clean(arena, e->text ? e->text : e->step) : NULL;
    if (!text)
        return;
    if (e->kind == SBX_EVENT_OUTPUT || e->kind == SBX_EVENT_STEP)
        s->output_shown = e->kind == SBX_EVENT_OUTPUT;
    if (e->kind == SBX_EVENT_FAILED)
        s->failure_shown = s->output_shown;
    if (s->cli->format == SBX_FORMAT_JSON)
        tell(s, e);
    else if (s->fancy)
        draw(s, e, text);
    else
        print(s, e, text);
    fflush(s->cli->err);
}
