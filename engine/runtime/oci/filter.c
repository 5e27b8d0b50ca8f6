#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "oci.h"
#include "sbx/digest.h"
#include "sbx/file.h"
#include "sbx/late_seccomp.h"

/*
 * The filter of processes that we start inside (enter.c), from the same `linux.seccomp` that the OCI
 * runtime compiles for PID 1 and with the same meaning: rules by libseccomp, and before them a
 * test that answers ENOSYS to system calls newer than any that the profile knows, since programs
 * fall back on ENOSYS and give up on EPERM. Compiling takes tens of milliseconds, so the program
 * is kept in STATE/seccomp under the digest of its source.
 */

#define MARK "1 " /* changes when the same source gives another program */

static const struct {
    const char *name;
    uint32_t token;
} archs[] = {
    { "SCMP_ARCH_X86", SCMP_ARCH_X86 },         { "SCMP_ARCH_X86_64", SCMP_ARCH_X86_64 },
    { "SCMP_ARCH_ARM", SCMP_ARCH_ARM },         { "SCMP_ARCH_AARCH64", SCMP_ARCH_AARCH64 },
    { "SCMP_ARCH_PPC64LE", SCMP_ARCH_PPC64LE }, { "SCMP_ARCH_S390", SCMP_ARCH_S390 },
    { "SCMP_ARCH_S390X", SCMP_ARCH_S390X },     { "SCMP_ARCH_RISCV64", SCMP_ARCH_RISCV64 },
};
static const struct {
    const char *name;
    enum scmp_compare op;
} compares[] = {
    { "SCMP_CMP_NE", SCMP_CMP_NE },
    { "SCMP_CMP_LT", SCMP_CMP_LT },
    { "SCMP_CMP_LE", SCMP_CMP_LE },
    { "SCMP_CMP_EQ", SCMP_CMP_EQ },
    { "SCMP_CMP_GE", SCMP_CMP_GE },
    { "SCMP_CMP_GT", SCMP_CMP_GT },
    { "SCMP_CMP_MASKED_EQ", SCMP_CMP_MASKED_EQ },
};

struct compile {
    const struct sbx_seccomp *sc;
    scmp_filter_ctx ctx;
    uint32_t default_action;
    uint32_t arch[SBX_ARRAY_LEN(archs)];
    int newest[SBX_ARRAY_LEN(archs)]; /* highest number that the profile names */
    size_t n;
};

static enum sbx_code action_of(const char *name, const json_t *number, uint32_t *ret,
                               struct sbx_err *err)
{
    uint32_t code = json_is_integer(number) ? (uint32_t)json_integer_value(number) : EPERM;

    if (name && strcmp(name, "SCMP_ACT_ALLOW") == 0)
        *ret = SCMP_ACT_ALLOW;
    else if (name && strcmp(name, "SCMP_ACT_ERRNO") == 0)
        *ret = SCMP_ACT_ERRNO(code);
    else if (name && strcmp(name, "SCMP_ACT_KILL_PROCESS") == 0)
        *ret = SCMP_ACT_KILL_PROCESS;
    else if (name && strcmp(name, "SCMP_ACT_LOG") == 0)
        *ret = SCMP_ACT_LOG;
    else
        return sbx_err_set(err, SBX_UNSUPPORTED, "seccomp action %.60s", name ? name : "(none)");
    return SBX_OK;
}

static enum sbx_code comparison(const json_t *arg, struct scmp_arg_cmp *ret, struct sbx_err *err)
{
    const char *op = json_string_value(json_object_get(arg, "op"));

