/* What a process inside, or a broken disk, can put in the way of a sandbox. */
#include "world.h"

#include "../box.h"
#include "../net.h"

#include "sbx/file.h"

#include <fcntl.h>

/* A workspace "n" and one below it, as the agent of "n" may come to change: of "demo" alone. */
static void make_tree(struct world *w, char *ret, size_t size)
{
    static const char *const dirs[] = { "n", "n/a", "n/a/sub", "secret", "secret/sub" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(dirs); i++) {
        char path[200];

        snprintf(path, sizeof(path), "%s/%s", w->dir, dirs[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    snprintf(ret, size, "%s/n/a/sub", w->dir);
}

static void a_workspace_is_not_followed_through_a_symlink_at_start(void **state)
{
    struct world *w = *state;
    char sub[200], a[200], away[200], secret[200];
    struct sbx_workspace workspace = { sub, false };
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    make_tree(w, sub, sizeof(sub));
    snprintf(a, sizeof(a), "%s/n/a", w->dir);
    snprintf(away, sizeof(away), "%s/n/away", w->dir);
    snprintf(secret, sizeof(secret), "%s/secret", w->dir);
    c.workspaces = &workspace;
    assert_int_equal(create_demo(w, &c, &err), SBX_OK);
    assert_int_equal(sbx_sandbox_stop(w->e, "demo", &err), SBX_OK);
    assert_int_equal(rename(a, away), 0);
    assert_int_equal(symlink(secret, a), 0);
    assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "symbolic link"));
    assert_int_equal(status_of(w), SBX_STATUS_STOPPED);
    assert_int_equal(unlink(a), 0); /* another directory in its place is refused too */
    assert_int_equal(rename(secret, a), 0);
    err = (struct sbx_err)SBX_ERR_INIT;
    assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "was replaced"));
    assert_int_equal(rename(a, secret), 0);
    assert_int_equal(rename(away, a), 0); /* and the right one is taken again */
    if (sbx_sandbox_start(w->e, "demo", &err))
        fail_msg("%s", err.text);
    assert_int_equal(status_of(w), SBX_STATUS_RUNNING);
}

static void a_workspace_in_a_writable_one_is_refused_unless_it_is_a_protection(void **state)
{
    struct world *w = *state;
    char sub[200], n[200];
    static const struct {
        bool ro_outer, ro_inner;
        enum sbx_code code;
    } rows[] = { { false, false, SBX_USAGE }, { false, true, SBX_OK }, { true, false, SBX_OK },
                 { true, true, SBX_OK } };

    make_tree(w, sub, sizeof(sub));
    snprintf(n, sizeof(n), "%s/n", w->dir);
    for (size_t i = 0; i < 2 * SBX_ARRAY_LEN(rows); i++) {
        bool turned = i % 2;
        struct sbx_workspace both[2];
        struct sbx_create c = world_create(w);
        struct sbx_err err = SBX_ERR_INIT;

        both[turned] = (struct sbx_workspace){ n, rows[i / 2].ro_outer };
        both[!turned] = (struct sbx_workspace){ sub, rows[i / 2].ro_inner };
        c.workspaces = both;
        c.n_workspaces = 2;
        if (create_demo(w, &c, &err) != rows[i / 2].code)
            fail_msg("row %zu: %s", i, err.text);
        if (rows[i / 2].code)
            assert_non_null(strstr(err.text, "is inside the workspace"));
        else
            assert_int_equal(sbx_sandbox_remove(w->e, "demo", true, &err), SBX_OK);
        nothing_is_left(w);
    }
}

static void a_protected_file_may_be_replaced_by_a_file_only(void **state)
{
    struct world *w = *state;
    char file[200];
    struct sbx_workspace both[2] = { { w->workspace, false }, { file, true } };
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    snprintf(file, sizeof(file), "%s/config", w->workspace);
    put_file(w->workspace, "config", "one");
    c.workspaces = both;
    c.n_workspaces = 2;
    if (create_demo(w, &c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(sbx_sandbox_stop(w->e, "demo", &err), SBX_OK);
    put_file(w->workspace, "config", "two"); /* a new file in its place, as editors do */
    if (sbx_sandbox_start(w->e, "demo", &err))
        fail_msg("%s", err.text);
    assert_int_equal(sbx_sandbox_stop(w->e, "demo", &err), SBX_OK);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkdir(file, 0755), 0);
    assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_FAILED);
    assert_int_equal(rmdir(file), 0);
}

