/* Name, image, resources, working directory, launch. */
#include "build.h"

#include <string.h>

static enum sbx_code set_image(struct sbx_planner *b)
{
    const char *image = b->o->image ? b->o->image : b->a->image;

    if (!image || !*image)
        return sbx_err_set(b->err, SBX_SCHEMA,
                           "sandbox.image: not given; set it in the kit or use --template IMAGE");
    b->p->image = sbx_build_str(b, image);
    return SBX_OK;
}

static enum sbx_code set_resources(struct sbx_planner *b)
{
    const struct sbx_resources *r = &b->a->resources;

    if (b->o->cpus < 0 || b->o->cpus > 1e6)
        return sbx_err_set(b->err, SBX_USAGE, "--cpus: %g is not a number of CPUs", b->o->cpus);
    if (b->o->memory < 0)
        return sbx_err_set(b->err, SBX_USAGE, "--memory: must not be negative");
    b->p->cpus = b->o->cpus > 0 ? b->o->cpus : r->cpu;
    b->p->memory = b->o->memory > 0 ? b->o->memory : r->memory_mb << 20;
    b->p->gpu = r->gpu && *r->gpu ? sbx_build_str(b, r->gpu) : NULL;
    return SBX_OK;
}

static enum sbx_code set_privileged(struct sbx_planner *b)
{
    b->p->privileged = b->a->privileged;
    b->p->userns = b->o->allow_userns;
    if (b->a->privileged && !b->o->allow_privileged)
        return sbx_err_set(
            b->err, SBX_CONSENT,
            "security.privileged: the kit asks for a privileged container. It shares "
            "this machine's kernel, and root inside can take over the host and pass "
            "by the gate; if you trust the kit that far, add --allow-privileged");
    return SBX_OK;
}

static void set_launch(struct sbx_planner *b)
{
    const struct sbx_artifact *a = b->a;
    const struct sbx_launch *l = &a->launch;
    const struct sbx_strs *more;

    if (l->entrypoint.len) {
        b->p->entrypoint = sbx_build_strs(b, l->entrypoint.v, l->entrypoint.len);
        more = l->interactive.set ? &l->interactive : &l->noninteractive;
        b->p->interactive = sbx_build_strs(b, more->v, more->len);
        b->p->noninteractive = sbx_build_strs(b, l->noninteractive.v, l->noninteractive.len);
        return;
    }
    b->p->entrypoint = sbx_build_strs(b, &a->binary, a->binary && *a->binary ? 1 : 0);
    more = a->interactive_options.len ? &a->interactive_options : &a->run_options;
    b->p->interactive = sbx_build_strs(b, more->v, more->len);
    b->p->noninteractive = sbx_build_strs(b, a->run_options.v, a->run_options.len);
}

/* A host name: letters, digits, "-"; a sandbox name may have dots and capitals. */
static const char *host_name(struct sbx_planner *b)
{
    char *text = sbx_arena_strdup(b->arena, b->o->name);

    for (char *c = text; c && *c; c++)
        if (*c == '.')
            *c = '-';
    if (!text)
        b->no_memory = true;
    return text;
}

static void set_ports(struct sbx_planner *b)
{
    size_t n = b->a->ports.len;
    struct sbx_plan_port *v = sbx_build_array(b, n, sizeof(*v));

    for (size_t i = 0; v && i < n; i++) {
        const struct sbx_port *port = &b->a->ports.v[i];

        v[i].container = port->container;
        v[i].protocol = sbx_build_str(b,
                                      port->protocol && *port->protocol ? port->protocol : "tcp");
        v[i].name = sbx_build_str(b, port->name);
        v[i].kit = sbx_build_kit(b, &port->at);
    }
    b->p->ports = v;
    b->p->n_ports = v ? n : 0;
}

enum sbx_code sbx_build_settings(struct sbx_planner *b)
{
    static enum sbx_code (*const parts[])(struct sbx_planner *) = { set_image, set_resources,
                                                                    set_privileged };

    b->p->name = sbx_build_str(b, b->o->name);
    b->p->app = sbx_build_str(b, b->o->app ? b->o->app : "sbx");
    b->p->agent = sbx_build_str(b, b->a->name);
    b->p->hostname = host_name(b);
    b->p->workdir = sbx_build_str(b, b->o->n_workspaces ? b->o->workspaces[0].path
                                                        : SBX_WORKDIR_DEFAULT);
    for (size_t i = 0; i < SBX_ARRAY_LEN(parts); i++) {
        enum sbx_code rc = parts[i](b);

        if (rc)
            return rc;
    }
    set_launch(b);
    set_ports(b);
    return SBX_OK;
}
