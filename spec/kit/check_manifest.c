/* Rules over the manifest: version, kind, name, image, and what belongs to which kind. */
#include <string.h>

#include "check.h"

static bool is(const char *a, const char *b)
{
    return a && !strcmp(a, b);
}

static void check_identity(struct sbx_checker *c)
{
    const struct sbx_artifact *a = c->a;

    if (!a->schema_version || !*a->schema_version)
        sbx_check_report(c, SBX_ERROR, "bad-version", &a->schema_version, "schemaVersion",
                         "write schemaVersion: \"2\"", "is required");
    else if (is(a->schema_version, "3"))
        sbx_check_report(c, SBX_ERROR, "bad-version", &a->schema_version, "schemaVersion",
                         "write schemaVersion: \"2\"",
                         "this is a kit of version 3, which sbx does not read");
    else if (!is(a->schema_version, "2") && !is(a->schema_version, "1"))
        sbx_check_report(c, SBX_ERROR, "bad-version", &a->schema_version, "schemaVersion",
                         "write schemaVersion: \"2\"", "unknown version (%.80s)", a->schema_version);
    if (!a->kind || !*a->kind)
        sbx_check_report(c, SBX_ERROR, "missing-field", &a->kind, "kind", "write sandbox or mixin",
                         "is required");
    else if (!is(a->kind, "sandbox") && !is(a->kind, "mixin"))
        sbx_check_report(c, SBX_ERROR, "bad-kind", &a->kind, "kind", "write sandbox or mixin",
                         "unknown kind (%.80s)", a->kind);
    if (!a->name || !*a->name)
        sbx_check_report(c, SBX_ERROR, "missing-field", &a->name, "name", "give the kit a name",
                         "is required");
    else if (!sbx_is_kit_name(a->name))
        sbx_check_report(c, SBX_ERROR, "bad-name", &a->name, "name",
                         "use a-z, 0-9 and \"-\" inside, 1 to 64 characters", "not a name (%.80s)",
                         a->name);
}

