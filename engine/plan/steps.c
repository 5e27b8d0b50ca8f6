/* The ordered steps (decisions, table of steps). */
#include "build.h"

#include <string.h>

#define AT_APPLY (SBX_AT_CREATE | SBX_AT_ADD)
#define AT_EVERY (SBX_AT_CREATE | SBX_AT_START | SBX_AT_ADD)

static struct sbx_plan_step *add_step(struct sbx_planner *b, enum sbx_phase phase, unsigned when)
{
    struct sbx_plan_step *step = &b->p->steps[b->p->n_steps++];

    *step = (struct sbx_plan_step){ .phase = phase, .when = when, .id = sbx_phase_name(phase) };
    return step;
}

static enum sbx_code static_file(struct sbx_planner *b, const struct sbx_static_file *from,
                                 struct sbx_plan_file *to)
{
    bool home = from->target == SBX_TARGET_HOME;
    SBX_AUTO(sbx_buf) content = SBX_BUF_INIT(SBX_KIT_FILE_MAX);
    char digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    *to = (struct sbx_plan_file){
        .path = sbx_build_fmt(b, "%s/%s", home ? SBX_AGENT_HOME : b->p->workdir, from->path),
        .mode = from->mode,
        .uid = SBX_AGENT_UID,
        .gid = SBX_AGENT_UID,
        .kit = sbx_build_kit(b, &from->at),
        .at = sbx_build_at(b, &from->at),
        .size = from->size,
        .data = from->data,
        .source = sbx_build_str(b, from->source),
    };
    rc = sbx_static_file_read(from, &content, b->err);
    if (rc)
        return rc;
    to->size = content.len;
    rc = sbx_digest(content.ptr ? content.ptr : "", content.len, digest);
    to->digest = sbx_build_str(b, digest);
    return rc;
}

/* The files of one target as one step; none: no step. */
static enum sbx_code add_static(struct sbx_planner *b, enum sbx_target target, enum sbx_phase phase,
                                unsigned when)
{
    struct sbx_plan_step *step;
    size_t n = 0;
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < b->a->files.len; i++)
        n += b->a->files.v[i].target == target;
    if (!n)
        return SBX_OK;
    step = add_step(b, phase, when);
    step->files = sbx_build_array(b, n, sizeof(*step->files));
    for (size_t i = 0; !rc && step->files && i < b->a->files.len; i++)
        if (b->a->files.v[i].target == target)
            rc = static_file(b, &b->a->files.v[i], &step->files[step->n_files++]);
    return rc;
}

static unsigned number_of(const struct sbx_planner *b, enum sbx_phase phase, const char *kit)
{
    unsigned n = 1;

    for (size_t i = 0; i < b->p->n_steps; i++)
        if (b->p->steps[i].phase == phase && b->p->steps[i].kit && !strcmp(b->p->steps[i].kit, kit))
            n++;
    return n;
}

static struct sbx_plan_step *add_command(struct sbx_planner *b, enum sbx_phase phase, unsigned when,
                                         const struct sbx_origin *at, const char *user,
                                         const char *description)
{
    const char *kit = sbx_build_kit(b, at);
    unsigned number = kit ? number_of(b, phase, kit) : 1;
    struct sbx_plan_step *step = add_step(b, phase, when);

    step->kit = kit;
    step->at = sbx_build_at(b, at);
    step->number = number;
    step->id = sbx_build_fmt(b, "%s/%s/%u", sbx_phase_name(phase), kit, number);
    step->user = sbx_build_str(b, user);
    step->description = sbx_build_str(b, description);
    return step;
}

static void add_installs(struct sbx_planner *b)
{
    for (size_t i = 0; i < b->a->install.len; i++) {
        const struct sbx_install *from = &b->a->install.v[i];
        const char *argv[] = { "/bin/sh", "-c", from->command };
        struct sbx_plan_step *step;

        step = add_command(b, SBX_PHASE_INSTALL, AT_APPLY, &from->at,
                           from->user && *from->user ? from->user : "0", from->description);
        step->argv = sbx_build_strs(b, argv, 3);
    }
}

