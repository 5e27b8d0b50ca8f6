/* What goes wrong leaves nothing behind, and the name can be used again. */
#include "world.h"

#include "../box.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static void works_now(struct world *w)
{
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    if (create_demo(w, &c, &err))
        fail_msg("again: %s", err.text);
    assert_int_equal(status_of(w), SBX_STATUS_RUNNING);
    if (sbx_sandbox_remove(w->e, "demo", true, &err))
        fail_msg("%s", err.text);
    nothing_is_left(w);
}

static void a_failing_install_tells_why_and_leaves_nothing(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    sbx_fake_answer(w->rt, "/bin/sh -c one --second", "fetching\nno such host\n", 7);
    assert_int_equal(create_demo(w, &c, &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "kit one, install command 2: exit 7:\nfetching\nno such host"));
    assert_non_null(strstr(w->events, "output install/one/2 no such host\n"));
    assert_non_null(strstr(w->events, "failed install/one/2"));
    nothing_is_left(w);
}

static void keep_failed_keeps_it_for_a_look(void **state)
{
    static const char *const argv[] = { "true", NULL };
    struct sbx_command command = { .argv = argv, .streams = SBX_STREAMS_NONE };
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;
    int status = -1;

    c.keep_failed = true;
    sbx_fake_answer(w->rt, "/bin/sh -c one --second", "", 7);
    assert_int_equal(create_demo(w, &c, &err), SBX_FAILED);
    assert_int_equal(status_of(w), SBX_STATUS_FAILED);
    assert_int_equal(sbx_sandbox_exec(w->e, "demo", &command, &status, &err), SBX_OK);
    assert_int_equal(status, 0);
    assert_int_equal(sbx_sandbox_remove(w->e, "demo", false, &err), SBX_OK);
    nothing_is_left(w);
}

/* Fails the nth call of `op` in a world of its own; false: there are not so many calls. */
static bool fails_at(const char *op, unsigned nth)
{
    void *state = NULL;
    struct sbx_create c;
    struct sbx_err err = SBX_ERR_INIT;
    struct world *w;
    enum sbx_code rc;

    world_up(&state);
    w = state;
    c = world_create(w);
    sbx_fake_fail(w->rt, op, nth, SBX_UNAVAILABLE);
    rc = create_demo(w, &c, &err);
    if (rc) {
        nothing_is_left(w);
        works_now(w);
    }
    world_down(&state);
    return rc != SBX_OK;
}

static void any_failing_call_of_the_runtime_leaves_nothing(void **state)
{
    static const struct {
        const char *op;
        unsigned calls; /* that a create makes at least */
    } rows[] = { { "image_ensure", 1 }, { "volume_ensure", 1 }, { "create", 1 },
                 { "start", 1 },        { "inspect", 2 },       { "exec", 7 } };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        unsigned nth = 1;

        while (fails_at(rows[i].op, nth))
            nth++;
        if (nth <= rows[i].calls)
            fail_msg("%s: only %u calls were made to fail", rows[i].op, nth - 1);
    }
}

/* In another process: create until the fault stops it dead. Its containers die with its fake. */
static bool dies_at(struct world *w, const char *fault)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        struct sbx_create c = world_create(w);

        setenv("SBX_FAULT", fault, 1);
        _exit((int)create_demo(w, &c, NULL));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status);
}

static void a_create_cut_off_anywhere_is_cleaned_up_by_the_next(void **state)
{
    static const char *const points[] = { "at:state", "at:volumes", "at:created", "at:started" };
    struct world *w = *state;
    unsigned died = 0;

#ifndef SBX_FAULTS
    skip();
#endif
    for (unsigned i = 0; i < 2 * 14 + SBX_ARRAY_LEN(points); i++) {
        char fault[40];

        if (i < 2 * 14)
            snprintf(fault, sizeof(fault), "step:%u%s", i / 2 + 1, i % 2 ? "+" : "");
        else
            snprintf(fault, sizeof(fault), "%s", points[i - 2 * 14]);
        if (dies_at(w, fault))
            died++;
        else /* no step has that number: it was completed */
            assert_int_equal(sbx_sandbox_remove(w->e, "demo", true, NULL), SBX_OK);
        works_now(w);
    }
    assert_int_equal(died, 2 * 13 + SBX_ARRAY_LEN(points)); /* two startup steps are one */
}

