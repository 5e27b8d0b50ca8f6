/* The helper itself: whom it serves, what it keeps, when it ends. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "invariant.h"

static const char *const enter_args[] = { "--mode", "enter", NULL };
static const char *const create_args[] = { "--mode", "create", NULL };

static void it_ends_with_the_container_and_says_so(void **state)
{
    struct fixture *f = *state;
    pid_t pid = child_in(f, true, NULL);
    int fd = pidfd_of(pid);

    start_helper(f, enter_args, fd);
    gate_begin(f);
    end_child(f, pid);
    assert_string_equal(ended_text(f), "helper: container ended\n");
    assert_int_equal(helper_exit(f), 0);
    assert_int_equal(recv(f->gate, &(char){ 0 }, 1, 0), 0); /* how the gate learns of it */
    close(fd);
}

static void it_ends_with_the_process_that_it_was_told_to_watch(void **state)
{
    struct fixture *f = *state;
    pid_t first = child_in(f, false, NULL), second = child_in(f, false, NULL);
    int fds[2] = { pidfd_of(first), pidfd_of(second) }, conn;

    start_helper(f, create_args, fds[0]);
    conn = dial(f);
    assert_string_equal(ask(conn, "watch", fds[1], NULL), "ok");
    end_child(f, first); /* no longer the one */
    assert_memory_equal(ask(conn, "cookie", -1, NULL), "ok ", 3);
    end_child(f, second);
    assert_string_equal(ended_text(f), "helper: container ended\n");
    assert_int_equal(helper_exit(f), 0);
    close(conn);
    close(fds[0]);
    close(fds[1]);
}

static void it_ends_when_asked_and_on_sigterm(void **state)
{
    struct fixture *f = *state;

    start_helper(f, create_args, -1);
    assert_string_equal(ask(dial(f), "quit", -1, NULL), "ok");
    assert_string_equal(ended_text(f), "helper: asked to quit\n");
    assert_int_equal(helper_exit(f), 0);
    unlink(f->path);
    start_helper(f, create_args, -1);
    kill(f->helper, SIGTERM);
    assert_string_equal(ended_text(f), "helper: terminated by a signal\n");
    assert_int_equal(helper_exit(f), 0);
}

static void the_doors_go_to_one_gate_at_a_time(void **state)
{
    struct fixture *f = *state;
    int other = dial(f), fds[3];

    gate_begin(f);
    assert_string_equal(ask(other, "doors", -1, fds), "error a gate is connected already");
    assert_int_equal(fds[0], -1);
    assert_string_equal(ask(f->gate, "doors", -1, fds),
                        "ok tcp4 tcp6 udp4"); /* the same one may ask */
    gate_end(f);
    assert_string_equal(ask(other, "doors", -1, fds), "ok tcp4 tcp6 udp4");
    close(other);
}

