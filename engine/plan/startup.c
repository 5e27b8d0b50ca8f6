/* Startup commands as scripts that PID 1 runs at every start (docs/gate-config.md section 5). */
#include "build.h"

#include <string.h>

/* The list is lines of fields between tabs. */
static const char *plain(struct sbx_planner *b, const char *text)
{
    char *copy = (char *)sbx_build_str(b, text ? text : "");

    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return copy;
}

static bool is_root(const char *user)
{
    return !strcmp(user, "0") || !strcmp(user, "root") || !strncmp(user, "0:", 2) ||
           !strncmp(user, "root:", 5);
}

/* PID 1's environment is that of the create; kits added later change the file that is read here. */
static enum sbx_code render(const struct sbx_plan *p, const struct sbx_plan_step *step,
                            struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_addf(out, "#!/bin/sh\n# %s, command %u\n", step->kit, step->number);

    if (!rc)
        rc = sbx_buf_adds(out, "[ ! -r " SBX_STARTUP_DIR "/environment ] || . " SBX_STARTUP_DIR
                               "/environment\n");
    if (!rc && is_root(step->user))
        rc = sbx_buf_adds(out, "export HOME=/root USER=root\n");
    if (!rc)
        rc = sbx_buf_adds(out, "cd ");
    if (!rc)
        rc = sbx_shell_quote(p->workdir, out);
    if (!rc)
        rc = sbx_buf_adds(out, " 2>/dev/null || cd /\nexec");
    for (const char *const *word = step->argv; !rc && word && *word; word++) {
        rc = sbx_buf_adds(out, " ");
        if (!rc)
            rc = sbx_shell_quote(*word, out);
    }
    return rc ? rc : sbx_buf_adds(out, "\n");
}

void sbx_build_startup(struct sbx_planner *b, struct sbx_plan_step *step,
                       const struct sbx_startup *from)
{
    SBX_AUTO(sbx_buf) script = SBX_BUF_INIT(SBX_SCRIPT_MAX * 5); /* quoting makes 4 bytes of one */
    struct sbx_plan_file *f = sbx_build_array(b, 1, sizeof(*f));
    const char *text;

    step->argv = sbx_build_strs(b, from->command.v, from->command.len);
    step->background = from->background;
    if (!f || !step->argv || !step->kit || !step->user)
        return;
    if (render(b->p, step, &script)) {
        b->no_memory = true;
        return;
    }
    text = sbx_build_str(b, script.ptr);
    *f = (struct sbx_plan_file){
        .path = sbx_build_fmt(b, SBX_STARTUP_DIR "/%s-%u.sh", step->kit, step->number),
        .mode = 0755,
        .kit = step->kit,
        .at = step->at,
    };
    if (text)
        sbx_build_data(b, f, text, script.len);
    step->files = f;
    step->n_files = 1;
    step->description = plain(b, step->description);
}

enum sbx_code sbx_plan_startup_list(const struct sbx_plan *p, struct sbx_buf *out)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < p->n_steps; i++) {
        const struct sbx_plan_step *s = &p->steps[i];

        if (s->phase == SBX_PHASE_STARTUP)
            rc = sbx_buf_addf(out, "%s\t%s\t%u\t%s\t%d\t%s\n", strrchr(s->files[0].path, '/') + 1,
                              s->kit, s->number, s->user, s->background,
                              s->description ? s->description : "");
    }
    return rc;
}
