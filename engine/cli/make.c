/* From the words and options of run, create and plan to a composed artifact and the engine's input. */
#include <string.h>

#include "sbx/resolve.h"
#include "session.h"

#define BASE_AGENT "shell"
#define BASE_IMAGE "sbx.local/base:bookworm" /* what scripts/base-image.sh makes */

void sbx_make_release(struct sbx_make *m) { sbx_artifact_free(m->artifact); }

static enum sbx_code take_paths(struct sbx_cli *cli, struct sbx_make *m, size_t from,
                                struct sbx_err *err)
{
    static const char *const here[] = { "." };
    const char *const *v = cli->args.v + from;
    size_t n = cli->args.n - from;
    struct sbx_workspace *w = NULL;
    enum sbx_code rc;

    if (!n && m->cwd_default) {
        v = here;
        n = 1;
    }
    rc = sbx_workspace_list(cli->arena, v, n, &w, err);
    m->create.workspaces = w;
    m->create.n_workspaces = n;
    return rc;
}

enum sbx_code sbx_make_prepare(struct sbx_cli *cli, struct sbx_make *m, struct sbx_err *err)
{
    struct sbx_resolve r = sbx_kit_resolve(cli, m->kit, cli->args.n ? cli->args.v[0] : NULL);
    bool used = false;
    enum sbx_code rc;

    rc = sbx_create_fill(cli->arena, m->sandbox, &m->create, err);
    if (!rc)
        rc = sbx_resolve(&r, &cli->diags, &m->artifact, &used, err);
    sbx_cli_report(cli);
    if (rc)
        return rc;
    m->create.artifact = m->artifact;
    return take_paths(cli, m, used ? 1 : 0, err);
}

static bool is_local(struct sbx_session *s, const struct sbx_make *m, const char *image)
{
    struct sbx_err unused = SBX_ERR_INIT;
    struct sbx_runtime *rt = NULL;
    struct sbx_image found;

    /* A runtime that does not answer is an error of its own later on, not of this look. */
    return !sbx_engine_runtime(s->engine, m->create.runtime, &rt, &unused) &&
           !sbx_runtime_image_ensure(rt, image, SBX_PULL_NEVER, NULL, s->cli->arena, &found,
                                     &unused);
}

void sbx_make_defaults(struct sbx_session *s, struct sbx_make *m)
{
    const char *agent = m->artifact->kits.len ? m->artifact->kits.v[0].name : m->artifact->name;

    m->create.runtime = sbx_session_runtime(s, m->runtime);
    m->create.pull = sbx_pull_of(m->sandbox->pull ? m->sandbox->pull : s->files.settings.pull);
    if (!m->create.image)
        m->create.image = sbx_settings_image(&s->files.settings, agent);
    if (!m->create.image && !strcmp(agent, BASE_AGENT) && m->create.pull != SBX_PULL_ALWAYS &&
        is_local(s, m, BASE_IMAGE))
        m->create.image = BASE_IMAGE;
}
