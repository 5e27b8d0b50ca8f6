#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "sbx/runtime.h"
#include "sbx/runtime_fake.h"

struct world {
    struct sbx_runtime *rt;
    struct sbx_arena *arena;
    struct sbx_err err;
};

static int setup(void **state)
{
    static const struct sbx_runtime_config config = { .app = "test" };
    struct world *w = calloc(1, sizeof(*w));

    w->arena = sbx_arena_new();
    assert_int_equal(sbx_runtime_open(SBX_RUNTIME_FAKE, &config, &w->rt, &w->err), SBX_OK);
    sbx_fake_image(w->rt, &(struct sbx_image){ .reference = "base:1" }, true);
    sbx_fake_image(w->rt, &(struct sbx_image){ .reference = "far:1" }, false);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    sbx_runtime_close(w->rt);
    sbx_arena_free(w->arena);
    free(w);
    return 0;
}

static const char *const idle[] = { "/init", NULL };

static char *make(struct world *w, const char *name)
{
    struct sbx_container_spec spec = { .name = name, .image = "base:1", .argv = idle };
    char *id = NULL;

    assert_int_equal(sbx_runtime_create(w->rt, &spec, &id, &w->err), SBX_OK);
    return id;
}

static void a_container_lives_from_create_to_remove(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *id = make(w, "demo");
    struct sbx_container c;
    size_t n;

    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, "demo", w->arena, &c, &w->err), SBX_OK);
    assert_true(c.running);
    assert_string_equal(c.id, id);
    assert_int_equal(sbx_runtime_stop(w->rt, id, 1, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
    assert_false(c.running);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_NOT_FOUND);
    assert_string_equal(sbx_fake_calls(w->rt, &n)[0], "create demo");
    assert_int_equal(n, 8);
    assert_int_equal(sbx_fake_containers(w->rt), 0);
}

static void errors_say_what_was_done_with_what_and_why(void **state)
{
    struct world *w = *state;
    char *again = NULL;
    struct sbx_container_spec spec = { .name = "demo", .image = "base:1", .argv = idle };

    free(make(w, "demo"));
    assert_int_equal(sbx_runtime_create(w->rt, &spec, &again, &w->err), SBX_EXISTS);
    assert_string_equal(w->err.text, "create container demo: the name is taken");
    assert_int_equal(sbx_runtime_start(w->rt, "nobody", &w->err), SBX_NOT_FOUND);
    assert_string_equal(w->err.text, "start container nobody: no such container");
}

static void bad_arguments_never_reach_a_backend(void **state)
{
    struct world *w = *state;
    static const struct sbx_mount relative = { SBX_MOUNT_BIND, "src", "/x", false, 0, 0, 0, 0 };
    static const struct sbx_mount target = { SBX_MOUNT_TMPFS, NULL, "x", false, 0, 0, 0, 0 };
    static const struct sbx_mount volume = { SBX_MOUNT_VOLUME, "../x", "/x", false, 0, 0, 0, 0 };
    const struct sbx_container_spec bad[] = {
        { .name = NULL, .image = "base:1", .argv = idle },
        { .name = "-x", .image = "base:1", .argv = idle },
        { .name = "a/b", .image = "base:1", .argv = idle },
        { .name = "x", .image = "", .argv = idle },
        { .name = "x", .image = "base:1" },
        { .name = "x", .image = "base:1", .argv = idle, .netns = SBX_NETNS_PATH },
        { .name = "x", .image = "base:1", .argv = idle, .memory = -1 },
        { .name = "x", .image = "base:1", .argv = idle, .mounts = &relative, .n_mounts = 1 },
        { .name = "x", .image = "base:1", .argv = idle, .mounts = &target, .n_mounts = 1 },
        { .name = "x", .image = "base:1", .argv = idle, .mounts = &volume, .n_mounts = 1 },
    };
    char *id = NULL;

    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++)
        assert_int_equal(sbx_runtime_create(w->rt, &bad[i], &id, &w->err), SBX_FAILED);
    assert_int_equal(sbx_fake_count(w->rt, "create"), 0);
    sbx_fake_info(w->rt)->gpu = false;
    assert_int_equal(
        sbx_runtime_create(
            w->rt,
            &(struct sbx_container_spec){ .name = "x", .image = "b", .argv = idle, .gpus = "all" },
            &id, &w->err),
        SBX_UNSUPPORTED);
}

static void pull_says_when_an_image_may_be_fetched(void **state)
{
    struct world *w = *state;
    struct sbx_image image;

    assert_int_equal(
        sbx_runtime_image_ensure(w->rt, "far:1", SBX_PULL_NEVER, NULL, w->arena, &image, &w->err),
        SBX_NOT_FOUND);
    assert_int_equal(
        sbx_runtime_image_ensure(w->rt, "far:1", SBX_PULL_MISSING, NULL, w->arena, &image, &w->err),
        SBX_OK);
    assert_string_equal(image.reference, "far:1");
    assert_int_equal(
        sbx_runtime_image_ensure(w->rt, "none", SBX_PULL_ALWAYS, NULL, w->arena, &image, &w->err),
        SBX_NOT_FOUND);
}

