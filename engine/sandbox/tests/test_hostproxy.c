/* Which proxy this machine has to use: settings, environment, a file with the password. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../box.h"
#include "../net.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <string.h>

static const char *const *environment; /* "NAME=VALUE", NULL-terminated */
static char warned[512];

static const char *env(const char *name)
{
    size_t len = strlen(name);

    for (const char *const *e = environment; e && *e; e++)
        if (!strncmp(*e, name, len) && (*e)[len] == '=')
            return *e + len + 1;
    return NULL;
}

static void warn(void *ctx, const char *text)
{
    (void)ctx;
    snprintf(warned + strlen(warned), sizeof(warned) - strlen(warned), "%s\n", text);
}

static enum sbx_code read_it(const struct sbx_host_proxy *s, const char *const *e, json_t **ret,
                             struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(65536);
    enum sbx_code rc;

    environment = e;
    warned[0] = '\0';
    rc = sbx_host_proxy_json(s, env, warn, NULL, &out, err);
    *ret = !rc && out.len ? json_loadb(out.ptr, out.len, 0, NULL) : NULL;
    return rc;
}

/* "HOST:PORT AUTHORIZATION", or "-". */
static const char *brief(const json_t *all, const char *which, char *buf, size_t size)
{
    const json_t *p = json_object_get(all, which);
    const char *authorization = json_string_value(json_object_get(p, "authorization"));

    if (!json_is_object(p))
        return "-";
    snprintf(buf, size, "%s:%d%s%s", json_string_value(json_object_get(p, "host")),
             (int)json_integer_value(json_object_get(p, "port")), authorization ? " " : "",
             authorization ? authorization : "");
    return buf;
}

static void the_environment_is_read_as_curl_does(void **state)
{
    static const struct {
        const char *env[6], *http, *https, *warned;
    } rows[] = {
        { { NULL }, "-", "-", "" },
        { { "https_proxy=http://p:3128" }, "-", "p:3128", "" },
        { { "HTTPS_PROXY=http://p:3128/" }, "-", "p:3128", "" },
        { { "https_proxy=http://low:1", "HTTPS_PROXY=http://up:2" }, "-", "low:1", "" },
        { { "https_proxy=", "HTTPS_PROXY=http://up:2" }, "-", "up:2", "" },
        { { "http_proxy=p:80" }, "p:80", "-", "" },
        { { "HTTP_PROXY=http://p" }, "p:1080", "-", "" },
        { { "HTTP_PROXY=http://p", "REQUEST_METHOD=GET" }, "-", "-", "" },
        { { "http_proxy=http://p", "REQUEST_METHOD=GET" }, "p:1080", "-", "" },
        { { "all_proxy=http://a:1", "https_proxy=http://b:2" }, "a:1", "b:2", "" },
        { { "HTTPS_PROXY=http://user:pa%3Ass@p:8" }, "-", "p:8 Basic dXNlcjpwYTpzcw==", "" },
        { { "HTTPS_PROXY=http://user@p:8" }, "-", "p:8 Basic dXNlcjo=", "" },
        { { "HTTPS_PROXY=HTTP://[2001:db8::1]:8" }, "-", "2001:db8::1:8", "" },
        { { "HTTPS_PROXY=https://u:secret@p:8" }, "-", "-",
          "HTTPS_PROXY of the environment is not used: only http:// proxies can be used\n" },
        { { "ALL_PROXY=socks5h://p" }, "-", "-",
          "ALL_PROXY of the environment is not used: only http:// proxies can be used\n"
          "ALL_PROXY of the environment is not used: only http:// proxies can be used\n" },
        { { "HTTPS_PROXY=http://u:secret@p:0" }, "-", "-",
          "HTTPS_PROXY of the environment is not used: want http://HOST:PORT\n" },
        { { "HTTPS_PROXY=http://u%00:secret@p:1" }, "-", "-",
          "HTTPS_PROXY of the environment is not used: user and password cannot be read\n" },
    };
    struct sbx_host_proxy none = { 0 };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        json_t *all = NULL;
        char a[400], b[400];

        assert_int_equal(read_it(&none, rows[i].env, &all, NULL), SBX_OK);
        assert_string_equal(brief(all, "http", a, sizeof(a)), rows[i].http);
        assert_string_equal(brief(all, "https", b, sizeof(b)), rows[i].https);
        assert_string_equal(warned, rows[i].warned);
        assert_null(strstr(warned, "secret"));
        json_decref(all);
    }
}

