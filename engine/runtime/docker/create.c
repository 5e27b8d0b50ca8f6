#include "docker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../names.h"
#include "sbx/file.h"
#include "sbx/json.h"
#include "sbx/seccomp.h"

/* Capabilities that the Engine gives by default and we do not (decision N21). */
static const char *const dropped[] = { "NET_RAW", "MKNOD", "AUDIT_WRITE" };

static bool has(const char *const *list, const char *text)
{
    for (; list && *list; list++)
        if (strcmp(*list, text) == 0)
            return true;
    return false;
}

static json_t *caps_to_drop(const struct sbx_container_spec *s)
{
    json_t *out = sbx_json_strings(s->cap_drop);

    for (size_t i = 0; out && i < SBX_ARRAY_LEN(dropped); i++)
        if (!has(s->cap_add, dropped[i]) && !has(s->cap_drop, dropped[i]))
            json_array_append_new(out, json_string(dropped[i]));
    return out;
}

static json_t *mount_json(const struct docker *d, const struct sbx_mount *m)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const char *volume;

    if (m->kind == SBX_MOUNT_BIND)
        return json_pack("{s:s, s:s, s:s, s:b, s:{s:s}}", "Type", "bind", "Source", m->source,
                         "Target", m->target, "ReadOnly", m->read_only, "BindOptions",
                         "Propagation", "rprivate");
    volume = arena ? sbx_name_full(arena, d->app, m->source) : NULL;
    return volume ? json_pack("{s:s, s:s, s:s, s:b}", "Type", "volume", "Source", volume, "Target",
                              m->target, "ReadOnly", m->read_only)
                  : NULL;
}

/* The Tmpfs map, not Mounts: only it takes an owner and noexec. Podman takes no owner: everyone may
 * write there, who inside is root by sudo anyway. */
static json_t *tmpfs_options(const struct docker *d, const struct sbx_mount *m)
{
    unsigned mode = m->mode ? m->mode : 01777;
    char size[48] = "", owner[64] = "";

    if (m->size)
        snprintf(size, sizeof(size), ",size=%lld", (long long)m->size);
    if (m->uid && !d->podman)
        snprintf(owner, sizeof(owner), ",uid=%d,gid=%d", m->uid, m->uid);
    else if (m->uid)
        mode = 01777;
    return json_sprintf("%s,nosuid,nodev,%s,mode=%o%s%s", m->read_only ? "ro" : "rw",
                        m->noexec ? "noexec" : "exec", mode, size, owner);
}

static int add_mounts(const struct docker *d, const struct sbx_container_spec *s, json_t *host)
{
    json_t *mounts = json_array(), *tmpfs = json_object();
    int bad = 0;

    for (size_t i = 0; i < s->n_mounts; i++) {
        const struct sbx_mount *m = &s->mounts[i];

        if (m->kind == SBX_MOUNT_TMPFS)
            bad |= json_object_set_new(tmpfs, m->target, tmpfs_options(d, m));
        else
            bad |= json_array_append_new(mounts, mount_json(d, m));
    }
    bad |= json_object_set_new(host, "Mounts", mounts);
    return bad | json_object_set_new(host, "Tmpfs", tmpfs);
}

/* "all", a count, or "device=ID,ID". */
static json_t *gpu_request(const char *gpus)
{
    json_t *request = json_pack("{s:s, s:[[s]]}", "Driver", "", "Capabilities", "gpu");
    int count = -1;

    if (strncmp(gpus, "device=", 7) == 0) {
        json_t *ids = json_array();
        char *copy = strdup(gpus + 7), *state = NULL;

        for (char *id = copy ? strtok_r(copy, ",", &state) : NULL; id;
             id = strtok_r(NULL, ",", &state))
            json_array_append_new(ids, json_string(id));
        free(copy);
        json_object_set_new(request, "DeviceIDs", ids);
        return request;
    }
    if (strcmp(gpus, "all") != 0)
        count = atoi(gpus);
    json_object_set_new(request, "Count", json_integer(count));
    return request;
}

static json_t *security(const char *seccomp)
{
    json_t *list = json_array();

    if (seccomp)
        json_array_append_new(list, json_sprintf("seccomp=%s", seccomp));
    return list;
}

static json_t *host_config(const struct docker *d, const struct sbx_container_spec *s,
                           const char *seccomp)
{
    json_t *h = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:s, s:s, s:I, s:I, s:I, s:{s:s}, s:{s:s}}",
        "NetworkMode",
        s->netns == SBX_NETNS_CONTAINER ? json_sprintf("container:%s", s->netns_ref)
                                        : json_string("none"),
        "CapAdd", sbx_json_strings(s->cap_add), "CapDrop", caps_to_drop(s), "SecurityOpt",
        security(seccomp), "Sysctls", docker_pairs_json(s->sysctls), "Init", 0, "Privileged",
        s->privileged, "ReadonlyRootfs", s->read_only_root, "IpcMode", "private", "CgroupnsMode",
        "private", "NanoCpus", (json_int_t)(s->cpus * 1e9 + 0.5), "Memory", (json_int_t)s->memory,
        "PidsLimit", (json_int_t)(s->pids ? s->pids : SBX_PIDS_DEFAULT), "RestartPolicy", "Name",
        "no", "LogConfig", "Type", "none");
    int bad = !h;

    if (h) {
        bad |= add_mounts(d, s, h);
        if (s->gpus)
            bad |= json_object_set_new(h, "DeviceRequests", json_pack("[o]", gpu_request(s->gpus)));
        if (d->runtime)
            bad |= json_object_set_new(h, "Runtime", json_string(d->runtime));
    }
    if (!bad)
        return h;
    json_decref(h);
    return NULL;
}