static int shout(void *ctx, const struct sbx_fake_exec *e)
{
    *(size_t *)ctx += e->in->len;
    assert_int_equal(sbx_buf_addf(e->out, "got %zu", e->in->len), SBX_OK);
    return 3;
}

static void an_exec_is_played_by_its_script(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *id = make(w, "demo");
    static const char *const cat[] = { "cat", "-", NULL }, *const ls[] = { "ls", NULL };
    int in[2], out[2], status = -1;
    char text[64] = "";
    size_t seen = 0;
    struct sbx_exec x = {
        .argv = cat, .in = -1, .out = -1, .err_fd = -1, .resize_fd = -1, .signal_fd = -1
    };

    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_UNAVAILABLE);
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], "hello", 5), 5);
    close(in[1]);
    sbx_fake_on_exec(w->rt, "cat", shout, &seen);
    sbx_fake_answer(w->rt, "ls", "a b\n", 0);
    x.in = in[0];
    x.out = out[1];
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 3);
    assert_int_equal(seen, 5);
    x.argv = ls;
    x.in = -1;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    assert_int_equal(read(out[0], text, sizeof(text) - 1), 9);
    assert_string_equal(text, "got 5a b\n");
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

static void a_fault_hits_the_call_it_names_and_changes_nothing(void **state)
{
    struct world *w = *state;
    bool sized, created;

    sbx_fake_fail(w->rt, "volume_ensure", 2, SBX_IO);
    assert_int_equal(sbx_runtime_volume_ensure(w->rt, "a", 0, &sized, &created, &w->err), SBX_OK);
    assert_true(created);
    assert_int_equal(sbx_runtime_volume_ensure(w->rt, "b", 0, &sized, &created, &w->err), SBX_IO);
    assert_int_equal(sbx_fake_volumes(w->rt), 1);
    assert_int_equal(sbx_runtime_volume_ensure(w->rt, "a", 0, &sized, &created, &w->err), SBX_OK);
    assert_false(created);
    sbx_fake_fail(w->rt, "volume_remove", 0, SBX_BUSY);
    assert_int_equal(sbx_runtime_volume_remove(w->rt, "a", &w->err), SBX_BUSY);
    assert_int_equal(sbx_runtime_volume_remove(w->rt, "a", &w->err), SBX_BUSY);
}

static void copied_files_can_be_looked_at_and_copied_out(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *id = make(w, "demo");
    SBX_AUTO_FREE char *other = make(w, "other");
    const struct sbx_fake_file *file;
    int p[2];

    sbx_fake_put(w->rt, id, "/etc/motd", "hi\n", 3);
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    assert_int_equal(sbx_runtime_copy_out(w->rt, id, "/etc/motd", p[1], &w->err), SBX_OK);
    close(p[1]);
    assert_int_equal(sbx_runtime_copy_in(w->rt, other, "/var/lib", p[0], &w->err), SBX_OK);
    close(p[0]);
    file = sbx_fake_file(w->rt, other, "/var/lib/motd");
    assert_non_null(file);
    assert_string_equal(file->data, "hi\n");
    assert_int_equal(file->mode, 0644);
    assert_int_equal(sbx_runtime_copy_out(w->rt, id, "/etc/none", -1, &w->err), SBX_NOT_FOUND);
}

static void names_of_two_apps_never_meet(void **state)
{
    struct world *w = *state;

    assert_string_equal(sbx_name_full(w->arena, NULL, "demo"), "sbx-demo");
    assert_string_equal(sbx_name_full(w->arena, "", "demo"), "sbx-demo");
    assert_string_equal(sbx_name_full(w->arena, "sbx", "demo"), "sbx-demo");
    assert_string_equal(sbx_name_full(w->arena, "acme", "demo"), "sbx.acme-demo");
    assert_string_equal(sbx_name_full(w->arena, "a-b", "c"), "sbx.a--b-c");
    assert_string_equal(sbx_name_full(w->arena, "a", "b-c"), "sbx.a-b-c");
    assert_false(sbx_name_valid(""));
    assert_false(sbx_name_valid(".x"));
    assert_false(sbx_name_valid("x y"));
    assert_true(sbx_name_valid("A9._-x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_container_lives_from_create_to_remove, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_say_what_was_done_with_what_and_why, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(bad_arguments_never_reach_a_backend, setup, teardown),
        cmocka_unit_test_setup_teardown(pull_says_when_an_image_may_be_fetched, setup, teardown),
        cmocka_unit_test_setup_teardown(an_exec_is_played_by_its_script, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fault_hits_the_call_it_names_and_changes_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(copied_files_can_be_looked_at_and_copied_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(names_of_two_apps_never_meet, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
