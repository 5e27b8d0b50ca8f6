#include "userfiles.h"

static const char *path_of(struct sbx_cli *cli, const struct sbx_paths *paths, const char *name)
{
    return sbx_arena_printf(cli->arena, "%s/%s", paths->config, name);
}

/* Rules for every sandbox; one for a single sandbox would be lost, so it is refused by name. */
static enum sbx_code take_rules(struct sbx_cli *cli, struct sbx_user_files *f, struct sbx_err *err)
{
    struct sbx_user_rule *v = sbx_arena_array(cli->arena, f->file.n_rules + 1, sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < f->file.n_rules; i++) {
        const struct sbx_policy_entry *e = &f->file.rules[i];

        if (e->sandbox)
            return sbx_err_set(
                err, SBX_UNSUPPORTED,
                "policy.yaml: rule %s is for sandbox \"%s\": rules of one sandbox are "
                "not built yet",
                e->id, e->sandbox);
        v[i] = (struct sbx_user_rule){ e->decision, e->resource, e->id };
    }
    f->policy.rules = v;
    f->policy.n_rules = f->file.n_rules;
    return SBX_OK;
}

static enum sbx_code take_hosts(struct sbx_cli *cli, struct sbx_user_files *f, struct sbx_err *err)
{
    struct sbx_host_entry *v = sbx_arena_array(cli->arena, f->settings.n_hosts + 1, sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < f->settings.n_hosts; i++)
        v[i] = (struct sbx_host_entry){ f->settings.hosts[i].name, f->settings.hosts[i].addresses };
    f->policy.hosts = v;
    f->policy.n_hosts = f->settings.n_hosts;
    f->policy.test_ranges = f->settings.public_test_ranges;
    return SBX_OK;
}

enum sbx_code sbx_user_files_read(struct sbx_cli *cli, const struct sbx_paths *paths,
                                  struct sbx_user_files *ret, struct sbx_err *err)
{
    const char *settings = path_of(cli, paths, "settings.yaml");
    const char *policy = path_of(cli, paths, "policy.yaml");
    enum sbx_code rc;

    if (!settings || !policy)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_settings_load(settings, cli->arena, &cli->diags, &ret->settings, err);
    if (!rc)
        rc = sbx_policy_file_load(policy, cli->arena, &cli->diags, &ret->file, err);
    if (rc)
        return rc;
    ret->policy.preset = ret->file.preset;
    rc = take_rules(cli, ret, err);
    return rc ? rc : take_hosts(cli, ret, err);
}

static enum sbx_code set_preset(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                                struct sbx_err *err)
{
    const char *preset = data;

    (void)arena;
    (void)err;
    f->initialized = preset != NULL;
    f->preset = preset ? preset : "balanced";
    return SBX_OK;
}

enum sbx_code sbx_user_preset_write(struct sbx_cli *cli, const struct sbx_paths *paths,
                                    const char *preset, struct sbx_err *err)
{
    const char *path = path_of(cli, paths, "policy.yaml");

    if (!path)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return sbx_policy_file_edit(path, set_preset, (void *)(uintptr_t)preset, &cli->diags, err);
}
