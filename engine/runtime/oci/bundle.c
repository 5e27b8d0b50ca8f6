#include <linux/capability.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "oci.h"
#include "sbx/file.h"
#include "sbx/seccomp.h"

#define CPU_PERIOD_US 100000 /* the kernel's and the Engine's default */
#define FILES_MAX 1048576    /* open files a process, as the Engine's containers have */
#define SHM_SIZE "65536k"    /* the Engine's default for /dev/shm */

/* The Engine's default set without NET_RAW, MKNOD and AUDIT_WRITE (decision N21). */
static const char *const default_caps[] = {
    "CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FSETID",  "CAP_FOWNER",           "CAP_SETGID",
    "CAP_SETUID", "CAP_SETFCAP",      "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT",
    "CAP_KILL",
};
/* By number: capabilities(7). */
static const char *const all_caps[] = {
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
};
static const char *const masked[] = {
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
};
static const char *const read_only[] = {
    "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger",
};

static json_t *strings(const char *const *v, size_t n)
{
    json_t *out = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(out, json_string(v[i]));
    return out;
}

static bool same_cap(const char *full, const char *name)
{
    return strcasecmp(full, name) == 0 || strcasecmp(full + strlen("CAP_"), name) == 0;
}

static bool named(const json_t *list, const char *cap)
{
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)list, i, item) {
        const char *text = json_string_value(item);

        if (text && (same_cap(cap, text) || strcasecmp(text, "ALL") == 0))
            return true;
    }
    return false;
}

static bool by_default(const char *cap)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(default_caps); i++)
        if (strcmp(default_caps[i], cap) == 0)
            return true;
    return false;
}

/* A name that is added by itself wins over a dropped "ALL", as with the Engine. */
json_t *oci_caps(const json_t *spec, bool privileged)
{
    const json_t *add = json_object_get(spec, "capAdd"), *drop = json_object_get(spec, "capDrop");
    json_t *out = json_array();

    for (size_t i = 0; i < SBX_ARRAY_LEN(all_caps); i++) {
        bool has = named(add, all_caps[i]) ||
                   (by_default(all_caps[i]) && !named(drop, all_caps[i]));

        if (privileged || has)
            json_array_append_new(out, json_string(all_caps[i]));
    }
    return out;
}

static uint64_t own_caps(void)
{
    struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct d[2] = { 0 };

    if (syscall(SYS_capget, &h, d))
        return 0;
    return d[0].permitted | (uint64_t)d[1].permitted << 32;
}

uint64_t oci_caps_bits(const json_t *spec, bool privileged)
{
    SBX_AUTO_JSON json_t *caps = oci_caps(spec, privileged);
    uint64_t bits = 0;
    const json_t *item;
    size_t i;

    json_array_foreach(caps, i, item)
        for (size_t k = 0; k < SBX_ARRAY_LEN(all_caps); k++)
            if (strcmp(json_string_value(item), all_caps[k]) == 0)
                bits |= 1ULL << k;
    return bits & own_caps();
}

static json_t *process_caps(const json_t *spec, bool privileged)
{
    SBX_AUTO_JSON json_t *caps = oci_caps(spec, privileged);

    return json_pack("{s:O, s:O, s:O}", "bounding", caps, "effective", caps, "permitted", caps);
}

uint64_t oci_files_max(void)
{
    struct rlimit r = { FILES_MAX, FILES_MAX };

    getrlimit(RLIMIT_NOFILE, &r);
    return r.rlim_max > FILES_MAX ? FILES_MAX : r.rlim_max;
}

static json_t *rlimits(void)
{
    json_int_t files = (json_int_t)oci_files_max();

    return json_pack("[{s:s, s:I, s:I}]", "type", "RLIMIT_NOFILE", "hard", files, "soft", files);
}

/* Its directory is never one that an image names: runtimes were led out by /proc/self/fd/N there. */
static json_t *first_process(const struct box *b)
{
    bool privileged = json_is_true(json_object_get(b->spec, "privileged"));

    return json_pack("{s:b, s:{s:i, s:i}, s:O, s:O, s:s, s:o, s:o, s:b}", "terminal", 0, "user",
                     "uid", 0, "gid", 0, "args", json_object_get(b->spec, "argv"), "env",
                     json_object_get(b->spec, "env"), "cwd", "/", "capabilities",
                     process_caps(b->spec, privileged), "rlimits", rlimits(), "noNewPrivileges", 0);
}

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
    const char *options = ro ? "rbind,rprivate,ro" : "rbind,rprivate,rw";

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
static enum sbx_code all_mounts(struct oci *o, const struct box *b, json_t **ret,
                                struct sbx_err *err)
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