    *ret = (struct scmp_arg_cmp){
        .arg = (unsigned)json_integer_value(json_object_get(arg, "index")),
        .datum_a = (scmp_datum_t)json_integer_value(json_object_get(arg, "value")),
        .datum_b = (scmp_datum_t)json_integer_value(json_object_get(arg, "valueTwo")),
    };
    for (size_t i = 0; op && i < SBX_ARRAY_LEN(compares); i++)
        if (strcmp(op, compares[i].name) == 0) {
            ret->op = compares[i].op;
            return ret->arg < 6 ? SBX_OK
                                : sbx_err_set(err, SBX_SCHEMA, "seccomp: argument %u", ret->arg);
        }
    return sbx_err_set(err, SBX_UNSUPPORTED, "seccomp comparison %.60s", op ? op : "(none)");
}

static void note_newest(struct compile *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++) {
        int number = c->sc->syscall_resolve_name_arch(c->arch[i], name);

        if (number > c->newest[i])
            c->newest[i] = number;
    }
}

static enum sbx_code add_rules(struct compile *c, const json_t *row, struct sbx_err *err)
{
    const json_t *names = json_object_get(row, "names"), *args = json_object_get(row, "args"), *v;
    struct scmp_arg_cmp cmp[6];
    size_t n = json_array_size(args), i;
    uint32_t action;
    enum sbx_code rc = action_of(json_string_value(json_object_get(row, "action")),
                                 json_object_get(row, "errnoRet"), &action, err);

    if (n > SBX_ARRAY_LEN(cmp))
        return sbx_err_set(err, SBX_SCHEMA, "seccomp: %zu arguments", n);
    for (i = 0; !rc && i < n; i++)
        rc = comparison(json_array_get(args, i), &cmp[i], err);
    if (rc)
        return rc;
    json_array_foreach((json_t *)names, i, v) {
        const char *name = json_string_value(v);
        int number = name ? c->sc->syscall_resolve_name(name) : __NR_SCMP_ERROR, bad;

        if (number == __NR_SCMP_ERROR)
            continue; /* newer than the library: ENOSYS by the test before the rules */
        note_newest(c, name);
        if (action == c->default_action)
            continue;
        bad = c->sc->rule_add_array(c->ctx, action, number, (unsigned)n, cmp);
        if (bad)
            return sbx_err_set(err, SBX_FAILED, "seccomp rule for %s: %s", name, strerror(-bad));
    }
    return SBX_OK;
}

static enum sbx_code add_archs(struct compile *c, const json_t *list, struct sbx_err *err)
{
    const json_t *v;
    size_t i;

    c->sc->arch_remove(c->ctx, SCMP_ARCH_NATIVE); /* named by the profile or not there */
    json_array_foreach((json_t *)list, i, v) {
        const char *name = json_string_value(v);
        size_t k = 0;
        int bad;

        while (name && k < SBX_ARRAY_LEN(archs) && strcmp(name, archs[k].name) != 0)
            k++;
        if (!name || k == SBX_ARRAY_LEN(archs) || c->n == SBX_ARRAY_LEN(c->arch))
            return sbx_err_set(err, SBX_UNSUPPORTED, "seccomp architecture %.60s",
                               name ? name : "(none)");
        bad = c->sc->arch_add(c->ctx, archs[k].token);
        if (bad && bad != -EEXIST)
            return sbx_err_set(err, SBX_UNSUPPORTED, "seccomp architecture %s: %s", name,
                               strerror(-bad));
        c->newest[c->n] = -1;
        c->arch[c->n++] = archs[k].token;
    }
    return SBX_OK;
}

static enum sbx_code emit(struct sbx_buf *out, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
    struct sock_filter f = { code, jt, jf, k };

    return sbx_buf_add(out, &f, sizeof(f));
}

#define LOAD(field) BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, field)
#define ENOSYS_NOW BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS

/*
 * One block an architecture: skip it if it is not ours, else answer ENOSYS past the newest, which calls
 * of x32 are too: they share the number of x86-64, with a high bit.
 */
