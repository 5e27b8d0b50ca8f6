#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "sbx/json.h"
#include "sbx/seccomp.h"

#define PROFILE SBX_SOURCE_DIR "/engine/runtime/seccomp/profile.json"

static const char *const usual[] = { "CAP_CHOWN", "CAP_SYS_CHROOT", NULL };
static const char *const admin[] = { "CAP_SYS_ADMIN", "CAP_NET_RAW", NULL };
static const struct sbx_seccomp_host here = { usual, "x86_64", 6, 1 };

/* Is there a row that allows `name` without looking at arguments? */
static bool allows(const json_t *oci, const char *name)
{
    json_t *row, *item;
    size_t i, j;

    json_array_foreach(json_object_get(oci, "syscalls"), i, row) {
        if (strcmp(json_string_value(json_object_get(row, "action")), "SCMP_ACT_ALLOW") != 0 ||
            json_object_get(row, "args"))
            continue;
        json_array_foreach(json_object_get(row, "names"), j, item)
            if (strcmp(json_string_value(item), name) == 0)
                return true;
    }
    return false;
}

static json_t *convert(bool userns, const struct sbx_seccomp_host *host)
{
    struct sbx_err err = SBX_ERR_INIT;
    json_t *profile = NULL, *oci = NULL;

    assert_int_equal(sbx_seccomp_read(PROFILE, userns, &profile, &err), SBX_OK);
    assert_int_equal(sbx_seccomp_oci(profile, host, &oci, &err), SBX_OK);
    json_decref(profile);
    return oci;
}

static void user_namespaces_are_off_unless_switched_on(void **state)
{
    json_t *off = convert(false, &here), *on = convert(true, &here);

    (void)state;
    assert_false(allows(off, "unshare") || allows(off, "clone3") || allows(off, "clone"));
    assert_false(allows(off, "mount") || allows(off, "setns"));
    assert_true(allows(on, "unshare") && allows(on, "clone3") && allows(on, "clone"));
    json_decref(off);
    json_decref(on);
}

static void rows_hold_by_capability_kernel_and_machine(void **state)
{
    const struct sbx_seccomp_host root = { admin, "x86_64", 6, 1 }, old = { usual, "x86_64", 4, 7 },
                                  arm = { usual, "aarch64", 6, 1 };
    json_t *plain = convert(false, &here), *more = convert(false, &root);
    json_t *before = convert(false, &old), *other = convert(false, &arm);

    (void)state;
    assert_true(allows(plain, "chroot") && !allows(plain, "mount"));
    assert_true(allows(more, "mount") && !allows(more, "chroot"));
    assert_true(allows(plain, "ptrace") && !allows(before, "ptrace"));
    assert_true(allows(plain, "arch_prctl") && !allows(other, "arch_prctl"));
    assert_int_equal(json_array_size(json_object_get(plain, "architectures")), 2);
    json_decref(plain);
    json_decref(more);
    json_decref(before);
    json_decref(other);
}

static void sockets_open_by_family_only(void **state)
{
    json_t *oci = convert(false, &here), *row, *item;
    int families = 0;
    size_t i, j;

    (void)state;
    assert_false(allows(oci, "socket") || allows(oci, "socketcall") || allows(oci, "socketpair"));
    assert_false(allows(oci, "io_uring_setup"));
    json_array_foreach(json_object_get(oci, "syscalls"), i, row)
        json_array_foreach(json_object_get(row, "names"), j, item) {
            json_t *arg = json_array_get(json_object_get(row, "args"), 0);
            json_int_t family = json_integer_value(json_object_get(arg, "value"));

            if (strcmp(json_string_value(item), "socket") != 0 ||
                strcmp(json_string_value(json_object_get(row, "action")), "SCMP_ACT_ALLOW") != 0)
                continue;
            assert_string_equal(json_string_value(json_object_get(arg, "op")), "SCMP_CMP_EQ");
            assert_true(family == 1 || family == 2 || family == 10 || family == 16);
            families++;
        }
    assert_int_equal(families, 4);
    json_decref(oci);
}

static void an_unknown_condition_or_machine_is_an_error(void **state)
{
    json_t *bad = json_pack("{s:s, s:[{s:[s], s:s, s:{s:s}}]}", "defaultAction", "SCMP_ACT_ERRNO",
                            "syscalls", "names", "read", "action", "SCMP_ACT_ALLOW", "includes",
                            "moon", "full");
    const struct sbx_seccomp_host vax = { usual, "vax", 6, 1 };
    struct sbx_err err = SBX_ERR_INIT;
    json_t *oci = NULL;

    (void)state;
    assert_int_equal(sbx_seccomp_oci(bad, &here, &oci, &err), SBX_SCHEMA);
    assert_int_equal(sbx_seccomp_oci(bad, &vax, &oci, &err), SBX_UNSUPPORTED);
    assert_int_equal(sbx_seccomp_read("/nonexistent/x.json", false, &oci, &err), SBX_NOT_FOUND);
    assert_int_equal(
        sbx_seccomp_read(SBX_SOURCE_DIR "/engine/runtime/seccomp/README.md", false, &oci, &err),
        SBX_SYNTAX);
    json_decref(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_namespaces_are_off_unless_switched_on),
        cmocka_unit_test(rows_hold_by_capability_kernel_and_machine),
        cmocka_unit_test(sockets_open_by_family_only),
        cmocka_unit_test(an_unknown_condition_or_machine_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
