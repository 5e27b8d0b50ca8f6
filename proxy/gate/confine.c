/* What the gate gives up before it reads a hostile byte: files but for what name resolution reads
 * (Landlock), system calls but for those below (seccomp), being dumped, cores. See gate.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "gate.h"

#define ABI1_RIGHTS ((1ull << 13) - 1) /* execute to make_sym: all that the first Landlock knew */

static bool contained; /* Landlock holds */

static int landlock_allow(int ruleset, int fd, uint64_t rights)
{
    struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };

    return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static int allow_paths(int ruleset)
{
    /* hosts, resolv.conf, nsswitch.conf and where they point to; the modules of the name switch */
    static const char *const paths[] = { "/etc", "/usr/lib", "/usr/lib64", "/lib", "/lib64",
                                         "/run/systemd/resolve", "/run/resolvconf",
                                         "/run/NetworkManager", "/mnt/wsl",
#if defined(__SANITIZE_ADDRESS__)
                                         "/proc", /* for the leak checker of test builds */
#endif
    };
    const uint64_t rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

    for (size_t i = 0; i < SBX_ARRAY_LEN(paths); i++) {
        SBX_AUTO_FD int fd = open(paths[i], O_PATH | O_CLOEXEC);

        if (fd >= 0 && landlock_allow(ruleset, fd, rights))
            return -1;
    }
    return 0;
}

/* What rotation needs: new files and renaming in the one directory; no links, no other kinds. */
#define LOG_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | \
                    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE)

static enum sbx_code confine_files(int config_dir_fd, int log_dir_fd, struct sbx_err *err)
{
    uint64_t log_rights = LOG_RIGHTS;
    struct landlock_ruleset_attr attr = { .handled_access_fs = ABI1_RIGHTS };
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
                           LANDLOCK_CREATE_RULESET_VERSION);
    SBX_AUTO_FD int ruleset = -1;

    if (abi < 1)
        return SBX_OK; /* not in this kernel: seccomp and the plain uid remain */
    if (abi >= 2)
        attr.handled_access_fs |= 1ull << 13; /* refer */
    if (abi >= 3) {
        attr.handled_access_fs |= 1ull << 14; /* truncate */
        log_rights |= 1ull << 14;
    }
    if (abi >= 5)
        attr.handled_access_fs |= 1ull << 15; /* ioctl on devices */
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);
    if (ruleset < 0 || allow_paths(ruleset) ||
        landlock_allow(ruleset, config_dir_fd,
                       LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR) ||
        (log_dir_fd >= 0 && landlock_allow(ruleset, log_dir_fd, log_rights)) ||
        syscall(SYS_landlock_restrict_self, ruleset, 0))
        return sbx_err_errno(err, "Landlock");
    contained = true;
    return SBX_OK;
}

#if !defined(__SANITIZE_ADDRESS__) /* the leak checker of test builds traces its own process */
/* What the loop, threads, malloc, getaddrinfo() and loading its modules need. */
static const int allowed[] = {
    SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
    SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg), SCMP_SYS(sendto), SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg), SCMP_SYS(accept4), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(shutdown),
    SCMP_SYS(setsockopt), SCMP_SYS(getsockopt), SCMP_SYS(getsockname), SCMP_SYS(getpeername),
    SCMP_SYS(close), SCMP_SYS(fcntl), SCMP_SYS(dup), SCMP_SYS(ioctl), SCMP_SYS(epoll_create1),
    SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(eventfd2), SCMP_SYS(pipe2),
    SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat),
    SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
    SCMP_SYS(lseek), SCMP_SYS(ftruncate), SCMP_SYS(fallocate),
    SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mprotect), SCMP_SYS(mremap),
    SCMP_SYS(madvise), SCMP_SYS(brk), SCMP_SYS(futex), SCMP_SYS(clone), SCMP_SYS(clone3),
    SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(set_tid_address), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(membarrier), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(tgkill),
    SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getegid), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(getrandom), SCMP_SYS(uname),
    SCMP_SYS(sysinfo), SCMP_SYS(prlimit64), SCMP_SYS(getrlimit), SCMP_SYS(restart_syscall),
    SCMP_SYS(exit), SCMP_SYS(exit_group),
};

static int add_rules(scmp_filter_ctx ctx)
{
    static const int families[] = { AF_UNIX, AF_INET, AF_INET6 };
    int rc = 0;

    for (size_t i = 0; i < SBX_ARRAY_LEN(allowed) && !rc; i++)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
    for (size_t i = 0; i < SBX_ARRAY_LEN(families) && !rc; i++)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i], 0));
    if (!rc && contained) /* of the log; in which directory, is Landlock's to say */
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(renameat), 0);
    if (!rc && contained)
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(renameat2), 0);
    if (!rc) /* pipes between threads of a name module */
        rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1,
                              SCMP_A0(SCMP_CMP_EQ, AF_UNIX, 0));
    if (!rc)
        rc = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, SCMP_SYS(execve), 0);
    if (!rc)
        rc = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, SCMP_SYS(execveat), 0);
    return rc;
}

static enum sbx_code confine_calls(struct sbx_err *err)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rc;

    if (!ctx)
        return sbx_err_set(err, SBX_NO_MEMORY, "seccomp: out of memory");
    rc = add_rules(ctx);
    if (!rc)
        rc = seccomp_load(ctx);
    seccomp_release(ctx);
    if (rc)
        return sbx_err_set(err, SBX_UNSUPPORTED, "seccomp: %s", strerror(-rc));
    return SBX_OK;
}
#else
static enum sbx_code confine_calls(struct sbx_err *err)
{
    (void)err;
    return SBX_OK;
}
#endif

enum sbx_code sbx_confine(int config_dir_fd, int log_dir_fd, struct sbx_err *err)
{
    struct rlimit none = { 0, 0 };
    enum sbx_code rc;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none))
        return sbx_err_errno(err, "confine");
#if !defined(__SANITIZE_ADDRESS__)
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return sbx_err_errno(err, "confine");
#endif
    rc = confine_files(config_dir_fd, log_dir_fd, err);
    return rc ? rc : confine_calls(err);
}