static json_t *labels(const struct docker *d, const struct sbx_container_spec *s)
{
    json_t *l = docker_pairs_json(s->labels);

    if (l) {
        json_object_set_new(l, SBX_LABEL_APP, json_string(sbx_name_app(d->app)));
        json_object_set_new(l, SBX_LABEL_SANDBOX, json_string(s->name));
    }
    return l;
}

json_t *docker_create_body(const struct docker *d, const struct sbx_container_spec *s,
                           const char *seccomp)
{
    json_t *body = json_pack("{s:s, s:o, s:[], s:o, s:s, s:s, s:s, s:o, s:b, s:{s:[s]}, s:o}",
                             "Image", s->image, "Entrypoint", sbx_json_strings(s->argv), "Cmd",
                             "Env", sbx_json_strings(s->env), "WorkingDir",
                             s->workdir ? s->workdir : "", "User", "0:0", "StopSignal", "SIGTERM",
                             "Labels", labels(d, s), "Tty", 0, "Healthcheck", "Test", "NONE",
                             "HostConfig", host_config(d, s, seccomp));

    /* in a joined namespace the Engine takes the host name of the container that was joined */
    if (body && s->hostname && s->netns != SBX_NETNS_CONTAINER)
        json_object_set_new(body, "Hostname", json_string(s->hostname));
    return body;
}

/* A volume that the Engine would make by itself carries no label and outlives a failure. */
static enum sbx_code check_volumes(struct docker *d, const struct sbx_container_spec *s,
                                   struct sbx_err *err)
{
    for (size_t i = 0; i < s->n_mounts; i++) {
        SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
        const char *name;
        enum sbx_code rc;

        if (s->mounts[i].kind != SBX_MOUNT_VOLUME)
            continue;
        name = docker_container(d, &c, s->mounts[i].source);
        if (!name)
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
        rc = docker_do(d, &c, err, "GET", NULL, "/volumes/%s", name);
        if (rc)
            return rc;
    }
    return SBX_OK;
}

/* The profile as compact JSON; NULL when the Engine's own is to be used. */
static enum sbx_code profile(const struct docker *d, bool userns_allowed, char **ret,
                             struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *parsed = NULL;
    enum sbx_code rc;

    if (!d->seccomp)
        return SBX_OK;
    rc = sbx_seccomp_read(d->seccomp, userns_allowed, &parsed, err);
    if (rc)
        return rc;
    *ret = json_dumps(parsed, JSON_COMPACT);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* Podman takes the path of a profile where the Engine takes its text: a file for this call. */
static enum sbx_code as_file(char **text, char file[], struct sbx_err *err)
{
    SBX_AUTO_FD int fd = mkostemp(file, O_CLOEXEC);
    char *path = NULL;

    if (fd < 0)
        return sbx_err_errno(err, "make %s", file);
    if (fchmod(fd, 0644) || sbx_write_all(fd, *text, strlen(*text)) || !(path = strdup(file))) {
        sbx_err_errno(err, "write %s", file);
        unlink(file);
        return SBX_IO;
    }
    free(*text);
    *text = path;
    return SBX_OK;
}

static enum sbx_code post(struct docker *d, const struct sbx_container_spec *spec,
                          const char *seccomp, char **ret_id, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO_JSON json_t *body = docker_create_body(d, spec, seccomp);
    const char *name = docker_container(d, &c, spec->name);
    enum sbx_code rc;
    char *id;

    if (!name || !body)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = docker_do(d, &c, err, "POST", body, "/containers/create?name=%s", name);
    /* the Engine says 409, Podman 500 with these words */
    if (rc == SBX_CONFLICT || (rc && c.body.len && strstr(c.body.ptr, "name is already in use")))
        return sbx_err_set(err, SBX_EXISTS, "the name is taken by another container (%s)", name);
    if (rc)
        return rc;
    id = strdup(sbx_json_text_of(c.json, "Id"));
    if (!id || !*id) {
        free(id);
        return sbx_err_set(err, SBX_FAILED, "the Engine gave no id");
    }
    *ret_id = id;
    return SBX_OK;
}

enum sbx_code docker_create(struct sbx_runtime *rt, const struct sbx_container_spec *spec,
                            char **ret_id, struct sbx_err *err)
{
    struct docker *d = (struct docker *)rt;
    char file[] = "/tmp/sbx-seccomp-XXXXXX";
    SBX_AUTO_FREE char *seccomp = NULL;
    bool with_file = false;
    enum sbx_code rc = profile(d, spec->userns_allowed, &seccomp, err);

    if (!rc)
        rc = check_volumes(d, spec, err);
    if (!rc && seccomp && d->podman) {
        rc = as_file(&seccomp, file, err);
        with_file = rc == SBX_OK;
    }
    if (!rc)
        rc = post(d, spec, seccomp, ret_id, err);
    if (with_file)
        unlink(file);
    return rc;
}
