/* Kits that are part of the program. */
#include <string.h>

#include "args.h"
#include "load.h"

static enum sbx_code bad_file(const struct sbx_embedded_kit *kit, const char *path,
                              struct sbx_err *err)
{
    return sbx_err_set(err, SBX_SCHEMA, "built-in kit %s: %s: only files/home and files/workspace",
                       kit->name, path);
}

static enum sbx_code add_file(const struct sbx_embedded_kit *kit,
                              const struct sbx_embedded_file *from, struct sbx_artifact *a,
                              struct sbx_err *err)
{
    static const char home[] = "files/home/", workspace[] = "files/workspace/";
    struct sbx_static_file *f = &a->files.v[a->files.len];
    bool at_home = !strncmp(from->path, home, sizeof(home) - 1);
    size_t skip = at_home ? sizeof(home) - 1 : sizeof(workspace) - 1;

    if (!at_home && strncmp(from->path, workspace, skip))
        return bad_file(kit, from->path, err);
    *f = (struct sbx_static_file){
        .at = { a->name, { .file = from->path } },
        .target = at_home ? SBX_TARGET_HOME : SBX_TARGET_WORKSPACE,
        .path = from->path + skip,
        .mode = from->mode & 0111 ? 0755 : 0644,
        .size = from->len,
        .data = from->data,
        .borrowed = true,
    };
    a->files.len++;
    return SBX_OK;
}

static enum sbx_code add_files(const struct sbx_embedded_kit *kit, struct sbx_artifact *a,
                               struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    a->files.v = sbx_arena_array(a->arena, kit->n_files, sizeof(*a->files.v));
    if (!a->files.v)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    for (size_t i = 1; i < kit->n_files && !rc; i++)
        rc = add_file(kit, &kit->files[i], a, err);
    a->files.set = a->files.len > 0;
    sbx_kit_sort_files(a);
    return rc;
}

enum sbx_code sbx_kit_load_embedded_with(const struct sbx_embedded_kit *kit,
                                         const struct sbx_kit_options *options,
                                         struct sbx_diags *diags, struct sbx_artifact **ret,
                                         struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    const char *spec = (const char *)kit->files[0].data;
    size_t before = diags->errors;
    char name[120];
    enum sbx_code rc;

    snprintf(name, sizeof(name), "%s/%s/%s", kit->agent ? "kits/agents" : "kits/mixins", kit->name,
             kit->files[0].path);
    rc = sbx_kit_decode(name, spec, kit->files[0].len, options, diags, &a, err);
    if (rc)
        return sbx_err_wrap(err, rc, "built-in kit");
    a->embedded = true;
    rc = add_files(kit, a, err);
    if (!rc)
        rc = sbx_kit_set_digest(a, spec, kit->files[0].len, err);
    if (!rc)
        rc = sbx_args_files(a, NULL, diags, err);
    if (rc == SBX_SCHEMA && diags->errors > before)
        return sbx_kit_sum_up(name, diags, before, rc, err);
    if (!rc)
        *ret = SBX_TAKE(a);
    return rc;
}

enum sbx_code sbx_kit_load_embedded(const struct sbx_embedded_kit *kit, struct sbx_diags *diags,
                                    struct sbx_artifact **ret, struct sbx_err *err)
{
    static const struct sbx_kit_options as_written;

    return sbx_kit_load_embedded_with(kit, &as_written, diags, ret, err);
}
