#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "oci.h"
#include "sbx/boot.h"
#include "sbx/digest.h"
#include "sbx/file.h"

#define CACHE_FILE "oci-probe.json"
#define TEXT_MAX 8192 /* bytes of a runtime's output that are kept */

static const char *const candidates[] = { "runc", "crun" };

/* What a remembered answer is about: another binary, boot or place asks again. */
static enum sbx_code identity(const char *path, char *to, size_t size, struct sbx_err *err)
{
    char boot[SBX_BOOT_ID_SIZE];
    struct stat st;

    if (stat(path, &st) || !S_ISREG(st.st_mode) || access(path, X_OK)) {
        if (!errno)
            errno = EACCES;
        return sbx_err_errno(err, "%s", path);
    }
    sbx_boot_id(boot);
    snprintf(to, size, "%.300s %lld %lld.%09ld %s", path, (long long)st.st_size,
             (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, boot);
    return SBX_OK;
}

static bool on_path(const char *name, char *to, size_t size)
{
    const char *path = getenv("PATH");
    /* root's tools are often not on the PATH of a user who came by sudo */
    SBX_AUTO_FREE char *copy = NULL;
    char *rest, *dir;

    if (asprintf(&copy, "%s:/usr/local/sbin:/usr/sbin:/sbin", path ? path : "") < 0) {
        copy = NULL;
        return false;
    }
    rest = copy;
    while ((dir = strsep(&rest, ":")))
        if (*dir == '/' && snprintf(to, size, "%s/%s", dir, name) < (int)size &&
            access(to, X_OK) == 0)
            return true;
    return false;
}

/* First line of `--version`: "runc version 1.1.5+ds1" -> "runc 1.1.5+ds1". */
static enum sbx_code version(const char *path, char *to, size_t size, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(TEXT_MAX);
    const char *argv[] = { path, "--version", NULL };
    struct program p = { .argv = argv, .in = -1, .out = -1, .err_fd = -1 };
    char name[64], number[64];
    int status;
    enum sbx_code rc = oci_run(&p, &out, &status, err);

    if (rc)
        return rc;
    if (status || !out.ptr || sscanf(out.ptr, "%63s version %63s", name, number) != 2)
        return sbx_err_set(err, SBX_UNSUPPORTED, "%s is no OCI runtime: --version says \"%.100s\"",
                           path, out.ptr ? out.ptr : "");
    snprintf(to, size, "%s %s", name, number);
    return SBX_OK;
}

/* The host's own programs, read-only, are the smallest root file system that is always there. */
static json_t *trial_bundle(const char *id)
{
    static const char *const dirs[] = { "/bin", "/lib", "/lib64", "/usr", "/nix", "/gnu" };
    json_t *mounts = json_pack("[{s:s, s:s, s:s}]", "destination", "/proc", "type", "proc",
                               "source", "proc");

    for (size_t i = 0; i < SBX_ARRAY_LEN(dirs); i++)
        if (access(dirs[i], F_OK) == 0)
            json_array_append_new(mounts, json_pack("{s:s, s:s, s:s, s:[s, s]}", "destination",
                                                    dirs[i], "type", "bind", "source", dirs[i],
                                                    "options", "bind", "ro"));
    return json_pack("{s:s, s:{s:{s:i, s:i}, s:[s], s:[s], s:s}, s:{s:s}, s:o, s:{s:s, s:{s:[{s:b, "
                     "s:s}], s:{s:i}}, s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}, {s:s}]}}",
                     "ociVersion", "1.0.2", "process", "user", "uid", 0, "gid", 0, "args",
                     "/bin/true", "env", "PATH=/usr/bin:/bin", "cwd", "/", "root", "path", "rootfs",
                     "mounts", mounts, "linux", "cgroupsPath", id, "resources", "devices", "allow",
                     0, "access", "rwm", "pids", "limit", 16, "namespaces", "type", "pid", "type",
                     "ipc", "type", "uts", "type", "mount", "type", "network", "type", "cgroup");
}

static enum sbx_code trial_run(const char *path, const char *dir, const char *id,
                               struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(TEXT_MAX);
    SBX_AUTO(sbx_buf) log = SBX_BUF_INIT(TEXT_MAX);
    const char *argv[] = { path,           "--root", "runc", "--log", "log",
                           "--log-format", "json",   "run",  id,      NULL };
    struct program p = { .argv = argv, .in = -1, .out = -1, .err_fd = -1, .cwd = dir };
    char file[4096];
    int status;
    enum sbx_code rc = oci_run(&p, &out, &status, err);

    if (rc || !status)
        return rc;
    snprintf(file, sizeof(file), "%.4000s/log", dir);
    oci_log_message(file, &log);
    for (char *c = out.ptr; c && *c; c++)
        if (*c == '\n')
            *c = c[1] ? ' ' : '\0';
    return sbx_err_set(err, SBX_UNSUPPORTED, "a trial container failed: %.600s",
                       log.len   ? log.ptr
                       : out.len ? out.ptr
                                 : "no reason given");
}

/* One directory and one id a state directory, so that what a killed trial left is found again. */
static enum sbx_code make_trial_dir(const char *dir, const char *id, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *bundle = NULL;
    SBX_AUTO_FREE char *text = NULL;
    char file[4200], cgroup[128];
    enum sbx_code rc;

    oci_cgroup_kill(id);
    rc = oci_cgroup_remove(id, err);
    if (!rc)
        rc = sbx_dir_remove(AT_FDCWD, dir, err);
    snprintf(file, sizeof(file), "%s/rootfs", dir);
    if (!rc)
        rc = sbx_dir_make(file, 0700, err);
    snprintf(cgroup, sizeof(cgroup), "/sbx/%s", id);
    bundle = trial_bundle(cgroup);
    text = bundle ? json_dumps(bundle, JSON_COMPACT) : NULL;
    if (!rc && !text)
        rc = oci_no_memory(err);
    snprintf(file, sizeof(file), "%s/config.json", dir);
    return rc ? rc : sbx_file_write(AT_FDCWD, file, text, strlen(text), 0600, err);
}

/* Really run one: a runtime that is installed may still not work with this kernel's cgroups. */
static enum sbx_code trial(const char *state, const char *path, struct sbx_err *err)
{
    char dir[4096], id[96], digest[SBX_DIGEST_TEXT_SIZE];
    struct sbx_err ignored = SBX_ERR_INIT;
    enum sbx_code rc = sbx_digest(state, strlen(state), digest);

