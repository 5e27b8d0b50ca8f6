/* Migration: read, write anew, load the result and compare, and only then replace. */
#include "migrate.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "load.h"
#include "sbx/file.h"

void sbx_migration_release(struct sbx_migration *m)
{
    free(m->file);
    free(m->backup);
    sbx_buf_release(&m->old);
    sbx_buf_release(&m->spec);
    sbx_buf_release(&m->bindings);
    sbx_artifact_free(m->kit);
    *m = (struct sbx_migration){ .needed = false };
}

static enum sbx_code read_kit(const char *dir, struct sbx_diags *diags, struct sbx_migration *m,
                              struct sbx_err *err)
{
    static const struct sbx_kit_options plain = { .digest = false };
    SBX_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    enum sbx_code rc;

    if (fd < 0)
        return sbx_err_errno(err, "kit %s", dir);
    rc = sbx_kit_read_spec(fd, dir, &m->old, &m->file, err);
    if (rc)
        return rc;
    if (stat(m->file, &st))
        return sbx_err_errno(err, "%s", m->file);
    m->mode = st.st_mode & 0777;
    if (asprintf(&m->backup, "%s.bak", m->file) < 0) {
        m->backup = NULL;
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    }
    return sbx_kit_decode(m->file, m->old.ptr ? m->old.ptr : "", m->old.len, &plain, diags, &m->kit,
                          err);
}

/* Without what a kit of version 1 and the same of version 2 cannot have in common (sbx/kit.h). */
static json_t *comparable(const struct sbx_artifact *a)
{
    json_t *o = sbx_artifact_json(a), *manifest = json_object_get(o, "manifest");

    json_object_del(o, "warnings");
    json_object_del(o, "files");
    json_object_del(manifest, "schemaVersion");
    json_object_del(manifest, "interactiveOptions");
    if (a->kind && !strcmp(a->kind, "mixin")) {
        json_object_del(o, "extends");
        json_object_del(o, "requires");
    }
    return o;
}

static bool says_the_same(const struct sbx_artifact *a, const struct sbx_artifact *b)
{
    json_t *x = comparable(a), *y = comparable(b);
    const char *p = sbx_artifact_agent(a), *q = sbx_artifact_agent(b);
    bool same = x && y && json_equal(x, y) && (p && q ? !strcmp(p, q) : p == q);

    json_decref(x);
    json_decref(y);
    return same;
}

/* Where the old spec said what the new one may not say. */
static struct sbx_pos old_place(const struct sbx_diags *diags, const struct sbx_diag *d,
                                const char *file)
{
    for (size_t i = 0; i < diags->len; i++)
        if (!strcmp(diags->v[i].code, d->code) && !strcmp(diags->v[i].path, d->path))
            return diags->v[i].pos;
    return (struct sbx_pos){ .file = file };
}

static enum sbx_code report_invalid(const struct sbx_diags *found, struct sbx_diags *diags,
                                    const struct sbx_migration *m, struct sbx_err *err)
{
    for (size_t i = 0; i < found->len; i++) {
        const struct sbx_diag *d = &found->v[i];

        if (d->severity == SBX_ERROR)
            sbx_diags_add(diags, SBX_ERROR, d->code, old_place(diags, d, m->file), d->path, d->hint,
                          "version 2 refuses it: %s", d->message);
    }
    sbx_diags_sort(diags);
    return sbx_err_set(err, SBX_SCHEMA,
                       "%s: not migrated: the result would not be a valid kit; change it first", m->file);
}

/* Version 1 lets a mixin say what never had an effect; version 2 has no place for it. */
static bool has_sandbox_part(const struct sbx_artifact *a, struct sbx_diags *diags)
{
    static const char hint[] = "remove it: it has no effect in a mixin";
    bool mixin = !strcmp(a->kind, "mixin");

    if (mixin && a->resources.set)
        sbx_diags_add(diags, SBX_ERROR, "wrong-kind", a->resources.at.pos, "resources", hint,
                      "version 2 refuses it: is only for kind sandbox");
    if (mixin && a->build.set)
        sbx_diags_add(diags, SBX_ERROR, "wrong-kind", a->build.at.pos, "build", hint,
                      "version 2 refuses it: is only for kind sandbox");
    return mixin && (a->resources.set || a->build.set);
}

static enum sbx_code check_result(const struct sbx_migration *m, struct sbx_diags *diags,
                                  struct sbx_err *err)
{
    SBX_AUTO(sbx_diags) found = { 0 };
    SBX_AUTO_PTR(sbx_artifact) b = NULL;
    enum sbx_code rc;

    if (sbx_diags_init(&found))
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    if (has_sandbox_part(m->kit, diags))
        return report_invalid(&found, diags, m, err);
    rc = sbx_kit_load_bytes(m->file, m->spec.ptr, m->spec.len, &found, &b, err);
    if (rc && found.errors)
        return report_invalid(&found, diags, m, err);
    if (!rc && !says_the_same(m->kit, b))
        return sbx_err_set(err, SBX_SCHEMA,
                           "%s: not migrated: the result would be another kit (please report it)",
                           m->file);
    return rc;
}

enum sbx_code sbx_migration_plan(const char *dir, struct sbx_diags *diags, struct sbx_migration *ret,
                                 struct sbx_err *err)
{
    struct sbx_migration *m = ret;
    enum sbx_code rc;

    *m = (struct sbx_migration){ .old = SBX_BUF_INIT(SBX_SPEC_MAX),
                                 .spec = SBX_BUF_INIT(SBX_MIGRATED_MAX),
                                 .bindings = SBX_BUF_INIT(SBX_MIGRATED_MAX) };
    rc = read_kit(dir, diags, m, err);
    if (rc)
        return rc;
    m->needed = m->kit->v1 != NULL;
    if (!m->needed)
        return SBX_OK;
    rc = sbx_artifact_yaml(m->kit, &m->spec, err);
    if (!rc)
        rc = check_result(m, diags, err);
    if (rc)
        return rc;
    rc = sbx_migrate_losses(m->kit, diags, &m->bindings);
    sbx_diags_sort(diags);
    return rc ? sbx_err_set(err, rc, "%s: losses: %s", m->file, sbx_code_name(rc)) : SBX_OK;
}

static enum sbx_code keep_old(const struct sbx_migration *m, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = open(m->backup, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 && errno == EEXIST)
        return sbx_err_set(err, SBX_CONFLICT, "%s exists: refusing to clobber an existing backup",
                           m->backup);
    if (fd < 0)
        return sbx_err_errno(err, "%s", m->backup);
    if (sbx_write_all(fd, m->old.ptr, m->old.len) || fsync(fd)) {
        sbx_err_errno(err, "%s", m->backup);
        unlink(m->backup);
        return err ? err->code : SBX_IO;
    }
    return SBX_OK;
}

enum sbx_code sbx_migration_write(const struct sbx_migration *m, struct sbx_err *err)
{
    enum sbx_code rc;

    if (!m->needed)
        return SBX_OK;
    rc = keep_old(m, err);
    if (rc)
        return rc;
    rc = sbx_file_write(AT_FDCWD, m->file, m->spec.ptr, m->spec.len, m->mode, err);
    if (rc)
        unlink(m->backup); /* nothing was changed */
    return rc;
}
