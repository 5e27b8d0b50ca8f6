#include "sbx/seccomp.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sbx/file.h"
#include "sbx/json.h"

#define SWITCH "sbxUserns"

static enum sbx_code settle(json_t *profile, bool userns_allowed, struct sbx_err *err)
{
    json_t *rows = json_object_get(profile, "syscalls");

    if (!json_is_array(rows) || !json_is_string(json_object_get(profile, "defaultAction")))
        return sbx_err_set(err, SBX_SCHEMA, "not a seccomp profile: no syscalls or defaultAction");
    for (size_t i = json_array_size(rows); i-- > 0;) {
        json_t *row = json_array_get(rows, i), *when = json_object_get(row, SWITCH);

        if (when && json_is_true(when) != userns_allowed)
            json_array_remove(rows, i);
        else
            json_object_del(row, SWITCH);
    }
    return SBX_OK;
}

enum sbx_code sbx_seccomp_read(const char *path, bool userns_allowed, json_t **ret,
                               struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SECCOMP_MAX);
    SBX_AUTO_JSON json_t *profile = NULL;
    json_error_t at;
    enum sbx_code rc = sbx_file_read(AT_FDCWD, path, &text, err);

    if (rc)
        return sbx_err_wrap(err, rc, "seccomp profile %s", path);
    profile = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, &at);
    if (!profile)
        return sbx_err_set(err, SBX_SYNTAX, "seccomp profile %s:%d:%d: %s", path, at.line,
                           at.column, at.text);
    rc = settle(profile, userns_allowed, err);
    if (rc)
        return sbx_err_wrap(err, rc, "seccomp profile %s", path);
    *ret = SBX_TAKE(profile);
    return SBX_OK;
}

/* ---- conversion ---- */

/* uname's machine, the Engine's architecture names and libseccomp's. */
static const struct {
    const char *machine, *engine, *scmp;
} machines[] = {
    { "x86_64", "amd64", "SCMP_ARCH_X86_64" },     { "aarch64", "arm64", "SCMP_ARCH_AARCH64" },
    { "s390x", "s390x", "SCMP_ARCH_S390X" },       { "ppc64le", "ppc64le", "SCMP_ARCH_PPC64LE" },
    { "riscv64", "riscv64", "SCMP_ARCH_RISCV64" },
};

static size_t machine_of(const char *machine)
{
    size_t i = 0;

    while (i < SBX_ARRAY_LEN(machines) && strcmp(machines[i].machine, machine) != 0)
        i++;
    return i;
}

static bool in_list(const json_t *list, const char *text)
{
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)list, i, item)
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0)
            return true;
    return false;
}

static bool any_cap(const json_t *list, const char *const *caps)
{
    for (; caps && *caps; caps++)
        if (in_list(list, *caps))
            return true;
    return false;
}

static bool all_caps(const json_t *list, const char *const *caps)
{
    size_t held = 0;

    for (; caps && *caps; caps++)
        held += in_list(list, *caps);
    return held == json_array_size(list);
}

static bool kernel_at_least(const char *text, const struct sbx_seccomp_host *host)
{
    int major = 0, minor = 0;

    return text && sscanf(text, "%d.%d", &major, &minor) == 2 &&
           (host->major > major || (host->major == major && host->minor >= minor));
}

static enum sbx_code only_known(const json_t *condition, struct sbx_err *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)condition, key, value)
        if (strcmp(key, "caps") != 0 && strcmp(key, "arches") != 0 && strcmp(key, "minKernel") != 0)
            return sbx_err_set(err, SBX_SCHEMA, "seccomp profile: unknown condition %s", key);
    return SBX_OK;
}

/* All of `includes` must hold, none of `excludes` may. */
static bool applies(const json_t *row, const struct sbx_seccomp_host *host)
{
    const json_t *in = json_object_get(row, "includes"), *ex = json_object_get(row, "excludes");
    const char *engine = machines[machine_of(host->machine)].engine;
    const json_t *v;

    if ((v = json_object_get(in, "caps")) && !all_caps(v, host->caps))
        return false;
    if ((v = json_object_get(in, "arches")) && !in_list(v, engine))
        return false;
    if ((v = json_object_get(in, "minKernel")) && !kernel_at_least(json_string_value(v), host))
        return false;
    if ((v = json_object_get(ex, "caps")) && any_cap(v, host->caps))
        return false;
    if ((v = json_object_get(ex, "arches")) && in_list(v, engine))
        return false;
    return !((v = json_object_get(ex, "minKernel")) && kernel_at_least(json_string_value(v), host));
}

/* The keys that both formats share. */
static json_t *convert_row(const json_t *row)
{
    static const char *const keys[] = { "names", "action", "errnoRet", "args" };
    json_t *out = json_object();

    for (size_t i = 0; out && i < SBX_ARRAY_LEN(keys); i++) {
        json_t *value = json_object_get(row, keys[i]);

        if (value && json_object_set(out, keys[i], value)) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *architectures(const json_t *profile, const char *scmp)
{
    json_t *out = json_array(), *entry, *sub;
    size_t i, j;

    json_array_append_new(out, json_string(scmp));
    json_array_foreach(json_object_get(profile, "archMap"), i, entry) {
        const char *name = json_string_value(json_object_get(entry, "architecture"));

        if (!name || strcmp(name, scmp) != 0)
            continue;
        json_array_foreach(json_object_get(entry, "subArchitectures"), j, sub)
            json_array_append(out, sub);
    }
    return out;
}

enum sbx_code sbx_seccomp_oci(const json_t *profile, const struct sbx_seccomp_host *host,
                              json_t **ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *out = NULL;
    json_t *rows = json_array(), *row;
    size_t machine = machine_of(host->machine), i;

    if (machine == SBX_ARRAY_LEN(machines)) {
        json_decref(rows);
        return sbx_err_set(err, SBX_UNSUPPORTED, "seccomp: unknown machine %s", host->machine);
    }
    out = json_pack("{s:O, s:o*, s:o}", "defaultAction", json_object_get(profile, "defaultAction"),
                    "architectures", architectures(profile, machines[machine].scmp), "syscalls",
                    rows);
    if (!out)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (json_object_get(profile, "defaultErrnoRet"))
        json_object_set(out, "defaultErrnoRet", json_object_get(profile, "defaultErrnoRet"));
    json_array_foreach(json_object_get(profile, "syscalls"), i, row) {
        enum sbx_code rc = only_known(json_object_get(row, "includes"), err);

        if (!rc)
            rc = only_known(json_object_get(row, "excludes"), err);
        if (rc)
            return rc;
        if (applies(row, host) && json_array_append_new(rows, convert_row(row)))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    *ret = SBX_TAKE(out);
    return SBX_OK;
}
