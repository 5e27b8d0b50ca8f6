/* The oci runtime with a real runc, as root: processes that enter a container. */
#include "world.h"

static void exit_statuses_are_a_shells(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-status" });
    static const struct {
        const char *argv[4];
        int status;
    } rows[] = {
        { { "true" }, 0 },
        { { "sh", "-c", "exit 7" }, 7 },
        { { "no-such-program" }, 127 },
        { { "/no/such/program" }, 127 },
        { { "/bin/text" }, 126 },
        { { "/etc" }, 126 },
        { { "sh", "-c", "kill -9 $$" }, 137 },
        { { "sh", "-c", "kill -15 $$" }, 143 },
        { { "sh", "-c", "exit 127" }, 127 },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_exec x = EXEC_INIT;
        int status = -1;

        print_message("%s\n", rows[i].argv[0]);
        x.argv = rows[i].argv;
        assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
        assert_int_equal(status, rows[i].status);
    }
}

static void streams_are_carried_whole(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-streams" });
    const char *argv[] = { "sh", "-c", "cat; echo to-stderr >&2", NULL };
    SBX_AUTO(sbx_buf) back = SBX_BUF_INIT(8 << 20);
    struct sbx_exec x = EXEC_INIT;
    char path[128], *data = malloc(3000000);
    int status = -1, err_pipe[2];
    char text[32] = "";

    for (size_t i = 0; i < 3000000; i++)
        data[i] = (char)(i * 7 + i / 251);
    snprintf(path, sizeof(path), "%s/in", w->dir);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, data, 3000000, 0600, NULL), SBX_OK);
    x.argv = argv;
    x.in = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s/back", w->dir);
    x.out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pipe2(err_pipe, O_CLOEXEC), 0);
    x.err_fd = err_pipe[1];
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    close(err_pipe[1]);
    assert_int_equal(read(err_pipe[0], text, sizeof(text)), 10);
    assert_string_equal(text, "to-stderr\n");
    close(err_pipe[0]);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &back, NULL), SBX_OK);
    assert_int_equal(back.len, 3000000);
    assert_memory_equal(back.ptr, data, 3000000);
    close(x.in);
    close(x.out);
    free(data);
}

/* What a step leaves running must not hold its caller. */
static void a_process_in_the_background_holds_nobody(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-background" });
    const char *argv[] = { "sh", "-c", "sleep 100000 & echo done", NULL };
    struct sbx_exec x = EXEC_INIT;
    char text[32] = "";
    int fds[2], status = -1;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    x.argv = argv;
    x.out = x.err_fd = fds[1];
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    close(fds[1]);
    assert_int_equal(read(fds[0], text, sizeof(text)), 5);
    assert_string_equal(text, "done\n");
    assert_int_equal(read(fds[0], text, sizeof(text)), 0); /* the end: nobody inside has it */
    close(fds[0]);
}

static void a_working_directory_that_is_missing_is_named(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-cwd" });
    const char *argv[] = { "true", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status = -1;

    x.argv = argv;
    x.workdir = "/no/such/\033[31mplace";
    assert_string_equal(output(w, id, x, &status),
                        "sbx: working directory /no/such/\\x1b[31mplace: No such file or directory\n");
    assert_int_equal(status, 126);
    argv[0] = "/no/\033]0;title\a";
    x.workdir = NULL;
    assert_string_equal(output(w, id, x, &status),
                        "sbx: /no/\\x1b]0;title\\x07: No such file or directory\n");
    assert_int_equal(status, 127);
    x.user = "";
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_USAGE);
}

static void a_process_does_not_see_our_descriptors(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-fds" });
    int held = open("/etc/hostname", O_RDONLY); /* on purpose without O_CLOEXEC */

    assert_true(held >= 0);
    /* 0, 1, 2 and that of the listing itself */
    assert_string_equal(sh(w, id, "ls /proc/self/fd | wc -l"), "4\n");
    /* and what it writes to is a pipe, not our file */
    assert_non_null(strstr(sh(w, id, "ls -l /proc/self/fd/1"), "pipe:"));
    close(held);
}

/* What entered a container must not be a file of the host that a hostile image could write to. */
static void the_program_that_enters_cannot_be_changed_from_inside(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-self" });
    const char *argv[] = { "/proc/self/exe", NULL };
    const char *script[] = { "/tmp/hostile", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status = -1;

    x.argv = argv;
    x.timeout_s = 30;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 125); /* it ran itself, found no request, and ended */
    sh(w, id, "printf '#!/proc/self/exe\n' >/tmp/hostile; chmod 755 /tmp/hostile");
    x.argv = script;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 125);
    assert_string_equal(sh(w, id, "true"), "");
}

static void users_groups_and_home_are_the_images(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-users" });
    int status;
    static const struct {
        const char *user, *says;
    } rows[] = {
        { "0", "uid=0(root) gid=0(root) /root" },
        { "agent", "uid=1000(agent) gid=1000(agent) groups=1000(agent),50(extra) /home/agent" },
        { "1000", "uid=1000(agent) gid=1000(agent) groups=1000(agent),50(extra) /home/agent" },
        { "77:88", "uid=77 gid=88 /" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const char *text = sh_as(w, id, rows[i].user, "echo $(id) $HOME", &status);
        char want[200];

        snprintf(want, sizeof(want), "%s\n", rows[i].says);
        if (strcmp(text, want) != 0 &&
            !strstr(text, "groups=")) /* busybox id shows groups or not */
            assert_string_equal(text, want);
        assert_int_equal(strncmp(text, want, 15), 0);
    }
    struct sbx_exec x = EXEC_INIT;
    const char *argv[] = { "true", NULL };

    x.argv = argv;
    x.user = "nobody-here";
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 126);
}

