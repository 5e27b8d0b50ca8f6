/*
 * Tries what a sandbox must refuse, as root inside, and prints a line an action: "NAME refused",
 * "NAME ALLOWED" or "NAME absent" (this kernel or machine has no such thing). Static, since it is
 * run in images that have no library of ours. Two actions must work: they are marked "works".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

/* Each returns 0 when it worked, -1 with errno when not. */

static int do_mknod(void) { return mknod("/tmp/forbidden-mem", S_IFCHR | 0600, makedev(1, 1)); }
static int do_mount(void) { return mount("x", "/tmp", "tmpfs", 0, NULL); }
static int do_remount(void) { return mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND, NULL); }
static int do_umount(void) { return umount2("/proc/sys", MNT_DETACH); }
static int open_socket(int family, int type, int protocol)
{
    int fd = socket(family, type, protocol);

    return fd < 0 ? -1 : close(fd);
}
static int do_raw(void) { return open_socket(AF_INET, SOCK_RAW, 1); }
static int do_packet(void) { return open_socket(AF_PACKET, SOCK_RAW, 0); }
static int do_vsock(void) { return open_socket(AF_VSOCK, SOCK_STREAM, 0); }

#ifdef __x86_64__
/* The 32-bit door; its arguments lie below 4 GiB. */
static long int80(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "0"(number), "b"(a), "c"(b), "d"(c)
                     : "memory", "r8", "r9", "r10", "r11");
    if ((int)result < 0) {
        errno = -(int)result;
        return -1;
    }
    return (int)result;
}
static int do_vsock32(void) { return (int)int80(359, AF_VSOCK, SOCK_STREAM, 0) < 0 ? -1 : 0; }
static int do_socketcall(void)
{
    uint32_t *args = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    if (args == MAP_FAILED)
        return -1;
    args[0] = AF_VSOCK;
    args[1] = SOCK_STREAM;
    args[2] = 0;
    return (int)int80(102, 1, (long)args, 0) < 0 ? -1 : 0;
}
#else
static int do_vsock32(void)
{
    errno = ENOTSUP;
    return -1;
}
static int do_socketcall(void)
{
    errno = ENOTSUP;
    return -1;
}
#endif

static int do_io_uring(void)
{
    char params[256] = { 0 };

    return (int)syscall(SYS_io_uring_setup, 1, params);
}
static int in_child(int (*f)(void))
{
    int status;
    pid_t pid = fork();

    if (!pid)
        _exit(f() ? errno : 0);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}
static int unshare_user(void) { return unshare(CLONE_NEWUSER); }
static int unshare_net(void) { return unshare(CLONE_NEWNET); }
static int do_unshare(void) { return in_child(unshare_user); }
static int do_unshare_net(void) { return in_child(unshare_net); }
static int do_clone_user(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

    if (!pid)
        _exit(0);
    return pid < 0 ? -1 : 0;
}
static int do_keyctl(void) { return (int)syscall(SYS_keyctl, 0, -3, 0, 0, 0) < 0 ? -1 : 0; }
static int do_add_key(void)
{
    return (int)syscall(SYS_add_key, "user", "forbidden", "x", 1, -2) < 0 ? -1 : 0;
}
static int do_bpf(void)
{
    union bpf_attr a = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
    };

    return (int)syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a)) < 0 ? -1 : 0;
}
static int do_kexec(void) { return (int)syscall(SYS_kexec_load, 0, 0, 0, 0); }
/* A magic number that no kernel takes: with the right to reboot it is EINVAL, without it EPERM. */
static int do_reboot(void)
{
    if (syscall(SYS_reboot, 1, 2, 3, 0) == 0 || errno == EINVAL)
        return 0;
    return -1;
}
static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return -1;
    rc = write(fd, text, strlen(text)) < 0 ? -1 : 0;
    close(fd);
    return rc;
}
static int do_proc_sys(void) { return write_file("/proc/sys/kernel/core_pattern", "|/x"); }
static int do_sysrq(void) { return write_file("/proc/sysrq-trigger", "h"); }
static int do_kcore(void)
{
    char byte;
    int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return -1;
    rc = read(fd, &byte, 1) == 1 ? 0 : -1;
    close(fd);
    return rc;
}
static int do_dev_mem(void)
{
    int fd = open("/dev/mem", O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -1 : close(fd);
}
static int do_swapon(void) { return swapon("/etc/hostname", 0); }
static int do_settime(void)
{
    struct timeval t;

    gettimeofday(&t, NULL);
    return settimeofday(&t, NULL);
}
static int do_module(void) { return (int)syscall(SYS_init_module, "", 0, ""); }
static int do_setns(void)
{
    int fd = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -1 : setns(fd, CLONE_NEWNET);
}
static int do_handle(void)
{
    struct {
        unsigned bytes;
        int type;
        char handle[8];
    } h = { 8, 1, { 2, 0, 0, 0 } };
    int fd = open("/", O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -1 : (int)syscall(SYS_open_by_handle_at, fd, &h, O_RDONLY) < 0 ? -1 : 0;
}
static int do_cgroup(void)
{
    if (write_file("/sys/fs/cgroup/cgroup.procs", "0") == 0 ||
        write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "-1") == 0 ||
        write_file("/sys/fs/cgroup/devices/devices.allow", "a *:* rwm") == 0)
        return 0;
    return -1;
}
static int do_chroot_escape(void)
{
    int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat before, after;

    /* in a jail inside, with the way out kept open: it may lead to our root, not beyond */
    stat("/", &before);
    mkdir("/tmp/forbidden-jail", 0700);
    if (root < 0 || chroot("/tmp/forbidden-jail") || fchdir(root))
        return -1;
    for (int i = 0; i < 64; i++)
        if (chdir(".."))
            return -1;
    if (stat(".", &after))
        return -1;
    errno = EPERM;
    return before.st_ino == after.st_ino && before.st_dev == after.st_dev ? -1 : 0;
}
static int do_chroot(void) { return in_child(do_chroot_escape); }
static int do_perf(void)
{
    struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(a) };

    return (int)syscall(SYS_perf_event_open, &a, -1, 0, -1, 0) < 0 ? -1 : 0;
}
static int do_syslog(void)
{
    char text[64];

    return (int)syscall(SYS_syslog, 3, text, sizeof(text)) < 0 ? -1 : 0;
}
static int do_hostname(void) { return sethostname("forbidden", 9); }
static int do_nice(void) { return (int)syscall(SYS_set_mempolicy, 0, NULL, 0); }
static int do_iopl(void)
{
#ifdef SYS_iopl
    return (int)syscall(SYS_iopl, 3);
#else
    errno = ENOTSUP;
    return -1;
#endif
}
static int do_quota(void) { return (int)syscall(SYS_quotactl, 0x800001 << 8, "/", 0, 0); }
static int do_fsopen(void) { return (int)syscall(SYS_fsopen, "tmpfs", 0) < 0 ? -1 : 0; }
static int do_tree(void) { return (int)syscall(SYS_open_tree, -100, "/", 1) < 0 ? -1 : 0; }