    if (rc)
        return oci_no_memory(err);
    if (snprintf(dir, sizeof(dir), "%s/oci-probe", state) >= (int)sizeof(dir))
        return sbx_err_set(err, SBX_LIMIT, "path of the state directory is too long");
    snprintf(id, sizeof(id), "probe-%.16s", digest + strlen("sha256:"));
    rc = make_trial_dir(dir, id, err);
    if (!rc)
        rc = trial_run(path, dir, id, err);
    oci_cgroup_kill(id);
    if (oci_cgroup_remove(id, &ignored) || sbx_dir_remove(AT_FDCWD, dir, &ignored))
        return rc; /* the next trial begins with that */
    return rc;
}

static enum sbx_code lock_trial(const char *state, int *ret, struct sbx_err *err)
{
    char path[4096];
    SBX_AUTO_FD int fd = -1;

    snprintf(path, sizeof(path), "%.4000s/oci-probe.lock", state);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX))
        return sbx_err_errno(err, "lock %s", path);
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

static bool remembered(const char *state, const char *identity_text, char *to, size_t size)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(TEXT_MAX);
    SBX_AUTO_JSON json_t *root = NULL;
    const char *of, *says;
    char path[4096];

    snprintf(path, sizeof(path), "%.4000s/" CACHE_FILE, state);
    if (sbx_file_read(AT_FDCWD, path, &text, NULL) || !text.ptr)
        return false;
    root = json_loadb(text.ptr, text.len, 0, NULL);
    of = json_string_value(json_object_get(root, "of"));
    says = json_string_value(json_object_get(root, "version"));
    if (!of || !says || strcmp(of, identity_text) != 0)
        return false;
    snprintf(to, size, "%s", says);
    return true;
}

static void remember(const char *state, const char *identity_text, const char *says)
{
    SBX_AUTO_JSON json_t *root = json_pack("{s:s, s:s}", "of", identity_text, "version", says);
    SBX_AUTO_FREE char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    char path[4096];

    snprintf(path, sizeof(path), "%.4000s/" CACHE_FILE, state);
    if (text && sbx_file_write(AT_FDCWD, path, text, strlen(text), 0600, NULL))
        return; /* asked again next time: only slower */
}

/* Only a good answer is kept: whoever mends a bad one wants it seen at once. */
static enum sbx_code try(const char *state, const char *path, char *says, size_t size,
                         struct sbx_err *err)
{
    SBX_AUTO_FD int lock = -1;
    char of[512];
    enum sbx_code rc = identity(path, of, sizeof(of), err);

    if (rc || remembered(state, of, says, size))
        return rc;
    rc = lock_trial(state, &lock, err);
    if (rc || remembered(state, of, says, size))
        return rc;
    rc = version(path, says, size, err);
    if (!rc) {
        rc = trial(state, path, err);
        if (rc)
            return sbx_err_wrap(err, rc, "%s", says);
        remember(state, of, says);
    }
    return rc;
}

static enum sbx_code give(const char *path, const char *says, char **ret_program,
                          char **ret_version, struct sbx_err *err)
{
    *ret_program = strdup(path);
    *ret_version = strdup(says);
    return *ret_program && *ret_version ? SBX_OK : oci_no_memory(err);
}

enum sbx_code oci_probe(const struct sbx_runtime_config *config, char **ret_program,
                        char **ret_version, struct sbx_err *err)
{
    char path[4096], says[160], reasons[700] = "";
    struct sbx_err why = SBX_ERR_INIT;
    size_t used = 0;
    const char *given = config->oci_runtime;

    if (given && *given) {
        enum sbx_code rc;

        if (strchr(given, '/'))
            snprintf(path, sizeof(path), "%s", given);
        else if (!on_path(given, path, sizeof(path)))
            return sbx_err_set(err, SBX_UNAVAILABLE, "no program %.200s on PATH", given);
        rc = try(config->state_dir, path, says, sizeof(says), err);
        return rc ? rc : give(path, says, ret_program, ret_version, err);
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(candidates); i++) {
        if (!on_path(candidates[i], path, sizeof(path)))
            continue;
        if (!try(config->state_dir, path, says, sizeof(says), &why))
            return give(path, says, ret_program, ret_version, err);
        used += (size_t)snprintf(reasons + used, sizeof(reasons) - used, "%s%.300s",
                                 used ? "; " : "", why.text);
        if (used >= sizeof(reasons))
            break;
    }
    if (!used)
        return sbx_err_set(err, SBX_UNAVAILABLE,
                           "neither runc nor crun is on PATH: install the "
                           "package runc");
    return sbx_err_set(err, SBX_UNAVAILABLE, "no OCI runtime works here: %s", reasons);
}
