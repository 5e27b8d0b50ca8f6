/* The oci runtime with a real runc, as root: the life of a container. */
#include "world.h"

static size_t count(const char *command)
{
    FILE *f = popen(command, "r");
    int n = -1;

    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return (size_t)n;
}

/* Nothing of a container but what the caller keeps: directories, cgroups, mounts, processes. */
static void assert_nothing_left(struct world *w)
{
    char command[400];

    snprintf(command, sizeof(command), "ls %s/containers | wc -l", w->state);
    assert_int_equal(count(command), 0);
    snprintf(command, sizeof(command),
             "find /sys/fs/cgroup -maxdepth 3 -path '*/sbx/sbx.%s-*' -type d 2>/dev/null | wc -l",
             w->app);
    assert_int_equal(count(command), 0);
    snprintf(command, sizeof(command), "grep -c %s /proc/self/mountinfo; true", w->dir);
    assert_int_equal(count(command), 0);
}

static void a_container_lives_from_create_to_remove(void **state)
{
    struct world *w = *state;
    static const char *const labels[] = { "a=b", NULL };
    struct sbx_container_spec spec = { .name = "t-life", .labels = labels };
    struct sbx_container c;
    const char *started;
    char *id = NULL;
    int status = -1;
    const char *argv[] = { "true", NULL };
    struct sbx_exec x = EXEC_INIT;

    x.argv = argv;
    assert_int_equal(try_create(w, spec, &id), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, "t-life", w->arena, &c, &w->err), SBX_OK);
    assert_string_equal(c.id, id);
    assert_string_equal(c.name, "t-life");
    assert_string_equal(c.labels[0], "a=b");
    assert_false(c.running);
    assert_string_equal(c.started_at, "");
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_UNAVAILABLE);
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
    assert_true(c.running);
    assert_int_equal(kill(c.pid, 0), 0);
    started = c.started_at;
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
    assert_false(c.running);
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
    assert_string_not_equal(c.started_at, started);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_NOT_FOUND);
    free(id);
    assert_nothing_left(w);
}

static void the_first_process_gets_term_and_time_to_end(void **state)
{
    struct world *w = *state;
    static const char *const argv[] = {
        "/bin/sh", "-c",
        "trap 'echo ended >/out/mark; exit 0' TERM; echo >/out/ready; while :; do sleep 0.01; done",
        NULL
    };
    struct sbx_mount m = { .kind = SBX_MOUNT_BIND, .target = "/out" };
    char path[100], text[120];
    const char *id;

    snprintf(path, sizeof(path), "%s/shared", w->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    m.source = path;
    id = running(w, (struct sbx_container_spec){
                        .name = "t-term", .argv = argv, .mounts = &m, .n_mounts = 1 });
    sh(w, id, "while ! test -e /out/ready; do sleep 0.01; done");
    assert_int_equal(sbx_runtime_stop(w->rt, id, 30, &w->err), SBX_OK);
    snprintf(text, sizeof(text), "%s/mark", path);
    assert_int_equal(access(text, F_OK), 0);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
}

static void a_name_is_taken_once(void **state)
{
    struct world *w = *state;
    char *id = NULL, *second = NULL;

    assert_int_equal(try_create(w, (struct sbx_container_spec){ .name = "t-name" }, &id), SBX_OK);
    assert_int_equal(try_create(w, (struct sbx_container_spec){ .name = "t-name" }, &second),
                     SBX_EXISTS);
    assert_int_equal(sbx_runtime_remove(w->rt, "t-name", &w->err), SBX_OK);
    assert_int_equal(try_create(w, (struct sbx_container_spec){ .name = "t-name" }, &second),
                     SBX_OK);
    assert_string_not_equal(id, second);
    /* the id of one that is gone does not find its successor */
    struct sbx_container c;
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_NOT_FOUND);
    assert_int_equal(sbx_runtime_remove(w->rt, second, &w->err), SBX_OK);
    free(id);
    free(second);
}

