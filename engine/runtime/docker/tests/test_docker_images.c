/* The docker backend against a real Engine: images. */
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "docker.h"
#include "layouts.h"
#include "sbx/file.h"

static void load_and_look(struct world *w, const char *path, const char *name)
{
    struct sbx_image i;
    const char **names;
    size_t n;

    ASSERT_OK(sbx_runtime_image_load(w->rt, path, w->arena, &names, &n, &w->err));
    assert_int_equal(n, 1);
    assert_string_equal(names[0], name);
    ASSERT_OK(sbx_runtime_image_ensure(w->rt, name, SBX_PULL_NEVER, NULL, w->arena, &i, &w->err));
    assert_string_equal(i.workdir, "/w");
    assert_string_equal(i.env[0], "A=1");
    ASSERT_OK(sbx_runtime_image_remove(w->rt, name, &w->err));
}

static void a_layout_is_loaded_from_a_directory_and_from_a_tar(void **state)
{
    struct world *w = *state;
    SBX_AUTO(sbx_buf) tar = SBX_BUF_INIT(1 << 20);
    char dir[] = SBX_TEST_TMP "/layout-XXXXXX", name[64], path[64];
    const char *arch = ((struct docker *)w->rt)->arch;

    assert_non_null(mkdtemp(dir));
    snprintf(name, sizeof(name), "sbx.local/test-%s:layout", app);
    make_layout(w, dir, name, arch);
    load_and_look(w, dir, name);
    {
        SBX_AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        SBX_AUTO(docker_parts) parts = DOCKER_PARTS_INIT(w->arena, fd);

        ASSERT_OK(docker_parts_walk(&parts, &w->err));
        drain_parts(&parts, &tar);
    }
    snprintf(path, sizeof(path), "%s/all.tar", dir);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, tar.ptr, tar.len, 0644, &w->err), SBX_OK);
    load_and_look(w, path, name);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, dir, &w->err), SBX_OK);
}

static void what_is_no_image_is_refused_with_the_reason(void **state)
{
    struct world *w = *state;
    char dir[] = SBX_TEST_TMP "/layout-XXXXXX", path[64];
    const char **names;
    size_t n;

    assert_non_null(mkdtemp(dir));
    assert_int_equal(sbx_runtime_image_load(w->rt, "/none", w->arena, &names, &n, &w->err),
                     SBX_NOT_FOUND);
    assert_int_equal(sbx_runtime_image_load(w->rt, dir, w->arena, &names, &n, &w->err), SBX_SCHEMA);
    make_layout(w, dir, "other:1", "vax");
    assert_int_equal(sbx_runtime_image_load(w->rt, dir, w->arena, &names, &n, &w->err),
                     SBX_NOT_FOUND);
    assert_non_null(strstr(w->err.text, "no image for linux/"));
    snprintf(path, sizeof(path), "%s/fifo", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(sbx_runtime_image_load(w->rt, dir, w->arena, &names, &n, &w->err), SBX_SCHEMA);
    assert_int_equal(sbx_runtime_image_load(w->rt, "/etc/passwd", w->arena, &names, &n, &w->err),
                     SBX_SYNTAX);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, dir, &w->err), SBX_OK);
}

static void a_saved_container_is_an_image_with_its_images_settings(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *reference = NULL;
    struct sbx_image before, after, *list;
    SBX_AUTO(sbx_buf) out = { 0 };
    size_t n, found = 0;

    assert_true(asprintf(&reference, "sbx.local/test-%s:saved", app) > 0);
    ASSERT_OK(
        sbx_runtime_image_ensure(w->rt, image, SBX_PULL_NEVER, NULL, w->arena, &before, &w->err));
    assert_int_equal(shell(w, "echo kept >/kept", &out), 0);
    ASSERT_OK(sbx_runtime_commit(w->rt, w->id, reference, &w->err));
    ASSERT_OK(sbx_runtime_image_ensure(w->rt, reference, SBX_PULL_MISSING, NULL, w->arena, &after,
                                       &w->err));
    assert_string_equal(after.user, *before.user ? before.user : "0:0"); /* the same user */
    for (size_t i = 0; after.labels[i]; i++) /* or containers made of it would count as ours */
        assert_true(strncmp(after.labels[i], "sbx.", 4) != 0 ||
                    strchr(after.labels[i], '=')[1] == 0);
    assert_true((after.cmd[0] == NULL) == (before.cmd[0] == NULL));
    assert_true((after.entrypoint[0] == NULL) == (before.entrypoint[0] == NULL));
    ASSERT_OK(sbx_runtime_image_list(w->rt, w->arena, &list, &n, &w->err));
    for (size_t i = 0; i < n; i++)
        found += strcmp(list[i].reference, reference) == 0;
    assert_int_equal(found, 1);
    ASSERT_OK(sbx_runtime_image_remove(w->rt, reference, &w->err));
    assert_int_equal(sbx_runtime_image_remove(w->rt, reference, &w->err), SBX_NOT_FOUND);
    assert_int_equal(
        sbx_runtime_image_ensure(w->rt, reference, SBX_PULL_NEVER, NULL, w->arena, &after, &w->err),
        SBX_NOT_FOUND);
}

static void what_is_in_use_is_not_removed(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *reference = NULL;
    struct sbx_container_spec spec = { .name = "two", .argv = idle };
    char *first = w->id;

    assert_true(asprintf(&reference, "sbx.local/test-%s:used", app) > 0);
    ASSERT_OK(sbx_runtime_commit(w->rt, w->id, reference, &w->err));
    spec.image = reference;
    ASSERT_OK(sbx_runtime_create(w->rt, &spec, &w->id, &w->err));
    free(first);
    ASSERT_OK(sbx_runtime_start(w->rt, w->id, &w->err));
    assert_int_equal(sbx_runtime_image_remove(w->rt, reference, &w->err), SBX_BUSY);
    ASSERT_OK(sbx_runtime_remove(w->rt, w->id, &w->err));
    ASSERT_OK(sbx_runtime_image_remove(w->rt, reference, &w->err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(a_layout_is_loaded_from_a_directory_and_from_a_tar),
        PLAIN(what_is_no_image_is_refused_with_the_reason),
        RUNNING(a_saved_container_is_an_image_with_its_images_settings),
        RUNNING(what_is_in_use_is_not_removed),
    };
    int rc = find_image();

    return rc ? rc : cmocka_run_group_tests(tests, NULL, NULL);
}
