/* Importing into a real store, as root: whiteouts are devices, owners are any. */
#include "world.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

static void a_layer_keeps_owners_modes_links_and_attributes(void **state)
{
    struct place *p = *state;
    struct test_image im = {
        .tag = "me/full:2",
        .config = "{\"Env\":[\"A=b\"],\"User\":\"1000\","
                  "\"WorkingDir\":\"/w\",\"Labels\":{\"k\":\"v\"},\"Cmd\":[\"sh\"]}"
    };
    static const struct member v[] = {
        { .name = "./", .type = '5', .mode = 0750, .uid = 5, .gid = 6 },
        { .name = "bin/", .type = '5', .mode = 01777 },
        { .name = "bin/su", .mode = 04755, .data = "program" },
        { .name = "bin/hard", .type = '1', .link = "bin/su" },
        { .name = "bin/link", .type = '2', .link = "../etc/x", .uid = 7, .mode = 0777 },
        { .name = "deep/er/file", .mode = 0640, .uid = 1000, .gid = 1001, .data = "x" },
        { .name = "cap", .mode = 0755, .data = "c", .pax = "SCHILY.xattr.user.note=hello" },
        { .name = "fifo", .type = '6', .mode = 0622 },
        { .name = "null", .type = '3', .mode = 0666, .major = 1, .minor = 3 },
        { .name = "\xc3\xa4\xff", .mode = 0600, .data = "name" },
    };
    struct sbx_store_image image;
    char value[16], path[4096];

    image_layer(&im, v, SBX_ARRAY_LEN(v));
    assert_int_equal(load_image(p, &im), SBX_OK);
    image = found(p, "docker.io/me/full:2");
    assert_string_equal(image.names[0], "me/full:2");
    assert_string_equal(image.user, "1000");
    assert_string_equal(image.workdir, "/w");
    assert_string_equal(image.env[0], "A=b");
    assert_string_equal(image.labels[0], "k=v");
    assert_int_equal(look(&image, 0, ".").st_mode & 07777, 0750);
    assert_int_equal(look(&image, 0, ".").st_uid, 5);
    assert_int_equal(look(&image, 0, "bin").st_mode & 07777, 01777);
    assert_int_equal(look(&image, 0, "bin").st_mtime, 1000000000);
    assert_int_equal(look(&image, 0, "bin/su").st_mode & 07777, 04755);
    assert_int_equal(look(&image, 0, "bin/su").st_ino, look(&image, 0, "bin/hard").st_ino);
    assert_true(S_ISLNK(look(&image, 0, "bin/link").st_mode));
    assert_int_equal(look(&image, 0, "bin/link").st_uid, 7);
    assert_int_equal(look(&image, 0, "deep").st_mode & 07777, 0755);
    assert_int_equal(look(&image, 0, "deep/er/file").st_gid, 1001);
    assert_true(S_ISFIFO(look(&image, 0, "fifo").st_mode));
    assert_int_equal(look(&image, 0, "fifo").st_mode & 07777, 0622);
    assert_int_equal(look(&image, 0, "null").st_rdev, makedev(1, 3));
    assert_true(exists(&image, 0, "\xc3\xa4\xff"));
    snprintf(path, sizeof(path), "%s/cap", image.layers[0]);
    if (getxattr(path, "user.note", value, sizeof(value)) > 0) /* a tmpfs may have none */
        assert_memory_equal(value, "hello", 5);
}

static void whiteouts_take_the_form_of_overlayfs(void **state)
{
    struct place *p = *state;
    struct test_image im = { 0 };
    static const struct member lower[] = {
        { .name = "a", .mode = 0644, .data = "1" },
        { .name = "d/x", .mode = 0644, .data = "1" },
        { .name = "e/x", .mode = 0644, .data = "1" },
        { .name = "f", .mode = 0644, .data = "1" },
    };
    static const struct member upper[] = {
        { .name = ".wh.a", .mode = 0600 },
        { .name = "d/.wh..wh..opq", .mode = 0600 },
        { .name = "d/y", .mode = 0644, .data = "2" },
        { .name = ".wh.e", .mode = 0600 },
        { .name = "e/", .type = '5', .mode = 0700 },
        { .name = "f", .mode = 0644, .data = "2" },
        { .name = ".wh.f", .mode = 0600 },
        { .name = ".wh..wh.plnk/1.2", .mode = 0600 },
    };
    struct sbx_store_image image;
    char path[4096], mark[8];
    static const char *const opaque[] = { "d", "e" };

    image_layer(&im, lower, SBX_ARRAY_LEN(lower));
    image_layer(&im, upper, SBX_ARRAY_LEN(upper));
    assert_int_equal(load_image(p, &im), SBX_OK);
    image = found(p, "test:1");
    assert_int_equal(image.n_layers, 2);
    assert_true(S_ISCHR(look(&image, 1, "a").st_mode));
    assert_int_equal(look(&image, 1, "a").st_rdev, 0);
    assert_true(S_ISREG(look(&image, 1, "f").st_mode));
    assert_false(exists(&image, 1, ".wh..wh.plnk"));
    for (size_t i = 0; i < SBX_ARRAY_LEN(opaque); i++) {
        snprintf(path, sizeof(path), "%s/%s", image.layers[1], opaque[i]);
        assert_int_equal(getxattr(path, "trusted.overlay.opaque", mark, sizeof(mark)), 1);
    }
    assert_int_equal(look(&image, 1, "e").st_mode & 07777, 0700);
}

