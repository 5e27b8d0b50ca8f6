#include <stdio.h>
#include <string.h>

#include "oci.h"

#define SHM_SIZE "65536k" /* the Engine's default for /dev/shm */

static void add_mount(json_t *list, const char *target, const char *type, const char *source,
                      const char *options)
{
    SBX_AUTO_JSON json_t *o = json_array();
    SBX_AUTO_FREE char *copy = strdup(options);
    char *rest = copy, *word;

    while (rest && (word = strsep(&rest, ",")))
        json_array_append_new(o, json_string(word));
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:O}", "destination", target, "type",
                                          type, "source", source, "options", o));
}

static bool mounted_by_user(const json_t *mounts, const char *target)
{
    const json_t *m;
    size_t i;

    json_array_foreach((json_t *)mounts, i, m)
        if (strcmp(json_string_value(json_object_get(m, "target")), target) == 0)
            return true;
    return false;
}

static json_t *default_mounts(const struct box *b, const json_t *users)
{
    static const struct {
        const char *target, *type, *source, *options;
    } rows[] = {
        { "/proc", "proc", "proc", "nosuid,noexec,nodev" },
        { "/dev", "tmpfs", "tmpfs", "nosuid,strictatime,mode=755,size=65536k" },
        { "/dev/pts", "devpts", "devpts",
          "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5" },
        { "/sys", "sysfs", "sysfs", "nosuid,noexec,nodev,ro" },
        { "/sys/fs/cgroup", "cgroup", "cgroup", "ro,nosuid,noexec,nodev" },
        { "/dev/mqueue", "mqueue", "mqueue", "nosuid,noexec,nodev" },
        { "/dev/shm", "tmpfs", "shm", "nosuid,noexec,nodev,mode=1777,size=" SHM_SIZE },
    };
    bool privileged = json_is_true(json_object_get(b->spec, "privileged"));
    json_t *list = json_array();

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char options[128];
        char *ro;

        if (mounted_by_user(users, rows[i].target))
            continue;
        snprintf(options, sizeof(options), "%s", rows[i].options);
        ro = privileged ? strstr(options, "ro") : NULL;
        if (ro && strncmp(rows[i].target, "/sys", 4) == 0)
            memcpy(ro, "rw", 2);
        add_mount(list, rows[i].target, rows[i].type, rows[i].source, options);
    }
    return list;
}

static void tmpfs_mount(json_t *list, const json_t *m, const char *target)
{
    json_int_t size = json_integer_value(json_object_get(m, "size"));
    int mode = (int)json_integer_value(json_object_get(m, "mode"));
    int uid = (int)json_integer_value(json_object_get(m, "uid"));
    char options[256];
    int n = snprintf(options, sizeof(options), "nosuid,nodev,mode=%o", mode ? mode : 01777);

    if (size)
        n += snprintf(options + n, sizeof(options) - (size_t)n, ",size=%lld", (long long)size);
    if (uid)
        n += snprintf(options + n, sizeof(options) - (size_t)n, ",uid=%d,gid=%d", uid, uid);
    snprintf(options + n, sizeof(options) - (size_t)n, "%s%s",
             json_is_true(json_object_get(m, "noexec")) ? ",noexec" : "",
             json_is_true(json_object_get(m, "readOnly")) ? ",ro" : "");
    add_mount(list, target, "tmpfs", "tmpfs", options);
}

static enum sbx_code user_mount(struct oci *o, json_t *list, const json_t *m, struct sbx_err *err)
{
    const char *kind = json_string_value(json_object_get(m, "kind"));
    const char *target = json_string_value(json_object_get(m, "target"));
    const char *source = json_string_value(json_object_get(m, "source"));
    bool ro = json_is_true(json_object_get(m, "readOnly"));
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    bool host = strcmp(kind, "bind") == 0; /* no setuid program of the host counts inside */
    const char *options = ro ? (host ? "rbind,rprivate,nosuid,ro" : "rbind,rprivate,ro")
                             : (host ? "rbind,rprivate,nosuid,rw" : "rbind,rprivate,rw");

    if (!arena)
        return oci_no_memory(err);
    if (strcmp(kind, "tmpfs") == 0) {
        tmpfs_mount(list, m, target);
        return SBX_OK;
    }
    if (strcmp(kind, "volume") == 0) {
        const char *full = sbx_name_full(arena, o->app, source);

        source = full ? sbx_arena_printf(arena, "%s/volumes/%s/data", o->state, full) : NULL;
        if (!source)
            return oci_no_memory(err);
    }
    if (access(source, F_OK))
        return sbx_err_errno(err, "mount %s: source %s", target, source);
    add_mount(list, target, "bind", source, options);
    return SBX_OK;
}

static int depth(const char *path)
{
    int n = 0;

    for (; *path; path++)
        n += path[0] == '/' && path[1] && path[1] != '/';
    return n;
}

/* Parents before what is mounted inside them, else in the given order. */
enum sbx_code oci_mounts(struct oci *o, const struct box *b, json_t **ret, struct sbx_err *err)
{
    const json_t *users = json_object_get(b->spec, "mounts"), *m;
    SBX_AUTO_JSON json_t *list = default_mounts(b, users);
    size_t left = json_array_size(users), i;
    enum sbx_code rc = SBX_OK;

    for (int d = 0; left; d++)
        json_array_foreach((json_t *)users, i, m) {
            if (depth(json_string_value(json_object_get(m, "target"))) != d)
                continue;
            left--;
            rc = user_mount(o, list, m, err);
            if (rc)
                return rc;
        }
    *ret = json_incref(list);
    return SBX_OK;
}
