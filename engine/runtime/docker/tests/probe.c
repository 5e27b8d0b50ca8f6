/* Runs inside a container: tries what the seccomp profile must and must not allow, a line each:
 * NAME and the errno's number, 0 where it worked. Static, so that it runs in any image. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *name, long result) { printf("%s %d\n", name, result < 0 ? errno : 0); }

static void family(const char *name, int number, int type)
{
    int fd = socket(number, type, 0);

    say(name, fd);
    if (fd >= 0)
        close(fd);
}

#if defined(__x86_64__)
/* The 32-bit door: same kernel, other numbers. */
static long int80(long number, long a, long b, long c)
{
    long result;

    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c)
                     : "memory", "r8", "r9", "r10", "r11");
    result = (int)result;
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static void old_doors(void)
{
    uint32_t *args = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    if (args == MAP_FAILED) {
        puts("mmap failed");
        return;
    }
    args[0] = 40; /* AF_VSOCK */
    args[1] = SOCK_STREAM;
    say("int80-socketcall-vsock", int80(102, 1, (long)(uintptr_t)args, 0));
    say("int80-socket-vsock", int80(359, 40, SOCK_STREAM, 0));
    say("int80-socket-unix", int80(359, AF_UNIX, SOCK_STREAM, 0));
}
#else
static void old_doors(void) {}
#endif

static void debug(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        pause();
        _exit(0);
    }
    say("ptrace", ptrace(PTRACE_SEIZE, child, NULL, NULL));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

int main(void)
{
    struct clone_args none = { .exit_signal = 0 };
    int pair[2];

    family("unix", AF_UNIX, SOCK_STREAM);
    family("inet", AF_INET, SOCK_STREAM);
    family("inet6", AF_INET6, SOCK_DGRAM);
    family("netlink", AF_NETLINK, SOCK_RAW);
    family("vsock", 40, SOCK_STREAM);
    family("packet", AF_PACKET, SOCK_RAW);
    family("alg", 38, SOCK_SEQPACKET);
    say("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    old_doors();
    say("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
    say("clone3", syscall(SYS_clone3, &none, 1));
    say("mount", syscall(SYS_mount, "none", "/nonexistent", "tmpfs", 0, NULL));
    say("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
    say("bpf", syscall(SYS_bpf, 0, NULL, 0));
    debug();
    say("userns", unshare(CLONE_NEWUSER));
    return 0;
}
