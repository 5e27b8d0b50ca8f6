/* What is left to a process once it is confined. Each question is asked in a child of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "gate.h"

/* Run `ask` confined; its result is the exit status, 128 + signal if it was killed. */
static int confined(int (*ask)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct sbx_err err = SBX_ERR_INIT;
        int dir = open("/usr/include", O_RDONLY | O_DIRECTORY);

        if (sbx_confine(dir >= 0 ? dir : open("/usr", O_RDONLY | O_DIRECTORY), -1, &err)) {
            fprintf(stderr, "%s\n", err.text);
            _exit(100);
        }
        _exit(ask());
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int ask_families(void)
{
    static const int good[] = { AF_UNIX, AF_INET, AF_INET6 };
    static const int bad[] = { AF_NETLINK, AF_PACKET, AF_VSOCK, AF_ALG, AF_KEY };

    for (size_t i = 0; i < SBX_ARRAY_LEN(good); i++)
        if (socket(good[i], SOCK_STREAM, 0) < 0 && errno == EPERM)
            return 1;
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++)
        if (socket(bad[i], SOCK_RAW, 0) >= 0 || errno != EPERM)
            return 2;
    return 0;
}

static int ask_exec(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return 0;
}

static int ask_calls(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) >= 0 || errno != EPERM)
        return 1;
    if (setuid(0) >= 0 && getuid() != 0)
        return 2;
    if (kill(getppid(), 0) >= 0 || errno != EPERM)
        return 3;
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) >= 0 || errno != EPERM)
        return 4;
    return 0;
}

static int ask_files(void)
{
    if (open("/etc/hosts", O_RDONLY) < 0)
        return 1;
    if (open("/etc/hosts", O_WRONLY) >= 0 || open("/tmp/sbx-confine", O_RDWR | O_CREAT, 0600) >= 0)
        return 2;
    if (open("/proc/self/environ", O_RDONLY) >= 0 || open("/tmp", O_RDONLY) >= 0 ||
        open("/root", O_RDONLY) >= 0)
        return 3;
    return 0;
}

static int ask_names(void)
{
    struct addrinfo *list = NULL;

    if (getaddrinfo("localhost", NULL, NULL, &list))
        return 1;
    freeaddrinfo(list);
    return 0;
}

static bool has_landlock(void)
{
    return syscall(444 /* landlock_create_ruleset */, NULL, 0, 1) > 0;
}

static void only_internet_and_unix_sockets_are_left(void **state)
{
    (void)state;
    assert_int_equal(confined(ask_families), 0);
}

static void no_program_can_be_run(void **state)
{
    (void)state;
    assert_int_equal(confined(ask_exec), 128 + SIGSYS);
}

static void other_calls_are_refused(void **state)
{
    (void)state;
    assert_int_equal(confined(ask_calls), 0);
}

static void only_what_names_need_can_be_read(void **state)
{
    (void)state;
    if (!has_landlock()) {
        print_message("LOUD: this kernel has no Landlock; the file part is not tested\n");
        skip();
    }
    assert_int_equal(confined(ask_files), 0);
}

static void names_still_resolve(void **state)
{
    (void)state;
    assert_int_equal(confined(ask_names), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_internet_and_unix_sockets_are_left),
        cmocka_unit_test(no_program_can_be_run),
        cmocka_unit_test(other_calls_are_refused),
        cmocka_unit_test(only_what_names_need_can_be_read),
        cmocka_unit_test(names_still_resolve),
    };

    if (strstr(getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "", "vgpreload")) {
        print_message("LOUD: valgrind makes calls of its own that the filter refuses; not tested\n");
        return 77;
    }
#if defined(__SANITIZE_ADDRESS__)
    print_message("LOUD: builds with sanitizers are not confined by seccomp; not tested\n");
    return 77;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
