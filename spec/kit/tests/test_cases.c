/*
 * Every folder of cases/ holds a spec (in.yaml) and what is said about it (want.txt, one finding a
 * line). With SBX_UPDATE=1 the wants are written anew: read the difference before you keep it.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/file.h"
#include "sbx/kit.h"

#define CASES SBX_TEST_DIR "/cases"

static void read_case(const char *name, const char *file, struct sbx_buf *out)
{
    struct sbx_err err = SBX_ERR_INIT;
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s/%s", CASES, name, file);
    if (sbx_file_read(AT_FDCWD, path, out, &err))
        fail_msg("%s", err.text);
}

static void write_want(const char *name, const struct sbx_buf *said)
{
    struct sbx_err err = SBX_ERR_INIT;
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s/want.txt", CASES, name);
    if (sbx_file_write(AT_FDCWD, path, said->ptr ? said->ptr : "", said->len, 0644, &err))
        fail_msg("%s", err.text);
}

static void check_case(const char *name)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(2 * SBX_SPEC_MAX);
    SBX_AUTO(sbx_buf) said = SBX_BUF_INIT(1 << 20);
    SBX_AUTO(sbx_buf) want = SBX_BUF_INIT(1 << 20);
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc;

    read_case(name, "in.yaml", &text);
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    rc = sbx_kit_load_bytes("spec.yaml", text.ptr, text.len, &diags, &a, &err);
    for (size_t i = 0; i < diags.len; i++) {
        assert_int_equal(sbx_diag_text(&diags.v[i], &said), SBX_OK);
        assert_int_equal(sbx_buf_adds(&said, "\n"), SBX_OK);
    }
    assert_int_equal(rc != SBX_OK, diags.errors > 0);
    assert_int_equal(rc != SBX_OK, a == NULL);
    assert_true(!rc || err.text[0]);
    if (getenv("SBX_UPDATE")) {
        write_want(name, &said);
        return;
    }
    read_case(name, "want.txt", &want);
    if (said.len != want.len || (said.len && memcmp(said.ptr, want.ptr, said.len)))
        fail_msg("case %s says\n%swant\n%s", name, said.ptr ? said.ptr : "",
                 want.ptr ? want.ptr : "");
}

static void every_case_says_what_is_wanted(void **state)
{
    DIR *dir = opendir(CASES);
    size_t n = 0;

    (void)state;
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.')
            continue;
        check_case(e->d_name);
        n++;
    }
    closedir(dir);
    assert_true(n >= 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_case_says_what_is_wanted) };

    return cmocka_run_group_tests_name("kit cases", tests, NULL, NULL);
}
