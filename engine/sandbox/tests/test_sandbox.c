/* The life of a sandbox, on the fake runtime. */
#include "world.h"

#include <fcntl.h>
#include <unistd.h>

#include "../box.h"

static void must_create(struct world *w)
{
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    if (create_demo(w, &c, &err))
        fail_msg("%s", err.text);
}

static void must(enum sbx_code rc, const struct sbx_err *err)
{
    if (rc)
        fail_msg("%s", err->text);
}

static void a_sandbox_lives_from_create_to_rm(void **state)
{
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_sandbox_info *list;
    size_t n;

    must_create(w);
    assert_int_equal(status_of(w), SBX_STATUS_RUNNING);
    must(sbx_sandbox_list(w->e, w->arena, &list, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_string_equal(list[0].name, "demo");
    assert_string_equal(list[0].agent, "agentix");
    assert_string_equal(list[0].workspaces[0].path, w->workspace);
    assert_int_equal(list[0].plan->n_kits, 4);
    must(sbx_sandbox_stop(w->e, "demo", &err), &err);
    assert_int_equal(status_of(w), SBX_STATUS_STOPPED);
    must(sbx_sandbox_start(w->e, "demo", &err), &err);
    assert_int_equal(status_of(w), SBX_STATUS_RUNNING);
    must(sbx_sandbox_remove(w->e, "demo", false, &err), &err);
    nothing_is_left(w);
    assert_false(there(w, "state/sbx/apps/unit/locks/demo"));
    assert_int_equal(sbx_sandbox_remove(w->e, "demo", true, &err), SBX_NOT_FOUND);
    assert_non_null(strstr(err.text, "not found"));
}

static bool has(const char *const *list, const char *want)
{
    for (; *list; list++)
        if (!strcmp(*list, want))
            return true;
    return false;
}

static void the_container_is_as_planned(void **state)
{
    struct world *w = *state;
    const struct sbx_container_spec *spec;
    size_t tmpfs = 0, volumes = 0, workspaces = 0;

    must_create(w);
    spec = sbx_fake_spec(w->rt, "demo");
    assert_string_equal(spec->argv[0], "/run/sbx/init");
    assert_true(has(spec->env, "IMAGE=1"));
    assert_true(has(spec->env, "PATH=/image/bin")); /* the default is weak */
    assert_true(has(spec->env, "HOME=/home/agent"));
    assert_true(has(spec->env, "COLOR=two"));
    assert_false(has(spec->env, "HOME=/root"));
    assert_true(has(spec->cap_drop, "NET_RAW"));
    assert_int_equal(spec->netns, SBX_NETNS_NONE);
    assert_int_equal(spec->memory, 1 << 30);
    for (size_t i = 0; i < spec->n_mounts; i++) {
        tmpfs += spec->mounts[i].kind == SBX_MOUNT_TMPFS;
        volumes += spec->mounts[i].kind == SBX_MOUNT_VOLUME;
        workspaces += !strcmp(spec->mounts[i].target, w->workspace);
    }
    assert_int_equal(tmpfs, 3); /* the kit's, /run/secrets, ours */
    assert_int_equal(volumes, 1);
    assert_int_equal(workspaces, 1);
}

static const char *position(struct world *w, const char *what)
{
    const char *at = strstr(w->input, what);

    if (!at)
        fail_msg("nothing wrote %s", what);
    return at;
}

static void files_are_written_in_the_order_of_the_steps(void **state)
{
    struct world *w = *state;
    const char *home, *setup, *script, *workspace, *memory;

    must_create(w);
    assert_non_null(position(w, "user 0 1000 1000 0 0 agent:/home/agent\n"));
    assert_non_null(position(w, " 440 0 0 0 /etc/sudoers.d/sbx\n"));
    home = position(w, "write 11 644 1000 1000 0 /home/agent/.agentixrc\nthree wins\n");
    setup = position(w, " 600 1000 1000 1 /home/agent/one.txt\nin " SBX_TEST_TMP "/unit-");
    script = position(w, " 755 0 0 0 /etc/durable-startup.d/one-1.sh\n");
    workspace = position(w, "/work/NOTE.txt\nnote\n");
    memory = position(w, "/kits-memory/one.md\nOne knows one thing.");
    assert_true(home < setup && setup < script && script < workspace && workspace < memory);
}

static int count_calls(struct world *w, const char *part)
{
    size_t n;
    const char *const *calls = sbx_fake_calls(w->rt, &n);
    int found = 0;

    for (size_t i = 0; i < n; i++)
        found += strstr(calls[i], part) != NULL;
    return found;
}

static void a_later_start_runs_the_steps_of_starts_only(void **state)
{
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;

    must_create(w);
    assert_int_equal(count_calls(w, "install-agentix"), 1);
    assert_non_null(strstr(w->events, "note - Install commands completed\n"));
    must(sbx_sandbox_stop(w->e, "demo", &err), &err);
    sbx_fake_forget_calls(w->rt);
    memset(w->input, 0, sizeof(w->input));
    must(sbx_sandbox_start(w->e, "demo", &err), &err);
    assert_int_equal(count_calls(w, "install-agentix"), 0);
    assert_int_equal(count_calls(w, "/run/sbx/init wait"), 1);
    assert_non_null(position(w, "/home/agent/one.txt"));
    assert_non_null(position(w, "/work/NOTE.txt"));
    assert_null(strstr(w->input, ".agentixrc"));
    assert_null(strstr(w->input, "kits-memory"));
}

static void exec_starts_a_stopped_sandbox_and_hands_the_status_on(void **state)
{
    static const char *const argv[] = { "false", NULL };
    struct sbx_command c = { .argv = argv, .streams = SBX_STREAMS_NONE };
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;
    int status = 0;

    must_create(w);
    must(sbx_sandbox_stop(w->e, "demo", &err), &err);
    sbx_fake_answer(w->rt, "false", "", 42);
    must(sbx_sandbox_exec(w->e, "demo", &c, &status, &err), &err);
    assert_int_equal(status, 42);
    assert_int_equal(status_of(w), SBX_STATUS_RUNNING);
    assert_int_equal(sbx_sandbox_exec(w->e, "other", &c, &status, &err), SBX_NOT_FOUND);
}

static int look_at_exec(void *ctx, const struct sbx_fake_exec *e)
{
    snprintf(ctx, 200, "%s %s %s", e->exec->user, e->exec->workdir,
             e->exec->env[0] ? e->exec->env[0] : "-");
    return 0;
}

static void processes_run_as_the_agent_in_the_workspace(void **state)
{
    static const char *const argv[] = { "who", NULL };
    struct sbx_command c = { .argv = argv, .streams = SBX_STREAMS_NONE };
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;
    char seen[200] = "", want[200];
    int status;

    must_create(w);
    sbx_fake_on_exec(w->rt, "who", look_at_exec, seen);
    must(sbx_sandbox_exec(w->e, "demo", &c, &status, &err), &err);
    snprintf(want, sizeof(want), "1000 %s -", w->workspace);
    assert_string_equal(seen, want);
    c.user = "0";
    c.workdir = "/";
    must(sbx_sandbox_exec(w->e, "demo", &c, &status, &err), &err);
    assert_string_equal(seen, "0 / HOME=/root");
}

static void the_agent_is_launched_with_its_arguments(void **state)
{
    static const char *const args[] = { "--more", NULL };
    static const struct sbx_streams streams = SBX_STREAMS_NONE;
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;
    int status;

    must_create(w);
    must(sbx_sandbox_launch(w->e, "demo", false, args, NULL, &streams, &status, &err), &err);
    assert_int_equal(count_calls(w, "exec demo agentix --always --task --more"), 1);
}

static void a_name_is_taken_once(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    must_create(w);
    assert_int_equal(create_demo(w, &c, &err), SBX_EXISTS);
    assert_int_equal(status_of(w), SBX_STATUS_RUNNING);
}

static void run_finds_the_sandbox_of_a_workspace_again(void **state)
{
    struct world *w = *state;
    static const char *const args[] = { "k.v=1", "x=2", NULL }, *const turned[] = { "x=2", "k.v=1", NULL };
    static const char *const others[] = { "k.v=2", "x=2", NULL };
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_create c = world_create(w);
    struct sbx_workspace twice[] = { c.workspaces[0], { "/usr/share", true } };
    struct sbx_found found;
    const char *differs;

    c.kit_args = args;
    must(create_demo(w, &c, &err), &err);
    c.kit_args = turned;
    must(sbx_sandbox_find(w->e, &c, true, w->arena, &found, &err), &err);
    assert_int_equal(found.n, 1);
    assert_string_equal(found.name, "demo");
    c.kit_args = others;
    must(sbx_sandbox_find(w->e, &c, false, w->arena, &found, &err), &err);
    assert_int_equal(found.n, 0);
    c.kit_args = NULL;
    c.name = "demo";
    must(sbx_sandbox_find(w->e, &c, false, w->arena, &found, &err), &err);
    assert_string_equal(found.near, "demo");
    assert_string_equal(found.differs, "values for kits");
    c.kit_args = args;
    c.workspaces = twice;
    c.n_workspaces = 2;
    must(sbx_sandbox_differs(w->e, "demo", &c, SBX_SAME_KITS | SBX_SAME_ARGS, &differs, &err), &err);
    assert_null(differs);
    must(sbx_sandbox_differs(w->e, "demo", &c, SBX_SAME_WORKSPACES, &differs, &err), &err);
    assert_string_equal(differs, "directories");
}

static void a_change_of_policy_reaches_gate_json(void **state)
{
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;
    json_t *before = NULL, *after = NULL;

    must_create(w);
    must(sbx_sandbox_gate_config(w->e, "demo", &before, &err), &err);
    must(sbx_sandbox_policy_refresh(w->e, NULL, &err), &err);
    must(sbx_sandbox_gate_config(w->e, "demo", &after, &err), &err);
    assert_int_equal(json_integer_value(json_object_get(after, "generation")),
                     json_integer_value(json_object_get(before, "generation")) + 1);
    json_decref(before);
    json_decref(after);
}

/* What the user's file says "now": allows one more host than when the engine was opened. */
static enum sbx_code newer_policy(void *ctx, struct sbx_arena *arena, struct sbx_user_policy *ret,
                                  struct sbx_err *err)
{
    static const struct sbx_user_rule rules[] = {
        { .decision = SBX_ALLOW, .pattern = "late.example.com", .id = "late", .sandbox = "demo" }
    };

    (void)ctx;
    (void)arena;
    (void)err;
    *ret = (struct sbx_user_policy){ .preset = "deny-all", .rules = rules, .n_rules = 1 };
    return SBX_OK;
}

static void rules_are_those_of_the_moment_and_wait_for_no_other_command(void **state)
{
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;
    json_t *config = NULL;
    int held = -1;

    must_create(w);
    w->e->config.policy_read = newer_policy;
    must(sbx_lock_name(w->e, "demo", &held, &err), &err); /* another command is at work on it */
    must(sbx_sandbox_policy_refresh(w->e, NULL, &err), &err);
    close(held);
    must(sbx_sandbox_gate_config(w->e, "demo", &config, &err), &err);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(config, "rules"), 0), "id")),
                        "late");
    json_decref(config);
    assert_int_equal(sbx_sandbox_policy_refresh(w->e, "nobody", &err), SBX_NOT_FOUND);
}