static bool is_filename(const char *s)
{
    static const char ok[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

    return strspn(s, ok) == strlen(s) && strcmp(s, ".") && strcmp(s, "..");
}

static void check_image(struct sbx_checker *c)
{
    const struct sbx_artifact *a = c->a;
    bool image = a->image && *a->image;

    if (a->ai_filename && *a->ai_filename && !is_filename(a->ai_filename))
        sbx_check_report(c, SBX_ERROR, "bad-filename", &a->ai_filename, "agentInstructions.filename",
                         "write a plain file name such as AGENTS.md",
                         "manifest: invalid aiFilename (%.80s)", a->ai_filename);
    if (image)
        return;
    if (a->build.set)
        sbx_check_report(c, SBX_ERROR, "build-only", &a->build, "sandbox.build",
                         "add the image that is built elsewhere",
                         "sandbox.build is accepted in the schema but not yet implemented — specify "
                         "sandbox.image");
    else if (!a->extends || !*a->extends)
        sbx_check_report(c, SBX_ERROR, "no-image", &a->image, "sandbox.image",
                         "name an image, or a parent with extends",
                         "is required for a sandbox kit");
}

static void check_sandbox(struct sbx_checker *c)
{
    const struct sbx_artifact *a = c->a;

    if (!a->sandbox_set && !c->composed && (!a->extends || !*a->extends))
        sbx_check_report(c, SBX_ERROR, "missing-field", NULL, "sandbox",
                         "add a sandbox: block with image", "is required for kind sandbox");
    else
        check_image(c);
    if (a->requires_set && !c->composed)
        sbx_check_report(c, SBX_ERROR, "wrong-kind", &a->requires_agent, "requires",
                         "remove it: a sandbox kit is the base agent", "is only for kind mixin");
}

const char *sbx_artifact_agent(const struct sbx_artifact *a)
{
    if (a->requires_agent && *a->requires_agent)
        return a->requires_agent;
    if (is(a->kind, "mixin") && is(a->schema_version, "1") && a->extends &&
        sbx_is_kit_name(a->extends))
        return a->extends;
    return NULL;
}

/* S19 */
static void report_old_extends(struct sbx_checker *c)
{
    bool name = sbx_is_kit_name(c->a->extends);

    c->near = &c->a->extends_at;
    sbx_check_report(c, name ? SBX_NOTE : SBX_WARNING, "extends-of-mixin", NULL, "extends",
                     "write requires.agent",
                     name ? "on a mixin it only names the agent that the kit is for"
                          : "on a mixin it can only name an agent; it has no effect");
    c->near = NULL;
}

static void check_mixin(struct sbx_checker *c)
{
    const struct sbx_artifact *a = c->a;

    if (a->sandbox_set)
        sbx_check_report(c, SBX_ERROR, "wrong-kind", &a->image, "sandbox",
                         "remove it, or write kind: sandbox", "is only for kind sandbox");
    if (a->extends && *a->extends && is(a->schema_version, "1"))
        report_old_extends(c);
    if (a->extends && *a->extends && is(a->schema_version, "2")) {
        c->near = &a->extends_at;
        sbx_check_report(c, SBX_ERROR, "wrong-kind", NULL, "extends",
                         "use requires.agent to bind it to a base agent",
                         "a mixin cannot use extends");
        c->near = NULL;
    }
}

static void check_resources(struct sbx_checker *c)
{
    const struct sbx_resources *r = &c->a->resources;
    int64_t bytes;

    if (!r->set)
        return;
    c->near = &r->at;
    if (r->cpu_set && r->cpu < 0)
        sbx_check_report(c, SBX_ERROR, "bad-value", &r->cpu, "sandbox.resources.cpu",
                         "write the number of cores, such as 1.5", "must not be negative (%g)", r->cpu);
    if (r->memory && *r->memory && !sbx_size_parse(r->memory, &bytes))
        sbx_check_report(c, SBX_ERROR, "bad-size", &r->memory, "sandbox.resources.memory",
                         "write a byte size such as \"8g\" or \"512m\"", "not a byte size (%.80s)",
                         r->memory);
    c->near = NULL;
}

static void check_ports(struct sbx_checker *c)
{
    for (size_t i = 0; i < c->a->ports.len; i++) {
        const struct sbx_port *p = &c->a->ports.v[i];
        size_t mark = sbx_check_enter_index(c, "ports", i);

        c->near = &p->at;
        if (p->container < 1 || p->container > 65535)
            sbx_check_report(c, SBX_ERROR, "bad-port", &p->container, "container",
                             "write a port from 1 to 65535", "not a port (%d)", p->container);
        sbx_check_leave(c, mark);
    }
    c->near = NULL;
}

static void check_volumes(struct sbx_checker *c)
{
    for (size_t i = 0; i < c->a->volumes.len; i++) {
        const struct sbx_volume *v = &c->a->volumes.v[i];

        for (size_t k = 0; k < i; k++) {
            const struct sbx_volume *w = &c->a->volumes.v[k];
            size_t mark;

            if (!v->path || !w->path || strcmp(v->path, w->path))
                continue;
            mark = sbx_check_enter_index(c, "volumes", i);
            c->near = &v->at;
            sbx_check_report(c, SBX_WARNING, "same-path", &v->path, "path", "keep one of them",
                             "given twice; the last one counts (%.200s)", v->path);
            sbx_check_leave(c, mark);
            break;
        }
    }
    c->near = NULL;
}

static void check_startup(struct sbx_checker *c)
{
    for (size_t i = 0; i < c->a->startup.len; i++) {
        const struct sbx_startup *s = &c->a->startup.v[i];
        size_t mark = sbx_check_enter_index(c, "setup.startup", i);

        c->near = &s->at;
        if (!s->command.len)
            sbx_check_report(c, SBX_ERROR, "missing-field", &s->command, "command",
                             "write a string or a list of strings", "is required");
        sbx_check_leave(c, mark);
    }
    c->near = NULL;
}

void sbx_check_manifest(struct sbx_checker *c)
{
    check_identity(c);
    if (is(c->a->kind, "sandbox"))
        check_sandbox(c);
    else if (is(c->a->kind, "mixin"))
        check_mixin(c);
    check_resources(c);
    check_ports(c);
    check_volumes(c);
    check_startup(c);
}