static void what_cannot_be_had_is_refused_before_anything_is_made(void **state)
{
    struct world *w = *state;
    char *id = NULL;
    static const struct {
        struct sbx_container_spec spec;
        enum sbx_code code;
        const char *says;
    } rows[] = {
        { { .name = "t-x", .gpus = "all" }, SBX_UNSUPPORTED, "gpu" },
        { { .name = "t-x", .image = "none:1" }, SBX_NOT_FOUND, "none:1" },
        { { .name = "t-x", .netns = SBX_NETNS_CONTAINER, .netns_ref = "y" },
          SBX_UNSUPPORTED,
          "network" },
        { { .name = "t-x", .image = "../../etc" }, SBX_NOT_FOUND, "../../etc" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        assert_int_equal(try_create(w, rows[i].spec, &id), rows[i].code);
        print_message("%s\n", w->err.text);
        assert_non_null(strstr(w->err.text, rows[i].says));
        assert_null(id);
    }
    assert_nothing_left(w);
}

static void a_start_that_fails_leaves_a_stopped_container(void **state)
{
    struct world *w = *state;
    static const char *const none[] = { "/no/such/init", NULL };
    struct sbx_mount gone = { .kind = SBX_MOUNT_BIND, .source = "/no/such/source", .target = "/x" };
    static const struct {
        const char *netns, *says;
        int what;
    } rows[] = {
        { "/proc/self/ns/net", "host's own network", 0 },
        { "/proc/1/ns/net", "/proc/1/ns/net", 0 },
        { "/proc/self/ns/mnt", "not a network namespace", 0 },
        { "/etc/passwd", "not a network namespace", 0 },
        { "/no/such/ns", "/no/such/ns", 0 },
        { NULL, "/no/such/init", 1 },
        { NULL, "/no/such/source", 2 },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_container_spec s = { .name = "t-fail", .netns_ref = rows[i].netns };
        struct sbx_container c;
        char *id = NULL;

        s.netns = rows[i].netns ? SBX_NETNS_PATH : SBX_NETNS_NONE;
        s.argv = rows[i].what == 1 ? none : NULL;
        s.mounts = rows[i].what == 2 ? &gone : NULL;
        s.n_mounts = rows[i].what == 2;
        assert_int_equal(try_create(w, s, &id), SBX_OK);
        assert_int_not_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
        print_message("%s\n", w->err.text);
        assert_non_null(strstr(w->err.text, rows[i].says));
        assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
        assert_false(c.running);
        assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
        free(id);
    }
    assert_nothing_left(w);
}

static void accounts_that_are_no_files_do_not_hold_a_start(void **state)
{
    static const char *const rows[] = {
        "rm /etc/passwd; mknod /etc/passwd p",
        "rm /etc/group; mknod /etc/group p",
        "mknod /tmp/p p; rm /etc/passwd; ln -s /tmp/p /etc/passwd",
        "mkdir /tmp/e; mknod /tmp/e/passwd p; mv /etc /old; ln -s /tmp/e /etc",
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const char *id = running(w, (struct sbx_container_spec){ .name = "t-fifo" });

        sh(w, id, rows[i]);
        assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
        assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
        assert_non_null(strstr(sh(w, id, "cat /etc/passwd"), "agent:x:1000"));
        assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    }
    assert_nothing_left(w);
}

/* A start that hangs: /etc of a volume, which is mounted only by the OCI runtime, has the FIFO. */
static char *hangs(struct world *w)
{
    static const struct sbx_mount etc = { .kind = SBX_MOUNT_BIND, .target = "/etc" };
    struct sbx_mount m = etc;
    char dir[128], path[160], *id = NULL;

    snprintf(dir, sizeof(dir), "%s/etc", w->dir);
    snprintf(path, sizeof(path), "%s/passwd", dir);
    assert_true(mkdir(dir, 0755) == 0 || errno == EEXIST);
    assert_true(mkfifo(path, 0644) == 0 || errno == EEXIST);
    m.source = dir;
    assert_int_equal(try_create(w,
                                (struct sbx_container_spec){
                                    .name = "t-hangs", .mounts = &m, .n_mounts = 1 },
                                &id),
                     SBX_OK);
    return id;
}

/* Until the container's first process waits for the FIFO: its cgroup has a process. */
static void wait_for_hang(const char *id)
{
    char command[700];

    snprintf(command, sizeof(command),
             "for i in $(seq 600); do cat /sys/fs/cgroup/sbx/%s/cgroup.procs "
             "/sys/fs/cgroup/*/sbx/%s/cgroup.procs 2>/dev/null | grep -q . && exit 0; sleep 0.05; "
             "done; exit 1",
             id, id);
    assert_int_equal(system(command), 0);
}

static void a_start_that_hangs_ends_at_an_interrupt(void **state)
{
    struct world *w = *state;
    char *id = hangs(w);
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "\2", 1), 1); /* one that was followed before does not count */
    sbx_runtime_interrupt_by(w->rt, fds[0]);
    pid = fork();
    if (!pid) {
        wait_for_hang(id);
        _exit(write(fds[1], "\2", 1) != 1);
    }
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_CANCELED);
    assert_non_null(strstr(w->err.text, "interrupted"));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    close(fds[0]);
    close(fds[1]);
    free(id);
    assert_nothing_left(w);
}

