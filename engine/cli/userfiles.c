#include "userfiles.h"

#include <string.h>

#include "session.h"

static enum sbx_code take_rules(struct sbx_arena *arena, struct sbx_user_files *f,
                                struct sbx_err *err)
{
    struct sbx_user_rule *v = sbx_arena_array(arena, f->file.n_rules + 1, sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < f->file.n_rules; i++) {
        const struct sbx_policy_entry *e = &f->file.rules[i];

        v[i] = (struct sbx_user_rule){ e->decision, e->resource, e->id, e->sandbox, e->at.line };
    }
    f->policy.rules = v;
    f->policy.n_rules = f->file.n_rules;
    return SBX_OK;
}

static enum sbx_code take_approvals(struct sbx_arena *arena, struct sbx_user_files *f,
                                    struct sbx_err *err)
{
    struct sbx_approval *v = sbx_arena_array(arena, f->file.n_approvals + 1, sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < f->file.n_approvals; i++) {
        const struct sbx_policy_approval *a = &f->file.approvals[i];

        v[i] = (struct sbx_approval){ a->kit, a->digest, a->resource };
    }
    f->policy.approvals = v;
    f->policy.n_approvals = f->file.n_approvals;
    return SBX_OK;
}

static enum sbx_code take_hosts(struct sbx_arena *arena, struct sbx_user_files *f,
                                struct sbx_err *err)
{
    struct sbx_host_entry *v = sbx_arena_array(arena, f->settings.n_hosts + 1, sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < f->settings.n_hosts; i++)
        v[i] = (struct sbx_host_entry){ f->settings.hosts[i].name, f->settings.hosts[i].addresses };
    f->policy.hosts = v;
    f->policy.n_hosts = f->settings.n_hosts;
    f->policy.test_ranges = f->settings.public_test_ranges;
    f->policy.proxy = (struct sbx_host_proxy){ f->settings.proxy.http, f->settings.proxy.https,
                                               f->settings.proxy.no_proxy,
                                               f->settings.proxy.credentials_file };
    return SBX_OK;
}

static enum sbx_code load(const struct sbx_paths *paths, struct sbx_arena *arena,
                          struct sbx_diags *diags, struct sbx_user_files *ret, struct sbx_err *err)
{
    const char *settings = sbx_arena_printf(arena, "%s/settings.yaml", paths->config);
    const char *policy = sbx_arena_printf(arena, "%s/policy.yaml", paths->config);
    enum sbx_code rc;

    if (!settings || !policy)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_settings_load(settings, arena, diags, &ret->settings, err);
    if (!rc)
        rc = sbx_policy_file_load(policy, arena, diags, &ret->file, err);
    if (rc)
        return rc;
    ret->policy.preset = ret->file.preset;
    rc = take_rules(arena, ret, err);
    if (!rc)
        rc = take_approvals(arena, ret, err);
    return rc ? rc : take_hosts(arena, ret, err);
}

enum sbx_code sbx_user_files_read(struct sbx_cli *cli, const struct sbx_paths *paths,
                                  struct sbx_user_files *ret, struct sbx_err *err)
{
    return load(paths, cli->arena, &cli->diags, ret, err);
}

/* Of what was found by something that failed the rest is told too. */
static enum sbx_code told_if_failed(struct sbx_cli *cli, const struct sbx_diags *found,
                                    enum sbx_code rc)
{
    if (rc)
        sbx_diags_append(&cli->diags, found);
    return rc;
}

enum sbx_code sbx_user_files_again(struct sbx_cli *cli, const struct sbx_paths *paths,
                                   struct sbx_user_files *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_diags) found = { 0 };

    if (sbx_diags_init(&found))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return told_if_failed(cli, &found, load(paths, cli->arena, &found, ret, err));
}

enum sbx_code sbx_user_policy_now(const struct sbx_paths *paths, struct sbx_arena *arena,
                                  struct sbx_user_policy *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_diags) seen = { 0 }; /* they were shown when the command began */
    struct sbx_user_files files = { .policy = { .preset = NULL } };
    enum sbx_code rc;

    if (sbx_diags_init(&seen))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = load(paths, arena, &seen, &files, err);
    if (!rc)
        *ret = files.policy;
    return rc;
}

enum sbx_code sbx_user_policy_edit(struct sbx_cli *cli, const struct sbx_paths *paths,
                                   sbx_policy_edit_fn *edit, void *data, struct sbx_err *err)
{
    const char *path = sbx_arena_printf(cli->arena, "%s/policy.yaml", paths->config);
    SBX_AUTO(sbx_diags) found = { 0 };

    if (!path || sbx_diags_init(&found))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return told_if_failed(cli, &found, sbx_policy_file_edit(path, edit, data, &found, err));
}

static enum sbx_code set_preset(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                                struct sbx_err *err)
{
    const char *preset = data;

    (void)arena;
    (void)err;
    f->initialized = preset != NULL;
    if (!preset)
        f->n_approvals = 0;
    f->preset = preset ? preset : "balanced";
    return SBX_OK;
}

enum sbx_code sbx_user_preset_write(struct sbx_cli *cli, const struct sbx_paths *paths,
                                    const char *preset, struct sbx_err *err)
{
    return sbx_user_policy_edit(cli, paths, set_preset, (void *)(uintptr_t)preset, err);
}

static enum sbx_code drop_rules(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                                struct sbx_err *err)
{
    const char *sandbox = data;
    size_t kept = 0;

    (void)arena;
    (void)err;
    for (size_t i = 0; i < f->n_rules; i++)
        if (!f->rules[i].sandbox || strcmp(f->rules[i].sandbox, sandbox) != 0)
            f->rules[kept++] = f->rules[i];
    f->n_rules = kept;
    return SBX_OK;
}

enum sbx_code sbx_user_rules_cut(struct sbx_cli *cli, const struct sbx_paths *paths,
                                 const char *sandbox, struct sbx_err *err)
{
    return sbx_user_policy_edit(cli, paths, drop_rules, (void *)(uintptr_t)sandbox, err);
}

enum sbx_code sbx_user_rules_drop(struct sbx_cli *cli, const struct sbx_session *s,
                                  const char *sandbox, struct sbx_err *err)
{
    for (size_t i = 0; i < s->files.file.n_rules; i++)
        if (s->files.file.rules[i].sandbox && !strcmp(s->files.file.rules[i].sandbox, sandbox))
            return sbx_user_rules_cut(cli, sbx_engine_paths(s->engine), sandbox, err);
    return SBX_OK;
}