static enum sbx_code enosys_prefix(const struct compile *c, struct sbx_buf *out)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < c->n; i++) {
        if (c->newest[i] < 0)
            continue;
        rc = emit(out, LOAD(arch));
        if (!rc)
            rc = emit(out, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, c->arch[i]);
        if (!rc)
            rc = emit(out, LOAD(nr));
        if (!rc)
            rc = emit(out, BPF_JMP | BPF_JGT | BPF_K, 0, 1, (uint32_t)c->newest[i]);
        if (!rc)
            rc = emit(out, ENOSYS_NOW);
    }
    return rc;
}

/* libseccomp writes to a descriptor only. */
static enum sbx_code export(struct compile *c, struct sbx_buf *out, struct sbx_err *err) {
    SBX_AUTO_FD int fd = memfd_create("filter", MFD_CLOEXEC);
    SBX_AUTO(sbx_buf) rules = SBX_BUF_INIT(OCI_FILTER_MAX);
    char self[64];
    int bad;
    enum sbx_code rc;

    if (fd < 0) return sbx_err_errno(err, "memfd");
    bad = c->sc->export_bpf(c->ctx, fd);
    if (bad) return sbx_err_set(err, SBX_FAILED, "seccomp program: %s", strerror(-bad));
    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    rc = sbx_file_read(AT_FDCWD, self, &rules, err);
    if (rc) return rc;
    rc = enosys_prefix(c, out);
    if (!rc) rc = sbx_buf_add(out, rules.ptr, rules.len);
    return rc ? sbx_err_set(err, rc, "seccomp program of more than %d instructions", BPF_MAXINSNS)
              : SBX_OK;
}

static enum sbx_code compile(const json_t *seccomp, struct sbx_buf *out, struct sbx_err *err)
{
    struct compile c = { .sc = sbx_seccomp(err) };
    const json_t *row;
    size_t i;
    enum sbx_code rc;

    if (!c.sc)
        return SBX_UNAVAILABLE;
    rc = action_of(json_string_value(json_object_get(seccomp, "defaultAction")),
                   json_object_get(seccomp, "defaultErrnoRet"), &c.default_action, err);
    if (rc)
        return rc;
    c.ctx = c.sc->init(c.default_action);
    if (!c.ctx)
        return oci_no_memory(err);
    rc = add_archs(&c, json_object_get(seccomp, "architectures"), err);
    json_array_foreach(json_object_get(seccomp, "syscalls"), i, row)
        if (!rc)
            rc = add_rules(&c, row, err);
    if (!rc)
        rc = export(&c, out, err);
    c.sc->release(c.ctx);
    return rc;
}

/* Name of the kept program: by its source and the library that compiles it. */
static enum sbx_code key_of(const json_t *seccomp, char key[SBX_DIGEST_TEXT_SIZE],
                            struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(4 << 20);
    enum sbx_code rc = sbx_buf_adds(&text, MARK);

    if (!rc)
        rc = sbx_json_canonical(seccomp, &text);
    if (!rc)
        rc = sbx_digest(text.ptr, text.len, key);
    return rc ? sbx_err_set(err, rc, "seccomp profile") : SBX_OK;
}

enum sbx_code oci_filter(struct oci *o, const json_t *seccomp, struct sbx_buf *out,
                         struct sbx_err *err)
{
    char key[SBX_DIGEST_TEXT_SIZE], path[4096];
    enum sbx_code rc = key_of(seccomp, key, err);

    if (rc)
        return rc;
    snprintf(path, sizeof(path), "%.3900s/seccomp", o->state);
    rc = sbx_dir_make(path, 0700, err);
    if (rc)
        return rc;
    snprintf(path, sizeof(path), "%.3900s/seccomp/%s.bpf", o->state, key + strlen("sha256:"));
    if (sbx_file_read(AT_FDCWD, path, out, NULL) == SBX_OK && out->len &&
        out->len % sizeof(struct sock_filter) == 0)
        return SBX_OK;
    sbx_buf_clear(out);
    rc = compile(seccomp, out, err);
    return rc ? rc : sbx_file_write(AT_FDCWD, path, out->ptr, out->len, 0600, err);
}
