/* Loud remarks on files that nobody expects a mixin to write (seed pitfalls 17). */
#include "build.h"

#include <string.h>

static const char *const rc_files[] = { ".bashrc", ".bash_profile", ".zshrc", ".zprofile",
                                        ".profile" };

static const char *why(const struct sbx_planner *b, const struct sbx_plan_file *f)
{
    static const char home[] = SBX_AGENT_HOME "/";
    const char *rel = f->path;

    for (size_t i = 0; i < b->a->credentials.len; i++) {
        const struct sbx_credential *c = &b->a->credentials.v[i];
        const char *path = c->oauth.file_path;

        if (!path || !f->kit || (c->at.kit && !strcmp(c->at.kit, f->kit)))
            continue;
        if (!strncmp(path, "~/", 2)
                ? !strncmp(rel, home, strlen(home)) && !strcmp(rel + strlen(home), path + 2)
                : !strcmp(rel, path))
            return "the credential file of another kit";
    }
    if (strncmp(rel, home, strlen(home)))
        return NULL;
    rel += strlen(home);
    if (!strncmp(rel, ".ssh/", 5))
        return "part of the agent's SSH configuration";
    for (size_t i = 0; i < SBX_ARRAY_LEN(rc_files); i++)
        if (!strcmp(rel, rc_files[i]))
            return "read by the agent's shells";
    return NULL;
}

void sbx_build_sensitive(struct sbx_planner *b)
{
    for (size_t i = 0; i < b->p->n_steps; i++) {
        const struct sbx_plan_step *s = &b->p->steps[i];

        if (s->phase == SBX_PHASE_HOME_AGAIN || s->phase == SBX_PHASE_STARTUP)
            continue;
        for (size_t k = 0; k < s->n_files; k++) {
            const struct sbx_plan_file *f = &s->files[k];
            const char *reason = f->path && sbx_build_is_mixin(b, f->kit) ? why(b, f) : NULL;

            if (reason)
                sbx_diags_add(b->diags, SBX_WARNING, "sensitive-path", (struct sbx_pos){ 0 },
                              sbx_phase_name(s->phase),
                              "make sure that the kit's description says so, and why",
                              "kit %s writes %s, which is %s", f->kit, f->path, reason);
        }
    }
}
