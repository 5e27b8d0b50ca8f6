/**
 * @file
 * libseccomp by late loading: `sc->init()` is seccomp_init(). Add a function to the list to use it.
 * libseccomp 2.4 (Debian 10) or newer.
 */
#ifndef SBX_LATE_SECCOMP_H
#define SBX_LATE_SECCOMP_H

#include <seccomp.h>

#include "sbx/err.h"

#define SBX_SECCOMP_FUNCTIONS(X)                                                                   \
    X(init)                                                                                        \
    X(release)                                                                                     \
    X(version)                                                                                     \
    X(attr_set)                                                                                    \
    X(arch_native)                                                                                 \
    X(arch_add)                                                                                    \
    X(arch_remove)                                                                                 \
    X(arch_resolve_name)                                                                           \
    X(syscall_resolve_name)                                                                        \
    X(syscall_resolve_name_arch)                                                                   \
    X(rule_add_array)                                                                              \
    X(export_bpf)

struct sbx_seccomp {
#define SBX_SECCOMP_FIELD(name) __typeof__(seccomp_##name) *name;
    SBX_SECCOMP_FUNCTIONS(SBX_SECCOMP_FIELD)
#undef SBX_SECCOMP_FIELD
};

/** The functions, loaded at the first call; NULL with `err` (SBX_UNAVAILABLE). */
const struct sbx_seccomp *sbx_seccomp(struct sbx_err *err);

#endif