static void what_is_no_request_is_answered_with_an_error(void **state)
{
    struct fixture *f = *state;
    static const char *const requests[] = {
        "x", "doors now", "socket", "socket sctp4", "Doors", "\n"
    };
    char longest[1024];
    int conn = dial(f), fd = open("/dev/null", O_RDONLY);

    for (size_t i = 0; i < SBX_ARRAY_LEN(requests); i++)
        assert_string_equal(ask(conn, requests[i], fd, NULL), "error unknown request");
    memset(longest, 'd', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_string_equal(ask(conn, longest, -1, NULL), "error unknown request");
    assert_string_equal(ask(conn, "watch", -1, NULL), "error watch needs a pidfd");
    assert_string_equal(ask(conn, "watch", fd, NULL), "error watch needs a pidfd");
    assert_string_equal(ask(conn, "watch", conn, NULL), "error watch needs a pidfd");
    assert_memory_equal(ask(conn, "cookie\n", -1, NULL), "ok ", 3);
    close(conn);
    close(fd);
}

/* Nothing that a client sends stays open in the helper, which lives as long as the sandbox. */
static void a_descriptor_of_an_empty_message_is_closed(void **state)
{
    struct fixture *f = *state;
    struct pollfd p = { .events = POLLIN };
    int conn = dial(f), ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_string_equal(ask(conn, "", ends[1], NULL), "");
    close(ends[1]);
    p.fd = ends[0];
    assert_int_equal(poll(&p, 1, 5000), 1); /* nobody holds the other end any more */
    assert_int_equal(read(ends[0], &(char){ 0 }, 1), 0);
    close(ends[0]);
    close(conn);
}

static void too_many_connections_are_turned_away_and_the_gate_stays(void **state)
{
    struct fixture *f = *state;
    int conns[20], fds[3];
    char text[64];
    ssize_t n;

    gate_begin(f);
    for (size_t i = 0; i < SBX_ARRAY_LEN(conns); i++)
        conns[i] = dial(f);
    n = recv(conns[19], text, sizeof(text) - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, "error too many connections");
    assert_string_equal(ask(f->gate, "doors", -1, fds), "ok tcp4 tcp6 udp4");
    for (size_t i = 0; i < SBX_ARRAY_LEN(conns); i++)
        close(conns[i]);
}

static int ask_as_stranger(struct fixture *f)
{
    char text[64] = "";
    int conn;

    if (setgid(54321) || setuid(54321))
        return 2;
    conn = dial(f);
    return recv(conn, text, sizeof(text) - 1, 0) < 0 || strcmp(text, "error not your sandbox");
}

static void another_users_processes_are_not_served(void **state)
{
    struct fixture *f = *state;
    pid_t pid = fork();
    int status;

    if (!pid)
        _exit(ask_as_stranger(f));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void read_proc(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    int fd;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    fd = open(path, O_RDONLY);
    n = read(fd, out, size - 1);
    assert_true(n >= 0);
    out[n] = '\0';
    close(fd);
}

static void it_keeps_no_privilege_and_no_descriptor_of_its_caller(void **state)
{
    static const char *const wanted[] = { "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
                                          "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
                                          "Seccomp:\t2" };
    struct fixture *f = *state;
    char text[8192], path[64], link[128];

    read_proc(f->helper, "status", text, sizeof(text));
    for (size_t i = 0; i < SBX_ARRAY_LEN(wanted); i++)
        assert_non_null(strstr(text, wanted[i]));
    assert_int_equal(getsid(f->helper), f->helper);
    snprintf(path, sizeof(path), "/proc/%d/cwd", f->helper);
    memset(link, 0, sizeof(link));
    assert_int_equal(readlink(path, link, sizeof(link)), 1);
    for (int fd = 0; fd < 64; fd++) { /* stdio, listener, signals, ended, three doors */
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/%d/fd/%d", f->helper, fd);
        n = readlink(path, link, sizeof(link) - 1);
        if (n < 0)
            continue;
        link[n] = '\0';
        if (fd < 3)
            assert_string_equal(link, "/dev/null");
        else if (strncmp(link, "socket:", 7) && strncmp(link, "pipe:", 5) &&
                 strcmp(link, "anon_inode:[signalfd]"))
            fail_msg("descriptor %d is still open: %s", fd, link);
    }
}

/* Started as a container's PID 1 would be: already inside. */
static void start_holder(struct fixture *f, const char *cookie)
{
    int out[2];
    size_t len = 0;
    ssize_t n;

    snprintf(f->path, sizeof(f->path), "%s/netns.sock", f->dir);
    assert_int_equal(pipe(out), 0);
    f->helper = fork();
    assert_true(f->helper >= 0);
    if (!f->helper) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], STDOUT_FILENO);
        if (!cookie && unshare(CLONE_NEWNET))
            _exit(126);
        execl(SBX_BINARY_DIR "/libexec/sbx/sbx-netns", "sbx-netns", "--mode", "holder", "--socket",
              f->path, "--host-cookie", cookie ? cookie : "1", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    while (len < sizeof(f->first) - 1 &&
           (n = read(out[0], f->first + len, sizeof(f->first) - 1 - len)) > 0)
        len += (size_t)n;
    f->first[len] = '\0';
    close(out[0]);
}

static void a_holder_serves_the_namespace_that_it_is_in(void **state)
{
    struct fixture *f = *state;

    start_holder(f, NULL);
    if (strncmp(f->first, "ok ", 3))
        fail_msg("%s", f->first);
    gate_begin(f);
    gate_end(f);
    kill(f->helper, SIGTERM);
    assert_int_equal(helper_exit(f), 0);
    start_holder(f, NULL); /* its socket is still there from before */
    assert_memory_equal(f->first, "ok ", 3);
    gate_begin(f);
}

static void a_holder_in_the_engines_own_namespace_is_refused(void **state)
{
    struct fixture *f = *state;
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_ns ns;
    char cookie[32];

    assert_int_equal(sbx_ns_read(&ns, &err), SBX_OK);
    snprintf(cookie, sizeof(cookie), "%" PRIu64, ns.cookie);
    start_holder(f, cookie);
    assert_refused(f, "no network namespace of its own");
}

static void a_wrong_command_line_is_refused_before_anything_is_done(void **state)
{
    static const char *const lines[] = {
        "",
        "--mode",
        "--mode enter --socket-fd 0",
        "--mode none --socket-fd 0",
        "--mode create",
        "--mode create --socket-fd x",
        "--mode create --socket-fd -1",
        "--mode create --socket-fd 0 --socket /tmp/x",
        "--mode create --socket-fd 0 extra",
        "--mode create --socket-fd 0 --host-cookie -1",
        "--wrong",
    };
    char command[512];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(lines); i++) {
        int status;

        snprintf(command, sizeof(command),
                 SBX_BINARY_DIR "/libexec/sbx/sbx-netns %s >/dev/null 2>&1", lines[i]);
        status = system(command);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
            fail_msg("\"%s\": status %d", lines[i], status);
    }
}

#define ALONE(test) cmocka_unit_test_setup_teardown(test, setup_empty, teardown)
#define WITH_HELPER(test) cmocka_unit_test_setup_teardown(test, setup_created, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ALONE(it_ends_with_the_container_and_says_so),
        ALONE(it_ends_with_the_process_that_it_was_told_to_watch),
        ALONE(it_ends_when_asked_and_on_sigterm),
        WITH_HELPER(the_doors_go_to_one_gate_at_a_time),
        WITH_HELPER(what_is_no_request_is_answered_with_an_error),
        WITH_HELPER(a_descriptor_of_an_empty_message_is_closed),
        WITH_HELPER(too_many_connections_are_turned_away_and_the_gate_stays),
        WITH_HELPER(another_users_processes_are_not_served),
        WITH_HELPER(it_keeps_no_privilege_and_no_descriptor_of_its_caller),
        ALONE(a_holder_serves_the_namespace_that_it_is_in),
        ALONE(a_holder_in_the_engines_own_namespace_is_refused),
        cmocka_unit_test(a_wrong_command_line_is_refused_before_anything_is_done),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
