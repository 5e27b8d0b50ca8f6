#include <linux/capability.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>

#include "oci.h"

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
