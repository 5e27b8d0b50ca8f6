#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "confine.c: name this architecture's AUDIT_ARCH constant"
#endif

static int close_from_to(unsigned first, unsigned last)
{
    return (int)syscall(SYS_close_range, first, last, 0);
}

/* The lowest descriptor of `keep` that is at least `from`, or -1. */
static int next_kept(const int *keep, size_t n, int from)
{
    int best = -1;

    for (size_t i = 0; i < n; i++)
        if (keep[i] >= from && (best < 0 || keep[i] < best))
            best = keep[i];
    return best;
}

enum sbx_code sbx_confine_detach(const int *keep, size_t n, struct sbx_err *err)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), from = 3, kept;

    if (null < 0)
        return sbx_err_errno(err, "open /dev/null");
    setsid(); /* fails only where we lead one already */
    if (chdir("/"))
        return sbx_err_errno(err, "change to /");
    for (int fd = 0; fd < 3; fd++)
        if (dup2(null, fd) < 0)
            return sbx_err_errno(err, "put /dev/null on descriptor %d", fd);
    while ((kept = next_kept(keep, n, from)) >= 0) {
        if (kept > from && close_from_to((unsigned)from, (unsigned)kept - 1))
            return sbx_err_errno(err, "close inherited descriptors");
        from = kept + 1;
    }
    return close_from_to((unsigned)from, ~0u) ? sbx_err_errno(err, "close inherited descriptors")
                                              : SBX_OK;
}

static enum sbx_code drop_capabilities(struct sbx_err *err)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { 0 };

    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* needs CAP_SETPCAP; without it nothing is lost */
    return syscall(SYS_capset, &head, none) ? sbx_err_errno(err, "drop capabilities") : SBX_OK;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DIE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define MAY(name) IS(SYS_##name, 0, 1), ALLOW

static const struct sock_filter filter[] = {
    LOAD(arch),
    IS(OUR_ARCH, 1, 0),
    DIE,
    LOAD(nr),
    MAY(ppoll),
#ifdef SYS_poll
    MAY(poll),
#endif
    MAY(read),
    MAY(write),
    MAY(recvfrom),
    MAY(recvmsg),
    MAY(sendmsg),
    MAY(accept4),
    MAY(close),
    MAY(getsockopt),
    MAY(setsockopt),
    MAY(listen),
    MAY(shutdown),
    MAY(sendto), /* questions while there is no gate */
    MAY(waitid), /* to tell a pidfd from another descriptor */
    MAY(rt_sigreturn),
    MAY(restart_syscall),
    MAY(exit_group),
    IS(SYS_socket, 0, 3), /* inbound connections: two families */
    LOAD(args[0]),
    IS(AF_INET, 2, 0),
    IS(AF_INET6, 1, 0),
    DIE,
    ALLOW,
};

static enum sbx_code load_filter(struct sbx_err *err)
{
    struct sock_fprog program = { SBX_ARRAY_LEN(filter), (struct sock_filter *)filter };

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
        return sbx_err_errno(err, "load the helper's seccomp filter");
    return SBX_OK;
}

enum sbx_code sbx_confine(struct sbx_err *err)
{
    enum sbx_code rc = drop_capabilities(err);

    if (rc)
        return rc;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return sbx_err_errno(err, "give up privileges");
    return load_filter(err);
}