/* F1: an installer may have put its own file where the kit has one. */
static void add_home_again(struct sbx_planner *b)
{
    const struct sbx_plan_step *home = NULL;
    struct sbx_plan_step *step;

    for (size_t i = 0; i < b->p->n_steps; i++)
        if (b->p->steps[i].phase == SBX_PHASE_HOME)
            home = &b->p->steps[i];
    if (!home || !b->a->install.len)
        return;
    step = add_step(b, SBX_PHASE_HOME_AGAIN, AT_APPLY);
    step->files = home->files;
    step->n_files = home->n_files;
}

static void add_setup_files(struct sbx_planner *b)
{
    size_t n = b->a->setup_files.len;
    struct sbx_plan_step *step;

    if (!n)
        return;
    step = add_step(b, SBX_PHASE_SETUP_FILES, AT_EVERY);
    step->files = sbx_build_array(b, n, sizeof(*step->files));
    for (size_t i = 0; step->files && i < n; i++) {
        const struct sbx_setup_file *from = &b->a->setup_files.v[i];
        struct sbx_plan_file *to = &step->files[step->n_files++];
        const char *text = sbx_build_workdir(b, from->content ? from->content : "");

        *to = (struct sbx_plan_file){
            .path = sbx_build_workdir(b, from->path),
            .uid = SBX_AGENT_UID,
            .gid = SBX_AGENT_UID,
            .mode = from->mode && *from->mode ? (unsigned)strtoul(from->mode, NULL, 8) & 07777
                                              : 0644,
            .only_if_missing = from->only_if_missing,
            .kit = sbx_build_kit(b, &from->at),
            .at = sbx_build_at(b, &from->at),
        };
        if (text)
            sbx_build_data(b, to, text, strlen(text));
    }
}

static void add_startups(struct sbx_planner *b)
{
    for (size_t i = 0; i < b->a->startup.len; i++) {
        const struct sbx_startup *from = &b->a->startup.v[i];

        sbx_build_startup(b,
                          add_command(b, SBX_PHASE_STARTUP, AT_EVERY, &from->at,
                                      from->user && *from->user ? from->user : "1000",
                                      from->description),
                          from);
    }
}

static void add_instructions(struct sbx_planner *b)
{
    struct sbx_plan_step *step = add_step(b, SBX_PHASE_INSTRUCTIONS, AT_APPLY);

    if (!sbx_build_instructions(b, step))
        b->p->n_steps--;
}

enum sbx_code sbx_build_steps(struct sbx_planner *b)
{
    size_t most = SBX_PHASE_COUNT + b->a->install.len + b->a->startup.len;
    enum sbx_code rc;

    b->p->steps = sbx_build_array(b, most, sizeof(*b->p->steps));
    if (!b->p->steps)
        return SBX_OK;
    add_step(b, SBX_PHASE_IMAGE, SBX_AT_CREATE)->description = b->p->image;
    add_step(b, SBX_PHASE_CONTAINER, SBX_AT_CREATE)->description =
        "Settings, mounts and environment";
    add_step(b, SBX_PHASE_NETWORK, SBX_AT_CREATE | SBX_AT_START)->description =
        "Start with a closed network, open the gate";
    sbx_build_defaults(b, add_step(b, SBX_PHASE_DEFAULTS, SBX_AT_CREATE | SBX_AT_START));
    rc = add_static(b, SBX_TARGET_HOME, SBX_PHASE_HOME, AT_APPLY);
    if (rc)
        return rc;
    add_installs(b);
    add_home_again(b);
    add_setup_files(b);
    add_startups(b);
    rc = add_static(b, SBX_TARGET_WORKSPACE, SBX_PHASE_WORKSPACE_FILES, AT_EVERY);
    if (rc)
        return rc;
    add_instructions(b);
    return SBX_OK;
}