/* Programs fall back on ENOSYS; EPERM for a call of the future would make them give up. */
static int do_future(void) { return syscall(900) == -1 && errno == ENOSYS ? 0 : -1; }

static int trace_child(void)
{
    int status;
    pid_t pid = fork();

    if (!pid) {
        pause();
        _exit(0);
    }
    if (ptrace(PTRACE_ATTACH, pid, 0, 0) || waitpid(pid, &status, 0) != pid)
        return -1;
    kill(pid, SIGKILL);
    return waitpid(pid, &status, 0) == pid ? 0 : -1;
}
static int drop_user(void) { return setresuid(1000, 1000, 1000); }
static int do_setuid(void) { return in_child(drop_user); }

static const struct {
    const char *name;
    int (*f)(void);
    int works; /* it has to */
} actions[] = {
    { "mknod", do_mknod, 0 },
    { "mount", do_mount, 0 },
    { "remount", do_remount, 0 },
    { "umount", do_umount, 0 },
    { "fsopen", do_fsopen, 0 },
    { "open_tree", do_tree, 0 },
    { "raw-socket", do_raw, 0 },
    { "packet-socket", do_packet, 0 },
    { "vsock", do_vsock, 0 },
    { "vsock-int80", do_vsock32, 0 },
    { "vsock-socketcall", do_socketcall, 0 },
    { "io_uring", do_io_uring, 0 },
    { "unshare-user", do_unshare, 0 },
    { "unshare-net", do_unshare_net, 0 },
    { "clone-user", do_clone_user, 0 },
    { "keyctl", do_keyctl, 0 },
    { "add_key", do_add_key, 0 },
    { "bpf", do_bpf, 0 },
    { "kexec", do_kexec, 0 },
    { "reboot", do_reboot, 0 },
    { "write-proc-sys", do_proc_sys, 0 },
    { "sysrq", do_sysrq, 0 },
    { "kcore", do_kcore, 0 },
    { "dev-mem", do_dev_mem, 0 },
    { "swapon", do_swapon, 0 },
    { "settime", do_settime, 0 },
    { "load-module", do_module, 0 },
    { "setns", do_setns, 0 },
    { "open-by-handle", do_handle, 0 },
    { "cgroup-write", do_cgroup, 0 },
    { "chroot-escape", do_chroot, 0 },
    { "perf", do_perf, 0 },
    { "syslog", do_syslog, 0 },
    { "sethostname", do_hostname, 0 },
    { "mempolicy", do_nice, 0 },
    { "iopl", do_iopl, 0 },
    { "quotactl", do_quota, 0 },
    { "ptrace-child", trace_child, 1 },
    { "setuid", do_setuid, 1 },
    { "enosys-of-the-future", do_future, 1 },
};

int main(void)
{
    int bad = 0;

    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        int worked = actions[i].f() >= 0;

        bad |= worked != actions[i].works;
        printf("%s %s\n", actions[i].name,
               worked ? (actions[i].works ? "works" : "ALLOWED")
                      : (actions[i].works ? "FAILS" : "refused"));
        fflush(stdout);
    }
    return bad;
}
