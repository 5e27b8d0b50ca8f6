/* From the words and options of run, create and plan to a composed artifact and the engine's input. */
#include <fcntl.h>
#include <string.h>

#include "sbx/file.h"
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

struct lines {
    struct sbx_arena *arena;
    const char **v; /* NULL-terminated */
    size_t n, cap;
};

static enum sbx_code add_line(struct lines *l, const char *text, struct sbx_err *err)
{
    if (text && l->n + 1 >= l->cap) {
        const char **more = sbx_arena_array(l->arena, 2 * l->cap + 16, sizeof(*more));

        if (more && l->n)
            memcpy(more, l->v, l->n * sizeof(*more));
        l->cap = 2 * l->cap + 16;
        l->v = more;
    }
    if (!text || !l->v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    l->v[l->n++] = text;
    return SBX_OK;
}

static enum sbx_code add_args_file(struct lines *l, const char *path, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(SBX_ARGS_FILE_MAX);
    enum sbx_code rc = sbx_file_read(AT_FDCWD, path, &b, err);
    char *copy, *line;

    if (rc)
        return sbx_err_wrap(err, rc, "--kit-args-file %s", path);
    copy = sbx_arena_memdup(l->arena, b.len ? b.ptr : "", b.len);
    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    while (!rc && (line = strsep(&copy, "\n")))
        if (*line && *line != '#')
            rc = add_line(l, line, err);
    return rc;
}

/* Lines of the files first: the command line counts more, and of two for one key the later. */
static enum sbx_code note_args(struct sbx_cli *cli, struct sbx_make *m, struct sbx_err *err)
{
    struct lines l = { .arena = cli->arena };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < m->kit->args_files.n; i++)
        rc = add_args_file(&l, m->kit->args_files.v[i], err);
    for (size_t i = 0; !rc && i < m->kit->args.n; i++)
        rc = add_line(&l, m->kit->args.v[i], err);
    m->create.kit_args = l.v;
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
    m->paths_given = cli->args.n > (used ? 1 : 0);
    rc = note_args(cli, m, err);
    if (!rc)
        rc = sbx_new_rules_check(&m->rules, cli, &m->sandbox->allow_network,
                                 &m->sandbox->deny_network, err);
    return rc ? rc : take_paths(cli, m, used ? 1 : 0, err);
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

/* Its own image or, by extends, the one of the built-in shell; no kit of a user bears that name. */
static bool has_shell_image(struct sbx_cli *cli, const struct sbx_make *m)
{
    struct sbx_element *v = NULL;
    size_t n = 0;

    if (sbx_artifact_elements(m->artifact, cli->arena, &v, &n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].path, "sandbox.image"))
            return v[i].at.kit && !strcmp(v[i].at.kit, BASE_AGENT);
    return false;
}

static void note_credentials(struct sbx_cli *cli, const struct sbx_artifact *a)
{
    for (size_t i = 0; i < a->credentials.len; i++)
        sbx_cli_note(
            cli,
            "note: kit %s declares the credential %s: credentials come in a later version; "
            "nothing is injected",
            a->credentials.v[i].at.kit ? a->credentials.v[i].at.kit : a->name,
            a->credentials.v[i].service);
}

void sbx_make_defaults(struct sbx_session *s, struct sbx_make *m)
{
    const char *agent = m->artifact->kits.len ? m->artifact->kits.v[0].name : m->artifact->name;

    m->rules.paths = sbx_engine_paths(s->engine);
    m->rules.approve = m->create.approve;
    m->create.claimed = sbx_new_rules_write;
    m->create.claimed_data = &m->rules;
    m->create.runtime = sbx_session_runtime(s, m->runtime);
    m->create.pull = sbx_pull_of(m->sandbox->pull ? m->sandbox->pull : s->files.settings.pull);
    if (!m->create.image)
        m->create.image = sbx_settings_image(&s->files.settings, agent);
    if (!m->create.image && m->create.pull != SBX_PULL_ALWAYS && has_shell_image(s->cli, m) &&
        is_local(s, m, BASE_IMAGE))
        m->create.image = BASE_IMAGE;
    note_credentials(s->cli, m->artifact);
}

/* "... exit 3:\nlast lines\n  blocked during ...": the lines were shown while they came. */
static void drop_shown(const struct sbx_session *s, struct sbx_err *err)
{
    static const char blocked[] = "\n  blocked during this command: ";
    char *lines = strstr(err->text, ":\n"), *rest = NULL;

    if (!lines || !s->failure_shown || s->cli->format != SBX_FORMAT_TABLE)
        return;
    for (char *p = lines; (p = strstr(p, blocked)); p++)
        rest = p;
    if (rest)
        memmove(lines, rest, strlen(rest) + 1);
    else
        *lines = '\0';
}

/* Rules for what is not there would count for a later sandbox of the name. */
static void undo_rules(struct sbx_session *s, const struct sbx_make *m)
{
    struct sbx_err inner = SBX_ERR_INIT;
    json_t *config = NULL;

    if (!m->rules.written)
        return;
    if (!sbx_sandbox_gate_config(s->engine, m->rules.written, &config, NULL)) /* kept for a look */
        json_decref(config);
    else if (sbx_user_rules_cut(s->cli, m->rules.paths, m->rules.written, &inner))
        sbx_cli_note(s->cli, "warning: the rules of sandbox %s stay in policy.yaml: %s",
                     m->rules.written, inner.text);
}

void sbx_make_failed(struct sbx_session *s, const struct sbx_make *m, struct sbx_err *err)
{
    const char *image = m->artifact->image;

    undo_rules(s, m);
    if (!m->create.image && image && *image && strstr(err->text, image) &&
        has_shell_image(s->cli, m))
        sbx_cli_note(
            s->cli,
            "note: an image for shell can be made here: scripts/base-image.sh of the source "
            "tree, then \"sbx template load FILE\"; or name one with --template");
    drop_shown(s, err);
}