/* Written by hand, cut short, of another version: none of them is "a create was cut off". */
static void a_record_that_cannot_be_read_is_never_removed_by_a_create(void **state)
{
    static const char *const rows[] = { "", "garbage", "[]", "{\"version\":1}", "{\"version\":99}" };
    struct world *w = *state;
    char dir[200], path[256];

    snprintf(dir, sizeof(dir), "%s/state/sbx/apps/unit/sandboxes/demo", w->dir);
    snprintf(path, sizeof(path), "%s/sandbox.json", dir);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_create c = world_create(w);
        struct sbx_err err = SBX_ERR_INIT;

        assert_int_equal(create_demo(w, &c, &err), SBX_OK);
        put_file(dir, "sandbox.json", rows[i]);
        assert_int_equal(create_demo(w, &c, &err), SBX_FAILED);
        if (!strstr(err.text, path) || !strstr(err.text, "sbx rm demo"))
            fail_msg("%s", err.text);
        assert_int_equal(sbx_fake_containers(w->rt), 1);
        assert_true(there(w, "state/sbx/apps/unit/sandboxes/demo/plan.json"));
        assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_FAILED);
        assert_non_null(strstr(err.text, "cannot be read"));
        if (sbx_sandbox_remove(w->e, "demo", true, &err))
            fail_msg("%s", err.text);
        nothing_is_left(w);
    }
}

static void a_pid_file_that_cannot_be_read_is_no_process(void **state)
{
    static const char *const rows[] = {
        "", "x", "[]", "{}", "{\"pid\":1}", "{\"pid\":-1,\"start_time\":1}",
        "{\"pid\":4294967297,\"start_time\":1}", "{\"pid\":\"1\",\"start_time\":1}", "\xff\xfe",
    };
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;

    assert_int_equal(create_demo(w, &c, &err), SBX_OK);
    assert_int_equal(sbx_box_peek(w->e, "demo", &box, &err), SBX_OK);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_pidfile p = { 0 };

        put_file(box.dir, "x.pid.json", rows[i]);
        if (sbx_pidfile_read(&box, "x.pid.json", &p))
            fail_msg("%s: pid %d", rows[i], (int)p.pid);
    }
}

static void a_forged_startup_status_is_told_and_does_no_harm(void **state)
{
    static const char status[] = "one\t1\t3\tbo\xff\x1b[2Jom\nforged\none\tx\t0\t\n"
                                 "one\t2\t99999999999\t\none\t2\t-\t\nend\n";
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STATE_MAX);
    char path[256];

    sbx_fake_answer(w->rt, "/run/sbx/init wait", status, 0);
    assert_int_equal(create_demo(w, &c, &err), SBX_OK);
    assert_non_null(strstr(w->events, "kit one, command 1, exit 3: bo\\xff\\x1b[2Jom"));
    assert_non_null(strstr(w->events, "cannot be understood"));
    snprintf(path, sizeof(path), "%s/state/sbx/apps/unit/sandboxes/demo/records.jsonl", w->dir);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &text, NULL), SBX_OK);
    if (!strstr(text.ptr, "\"kit\":\"one\"") || !strstr(text.ptr, "\"command\":\"1\"") ||
        !strstr(text.ptr, "\"exit\":\"3\"") || !strstr(text.ptr, "startup-unclear"))
        fail_msg("%s", text.ptr);
}

/* Of a create that was killed while the runtime made it, or of another user of the same Engine. */
static void a_container_of_our_name_is_removed_only_if_it_is_of_this_state(void **state)
{
    static const char *const argv[] = { "/run/sbx/init", NULL };
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;
    char ours[256];

    snprintf(ours, sizeof(ours), "sbx.state=%s/state/sbx/apps/unit", w->dir);
    for (int i = 0; i < 2; i++) {
        const char *labels[] = { "sbx.role=sandbox", i ? ours : "sbx.state=/another/user", NULL };
        struct sbx_container_spec spec = { .name = "demo", .image = "registry.example.com/agentix:1",
                                           .argv = argv, .labels = labels };
        SBX_AUTO_FREE char *id = NULL;

        if (sbx_runtime_create(w->rt, &spec, &id, &err))
            fail_msg("%s", err.text);
        if (create_demo(w, &c, &err) != (i ? SBX_OK : SBX_EXISTS))
            fail_msg("%d: %s", i, err.text);
        assert_int_equal(sbx_fake_containers(w->rt), 1);
        if (i)
            continue;
        assert_non_null(strstr(err.text, "taken by another container"));
        assert_int_equal(sbx_runtime_remove(w->rt, id, &err), SBX_OK);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_workspace_is_not_followed_through_a_symlink_at_start),
        TEST(a_workspace_in_a_writable_one_is_refused_unless_it_is_a_protection),
        TEST(a_protected_file_may_be_replaced_by_a_file_only),
        TEST(a_record_that_cannot_be_read_is_never_removed_by_a_create),
        TEST(a_container_of_our_name_is_removed_only_if_it_is_of_this_state),
        TEST(a_pid_file_that_cannot_be_read_is_no_process),
        TEST(a_forged_startup_status_is_told_and_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
