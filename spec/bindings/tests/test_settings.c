/* settings.yaml, and files that are absent or empty. */
#include "world.h"

static enum sbx_code load_settings(struct world *w, const char *text, struct sbx_settings *s)
{
    put(w, text);
    return sbx_settings_load(w->path, w->arena, &w->diags, s, &w->err);
}

static void absent_files_give_the_defaults(void **state)
{
    struct world *w = *state;
    struct sbx_settings s;
    struct sbx_policy_file f;

    assert_int_equal(sbx_settings_load(w->path, w->arena, &w->diags, &s, &w->err), SBX_OK);
    assert_string_equal(s.runtime, "auto");
    assert_string_equal(s.pull, "missing");
    assert_int_equal(s.n_hosts + s.n_images, 0);
    assert_null(s.public_test_ranges[0]);
    assert_int_equal(sbx_policy_file_load(w->path, w->arena, &w->diags, &f, &w->err), SBX_OK);
    assert_string_equal(f.preset, "balanced");
    assert_false(f.initialized);
    assert_int_equal(f.n_rules, 0);
}

static void empty_files_give_the_defaults_too(void **state)
{
    static const char *const empty[] = { "", "# nothing\n", "---\n", "{}\n", "null\n" };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(empty); i++) {
        struct sbx_settings s;
        struct sbx_policy_file f;

        assert_int_equal(load_settings(w, empty[i], &s), SBX_OK);
        assert_string_equal(s.runtime, "auto");
        assert_int_equal(load_policy(w, empty[i], &f), SBX_OK);
        assert_string_equal(f.preset, "balanced");
    }
}

static void all_settings(void **state)
{
    struct world *w = *state;
    struct sbx_settings s;

    assert_int_equal(load_settings(w, "runtime: oci\npull: never\nimages: {shell: my/image:1}\n"
                                      "network:\n  hosts:\n    API.example.com.: [203.0.113.10, "
                                      "\"2001:db8::1\"]\n  publicTestRanges: [203.0.113.0/24]\n"
                                      "  proxy: {http: direct, https: \"http://p:3128\", noProxy: [],"
                                      " credentialsFile: ~/x}\n"
                                      "registries:\n  docker.io: {mirrors: [https://m.example.com, "
                                      "\"http://10.0.0.1:5000/hub\"]}\n"
                                      "  r.lan:5000: {plainHttp: true}\n"
                                      "cache: {max: 5g}\n",
                                   &s), SBX_OK);
    assert_int_equal(s.n_registries, 2);
    assert_string_equal(s.registries[0].host, "docker.io");
    assert_string_equal(s.registries[0].mirrors[1], "http://10.0.0.1:5000/hub");
    assert_null(s.registries[0].mirrors[2]);
    assert_true(s.registries[1].plain_http);
    assert_int_equal(s.cache_max, 5LL << 30);
    assert_string_equal(s.runtime, "oci");
    assert_string_equal(s.pull, "never");
    assert_string_equal(sbx_settings_image(&s, "shell"), "my/image:1");
    assert_null(sbx_settings_image(&s, "claude"));
    assert_int_equal(s.n_hosts, 1);
    assert_string_equal(s.hosts[0].name, "api.example.com");
    assert_string_equal(s.hosts[0].addresses[1], "2001:db8::1");
    assert_null(s.hosts[0].addresses[2]);
    assert_string_equal(s.public_test_ranges[0], "203.0.113.0/24");
    assert_null(s.public_test_ranges[1]);
    assert_string_equal(s.proxy.http, "direct");
    assert_string_equal(s.proxy.https, "http://p:3128");
    assert_string_equal(s.proxy.credentials_file, "~/x");
    assert_non_null(s.proxy.no_proxy);
    assert_null(s.proxy.no_proxy[0]);
}

static void refused(struct world *w, const char *text, const char *want)
{
    struct sbx_settings s;
    enum sbx_code rc = load_settings(w, text, &s);
    const char *got = first_error(w);

    if (rc != SBX_SCHEMA && rc != SBX_SYNTAX)
        fail_msg("accepted: %s", text);
    if (strncmp(got, want, strlen(want)))
        fail_msg("%s: %s\nwant %s", text, got, want);
    assert_non_null(strstr(w->err.text, "f.yaml"));
    w->diags.len = w->diags.errors = 0;
}

