/* plan.json, and blobs/ with the contents of the files that it names by digest. */
#include "box.h"

#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Not synced one by one: a blob is checked against its digest whenever it is read. */
static enum sbx_code write_blob(struct sbx_box *box, int dir, const struct sbx_plan_file *f,
                                struct sbx_err *err)
{
    const char *hex = f->digest + strlen("sha256:");
    SBX_AUTO(sbx_buf) content = SBX_BUF_INIT(SBX_KIT_FILE_MAX);
    char digest[SBX_DIGEST_TEXT_SIZE], path[128];
    struct stat st;
    enum sbx_code rc;

    if (!f->size || !fstatat(dir, hex, &st, AT_SYMLINK_NOFOLLOW))
        return SBX_OK;
    rc = sbx_plan_file_read(f, &content, err);
    if (!rc)
        rc = sbx_digest(content.ptr, content.len, digest);
    if (!rc && strcmp(digest, f->digest))
        rc = sbx_err_set(err, SBX_CONFLICT, "%s changed while it was read", f->path);
    snprintf(path, sizeof(path), "blobs/%s", hex);
    return rc ? rc : sbx_put(box, path, content.ptr, content.len, 0600, err);
}

static enum sbx_code write_blobs(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO_FD int dir = -1;
    enum sbx_code rc = SBX_OK;

    if (mkdirat(box->dirfd, "blobs", 0700) && errno != EEXIST)
        return sbx_err_errno(err, "%s/blobs", box->dir);
    dir = openat(box->dirfd, "blobs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sbx_err_errno(err, "%s/blobs", box->dir);
    for (size_t i = 0; !rc && i < box->plan->n_steps; i++)
        for (size_t k = 0; !rc && k < box->plan->steps[i].n_files; k++)
            if (box->plan->steps[i].files[k].digest)
                rc = write_blob(box, dir, &box->plan->steps[i].files[k], err);
    return rc;
}

enum sbx_code sbx_planfile_write(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *o = sbx_plan_json(box->plan);
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);
    enum sbx_code rc;

    if (!o)
        return sbx_out_of_memory(err);
    rc = sbx_json_canonical(o, &text);
    if (rc)
        return sbx_err_set(err, rc, "plan.json: %s", sbx_code_name(rc));
    rc = write_blobs(box, err);
    if (!rc)
        rc = sbx_put(box, "plan.json", text.ptr, text.len, 0600, err);
    return rc ? sbx_err_wrap(err, rc, "plan of sandbox %s", box->name) : SBX_OK;
}

enum sbx_code sbx_planfile_read(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);
    SBX_AUTO_JSON json_t *o = NULL;
    const char *blobs = sbx_box_path(box, "blobs");
    enum sbx_code rc;

    if (!blobs)
        return sbx_out_of_memory(err);
    rc = sbx_file_read(box->dirfd, "plan.json", &text, err);
    if (!rc) {
        o = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
        sbx_plan_free(box->plan);
        box->plan = NULL;
        rc = sbx_plan_parse(o, blobs, &box->plan, err);
    }
    return rc ? sbx_err_wrap(err, rc, "plan.json") : SBX_OK;
}
