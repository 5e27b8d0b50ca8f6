/* Kits from directories, files and standard input; what files/ may hold. */
#include "place.h"

static void link_to(const struct place *p, const char *target, const char *name)
{
    assert_int_equal(symlink(target, path_in(p, name)), 0);
}

static void files_come_in_order_with_plain_modes(void **state)
{
    struct place *p = *state;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(100);

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/workspace/z", "w", 0600);
    put(p, "files/home/b/c", "hello", 0640);
    put(p, "files/home/b.txt", "", 0444);
    put(p, "files/home/bin/run", "#!/bin/sh\n", 0711);
    put(p, "files/home/.hidden", "x", 02644);
    assert_int_equal(load(p), SBX_OK);
    assert_int_equal(p->a->files.len, 5);
    want_file(p, 0, ".hidden", 0644, 1);
    want_file(p, 1, "b.txt", 0644, 0);
    want_file(p, 2, "b/c", 0644, 5);
    want_file(p, 3, "bin/run", 0755, 10);
    want_file(p, 4, "z", 0644, 1);
    assert_int_equal(p->a->files.v[4].target, SBX_TARGET_WORKSPACE);
    assert_string_equal(p->a->files.v[2].at.pos.file, "files/home/b/c");
    assert_int_equal(sbx_static_file_read(&p->a->files.v[2], &text, NULL), SBX_OK);
    assert_string_equal(text.ptr, "hello");
}

static void links_inside_the_kit_are_followed(void **state)
{
    struct place *p = *state;
    char absolute[200];

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "shared/data", "data", 0755);
    put(p, "files/home/real", "r", 0644);
    link_to(p, "../../shared/data", "files/home/linked");
    link_to(p, "../../shared", "files/home/directory");
    snprintf(absolute, sizeof(absolute), "%s/shared/data", p->dir);
    link_to(p, absolute, "files/home/whole");
    assert_int_equal(load(p), SBX_OK);
    assert_int_equal(p->a->files.len, 4);
    want_file(p, 0, "directory/data", 0755, 4);
    want_file(p, 1, "linked", 0755, 4);
    want_file(p, 3, "whole", 0755, 4);
}

static void want_refused(struct place *p, const char *code, const char *file, const char *part)
{
    assert_int_equal(load(p), SBX_SCHEMA);
    assert_null(p->a);
    assert_int_equal(p->diags.errors, 1);
    assert_string_equal(p->diags.v[0].code, code);
    assert_string_equal(p->diags.v[0].pos.file, path_in(p, file));
    if (!strstr(p->diags.v[0].message, part))
        fail_msg("%s", p->diags.v[0].message);
}

static void links_out_of_the_kit_are_refused(void **state)
{
    static const char *const targets[] = { "/etc/passwd", "../../../../../etc/passwd", "..//../../.",
                                           "/", "/proc/self/root/etc/passwd" };
    struct place *p = *state;

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/home/fine", "x", 0644);
    for (size_t i = 0; i < SBX_ARRAY_LEN(targets); i++) {
        link_to(p, targets[i], "files/home/l");
        want_refused(p, "bad-file", "files/home/l", "leads out of the kit");
        assert_int_equal(unlink(path_in(p, "files/home/l")), 0);
    }
}

static void a_linked_target_may_not_leave_either(void **state)
{
    struct place *p = *state;

    put(p, "spec.yaml", SPEC, 0644);
    assert_int_equal(mkdir(path_in(p, "files"), 0755), 0);
    link_to(p, "/etc", "files/home");
    want_refused(p, "bad-file", "files/home", "leads out of the kit");
    assert_int_equal(unlink(path_in(p, "files/home")), 0);
    assert_int_equal(rmdir(path_in(p, "files")), 0);
    link_to(p, "/etc", "files");
    want_refused(p, "bad-file", "files", "leads out of the kit");
}

static void a_linked_spec_may_not_leave(void **state)
{
    struct place *p = *state;

    put(p, "real/spec.yaml", SPEC, 0644);
    link_to(p, "real/spec.yaml", "spec.yaml");
    assert_int_equal(load(p), SBX_OK);
    assert_int_equal(unlink(path_in(p, "spec.yaml")), 0);
    link_to(p, "/etc/hostname", "spec.yaml");
    assert_int_equal(load(p), SBX_IO);
    assert_non_null(strstr(p->err.text, "leads out of the kit"));
}