static void wrong_settings_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "a: [", "f.yaml:2:1:" },
        { "- x\n", "f.yaml:1:1: want a mapping with runtime, pull, images, registries, cache, network" },
        { "\nruntme: oci\n", "f.yaml:2:1: unknown field \"runtme\"; did you mean \"runtime\"?" },
        { "image: x\n", "f.yaml:1:1: unknown field \"image\"; did you mean \"images\"?" },
        { "runtime: podman\n", "f.yaml:1:10: runtime: unknown value (podman); write auto, docker or "
                               "oci" },
        { "runtime: [oci]\n", "f.yaml:1:10: runtime: want a string, got a list" },
        { "pull: no\n", "f.yaml:1:7: pull: unknown value (no); write always, missing or never" },
        { "runtime: oci\nruntime: oci\n", "f.yaml:2:1: runtime:" },
        { "images: [x]\n", "f.yaml:1:9: images: want a mapping of agents to images, got a list" },
        { "images: {shell: \"\"}\n", "f.yaml:1:10: images: no image for shell" },
        { "registries: [x]\n", "f.yaml:1:13: registries: want a mapping of registries, got a list" },
        { "registries: {a.io: {mirror: []}}\n", "f.yaml:1:21: unknown field registries.a.io.mirror; did you mean \"mirrors\"?" },
        { "registries: {a.io: {mirrors: [m.io]}}\n", "f.yaml:1:14: registries.a.io: not the address of a mirror (m.io)" },
        { "registries: {a.io: {mirrors: [\"https://u:p@m.io\"]}}\n", "f.yaml:1:14: registries.a.io: not the address of a mirror" },
        { "registries: {a.io/x: {}}\n", "f.yaml:1:14: registries.a.io/x: not the name of a registry" },
        { "registries: {\"https://a.io\": {}}\n", "f.yaml:1:14: registries.https://a.io: not the name of a registry" },
        { "registries: {a.io: {plainHttp: maybe}}\n", "f.yaml:1:32: registries.a.io.plainHttp" },
        { "cache: {max: many}\n", "f.yaml:1:14: cache.max: not a size (many); write 20g or 500m" },
        { "cache: {max: 0}\n", "f.yaml:1:14: cache.max: not a size (0)" },
        { "network: {host: {}}\n", "f.yaml:1:11: unknown field network.host; did you "
                                   "mean \"hosts\"?" },
        { "network: {hosts: [a]}\n", "f.yaml:1:18: network.hosts: want a list of addresses" },
        { "network: {hosts: {a.com: 1.2.3.4}}\n",
          "f.yaml:1:26: network.hosts.a.com: want a list of addresses" },
        { "network: {hosts: {a.com: []}}\n", "f.yaml:1:19: network.hosts.a.com: no address" },
        { "network: {hosts: {a.com: [b.com]}}\n",
          "f.yaml:1:19: network.hosts.a.com: not an address (b.com)" },
        { "network: {hosts: {a.com: [127.1]}}\n",
          "f.yaml:1:19: network.hosts.a.com: not an address (127.1)" },
        { "network: {hosts: {1.2.3.4: [1.2.3.4]}}\n",
          "f.yaml:1:19: network.hosts.1.2.3.4: not the name of a host" },
        { "network: {hosts: {a..b: [1.2.3.4]}}\n",
          "f.yaml:1:19: network.hosts.a..b: not the name of a host: a host name with an empty label" },
        { "network: {hosts: {A.com: [1.2.3.4], a.com: [1.2.3.4]}}\n",
          "f.yaml:1:37: network.hosts.a.com: given twice" },
        { "network: {publicTestRanges: [x.com]}\n",
          "f.yaml:1:30: network.publicTestRanges: public test range \"x.com\": not a CIDR" },
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        refused(w, rows[i].text, rows[i].want);
}

static void wrong_proxies_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "network: {proxy: {https: \"socks5://p\"}}\n",
          "f.yaml:1:26: network.proxy.https: only http:// proxies can be used" },
        { "network:\n  proxy: {credentialsFile: x}\n",
          "f.yaml:2:28: network.proxy.credentialsFile: a relative path" },
        { "network: {proxy: {ftp: x}}\n", "f.yaml:1:19: unknown field network.proxy.ftp" },
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        refused(w, rows[i].text, rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(absent_files_give_the_defaults),
        FILE_TEST(empty_files_give_the_defaults_too),
        FILE_TEST(all_settings),
        FILE_TEST(wrong_settings_are_refused_with_their_line),
        FILE_TEST(wrong_proxies_are_refused_with_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