/* Nothing of a create is synced before it is done: a file system may have kept names without contents. */
static void a_power_failure_during_a_create_is_cleaned_up_by_the_next(void **state)
{
    static const char *const files[] = { "sandbox.json", "plan.json", "ca/key.pem", "ca/cert.pem" };
    struct world *w = *state;
    char dir[200];

#ifndef SBX_FAULTS
    skip();
#endif
    snprintf(dir, sizeof(dir), "%s/state/sbx/apps/unit/sandboxes/demo", w->dir);
    assert_true(dies_at(w, "at:created"));
    for (size_t i = 0; i < SBX_ARRAY_LEN(files); i++)
        put_file(dir, files[i], "");
    assert_int_equal(status_of(w), SBX_STATUS_BROKEN);
    works_now(w);
}

static void rm_cleans_up_after_a_cut_off_create_too(void **state)
{
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;

#ifndef SBX_FAULTS
    skip();
#endif
    assert_true(dies_at(w, "step:5"));
    assert_int_equal(status_of(w), SBX_STATUS_BROKEN);
    assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_FAILED);
    assert_int_equal(sbx_sandbox_remove(w->e, "demo", false, &err), SBX_OK);
    nothing_is_left(w);
}

static void of_two_creates_at_once_one_gets_the_name(void **state)
{
    struct world *w = *state;
    pid_t pids[2];
    int ok = 0, taken = 0;

    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct sbx_create c = world_create(w);

            _exit((int)create_demo(w, &c, NULL));
        }
    }
    for (int i = 0; i < 2; i++) {
        int status;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        ok += WIFEXITED(status) && WEXITSTATUS(status) == SBX_OK;
        taken += WIFEXITED(status) && WEXITSTATUS(status) == SBX_EXISTS;
    }
    assert_int_equal(ok, 1);
    assert_int_equal(taken, 1);
}

static void an_interrupt_ends_the_create_and_leaves_nothing(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;
    char byte;

    assert_int_equal(write(w->interrupt[1], "x", 1), 1);
    assert_int_equal(create_demo(w, &c, &err), SBX_CANCELED);
    nothing_is_left(w);
    assert_int_equal(read(w->interrupt[0], &byte, 1), 1);
    works_now(w);
}

static void a_failed_startup_command_is_told_and_only_strict_is_fatal(void **state)
{
    static const char status[] = "one\t1\t3\tboom\none\t2\t-\tstarted in the background\nend\n";
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    sbx_fake_answer(w->rt, "/run/sbx/init wait", status, 0);
    assert_int_equal(create_demo(w, &c, &err), SBX_OK);
    assert_non_null(strstr(w->events, "warning - startup failed: kit one, command 1, exit 3: boom"));
    assert_null(strstr(w->events, "command 2, exit"));
    assert_int_equal(sbx_sandbox_remove(w->e, "demo", false, &err), SBX_OK);
    c.strict_startup = true;
    assert_int_equal(create_demo(w, &c, &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "startup failed: kit one, command 1, exit 3: boom"));
    nothing_is_left(w);
}

static void files_that_cannot_be_written_are_named(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    /* two records: the workspace's file and the first of the instructions */
    sbx_fake_answer(w->rt, "/run/sbx/init batch", "ok\nerror write: no space left\n", 1);
    assert_int_equal(create_demo(w, &c, &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "no space left"));
    nothing_is_left(w);
}

