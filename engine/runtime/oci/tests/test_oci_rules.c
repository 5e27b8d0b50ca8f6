#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "oci.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
                             "agent:x:1000:1000::/home/agent:/bin/sh\n"
                             "twin:x:1000:7::/home/twin:/bin/sh\n"
                             "12:x:500:500::/home/twelve:/bin/sh\n"
                             "broken:x\n"
                             "neg:x:-1:0::/:/bin/sh\n";
static const char group[] = "root:x:0:\nsudo:x:27:agent,other\ndocker:x:99:other\nplug:x:46:agent\n"
                            "broken\nagent:x:1000:\n";

static void users_are_resolved_by_the_sandboxs_own_files(void **state)
{
    static const struct {
        const char *text;
        enum sbx_code code;
        unsigned uid, gid;
        size_t n_groups;
        const char *home;
    } rows[] = {
        { "", SBX_OK, 0, 0, 0, "/root" },
        { "root", SBX_OK, 0, 0, 0, "/root" },
        { "agent", SBX_OK, 1000, 1000, 2, "/home/agent" },
        { "1000", SBX_OK, 1000, 1000, 2, "/home/agent" },
        { "12", SBX_OK, 500, 500, 0, "/home/twelve" },
        { "77", SBX_OK, 77, 0, 0, "/" },
        { "agent:docker", SBX_OK, 1000, 99, 0, "/home/agent" },
        { "1000:5", SBX_OK, 1000, 5, 0, "/home/agent" },
        { "3:4", SBX_OK, 3, 4, 0, "/" },
        { "nobody", SBX_NOT_FOUND, 0, 0, 0, NULL },
        { "agent:nogroup", SBX_NOT_FOUND, 0, 0, 0, NULL },
        { "neg", SBX_NOT_FOUND, 0, 0, 0, NULL },
        { "broken", SBX_NOT_FOUND, 0, 0, 0, NULL },
        { "4294967295", SBX_NOT_FOUND, 0, 0, 0, NULL },
        { "-1", SBX_NOT_FOUND, 0, 0, 0, NULL },
        { "1000x", SBX_NOT_FOUND, 0, 0, 0, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct user u;

        print_message("\"%s\"\n", rows[i].text);
        assert_int_equal(oci_user_parse(passwd, group, rows[i].text, &u, &err), rows[i].code);
        if (rows[i].code)
            continue;
        assert_int_equal(u.uid, rows[i].uid);
        assert_int_equal(u.gid, rows[i].gid);
        assert_int_equal(u.n_groups, rows[i].n_groups);
        assert_string_equal(u.home, rows[i].home);
    }
}

static bool has(const json_t *list, const char *cap)
{
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)list, i, item)
        if (strcmp(json_string_value(item), cap) == 0)
            return true;
    return false;
}

static void capabilities_are_the_engines_less_three(void **state)
{
    static const struct {
        const char *spec, *with, *without;
        size_t n;
    } rows[] = {
        { "{}", "CAP_CHOWN", "CAP_NET_RAW", 11 },
        { "{}", "CAP_SYS_CHROOT", "CAP_MKNOD", 11 },
        { "{}", "CAP_KILL", "CAP_AUDIT_WRITE", 11 },
        { "{\"capAdd\":[\"NET_RAW\"]}", "CAP_NET_RAW", "CAP_SYS_ADMIN", 12 },
        { "{\"capAdd\":[\"cap_sys_ptrace\"]}", "CAP_SYS_PTRACE", "CAP_MKNOD", 12 },
        { "{\"capDrop\":[\"CHOWN\"]}", "CAP_FOWNER", "CAP_CHOWN", 10 },
        { "{\"capDrop\":[\"ALL\"],\"capAdd\":[\"CHOWN\"]}", "CAP_CHOWN", "CAP_FOWNER", 1 },
        { "{\"capAdd\":[\"ALL\"]}", "CAP_SYS_ADMIN", "CAP_NONE", 41 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_JSON json_t *spec = json_loads(rows[i].spec, 0, NULL);
        SBX_AUTO_JSON json_t *caps = oci_caps(spec, false);

        print_message("%s\n", rows[i].spec);
        assert_int_equal(json_array_size(caps), rows[i].n);
        assert_true(has(caps, rows[i].with));
        assert_false(has(caps, rows[i].without));
    }
}

static void the_last_error_of_a_runtimes_log_is_told(void **state)
{
    static const char log[] = "{\"level\":\"warning\",\"msg\":\"never mind\"}\nnot json\n"
                              "{\"level\":\"error\",\"msg\":\"this is why\"}\n";
    char path[] = SBX_TEST_TMP "/log-XXXXXX";
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(100);
    int fd = mkstemp(path);

    (void)state;
    assert_true(write(fd, log, sizeof(log) - 1) == sizeof(log) - 1);
    close(fd);
    oci_log_message(path, &out);
    unlink(path);
    assert_string_equal(out.ptr, "this is why");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_are_resolved_by_the_sandboxs_own_files),
        cmocka_unit_test(capabilities_are_the_engines_less_three),
        cmocka_unit_test(the_last_error_of_a_runtimes_log_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
