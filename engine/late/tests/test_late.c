#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sbx/late.h"
#include "sbx/late_curl.h"

static void a_missing_library_names_its_package(void **state)
{
    struct sbx_late none = { .soname = "libsbx-none.so.9",
                             .package = "libsbx-none9",
                             .lock = PTHREAD_MUTEX_INITIALIZER };
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(sbx_late_load(&none, &err), SBX_UNAVAILABLE);
    assert_non_null(strstr(err.text, "libsbx-none.so.9 cannot be loaded (Debian package "
                                     "libsbx-none9)"));
    assert_false(none.loaded);
}

static void a_missing_function_is_named(void **state)
{
    void *table[1] = { NULL };
    static const struct sbx_late_symbol symbols[] = { { "no_such_function", 0 } };
    struct sbx_late old = { .soname = "libm.so.6",
                            .package = "libc6",
                            .symbols = symbols,
                            .n_symbols = 1,
                            .table = table,
                            .lock = PTHREAD_MUTEX_INITIALIZER };
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(sbx_late_load(&old, &err), SBX_UNAVAILABLE);
    assert_non_null(strstr(err.text, "libm.so.6 has no function no_such_function"));
}

static bool mapped(const char *name)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        found |= strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

static void libcurl_comes_with_its_first_use_only(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    const struct sbx_curl *curl;
    CURL *h;

    (void)state;
    assert_false(mapped("libcurl"));
    curl = sbx_curl(&err);
    if (!curl) {
        fprintf(stderr, "SKIPPED: %s\n", err.text);
        skip();
    }
    assert_true(mapped("libcurl"));
    assert_ptr_equal(curl, sbx_curl(&err));
    h = curl->easy_init();
    assert_non_null(h);
    curl->easy_cleanup(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_names_its_package),
        cmocka_unit_test(a_missing_function_is_named),
        cmocka_unit_test(libcurl_comes_with_its_first_use_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