static void reset_removes_everything_of_the_app(void **state)
{
    struct world *w = *state;
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    must_create(w);
    c.name = "second";
    must(create_demo(w, &c, &err), &err);
    must(sbx_engine_reset(w->e, &err), &err);
    nothing_is_left(w);
    assert_false(there(w, "state/sbx/apps/unit/sandboxes"));
    must_create(w);
}

static void a_container_that_vanished_is_told_and_can_be_removed(void **state)
{
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;

    must_create(w);
    must(sbx_runtime_remove(w->rt, "demo", &err), &err);
    assert_int_equal(status_of(w), SBX_STATUS_BROKEN);
    assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_FAILED);
    assert_non_null(strstr(err.text, "is gone"));
    must(sbx_sandbox_remove(w->e, "demo", false, &err), &err);
    nothing_is_left(w);
}

static void a_record_that_cannot_be_read_is_broken_not_fatal(void **state)
{
    struct world *w = *state;
    struct sbx_err err = SBX_ERR_INIT;
    char dir[200];

    must_create(w);
    snprintf(dir, sizeof(dir), "%s/state/sbx/apps/unit/sandboxes/demo", w->dir);
    put_file(dir, "sandbox.json", "{\"version\":1");
    assert_int_equal(status_of(w), SBX_STATUS_BROKEN);
    assert_int_equal(sbx_sandbox_stop(w->e, "demo", &err), SBX_FAILED);
    must(sbx_sandbox_remove(w->e, "demo", false, &err), &err);
    assert_int_equal(sbx_fake_containers(w->rt), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sandbox_lives_from_create_to_rm),
        TEST(the_container_is_as_planned),
        TEST(files_are_written_in_the_order_of_the_steps),
        TEST(a_later_start_runs_the_steps_of_starts_only),
        TEST(exec_starts_a_stopped_sandbox_and_hands_the_status_on),
        TEST(processes_run_as_the_agent_in_the_workspace),
        TEST(the_agent_is_launched_with_its_arguments),
        TEST(a_name_is_taken_once),
        TEST(run_finds_the_sandbox_of_a_workspace_again),
        TEST(a_change_of_policy_reaches_gate_json),
        TEST(rules_are_those_of_the_moment_and_wait_for_no_other_command),
        TEST(reset_removes_everything_of_the_app),
        TEST(a_container_that_vanished_is_told_and_can_be_removed),
        TEST(a_record_that_cannot_be_read_is_broken_not_fatal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