static json_t *resources(const json_t *spec)
{
    bool privileged = json_is_true(json_object_get(spec, "privileged"));
    json_int_t memory = json_integer_value(json_object_get(spec, "memory"));
    json_int_t pids = json_integer_value(json_object_get(spec, "pids"));
    double cpus = json_number_value(json_object_get(spec, "cpus"));
    json_t *r = json_pack("{s:[{s:b, s:s}], s:{s:I}}", "devices", "allow", privileged, "access",
                          "rwm", "pids", "limit", pids ? pids : (json_int_t)SBX_PIDS_DEFAULT);

    if (memory) {
        json_t *m = json_pack("{s:I}", "limit", memory);

        if (oci_cgroup_file("memory", "memory.memsw.limit_in_bytes"))
            json_object_set_new(m, "swap", json_integer(memory)); /* no swap on top */
        json_object_set_new(r, "memory", m);
    }
    if (cpus > 0)
        json_object_set_new(r, "cpu",
                            json_pack("{s:I, s:i}", "quota",
                                      (json_int_t)llround(cpus * CPU_PERIOD_US), "period",
                                      CPU_PERIOD_US));
    return r;
}

static json_t *namespaces(const char *netns)
{
    json_t *list = json_pack("[{s:s}, {s:s}, {s:s}, {s:s}, {s:s}]", "type", "pid", "type", "ipc",
                             "type", "uts", "type", "mount", "type", "cgroup");

    json_array_append_new(list, netns ? json_pack("{s:s, s:s}", "type", "network", "path", netns)
                                      : json_pack("{s:s}", "type", "network"));
    return list;
}

static json_t *sysctls(const json_t *spec)
{
    const json_t *item;
    json_t *out = json_object();
    size_t i;

    json_array_foreach(json_object_get(spec, "sysctls"), i, item) {
        const char *text = json_string_value(item), *eq = text ? strchr(text, '=') : NULL;
        char key[256];

        if (eq && snprintf(key, sizeof(key), "%.*s", (int)(eq - text), text) < (int)sizeof(key))
            json_object_set_new(out, key, json_string(eq + 1));
    }
    return out;
}

static enum sbx_code seccomp(const struct oci *o, const json_t *spec, json_t **ret,
                             struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *profile = NULL, *caps = oci_caps(spec, false);
    const char *names[SBX_ARRAY_LEN(all_caps) + 1] = { NULL };
    struct sbx_seccomp_host host = { .caps = names };
    struct utsname u;
    enum sbx_code rc = sbx_seccomp_read(o->seccomp, json_is_true(json_object_get(spec, "userns")),
                                        &profile, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < json_array_size(caps); i++)
        names[i] = json_string_value(json_array_get(caps, i));
    if (uname(&u) || sscanf(u.release, "%d.%d", &host.major, &host.minor) != 2)
        return sbx_err_set(err, SBX_UNSUPPORTED, "unknown kernel version");
    host.machine = u.machine;
    return sbx_seccomp_oci(profile, &host, ret, err);
}

static enum sbx_code linux_part(struct oci *o, const struct box *b, const char *netns, json_t **ret,
                                struct sbx_err *err)
{
    bool privileged = json_is_true(json_object_get(b->spec, "privileged"));
    SBX_AUTO_JSON json_t *out = NULL;
    json_t *filter = NULL;
    enum sbx_code rc;

    out = json_pack("{s:o, s:o, s:o, s:o, s:s}", "cgroupsPath", json_sprintf("/sbx/%s", b->id),
                    "resources", resources(b->spec), "namespaces", namespaces(netns), "sysctl",
                    sysctls(b->spec), "rootfsPropagation", "private");
    if (!out)
        return oci_no_memory(err);
    if (!privileged) {
        rc = seccomp(o, b->spec, &filter, err);
        if (rc)
            return sbx_err_wrap(err, rc, "seccomp profile");
        json_object_set_new(out, "seccomp", filter);
        json_object_set_new(out, "maskedPaths", strings(masked, SBX_ARRAY_LEN(masked)));
        json_object_set_new(out, "readonlyPaths", strings(read_only, SBX_ARRAY_LEN(read_only)));
    }
    *ret = SBX_TAKE(out);
    return SBX_OK;
}

enum sbx_code oci_bundle(struct oci *o, const struct box *b, const char *netns, json_t **ret,
                         struct sbx_err *err)
{
    json_t *mounts = NULL, *linux_json = NULL;
    enum sbx_code rc = all_mounts(o, b, &mounts, err);

    if (!rc)
        rc = linux_part(o, b, netns, &linux_json, err);
    if (!rc) {
        *ret = json_pack("{s:s, s:o, s:{s:s, s:b}, s:s, s:O, s:O}", "ociVersion", "1.0.2",
                         "process", first_process(b), "root", "path", "rootfs", "readonly",
                         json_is_true(json_object_get(b->spec, "readOnlyRoot")), "hostname",
                         box_text(b, "hostname"), "mounts", mounts, "linux", linux_json);
        rc = *ret ? SBX_OK : oci_no_memory(err);
    }
    json_decref(mounts);
    json_decref(linux_json);
    return rc;
}
