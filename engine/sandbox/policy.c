/* The gate's rules follow the user's files; its log stays readable. */
#include "box.h"

#include "sbx/file.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static enum sbx_code refresh(struct sbx_engine *e, const char *name, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    enum sbx_code rc = sbx_box_lock(e, name, &box, err);

    if (!rc && box.dirfd < 0) {
        sbx_lock_drop(e, name);
        return sbx_err_set(err, SBX_NOT_FOUND, "sandbox %s not found", name);
    }
    if (rc || !box.has_record || box.record.phase == SBX_STATE_CREATING)
        return rc; /* a create that is going on has just read the same files */
    rc = sbx_planfile_read(&box, err);
    if (!rc)
        rc = sbx_gate_write_config(&box, err);
    if (!rc)
        rc = sbx_box_save(&box, err);
    if (!rc && box.record.net != SBX_NET_NONE && sbx_gate_alive(&box))
        rc = sbx_gate_ask(&box, json_pack("{s:s}", "op", "reload"), NULL, err);
    return rc ? sbx_err_wrap(err, rc, "policy of sandbox %s", name) : SBX_OK;
}

enum sbx_code sbx_sandbox_policy_refresh(struct sbx_engine *e, const char *name,
                                         struct sbx_err *err)
{
    char path[4096];
    DIR *dir;
    enum sbx_code rc = name ? sbx_name_check(name, err) : SBX_OK;

    if (name)
        return rc ? rc : refresh(e, name, err);
    snprintf(path, sizeof(path), "%s/sandboxes", e->paths.state);
    dir = opendir(path);
    for (struct dirent *d; dir && !rc && (d = readdir(dir));)
        if (!sbx_name_check(d->d_name, NULL)) {
            rc = refresh(e, d->d_name, err);
            if (rc == SBX_NOT_FOUND)
                rc = SBX_OK;
        }
    if (dir)
        closedir(dir);
    return rc;
}

enum sbx_code sbx_sandbox_gate_config(struct sbx_engine *e, const char *name, json_t **ret,
                                      struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = sbx_box_peek(e, name, &box, err);
    if (!rc)
        rc = sbx_file_read(box.dirfd, "gate/gate.json", &text, err);
    if (rc)
        return rc;
    *ret = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_SYNTAX, "gate.json of sandbox %s", name);
}

enum sbx_code sbx_sandbox_log_path(struct sbx_engine *e, const char *name, struct sbx_arena *arena,
                                   const char **ret, struct sbx_err *err)
{
    const char *paths[2];
    struct stat st;
    enum sbx_code rc = sbx_name_check(name, err);

    if (rc)
        return rc;
    paths[0] = sbx_arena_printf(arena, "%s/sandboxes/%s/log.jsonl", e->paths.state, name);
    paths[1] = sbx_arena_printf(arena, "%s/logs/%s.jsonl", e->paths.state, name);
    for (size_t i = 0; i < 2; i++)
        if (paths[i] && !stat(paths[i], &st)) {
            *ret = paths[i];
            return SBX_OK;
        }
    return sbx_err_set(err, SBX_NOT_FOUND, "no log of a sandbox %s: sandbox not found", name);
}
