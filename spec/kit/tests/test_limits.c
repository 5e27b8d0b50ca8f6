/* Each bound of a kit, one past it: a clear refusal, and nothing that takes long. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../args.h"
#include "sbx/file.h"
#include "sbx/kit.h"

#define MIXIN "schemaVersion: \"2\"\nkind: mixin\nname: k\n"

/* `head`, and `n` times `item`, where %d is the number. */
static void repeat(struct sbx_buf *out, const char *head, const char *item, int n)
{
    assert_int_equal(sbx_buf_adds(out, head), SBX_OK);
    for (int i = 0; i < n; i++) {
        char text[100];

        snprintf(text, sizeof(text), "%s%d\n", item, i);
        assert_int_equal(sbx_buf_adds(out, text), SBX_OK);
    }
}

static void expect(const struct sbx_buf *text, enum sbx_code want, const char *code, const char *message)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    enum sbx_code rc;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    rc = sbx_kit_load_bytes("spec.yaml", text->ptr, text->len, &diags, &a, NULL);
    assert_int_equal(rc, want);
    if (!want)
        return;
    assert_string_equal(diags.v[0].code, code);
    assert_non_null(strstr(diags.v[0].message, message));
}

static void lists_and_mappings_have_a_longest(void **state)
{
    static const char *const rows[][3] = {
        { "licenses:\n", "  - LicenseRef-", "licenses" },
        { "environment:\n  variables:\n", "    A%: x", "variables" },
        { "volumes:\n", "  - path: /v", "volumes" },
        { "args:\n", "  a", "args" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_SPEC_MAX);

        assert_int_equal(sbx_buf_addf(&text, "%s%s", MIXIN, rows[i][0]), SBX_OK);
        for (int k = 0; k <= SBX_KIT_ITEMS_MAX; k++) {
            enum sbx_code rc = i == 1   ? sbx_buf_addf(&text, "    A%d: x\n", k)
                               : i == 3 ? sbx_buf_addf(&text, "  a%d: {default: x}\n", k)
                                        : sbx_buf_addf(&text, "%s%d\n", rows[i][1], k);

            assert_int_equal(rc, SBX_OK);
        }
        expect(&text, SBX_SCHEMA, "too-many", "more than 10000 entries (10001)");
    }
}

static void anchors_are_counted(void **state)
{
    SBX_AUTO(sbx_buf) few = SBX_BUF_INIT(SBX_SPEC_MAX), many = SBX_BUF_INIT(SBX_SPEC_MAX);

    (void)state;
    repeat(&few, MIXIN "licenses:\n", "  - &a LicenseRef-", 1000);
    expect(&few, SBX_OK, NULL, NULL);
    repeat(&many, MIXIN "licenses:\n", "  - &a LicenseRef-", 1001);
    expect(&many, SBX_LIMIT, "yaml-limit", "more than 1000 anchors");
}

static void values_of_arguments_have_a_bound(void **state)
{
    SBX_AUTO_PTR(sbx_arg_values) v = sbx_arg_values_new();
    struct sbx_err err = SBX_ERR_INIT;
    char *text = calloc(1, SBX_ARG_VALUE_MAX + 10);

    (void)state;
    memcpy(text, "a=", 2);
    memset(text + 2, 'x', SBX_ARG_VALUE_MAX);
    assert_int_equal(sbx_arg_values_add(v, text, &err), SBX_OK);
    text[SBX_ARG_VALUE_MAX + 2] = 'x';
    assert_int_equal(sbx_arg_values_add(v, text, &err), SBX_LIMIT);
    assert_non_null(strstr(err.text, "a value of over 65536 bytes"));
    free(text);
    for (int i = 1; i < SBX_ARG_VALUES_MAX; i++)
        assert_int_equal(sbx_arg_values_add(v, "a=b", NULL), SBX_OK);
    assert_int_equal(sbx_arg_values_add(v, "a=b", &err), SBX_LIMIT);
    assert_non_null(strstr(err.text, "over 10000 values"));
}

static const char *no_value(void *data, const char *name, size_t len)
{
    (void)name;
    (void)len;
    return data;
}

static void a_text_grows_to_its_bound_only(void **state)
{
    static const char text[] = "${{ kit.args.v }}${{ kit.args.v }}";
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(9);
    struct sbx_err err = SBX_ERR_INIT;
    bool changed;

    (void)state;
    assert_int_equal(sbx_args_expand(text, sizeof(text) - 1, no_value, (char *)"12345", &out, &changed, &err),
                     SBX_LIMIT);
    assert_string_equal(err.text, "larger than 9 bytes with its arguments filled in");
}

/* ---- files/ ---- */

static char dir[] = SBX_TEST_TMP "/limits-XXXXXX";

static int set_up(void **state)
{
    int fd;

    (void)state;
    strcpy(dir + sizeof(dir) - 7, "XXXXXX");
    if (!mkdtemp(dir) || chdir(dir) || mkdir("files", 0755) || mkdir("files/home", 0755))
        return -1;
    fd = open("spec.yaml", O_WRONLY | O_CREAT | O_EXCL, 0644);
    return fd < 0 || sbx_write_all(fd, MIXIN, sizeof(MIXIN) - 1) || close(fd) ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    return chdir("/") || sbx_dir_remove(AT_FDCWD, dir, NULL) ? -1 : 0;
}

static void refused(const char *want)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_kit_load(dir, &diags, &a, &err), SBX_LIMIT);
    if (!strstr(err.text, want))
        fail_msg("%s", err.text);
}

static void directories_have_a_depth(void **state)
{
    char path[400] = "files/home";

    (void)state;
    for (int i = 0; i < 65; i++) {
        strcat(path, "/d");
        assert_int_equal(mkdir(path, 0755), 0);
    }
    strcat(path, "/f");
    close(creat(path, 0644));
    refused("deeper than 64 directories");
}

static void a_file_has_a_largest_size(void **state)
{
    int fd = creat("files/home/huge", 0644);

    (void)state;
    assert_int_equal(ftruncate(fd, (off_t)SBX_KIT_FILE_MAX + 1), 0); /* a hole: takes no space */
    close(fd);
    refused("files/home/huge: larger than 268435456 bytes");
}

static void files_are_counted(void **state)
{
    (void)state;
    for (int i = 0; i <= SBX_KIT_FILES_MAX; i++) {
        char name[40];

        snprintf(name, sizeof(name), "files/home/%d", i);
        close(creat(name, 0644));
    }
    refused("files/: more than 20000 entries");
}

#define DIR_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_mappings_have_a_longest),
        cmocka_unit_test(anchors_are_counted),
        cmocka_unit_test(values_of_arguments_have_a_bound),
        cmocka_unit_test(a_text_grows_to_its_bound_only),
        DIR_TEST(directories_have_a_depth),
        DIR_TEST(a_file_has_a_largest_size),
        DIR_TEST(files_are_counted),
    };

    return cmocka_run_group_tests_name("kit limits", tests, NULL, NULL);
}
