/* What the caller is told while things go on; time; interrupts; test faults. */
#include "box.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#define EVENT_TEXT_MAX 8192 /* bytes of one line; longer ones are cut */

int64_t sbx_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void deliver(struct sbx_engine *e, enum sbx_event_kind kind, const char *step,
                 int64_t elapsed_ms, const char *text)
{
    struct sbx_event event = { kind, step, text, elapsed_ms, 0, 0 };

    if (e->config.event)
        e->config.event(e->config.ctx, &event);
}

static void stop_dead(const char *here)
{
#ifdef SBX_FAULTS
    const char *fault = getenv("SBX_FAULT");

    if (fault && !strcmp(fault, here))
        kill(getpid(), SIGKILL);
#else
    (void)here;
#endif
}

void sbx_event_send(struct sbx_engine *e, enum sbx_event_kind kind, const char *step,
                    const char *fmt, ...)
{
    char text[EVENT_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    deliver(e, kind, step, 0, text);
}

void sbx_event_bytes(struct sbx_engine *e, const char *step, const char *what, int64_t done,
                     int64_t total)
{
    struct sbx_event event = { SBX_EVENT_BYTES, step, what, 0, done, total };

    if (e->config.event)
        e->config.event(e->config.ctx, &event);
}

const struct sbx_plan_step *sbx_step_of(const struct sbx_box *box, enum sbx_phase phase)
{
    for (size_t i = 0; i < box->plan->n_steps; i++)
        if (box->plan->steps[i].phase == phase)
            return &box->plan->steps[i];
    return &box->plan->steps[0];
}

static void fault_step(unsigned number, const char *after)
{
    char here[40];

    snprintf(here, sizeof(here), "step:%u%s", number, after);
    stop_dead(here);
}

struct sbx_stage sbx_stage_begin(struct sbx_box *box, const struct sbx_plan_step *step,
                                 const char *fmt, ...)
{
    unsigned number = (unsigned)(step - box->plan->steps) + 1;
    char text[EVENT_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fault_step(number, "");
    deliver(box->e, SBX_EVENT_STEP, step->id, 0, text);
    return (struct sbx_stage){ box->e, step->id, number, sbx_now_ms() };
}

enum sbx_code sbx_stage_end(struct sbx_stage *s, enum sbx_code rc)
{
    deliver(s->e, rc ? SBX_EVENT_FAILED : SBX_EVENT_DONE, s->id, sbx_now_ms() - s->began_ms, "");
    if (!rc)
        fault_step(s->number, "+");
    return rc;
}

enum sbx_code sbx_interrupted(struct sbx_engine *e, struct sbx_err *err)
{
    struct pollfd p = { .fd = e->config.interrupt_fd, .events = POLLIN };
    int saved = errno;
    bool yes = p.fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & (POLLIN | POLLHUP));

    errno = saved;
    return yes ? sbx_err_set(err, SBX_CANCELED, "interrupted") : SBX_OK;
}

void sbx_fault_point(const char *name)
{
    char here[80];

    snprintf(here, sizeof(here), "at:%s", name);
    stop_dead(here);
}