static void settings_go_before_the_environment(void **state)
{
    static const char *const no_proxy[] = { "a.test", "10.0.0.0/8", NULL };
    static const char *const from[] = { "https_proxy=http://env:1", "http_proxy=http://env:2",
                                        "NO_PROXY=x.test, y.test\tz.test", NULL };
    struct sbx_host_proxy s = { .https = "http://set:3" };
    json_t *all = NULL;
    char a[400], b[400];

    (void)state;
    assert_int_equal(read_it(&s, from, &all, NULL), SBX_OK);
    assert_string_equal(brief(all, "https", a, sizeof(a)), "set:3");
    assert_string_equal(brief(all, "http", b, sizeof(b)), "env:2");
    assert_int_equal(json_array_size(json_object_get(all, "noProxy")), 3);
    json_decref(all);
    s = (struct sbx_host_proxy){ .https = "direct", .no_proxy = no_proxy };
    assert_int_equal(read_it(&s, from, &all, NULL), SBX_OK);
    assert_string_equal(brief(all, "https", a, sizeof(a)), "-");
    assert_int_equal(json_array_size(json_object_get(all, "noProxy")), 2);
    json_decref(all);
    s.http = "direct";
    assert_int_equal(read_it(&s, from, &all, NULL), SBX_OK);
    assert_null(all);
}

static void a_bad_setting_is_an_error_that_does_not_show_it(void **state)
{
    static const struct {
        struct sbx_host_proxy s;
        const char *want;
    } rows[] = {
        { { .https = "https://u:secret@p" }, "settings.yaml: network.proxy.https: only http://" },
        { { .http = "http://u:secret@a b" }, "settings.yaml: network.proxy.http: want http://" },
        { { .https = "http://p", .credentials_file = "/nowhere/secret" }, "credentialsFile /nowhere" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        json_t *all = NULL;

        assert_int_not_equal(read_it(&rows[i].s, NULL, &all, &err), SBX_OK);
        if (!strstr(err.text, rows[i].want) || strstr(err.text, "u:secret"))
            fail_msg("%s", err.text);
        assert_null(all);
    }
}

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void the_password_may_stand_in_a_file_of_the_users_alone(void **state)
{
    char dir[] = SBX_TEST_TMP "/hostproxy-XXXXXX", path[128], home[160], a[400];
    const char *from[] = { home, NULL };
    struct sbx_host_proxy s = { .http = "direct", .https = "http://p:3", .credentials_file = "~/c" };
    json_t *all = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/c", dir);
    snprintf(home, sizeof(home), "HOME=%s", dir);
    put(path, "user:pass\n", 0600);
    assert_int_equal(read_it(&s, from, &all, &err), SBX_OK);
    assert_string_equal(brief(all, "https", a, sizeof(a)), "p:3 Basic dXNlcjpwYXNz");
    json_decref(all);
    s.https = "http://other:x@p:3"; /* the URL's own goes first */
    assert_int_equal(read_it(&s, from, &all, &err), SBX_OK);
    assert_string_equal(brief(all, "https", a, sizeof(a)), "p:3 Basic b3RoZXI6eA==");
    json_decref(all);
    s.https = "http://p:3";
    put(path, "user:pass\n", 0644);
    assert_int_equal(read_it(&s, from, &all, &err), SBX_SCHEMA);
    assert_non_null(strstr(err.text, "chmod 600"));
    put(path, "nothing\n", 0600);
    assert_int_equal(read_it(&s, from, &all, &err), SBX_SCHEMA);
    assert_non_null(strstr(err.text, "want one line, USER:PASSWORD"));
    assert_null(strstr(err.text, "nothing"));
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_is_read_as_curl_does),
        cmocka_unit_test(settings_go_before_the_environment),
        cmocka_unit_test(a_bad_setting_is_an_error_that_does_not_show_it),
        cmocka_unit_test(the_password_may_stand_in_a_file_of_the_users_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
