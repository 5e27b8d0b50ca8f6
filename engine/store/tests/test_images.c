/* Images of a store: how they are found, kept, made of a directory, and go. */
#include "world.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void a_wiped_cache_breaks_no_image(void **state)
{
    struct place *p = *state;
    struct test_image im = { 0 };
    static const struct member one[] = { { .name = "f", .mode = 0644, .data = "x" } };
    struct sbx_store_image image;

    image_layer(&im, one, 1);
    assert_int_equal(load_image(p, &im), SBX_OK);
    sbx_store_close(p->store);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, p->cache, NULL), SBX_OK);
    assert_int_equal(sbx_store_open(p->state, p->cache, &p->store, &p->err), SBX_OK);
    image = found(p, "test:1");
    (void)image;
}

static void leftovers_of_a_killed_import_go_with_the_next(void **state)
{
    struct place *p = *state;
    struct test_image im = { 0 };
    static const struct member one[] = { { .name = "f", .mode = 0644, .data = "x" } };
    char path[400];

    snprintf(path, sizeof(path),
             "mkdir -p %s/layers/.tmp-1/d; echo > %s/layers/.tmp-1/d/x; "
             "echo > %s/images/.names.json.0.new",
             p->state, p->state, p->state);
    assert_int_equal(system(path), 0);
    image_layer(&im, one, 1);
    assert_int_equal(load_image(p, &im), SBX_OK);
    snprintf(path, sizeof(path), "%s/layers", p->state);
    assert_int_equal(entries_in(path), 2); /* the layer and its size */
    snprintf(path, sizeof(path), "%s/images", p->state);
    assert_int_equal(entries_in(path), 2);
}

static bool yes(void *ctx, const char *id)
{
    (void)id;
    return *(bool *)ctx;
}

static void an_image_goes_with_its_last_name_unless_it_is_used(void **state)
{
    struct place *p = *state;
    struct test_image im = { .tag = "a:1" };
    static const struct member one[] = { { .name = "f", .mode = 0644, .data = "x" } };
    bool used = true;
    char path[200];

    image_layer(&im, one, 1);
    assert_int_equal(load_image(p, &im), SBX_OK);
    im = (struct test_image){ .tag = "b:1" };
    image_layer(&im, one, 1);
    assert_int_equal(load_image(p, &im), SBX_OK);
    assert_string_equal(found(p, "a:1").id, found(p, "b:1").id);
    assert_int_equal(sbx_store_remove(p->store, "b:1", yes, &used, &p->err), SBX_OK);
    assert_int_equal(sbx_store_remove(p->store, "b:1", yes, &used, &p->err), SBX_NOT_FOUND);
    assert_int_equal(sbx_store_remove(p->store, "a:1", yes, &used, &p->err), SBX_BUSY);
    used = false;
    assert_int_equal(sbx_store_remove(p->store, "a:1", yes, &used, &p->err), SBX_OK);
    snprintf(path, sizeof(path), "%s/layers", p->state);
    assert_int_equal(entries_in(path), 0);
}

static void ids_and_their_prefixes_find_an_image(void **state)
{
    struct place *p = *state;
    struct test_image im = { 0 };
    static const struct member one[] = { { .name = "f", .mode = 0644, .data = "x" } };
    struct sbx_store_image image;
    char prefix[20];

    image_layer(&im, one, 1);
    assert_int_equal(load_image(p, &im), SBX_OK);
    image = found(p, "test:1");
    snprintf(prefix, sizeof(prefix), "%.12s", image.id + 7);
    assert_string_equal(found(p, prefix).id, image.id);
    assert_string_equal(found(p, image.id).id, image.id);
    assert_int_equal(sbx_store_find(p->store, "ab", p->arena, &image, &p->err), SBX_NOT_FOUND);
    assert_int_equal(sbx_store_find(p->store, "../../etc/passwd", p->arena, &image, &p->err),
                     SBX_NOT_FOUND);
}

