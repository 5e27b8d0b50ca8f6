#include "fake.h"

#include <stdio.h>
#include <string.h>

/* Setting the world up and looking into it. */

static void *need(void *p)
{
    if (!p) {
        fputs("fake runtime: out of memory\n", stderr);
        abort(); /* only tests come here */
    }
    return p;
}

void *sbx_fake_alloc(struct fake *f, size_t n, size_t size)
{
    return need(sbx_arena_array(f->mem, n, size));
}

char *sbx_fake_printf(struct fake *f, const char *fmt, ...)
{
    char text[8192]; /* a call's line; longer ones are cut */
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return need(sbx_arena_strdup(f->mem, text));
}

const char *const *sbx_fake_list(struct fake *f, const char *const *list)
{
    size_t n = 0;
    const char **copy;

    while (list && list[n])
        n++;
    copy = sbx_fake_alloc(f, n + 1, sizeof(*copy));
    for (size_t i = 0; i < n; i++)
        copy[i] = need(sbx_arena_strdup(f->mem, list[i]));
    return copy;
}

static enum sbx_code fault_due(struct fake *f, const char *op)
{
    for (struct fake_fault *x = f->faults; x; x = x->next) {
        if (strcmp(x->op, op) != 0)
            continue;
        if (x->nth == 0)
            return x->code;
        if (x->nth != (unsigned)-1 && --x->nth == 0) {
            x->nth = (unsigned)-1; /* spent */
            return x->code;
        }
    }
    return SBX_OK;
}

enum sbx_code sbx_fake_call(struct fake *f, struct sbx_err *err, const char *op, const char *fmt,
                            ...)
{
    char text[4096];
    enum sbx_code rc;
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (f->n_calls == f->cap_calls) {
        size_t cap = f->cap_calls ? 2 * f->cap_calls : 64;
        const char **more = sbx_fake_alloc(f, cap, sizeof(*more));

        if (f->n_calls)
            memcpy(more, f->calls, f->n_calls * sizeof(*more));
        f->calls = more;
        f->cap_calls = cap;
    }
    f->calls[f->n_calls++] = sbx_fake_printf(f, "%s%s%s", op, *text ? " " : "", text);
    rc = fault_due(f, op);
    return rc ? sbx_err_set(err, rc, "injected fault of %s", op) : SBX_OK;
}

struct fake_container *sbx_fake_find(struct fake *f, const char *id)
{
    for (struct fake_container *c = f->containers; c; c = c->next)
        if (strcmp(c->state.id, id) == 0 || strcmp(c->state.name, id) == 0)
            return c;
    return NULL;
}

void sbx_fake_image(struct sbx_runtime *rt, const struct sbx_image *image, bool local)
{
    struct fake *f = (struct fake *)rt;
    struct fake_image *i = sbx_fake_alloc(f, 1, sizeof(*i));

    i->image = *image;
    i->image.id = image->id ? sbx_fake_printf(f, "%s", image->id)
                            : sbx_fake_printf(f, "sha256:%064x", ++f->serial);
    i->image.reference = sbx_fake_printf(f, "%s", image->reference);
    i->image.workdir = sbx_fake_printf(f, "%s", image->workdir ? image->workdir : "");
    i->image.user = sbx_fake_printf(f, "%s", image->user ? image->user : "");
    i->image.env = sbx_fake_list(f, image->env);
    i->image.entrypoint = sbx_fake_list(f, image->entrypoint);
    i->image.cmd = sbx_fake_list(f, image->cmd);
    i->image.labels = sbx_fake_list(f, image->labels);
    i->local = local;
    i->next = f->images;
    f->images = i;
}

void sbx_fake_pid(struct sbx_runtime *rt, pid_t pid) { ((struct fake *)rt)->pid = pid; }

struct sbx_runtime_info *sbx_fake_info(struct sbx_runtime *rt) { return &rt->info; }

void sbx_fake_die(struct sbx_runtime *rt, const char *id, int exit_code)
{
    struct fake_container *c = sbx_fake_find((struct fake *)rt, id);

    if (!c)
        return;
    c->state.running = false;
    c->state.pid = 0;
    c->state.exit_code = exit_code;
}

void sbx_fake_on_exec(struct sbx_runtime *rt, const char *prefix, sbx_fake_script *script,
                      void *ctx)
{
    struct fake *f = (struct fake *)rt;
    struct fake_script *s = sbx_fake_alloc(f, 1, sizeof(*s));

    *s = (struct fake_script){ f->scripts, sbx_fake_printf(f, "%s", prefix), "", 0, script, ctx };
    f->scripts = s;
}

void sbx_fake_answer(struct sbx_runtime *rt, const char *prefix, const char *out, int status)
{
    sbx_fake_on_exec(rt, prefix, NULL, NULL);
    ((struct fake *)rt)->scripts->out = sbx_fake_printf((struct fake *)rt, "%s", out);
    ((struct fake *)rt)->scripts->status = status;
}

void sbx_fake_fail(struct sbx_runtime *rt, const char *op, unsigned nth, enum sbx_code code)
{
    struct fake *f = (struct fake *)rt;
    struct fake_fault *x = sbx_fake_alloc(f, 1, sizeof(*x));

    *x = (struct fake_fault){ f->faults, sbx_fake_printf(f, "%s", op), nth, code };
    f->faults = x;
}

const char *const *sbx_fake_calls(struct sbx_runtime *rt, size_t *ret_n)
{
    struct fake *f = (struct fake *)rt;

    *ret_n = f->n_calls;
    return f->calls;
}

size_t sbx_fake_count(struct sbx_runtime *rt, const char *op)
{
    struct fake *f = (struct fake *)rt;
    size_t n = 0, len = strlen(op);

    for (size_t i = 0; i < f->n_calls; i++)
        n += strncmp(f->calls[i], op, len) == 0 && (!f->calls[i][len] || f->calls[i][len] == ' ');
    return n;
}

void sbx_fake_forget_calls(struct sbx_runtime *rt) { ((struct fake *)rt)->n_calls = 0; }

const struct sbx_container_spec *sbx_fake_spec(struct sbx_runtime *rt, const char *id)
{
    struct fake_container *c = sbx_fake_find((struct fake *)rt, id);

    return c ? &c->spec : NULL;
}

size_t sbx_fake_containers(struct sbx_runtime *rt)
{
    size_t n = 0;

    for (struct fake_container *c = ((struct fake *)rt)->containers; c; c = c->next)
        n++;
    return n;
}

size_t sbx_fake_volumes(struct sbx_runtime *rt)
{
    size_t n = 0;

    for (struct fake_volume *v = ((struct fake *)rt)->volumes; v; v = v->next)
        n++;
    return n;
}