static void environment_and_directory_are_the_containers_unless_given(void **state)
{
    struct world *w = *state;
    const char *id = running(
        w, (struct sbx_container_spec){ .name = "t-env", .workdir = "/made/by/us" });
    const char *argv[] = { "sh", "-c", "pwd; echo $FROM $ADDED", NULL };
    const char *env[] = { "ADDED=exec", "FROM=changed", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status;

    x.argv = argv;
    assert_string_equal(output(w, id, x, &status), "/made/by/us\ncontainer\n");
    x.env = env;
    x.workdir = "/tmp";
    assert_string_equal(output(w, id, x, &status), "/tmp\nchanged exec\n");
}

static struct sbx_winsize size_of_test(void *ctx)
{
    int *calls = ctx;

    return (*calls)++ ? (struct sbx_winsize){ 25, 81 } : (struct sbx_winsize){ 50, 200 };
}

static void a_terminal_has_size_echo_and_end(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-tty" });
    const char *argv[] = { "sh", "-c", "tty; stty size; cat >/dev/null; echo end; exit 3", NULL };
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(65536);
    struct sbx_exec x = EXEC_INIT;
    char path[128];
    int in[2], status = -1, calls = 0;

    snprintf(path, sizeof(path), "%s/tty", w->dir);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], "typed\n", 6), 6);
    close(in[1]); /* the end of our input is Ctrl-D on the terminal */
    x.argv = argv;
    x.tty = true;
    x.in = in[0];
    x.out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    x.winsize = size_of_test;
    x.ctx = &calls;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 3);
    close(in[0]);
    close(x.out);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &text, NULL), SBX_OK);
    print_message("%s", text.ptr);
    assert_non_null(strstr(text.ptr, "/dev/pts/"));
    assert_true(strstr(text.ptr, "50 200") || strstr(text.ptr, "25 81"));
    assert_non_null(strstr(text.ptr, "typed"));
    assert_non_null(strstr(text.ptr, "end"));
}

static void a_terminal_follows_resizing(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-resize" });
    const char *argv[] = {
        "sh", "-c", "while test \"$(stty size)\" != '25 81'; do sleep 0.01; done; echo resized",
        NULL
    };
    struct sbx_exec x = EXEC_INIT;
    int resize[2], status = -1, calls = 0;

    assert_int_equal(pipe2(resize, O_CLOEXEC), 0);
    assert_int_equal(write(resize[1], "", 1), 1);
    x.argv = argv;
    x.tty = true;
    x.winsize = size_of_test;
    x.ctx = &calls;
    x.resize_fd = resize[0];
    x.timeout_s = 60;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    close(resize[0]);
    close(resize[1]);
}

static void signals_reach_the_process(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-signal" });
    const char *argv[] = { "sleep", "100000", NULL };
    struct sbx_exec x = EXEC_INIT;
    int fds[2], status = -1;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "\x0f", 1), 1); /* SIGTERM */
    x.argv = argv;
    x.signal_fd = fds[0];
    x.timeout_s = 60;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 143);
    close(fds[0]);
    close(fds[1]);
}

static void a_stopped_process_is_killed_at_the_second_interrupt(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-stopped" });
    const char *argv[] = { "sh", "-c", "kill -STOP $$; : sbx-stopped-here", NULL };
    struct sbx_exec x = EXEC_INIT;
    int fds[2], status = -1;
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    if (!pid) {
        int rc = system("for i in $(seq 600); do ps -eo stat,args | "
                        "grep -q '^T.*sbx-stopped-her[e]' && exit 0; sleep 0.05; done; exit 1");

        _exit(rc || write(fds[1], "\2\2", 2) != 2);
    }
    x.argv = argv;
    x.signal_fd = fds[0];
    x.timeout_s = 60;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 130);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fds[0]);
    close(fds[1]);
}

static void a_process_past_its_time_is_killed_with_its_children(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-timeout" });
    const char *argv[] = { "sh", "-c", "sleep 777 & sleep 777", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status = -1;

    x.argv = argv;
    x.timeout_s = 1;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_TIMEOUT);
    assert_string_equal(sh(w, id,
                           "grep -l '^777' /proc/[0-9]*/cmdline | wc -l; "
                           "ps | grep -c '[s]leep 777'; true"),
                        "0\n0\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_statuses_are_a_shells),
        cmocka_unit_test(streams_are_carried_whole),
        cmocka_unit_test(a_process_in_the_background_holds_nobody),
        cmocka_unit_test(a_working_directory_that_is_missing_is_named),
        cmocka_unit_test(a_process_does_not_see_our_descriptors),
        cmocka_unit_test(the_program_that_enters_cannot_be_changed_from_inside),
        cmocka_unit_test(users_groups_and_home_are_the_images),
        cmocka_unit_test(environment_and_directory_are_the_containers_unless_given),
        cmocka_unit_test(a_terminal_has_size_echo_and_end),
        cmocka_unit_test(a_terminal_follows_resizing),
        cmocka_unit_test(signals_reach_the_process),
        cmocka_unit_test(a_stopped_process_is_killed_at_the_second_interrupt),
        cmocka_unit_test(a_process_past_its_time_is_killed_with_its_children),
    };
    int rc = world_can_run();

    return rc ? rc : cmocka_run_group_tests(tests, world_up, world_down);
}
