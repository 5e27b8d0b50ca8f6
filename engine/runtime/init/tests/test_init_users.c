/* Users that sbx-init finds and makes. */
#include "tree.h"

#include "users.h"

static const char odd_passwd[] = "\n"
                                 "#comment:x:1:1\n"
                                 ":x:0:0::/:/bin/sh\n"
                                 "short:x:5\n"
                                 "notnumber:x:abc:1::/h:/s\n"
                                 "toobig:x:4294967295:1::/h:/s\n"
                                 "negative:x:-1:-1::/h:/s\n"
                                 "root:x:0:0:root:/root:/bin/bash\n"
                                 "agent:x:1000:1001:A,B:/home/agent:/bin/sh:extra\n"
                                 "relative:x:7:7::home:/bin/sh\n"
                                 "agent:x:9:9::/second:/bin/sh\n"
                                 "1234:x:55:56::/numeric:/bin/sh\n"
                                 "last:x:8:8::/last:"; /* no newline */
static const char odd_group[] = "root:x:0:\n"
                                "bad\n"
                                "bad2:x:y:agent\n"
                                "docker:x:998:agent,last\n"
                                "audio:x:29:agents,xagent\n"
                                "video:x:44:,agent,\n"
                                "last:x:8:agent";

static void a_user_is_found_as_docker_finds_one(void **state)
{
    static const struct {
        const char *text;
        uid_t uid;
        gid_t gid;
        size_t groups;
        const char *name, *home; /* NULL: not found */
    } cases[] = {
        { "root", 0, 0, 0, "root", "/root" },
        { "agent", 1000, 1001, 3, "agent", "/home/agent" },
        { "1000", 1000, 1001, 3, "agent", "/home/agent" },
        { "agent:docker", 1000, 998, 0, "agent", "/home/agent" },
        { "agent:7", 1000, 7, 0, "agent", "/home/agent" },
        { "relative", 7, 7, 0, "relative", "/" },
        { "last", 8, 8, 1, "last", "/last" },
        { "1234", 55, 56, 0, "1234", "/numeric" }, /* a name before a number */
        { "77", 77, 0, 0, "77", "/" },
        { "77:88", 77, 88, 0, "77", "/" },
        { "nobody", 0, 0, 0, NULL, NULL },
        { "", 0, 0, 0, NULL, NULL },
        { ":docker", 0, 0, 0, NULL, NULL },
        { "agent:", 0, 0, 0, NULL, NULL },
        { "agent:nogroup", 0, 0, 0, NULL, NULL },
        { "4294967295", 0, 0, 0, NULL, NULL },
        { "-1", 0, 0, 0, NULL, NULL },
        { "toobig", 0, 0, 0, NULL, NULL },
        { "notnumber", 0, 0, 0, NULL, NULL },
    };
    struct tree *t = *state;

    put(t, "etc/passwd", odd_passwd);
    put(t, "etc/group", odd_group);
    for (size_t i = 0; i < SBX_ARRAY_LEN(cases); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_user u;
        enum sbx_code rc = sbx_user_find(t->fd, cases[i].text, &u, &err);

        if (rc != (cases[i].name ? SBX_OK : SBX_NOT_FOUND))
            fail_msg("\"%s\": %d %s", cases[i].text, rc, err.text);
        if (rc)
            continue;
        assert_int_equal(u.uid, cases[i].uid);
        assert_int_equal(u.gid, cases[i].gid);
        assert_int_equal(u.n_groups, cases[i].groups);
        assert_string_equal(u.name, cases[i].name);
        assert_string_equal(u.home, cases[i].home);
    }
}

static void a_number_is_a_user_where_there_is_no_passwd(void **state)
{
    struct tree *t = *state;
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_user u;

    assert_int_equal(sbx_user_find(t->fd, "1000:1000", &u, &err), SBX_OK);
    assert_int_equal(u.gid, 1000);
    assert_int_equal(sbx_user_find(t->fd, "root", &u, &err), SBX_NOT_FOUND);
    assert_int_equal(mkfifoat(t->fd, "etc/passwd", 0644), 0); /* neither read nor waited for */
    assert_int_equal(sbx_user_find(t->fd, "1000", &u, &err), SBX_IO);
}

static void a_missing_user_is_made_with_group_and_home(void **state)
{
    struct tree *t = *state;
    int status;
    char record[128];

    put(t, "etc/passwd", "root:x:0:0::/root:/bin/sh"); /* no newline at its end */
    put(t, "etc/shadow", "root:*:1::::::\n");
    snprintf(record, sizeof(record), "user 0 %u %u 0 0 agent:/home/agent\n", getuid() + 1000,
             getgid() + 1000);
    if (getuid())
        skip(); /* the home is given to another user */
    assert_string_equal(batch(t, record, strlen(record), &status), "ok\n");
    assert_string_equal(get(t, "etc/passwd"),
                        "root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n");
    assert_string_equal(get(t, "etc/group"), "agent:x:1000:\n");
    assert_string_equal(get(t, "etc/shadow"), "root:*:1::::::\nagent:*:19000:0:99999:7:::\n");
    assert_int_equal(faccessat(t->fd, "home/agent", F_OK, 0), 0);
    assert_string_equal(batch(t, record, strlen(record), &status), "kept\n");
    assert_int_equal(status, 0);
    assert_string_equal(batch(t, "user 0 7 7 0 0 agent:/h\n", 24, &status),
                        "error user agent exists with uid 1000\n");
}

static void what_is_no_user_name_or_home_is_refused(void **state)
{
    static const char *const names[] = { "a b:/h", ":/h",     "x:h",        "-x:/h",
                                         "x:/h:0", "x\ty:/h", "noColonHere" };
    struct tree *t = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        char record[128];
        int status;

        snprintf(record, sizeof(record), "user 0 1 1 0 0 %s\n", names[i]);
        assert_memory_equal(batch(t, record, strlen(record), &status), "error ", 6);
        assert_int_equal(status, 1);
    }
    assert_null(get(t, "etc/passwd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_TREE(a_user_is_found_as_docker_finds_one),
        IN_TREE(a_number_is_a_user_where_there_is_no_passwd),
        IN_TREE(a_missing_user_is_made_with_group_and_home),
        IN_TREE(what_is_no_user_name_or_home_is_refused),
    };

    return cannot_run() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