static const struct {
    const char *what;
    struct member v[3];
    enum sbx_code code;
    const char *says;
} hostile[] = {
    { "absolute path", { { .name = "/etc/x", .data = "x" } }, SBX_SCHEMA, "absolute" },
    { "dot dot", { { .name = "a/../../x", .data = "x" } }, SBX_SCHEMA, "\"..\"" },
    { "through a symlink",
      { { .name = "l", .type = '2', .link = "/tmp" }, { .name = "l/x", .data = "x" } },
      SBX_SCHEMA,
      "not a directory" },
    { "through a relative symlink",
      { { .name = "l", .type = '2', .link = "../../.." }, { .name = "l/d/x", .data = "x" } },
      SBX_SCHEMA,
      "not a directory" },
    { "through a file",
      { { .name = "f", .data = "x" }, { .name = "f/x", .data = "x" } },
      SBX_SCHEMA,
      "not a directory" },
    { "hard link out",
      { { .name = "h", .type = '1', .link = "../../../etc/passwd" } },
      SBX_SCHEMA,
      "\"..\"" },
    { "absolute hard link",
      { { .name = "h", .type = '1', .link = "/etc/passwd" } },
      SBX_SCHEMA,
      "absolute" },
    { "hard link through a symlink",
      { { .name = "l", .type = '2', .link = "/etc" },
        { .name = "h", .type = '1', .link = "l/passwd" } },
      SBX_SCHEMA,
      "not a directory" },
    { "hard link to nothing",
      { { .name = "h", .type = '1', .link = "nothing" } },
      SBX_SCHEMA,
      "not there" },
    { "hard link to a directory",
      { { .name = "d/", .type = '5', .mode = 0755 }, { .name = "h", .type = '1', .link = "d" } },
      SBX_SCHEMA,
      "no file" },
    { "file over a directory",
      { { .name = "d/x", .data = "x" }, { .name = "d", .data = "x" } },
      SBX_SCHEMA,
      "replace a directory" },
    { "directory over a file",
      { { .name = "d", .data = "x" }, { .name = "d/", .type = '5', .mode = 0755 } },
      SBX_SCHEMA,
      "by a directory" },
    { "whiteout of nothing", { { .name = "a/.wh." } }, SBX_SCHEMA, "whiteout of nothing" },
    { "whiteout of dot dot", { { .name = "a/.wh..." } }, SBX_SCHEMA, "whiteout of nothing" },
    { "a whiteout device", { { .name = "w", .type = '3' } }, SBX_SCHEMA, "device node 0:0" },
    { "overlayfs attributes",
      { { .name = "d/",
          .type = '5',
          .mode = 0755,
          .pax = "SCHILY.xattr.trusted.overlay.redirect=/etc" } },
      SBX_SCHEMA,
      "cannot come with an image" },
    { "owner out of range",
      { { .name = "f", .data = "x", .pax = "uid=4294967296" } },
      SBX_SCHEMA,
      "out of range" },
    { "a file of no end",
      { { .name = "f", .pax = "size=9000000000000000000" } },
      SBX_LIMIT,
      "more than" },
    { "cut off", { { .name = "f", .data = "x", .claim = 1000000 } }, SBX_SYNTAX, "tar" },
    { "the root as a file",
      { { .name = ".", .type = '0', .data = "x" } },
      SBX_SCHEMA,
      "root is not" },
};

static void hostile_layers_are_refused_and_leave_nothing(void **state)
{
    struct place *p = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(hostile); i++) {
        struct test_image im = { 0 };
        struct sbx_store_image *list;
        char path[100];
        size_t n = 0;

        while (n < 3 && hostile[i].v[n].name)
            n++;
        print_message("%s\n", hostile[i].what);
        image_layer(&im, hostile[i].v, n);
        assert_int_equal(load_image(p, &im), hostile[i].code);
        print_message("  %s\n", p->err.text);
        assert_non_null(strstr(p->err.text, hostile[i].says));
        snprintf(path, sizeof(path), "%s/layers", p->state);
        assert_int_equal(entries_in(path), 0);
        snprintf(path, sizeof(path), "%s/images", p->state);
        assert_int_equal(entries_in(path), 0);
        assert_int_equal(sbx_store_list(p->store, p->arena, &list, &n, &p->err), SBX_OK);
        assert_int_equal(n, 0);
    }
}