static void a_running_session_keeps_a_sandbox_from_rm(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_box box = SBX_BOX_INIT;
    int session = -1;

    assert_int_equal(create_demo(w, &c, &err), SBX_OK);
    assert_int_equal(sbx_box_peek(w->e, "demo", &box, &err), SBX_OK);
    assert_int_equal(sbx_session_begin(&box, &session, &err), SBX_OK);
    assert_int_equal(sbx_sandbox_remove(w->e, "demo", false, &err), SBX_BUSY);
    assert_non_null(strstr(err.text, "1 session"));
    close(session);
    sbx_box_release(&box);
    assert_int_equal(sbx_sandbox_remove(w->e, "demo", false, &err), SBX_OK);
}

static void listen_at(const char *dir, int *ret)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    snprintf(a.sun_path, sizeof(a.sun_path), "%.90s/agent.sock", dir);
    *ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*ret, (struct sockaddr *)&a, sizeof(a)), 0);
}

static void sockets_in_a_workspace_are_refused_unless_allowed(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    const char *allow[] = { w->workspace, NULL };
    struct sbx_err err = SBX_ERR_INIT;
    int fd;

    listen_at(w->workspace, &fd);
    assert_int_equal(create_demo(w, &c, &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "agent.sock"));
    nothing_is_left(w);
    c.allow_sockets = allow;
    assert_int_equal(create_demo(w, &c, &err), SBX_OK);
    close(fd);
}

static void directories_that_give_too_much_are_refused(void **state)
{
    struct world *w = *state;
    char home[128], state_dir[128], missing[128], file[128];
    const struct {
        const char *path;
        enum sbx_code code;
    } rows[] = {
        { "/", SBX_FAILED },   { home, SBX_FAILED },       { w->dir, SBX_FAILED },
        { "/etc", SBX_FAILED }, { state_dir, SBX_FAILED }, { missing, SBX_NOT_FOUND },
        { file, SBX_USAGE },
    };

    snprintf(home, sizeof(home), "%s/home", w->dir);
    snprintf(state_dir, sizeof(state_dir), "%s/state", w->dir);
    snprintf(missing, sizeof(missing), "%s/missing", w->dir);
    snprintf(file, sizeof(file), "%s/file", w->dir);
    put_file(w->dir, "file", "x");
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_workspace workspace = { rows[i].path, false };
        struct sbx_create c = world_create(w);
        struct sbx_err err = SBX_ERR_INIT;

        c.workspaces = &workspace;
        if (create_demo(w, &c, &err) != rows[i].code)
            fail_msg("%s: %s", rows[i].path, err.text);
        nothing_is_left(w);
    }
}

static void the_history_is_a_chain_that_shows_a_change(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;
    char path[200];
    int fd;

    assert_int_equal(create_demo(w, &c, &err), SBX_OK);
    assert_int_equal(sbx_sandbox_stop(w->e, "demo", &err), SBX_OK);
    assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_OK);
    snprintf(path, sizeof(path), "%s/state/sbx/apps/unit/sandboxes/demo/records.jsonl", w->dir);
    assert_int_equal(sbx_history_verify(path, &err), SBX_OK);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "X", 1, 30), 1);
    close(fd);
    assert_int_equal(sbx_history_verify(path, &err), SBX_SCHEMA);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_failing_install_tells_why_and_leaves_nothing),
        TEST(keep_failed_keeps_it_for_a_look),
        cmocka_unit_test(any_failing_call_of_the_runtime_leaves_nothing),
        TEST(a_create_cut_off_anywhere_is_cleaned_up_by_the_next),
        TEST(a_power_failure_during_a_create_is_cleaned_up_by_the_next),
        TEST(rm_cleans_up_after_a_cut_off_create_too),
        TEST(of_two_creates_at_once_one_gets_the_name),
        TEST(an_interrupt_ends_the_create_and_leaves_nothing),
        TEST(a_failed_startup_command_is_told_and_only_strict_is_fatal),
        TEST(files_that_cannot_be_written_are_named),
        TEST(a_running_session_keeps_a_sandbox_from_rm),
        TEST(sockets_in_a_workspace_are_refused_unless_allowed),
        TEST(directories_that_give_too_much_are_refused),
        TEST(the_history_is_a_chain_that_shows_a_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