static void a_start_that_hangs_and_is_killed_holds_nobody(void **state)
{
    struct world *w = *state;
    char *id = hangs(w);
    pid_t pid = fork();

    if (!pid)
        _exit(sbx_runtime_start(w->rt, id, &w->err) != SBX_OK);
    wait_for_hang(id);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    free(id);
    assert_nothing_left(w);
}

/* Kill a command that makes, starts, uses and removes at a moment that differs each time. */
static void killed_commands_leave_nothing_that_the_next_does_not_clean(void **state)
{
    struct world *w = *state;

    for (unsigned i = 0; i < 24; i++) {
        struct sbx_container_spec spec = { .name = "t-killed" };
        struct sbx_container *list;
        char *id = NULL;
        size_t n;
        pid_t pid = fork();

        if (!pid) {
            int status;
            const char *argv[] = { "true", NULL };
            struct sbx_exec x = EXEC_INIT;

            x.argv = argv;
            if (world_reopen(w) == SBX_OK && try_create(w, spec, &id) == SBX_OK &&
                sbx_runtime_start(w->rt, id, &w->err) == SBX_OK &&
                sbx_runtime_exec(w->rt, id, &x, &status, &w->err) == SBX_OK &&
                sbx_runtime_stop(w->rt, id, 0, &w->err) == SBX_OK)
                _exit(sbx_runtime_remove(w->rt, id, &w->err) != SBX_OK);
            _exit(1);
        }
        usleep(i * 5000); /* the moment, not a wait for anything */
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        /* a runtime that the killed command had started may still be at work; remove ends it */
        assert_int_equal(sbx_runtime_list(w->rt, w->arena, &list, &n, &w->err), SBX_OK);
        assert_int_equal(sbx_runtime_remove(w->rt, "t-killed", &w->err), SBX_OK);
        assert_int_equal(try_create(w, spec, &id), SBX_OK);
        assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
        assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
        free(id);
        assert_nothing_left(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_lives_from_create_to_remove),
        cmocka_unit_test(the_first_process_gets_term_and_time_to_end),
        cmocka_unit_test_setup_teardown(a_name_is_taken_once, world_up, world_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_had_is_refused_before_anything_is_made,
                                        world_up, world_down),
        cmocka_unit_test_setup_teardown(a_start_that_fails_leaves_a_stopped_container, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(accounts_that_are_no_files_do_not_hold_a_start, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(a_start_that_hangs_ends_at_an_interrupt, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(a_start_that_hangs_and_is_killed_holds_nobody, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(killed_commands_leave_nothing_that_the_next_does_not_clean,
                                        world_up, world_down),
    };
    int rc = world_can_run();

    return rc ? rc : cmocka_run_group_tests(tests, world_up, world_down);
}