/* Root reads everything, so the load runs as nobody. */
static void unreadable_files_are_named(void **state)
{
    struct place *p = *state;
    int status;
    pid_t child;

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/home/secret", "x", 0);
    assert_int_equal(chmod(p->dir, 0755), 0);
    child = fork();
    assert_true(child >= 0);
    if (!child) {
        if (!geteuid() && (setgid(65534) || setuid(65534)))
            _exit(3);
        if (load(p) != SBX_SCHEMA || strcmp(p->diags.v[0].code, "unreadable-file"))
            _exit(1);
        _exit(strstr(p->diags.v[0].message, "Permission denied") ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void links_to_nothing_and_circles_are_refused(void **state)
{
    struct place *p = *state;

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/home/fine", "x", 0644);
    link_to(p, "nowhere", "files/home/l");
    want_refused(p, "bad-file", "files/home/l", "a link to nothing");
    assert_int_equal(unlink(path_in(p, "files/home/l")), 0);
    link_to(p, "l", "files/home/l");
    want_refused(p, "bad-file", "files/home/l", "circle");
    assert_int_equal(unlink(path_in(p, "files/home/l")), 0);
    link_to(p, ".", "files/home/l");
    want_refused(p, "bad-file", "files/home/l", "circle");
}

static void only_files_and_directories_belong_into_a_kit(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct place *p = *state;
    SBX_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/home/fine", "x", 0644);
    assert_int_equal(mkfifo(path_in(p, "files/home/pipe"), 0644), 0);
    want_refused(p, "bad-file", "files/home/pipe", "FIFO");
    assert_int_equal(unlink(path_in(p, "files/home/pipe")), 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%.60s/files/home/s", p->dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    want_refused(p, "bad-file", "files/home/s", "socket");
}

static void other_directories_are_ignored_with_a_warning(void **state)
{
    struct place *p = *state;

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/etc/x", "x", 0644);
    put(p, "README.md", "x", 0644);
    assert_int_equal(load(p), SBX_OK);
    assert_int_equal(p->a->files.len, 0);
    assert_int_equal(p->diags.len, 1);
    assert_string_equal(p->diags.v[0].code, "ignored-directory");
    assert_string_equal(p->diags.v[0].pos.file, path_in(p, "files/etc"));
}

static void names_must_be_utf_8(void **state)
{
    struct place *p = *state;

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/home/\377", "x", 0644);
    assert_int_equal(load(p), SBX_SCHEMA);
    assert_string_equal(p->diags.v[0].code, "bad-file");
}

static void a_directory_in_place_of_a_file_is_refused(void **state)
{
    struct place *p = *state;

    assert_int_equal(load(p), SBX_NOT_FOUND);
    assert_non_null(strstr(p->err.text, "no spec.yaml or spec.yml"));
    assert_int_equal(mkdir(path_in(p, "spec.yaml"), 0755), 0);
    assert_int_equal(load(p), SBX_IO);
    assert_non_null(strstr(p->err.text, "is a directory"));
    assert_int_equal(rmdir(path_in(p, "spec.yaml")), 0);
    assert_int_equal(mkfifo(path_in(p, "spec.yaml"), 0644), 0);
    assert_int_equal(load(p), SBX_IO);
    assert_int_equal(unlink(path_in(p, "spec.yaml")), 0);
    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files", "x", 0644);
    want_refused(p, "bad-file", "files", "must be a directory");
}

static void spec_yml_serves_where_spec_yaml_is_not(void **state)
{
    struct place *p = *state;

    put(p, "spec.yml", SPEC, 0644);
    assert_int_equal(load(p), SBX_OK);
    assert_non_null(strstr(p->a->at.pos.file, "/spec.yml"));
    put(p, "spec.yaml", "broken: [", 0644);
    assert_int_equal(load(p), SBX_SYNTAX);
}

static void one_file_is_a_kit_without_files(void **state)
{
    struct place *p = *state;

    put(p, "some.yaml", SPEC, 0644);
    put(p, "files/home/x", "x", 0644);
    assert_int_equal(sbx_kit_load(path_in(p, "some.yaml"), &p->diags, &p->a, &p->err), SBX_OK);
    assert_int_equal(p->a->files.len, 0);
    assert_int_equal(sbx_kit_load("/nowhere/at/all", &p->diags, &p->a, &p->err), SBX_NOT_FOUND);
}

static void standard_input_is_a_spec_too(void **state)
{
    struct place *p = *state;
    int saved = dup(STDIN_FILENO), fd;
    enum sbx_code rc;

    put(p, "some.yaml", SPEC, 0644);
    fd = open(path_in(p, "some.yaml"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    rc = sbx_kit_load("-", &p->diags, &p->a, &p->err);
    dup2(saved, STDIN_FILENO);
    close(fd);
    close(saved);
    assert_int_equal(rc, SBX_OK);
    assert_string_equal(p->a->name, "a");
}

static void one_error_is_told_whole_and_many_are_counted(void **state)
{
    struct place *p = *state;

    put(p, "spec.yaml", SPEC "caps: {}\n", 0644);
    assert_int_equal(load(p), SBX_SCHEMA);
    assert_non_null(strstr(p->err.text, "spec.yaml:4: unknown field \"caps\""));
    put(p, "spec.yaml", SPEC "caps: {}\nports: 1\n", 0644);
    assert_int_equal(load(p), SBX_SCHEMA);
    assert_non_null(strstr(p->err.text, "2 errors"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_come_in_order_with_plain_modes),
        TEST(links_inside_the_kit_are_followed),
        TEST(links_out_of_the_kit_are_refused),
        TEST(a_linked_target_may_not_leave_either),
        TEST(a_linked_spec_may_not_leave),
        TEST(unreadable_files_are_named),
        TEST(links_to_nothing_and_circles_are_refused),
        TEST(only_files_and_directories_belong_into_a_kit),
        TEST(other_directories_are_ignored_with_a_warning),
        TEST(names_must_be_utf_8),
        TEST(a_directory_in_place_of_a_file_is_refused),
        TEST(spec_yml_serves_where_spec_yaml_is_not),
        TEST(one_file_is_a_kit_without_files),
        TEST(standard_input_is_a_spec_too),
        TEST(one_error_is_told_whole_and_many_are_counted),
    };

    return cmocka_run_group_tests_name("kit loading", tests, NULL, NULL);
}