static void the_last_of_two_equal_names_wins(void **state)
{
    struct place *p = *state;
    struct test_image im = { 0 };
    static const struct member v[] = {
        { .name = "f", .type = '2', .link = "/etc/passwd" },
        { .name = "f", .mode = 0644, .data = "second" },
        { .name = "d/", .type = '5', .mode = 0700 },
        { .name = "d/", .type = '5', .mode = 0711 },
    };
    struct sbx_store_image image;

    image_layer(&im, v, SBX_ARRAY_LEN(v));
    assert_int_equal(load_image(p, &im), SBX_OK);
    image = found(p, "test:1");
    assert_true(S_ISREG(look(&image, 0, "f").st_mode));
    assert_int_equal(look(&image, 0, "f").st_size, 6);
    assert_int_equal(look(&image, 0, "d").st_mode & 07777, 0711);
}

static void lying_archives_are_refused(void **state)
{
    struct place *p = *state;
    static const struct member one[] = { { .name = "f", .mode = 0644, .data = "x" } };
    static const char wrong[] =
        "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    static const struct {
        struct test_image im;
        enum sbx_code code;
        const char *says;
    } rows[] = {
        { { .diff_id = wrong }, SBX_SCHEMA, "as the configuration says" },
        { { .architecture = "vax" }, SBX_UNSUPPORTED, "linux/vax" },
        { { .manifest = "[{\"Config\":\"other.json\"}]" }, SBX_NOT_FOUND, "other.json" },
        { { .manifest = "[{\"Config\":\"config.json\",\"Layers\":[]}]" }, SBX_SCHEMA, "0 layers" },
        { { .manifest = "[{\"Config\":\"config.json\",\"Layers\":[\"../../etc/passwd\"]}]" },
          SBX_NOT_FOUND,
          "missing" },
        { { .manifest = "nonsense" }, SBX_SYNTAX, "manifest.json" },
        { { .cut = 2000 }, SBX_SYNTAX, "tar" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct test_image im = rows[i].im;

        image_layer(&im, one, 1);
        assert_int_equal(load_image(p, &im), rows[i].code);
        print_message("%s\n", p->err.text);
        assert_non_null(strstr(p->err.text, rows[i].says));
    }
}

static void other_files_are_refused_and_the_caller_says_which(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *make, *path;
        enum sbx_code code;
        const char *says;
    } rows[] = {
        { "true", "none.tar", SBX_NOT_FOUND, "No such file" },
        { "mkfifo fifo", "fifo", SBX_UNSUPPORTED, "neither a file nor" },
        { "mkdir empty", "empty", SBX_SCHEMA, "oci-layout" },
        { "echo hello > text", "text", SBX_SYNTAX, "tar" },
        { ": > nothing", "nothing", SBX_SYNTAX, "tar" },
        { "mkdir a; echo '{}' > a/x; tar cf other.tar a", "other.tar", SBX_SCHEMA, "oci-layout" },
        { "mkdir two; echo 1 > two/f; tar cf two.tar two/f two/f", "two.tar", SBX_SCHEMA,
          "comes twice" },
        { "mkdir l; echo '{}' > l/oci-layout; echo '{}' > l/index.json", "l", SBX_UNSUPPORTED,
          "missing" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char command[300], path[200];

        snprintf(command, sizeof(command), "cd %s && %s", p->dir, rows[i].make);
        assert_int_equal(system(command), 0);
        snprintf(path, sizeof(path), "%s/%s", p->dir, rows[i].path);
        assert_int_equal(load(p, path), rows[i].code);
        print_message("%s\n", p->err.text);
        assert_non_null(strstr(p->err.text, rows[i].says));
        assert_null(strstr(p->err.text, path));
    }
}

static void compressed_archives_and_layers_are_read(void **state)
{
    struct place *p = *state;
    static const char *const tools[] = { "gzip", "zstd", "xz", "bzip2" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(tools); i++) {
        struct test_image im = { 0 };
        char data[16], command[300], path[200];
        struct member v = { .name = "f", .mode = 0644, .data = data };

        snprintf(data, sizeof(data), "with %s", tools[i]); /* else the layer is there already */
        snprintf(command, sizeof(command), "command -v %s >/dev/null", tools[i]);
        if (system(command)) {
            print_message("SKIPPED: %s is not installed\n", tools[i]);
            continue;
        }
        image_layer(&im, &v, 1);
        image_save(&im, p->file);
        snprintf(command, sizeof(command), "%s -c %s > %s.z", tools[i], p->file, p->file);
        assert_int_equal(system(command), 0);
        snprintf(path, sizeof(path), "%s.z", p->file);
        assert_int_equal(load(p, path), SBX_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_layer_keeps_owners_modes_links_and_attributes),
        STORE_TEST(whiteouts_take_the_form_of_overlayfs),
        STORE_TEST(hostile_layers_are_refused_and_leave_nothing),
        STORE_TEST(the_last_of_two_equal_names_wins),
        STORE_TEST(lying_archives_are_refused),
        STORE_TEST(other_files_are_refused_and_the_caller_says_which),
        STORE_TEST(compressed_archives_and_layers_are_read),
    };

    if (geteuid() != 0) {
        fprintf(stderr, "SKIPPED: layers are unpacked as root only\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