static void a_committed_directory_comes_back_as_a_layer(void **state)
{
    struct place *p = *state;
    struct test_image im = { 0 };
    static const struct member one[] = { { .name = "gone", .mode = 0644, .data = "x" },
                                         { .name = "d/x", .mode = 0644, .data = "x" } };
    struct sbx_store_image image;
    char upper[100], command[400], path[4096], mark[8];

    image_layer(&im, one, SBX_ARRAY_LEN(one));
    assert_int_equal(load_image(p, &im), SBX_OK);
    snprintf(upper, sizeof(upper), "%s/upper", p->dir);
    snprintf(command, sizeof(command),
             "mkdir -p %s/d && cd %s && echo hi > new && ln new hard && "
             "chown 1000:1001 new && chmod 4711 new && ln -s /x sym && mknod gone c 0 0 && "
             "echo > d/y",
             upper, upper);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/d", upper);
    assert_int_equal(setxattr(path, "trusted.overlay.opaque", "y", 1, 0), 0);
    assert_int_equal(sbx_store_commit(p->store, "test:1", upper, "saved", &p->err), SBX_OK);
    image = found(p, "saved:latest");
    assert_int_equal(image.n_layers, 2);
    assert_int_equal(look(&image, 1, "new").st_mode & 07777, 04711);
    assert_int_equal(look(&image, 1, "new").st_uid, 1000);
    assert_int_equal(look(&image, 1, "new").st_ino, look(&image, 1, "hard").st_ino);
    assert_true(S_ISLNK(look(&image, 1, "sym").st_mode));
    assert_true(S_ISCHR(look(&image, 1, "gone").st_mode));
    snprintf(path, sizeof(path), "%s/d", image.layers[1]);
    assert_int_equal(getxattr(path, "trusted.overlay.opaque", mark, sizeof(mark)), 1);
    assert_int_equal(sbx_store_commit(p->store, "test:1", upper, "No Name", &p->err), SBX_SCHEMA);
}

/* skopeo is an honest judge of OCI layouts: what it copies out of our archive must load again. */
static void an_oci_layout_is_read_as_directory_and_as_archive(void **state)
{
    struct place *p = *state;
    struct test_image im = { .tag = "me/lay:1" };
    static const struct member one[] = { { .name = "f", .mode = 0644, .data = "layout" } };
    char command[600], path[200], id[SBX_DIGEST_TEXT_SIZE];

    if (system("command -v skopeo >/dev/null")) {
        print_message("SKIPPED: skopeo is not installed\n");
        return;
    }
    image_layer(&im, one, 1);
    image_save(&im, p->file);
    snprintf(command, sizeof(command),
             "cd %s && skopeo --insecure-policy --tmpdir %s copy -q docker-archive:image.tar "
             "oci:lay:docker.io/me/lay:2 >/dev/null && tar cf lay.tar -C lay . ",
             p->dir, p->dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/lay", p->dir);
    assert_int_equal(load(p, path), SBX_OK);
    snprintf(id, sizeof(id), "%s", found(p, "me/lay:2").id);
    assert_int_equal(sbx_store_remove(p->store, "me/lay:2", NULL, NULL, &p->err), SBX_OK);
    snprintf(path, sizeof(path), "%s/lay.tar", p->dir);
    assert_int_equal(load(p, path), SBX_OK);
    assert_string_equal(found(p, "me/lay:2").id, id);
    /* a changed blob is noticed */
    snprintf(command, sizeof(command), "cd %s/lay/blobs/sha256 && for f in *; do echo >> $f; done",
             p->dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof(path), "%s/lay", p->dir);
    assert_int_equal(load(p, path), SBX_SCHEMA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_wiped_cache_breaks_no_image),
        STORE_TEST(leftovers_of_a_killed_import_go_with_the_next),
        STORE_TEST(an_image_goes_with_its_last_name_unless_it_is_used),
        STORE_TEST(ids_and_their_prefixes_find_an_image),
        STORE_TEST(a_committed_directory_comes_back_as_a_layer),
        STORE_TEST(an_oci_layout_is_read_as_directory_and_as_archive),
    };

    if (geteuid() != 0) {
        fprintf(stderr, "SKIPPED: layers are unpacked as root only\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
