#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "oci.h"
#include "sbx/file.h"
#include "sbx/seccomp.h"

#define CPU_PERIOD_US 100000 /* the kernel's and the Engine's default */
#define FILES_MAX 1048576    /* open files a process, as the Engine's containers have */

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
    const char *names[64 + 1] = { NULL }; /* a set has 64 bits */
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
    enum sbx_code rc = oci_mounts(o, b, &mounts, err);

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
