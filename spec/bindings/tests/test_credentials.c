/* credentials.yaml: what is read, what is refused, and that a change leaves all else as it was. */
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

#include "sbx/bindings.h"
#include "sbx/file.h"

static char here[] = SBX_TEST_TMP "/credentials-XXXXXX";
static char path[100];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(here))
        return -1;
    snprintf(path, sizeof(path), "%s/sbx/credentials.yaml", here);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return sbx_dir_remove(-100 /* AT_FDCWD */, here, NULL) ? -1 : 0;
}

static void put(const char *text)
{
    struct sbx_err err;

    assert_int_equal(sbx_dir_make(here, 0700, &err), SBX_OK);
    snprintf(path, sizeof(path), "%s/sbx/credentials.yaml", here);
    if (!text) {
        unlink(path);
        return;
    }
    *strrchr(path, '/') = '\0';
    assert_int_equal(sbx_dir_make(path, 0700, &err), SBX_OK);
    snprintf(path, sizeof(path), "%s/sbx/credentials.yaml", here);
    assert_int_equal(sbx_file_write(-100, path, text, strlen(text), 0600, &err), SBX_OK);
}

static void expect_text(const char *want)
{
    SBX_AUTO(sbx_buf) got = SBX_BUF_INIT(100000);

    assert_int_equal(sbx_file_read(-100, path, &got, NULL), SBX_OK);
    assert_string_equal(got.ptr, want);
}

struct loaded {
    struct sbx_arena *arena;
    struct sbx_diags diags;
    struct sbx_credentials c;
    struct sbx_err err;
    enum sbx_code rc;
};

static void load(struct loaded *l, const char *text)
{
    memset(l, 0, sizeof(*l));
    put(text);
    l->arena = sbx_arena_new();
    assert_int_equal(sbx_diags_init(&l->diags), SBX_OK);
    l->rc = sbx_credentials_load(path, l->arena, &l->diags, &l->c, &l->err);
}

static void release(struct loaded *l)
{
    sbx_diags_release(&l->diags);
    sbx_arena_free(l->arena);
}

static const char example[] = "# mine\n"
                              "bindings:\n"
                              "  github:   # the default\n"
                              "    discovery:\n"
                              "      - env: [GITHUB_TOKEN, GH_TOKEN]\n"
                              "      - file:\n"
                              "          path: \"~/.github\"\n"
                              "          parser: json:a.b\n"
                              "    allowedDomains:\n"
                              "      - api.github.com # the API\n"
                              "      - \"*.github.com\"\n"
                              "  # for work\n"
                              "  github@work:\n"
                              "    discovery: []\n"
                              "    allowedDomains: [api.github.com]\n"
                              "    delivery: container\n"
                              "\n"
                              "remembered:\n"
                              "  /work/a: # first\n"
                              "    github: github@work\n";

static void the_form_with_discovery_is_read(void **state)
{
    const struct sbx_binding *b;
    struct loaded l;

    (void)state;
    load(&l, example);
    assert_int_equal(l.rc, SBX_OK);
    assert_int_equal(l.diags.len, 0);
    b = sbx_credentials_find(&l.c, "github");
    assert_string_equal(b->service, "github");
    assert_null(b->variant);
    assert_int_equal(b->discovery.len, 2);
    assert_string_equal(b->discovery.v[0].env.v[1], "GH_TOKEN");
    assert_string_equal(b->discovery.v[1].path, "~/.github");
    assert_string_equal(b->discovery.v[1].parser, "json:a.b");
    assert_int_equal(b->api_key_domains.len, 2);
    assert_int_equal(b->oauth_domains.len, 2);
    assert_int_equal(b->delivery, SBX_DELIVERY_GATE);
    b = sbx_credentials_find(&l.c, "github@work");
    assert_string_equal(b->service, "github");
    assert_string_equal(b->variant, "work");
    assert_int_equal(b->delivery, SBX_DELIVERY_CONTAINER);
    assert_string_equal(sbx_credentials_remembered(&l.c, "/work/a", "github"), "github@work");
    assert_null(sbx_credentials_remembered(&l.c, "/work/b", "github"));
    release(&l);
}

static void the_form_by_mechanism_is_read(void **state)
{
    const struct sbx_binding *b;
    struct loaded l;

    (void)state;
    load(&l, "bindings:\n  a: {apiKey: {domains: [x.example.com]}, oauth: {domains: [y.example.com]}}\n"
             "  b: {oauth: {domains: [z.example.com]}}\n");
    assert_int_equal(l.rc, SBX_OK);
    b = sbx_credentials_find(&l.c, "a");
    assert_string_equal(b->api_key_domains.v[0], "x.example.com");
    assert_string_equal(b->oauth_domains.v[0], "y.example.com");
    b = sbx_credentials_find(&l.c, "b");
    assert_int_equal(b->api_key_domains.len, 0);
    release(&l);
    load(&l, NULL);
    assert_int_equal(l.rc, SBX_OK);
    assert_int_equal(l.c.bindings.len, 0);
    release(&l);
}

#define ONE(body) "bindings:\n  a:\n" body
#define GOOD "    discovery: []\n    allowedDomains: [x.example.com]\n"

static const struct {
    const char *text, *want;
    unsigned line;
} refused[] = {
    { ONE("    allowedDomains: []\n"), "needs discovery", 2 },
    { ONE("    discovery: []\n"), "needs allowedDomains", 2 },
    { ONE(GOOD "    apiKey: {domains: []}\n"), "say the same", 2 },
    { ONE("    discovery: [{}]\n    allowedDomains: []\n"), "exactly one of env and file", 3 },
    { ONE("    discovery: [{env: [A], file: {path: b}}]\n    allowedDomains: []\n"),
      "exactly one of env and file", 3 },
    { ONE("    discovery: [{env: []}]\n    allowedDomains: []\n"), "an empty list of variables", 3 },
    { ONE("    discovery: [{env: [A-B]}]\n    allowedDomains: []\n"), "not the name of a variable", 3 },
    { ONE("    discovery: [{env: A}]\n    allowedDomains: []\n"), "want a list of strings", 3 },
    { ONE("    discovery: [{file: {}}]\n    allowedDomains: []\n"), "a file without a path", 3 },
    { ONE("    discovery: [{file: {path: a, parser: \"json:\"}}]\n    allowedDomains: []\n"),
      "unknown parser", 3 },
    { ONE("    discovery: []\n    allowedDomains: [\"a b\"]\n"), "", 4 },
    { ONE(GOOD "    delivery: post\n"), "unknown value (post)", 5 },
    { ONE(GOOD "    token: secret\n"), "unknown field", 5 },
    { "bindings: {\"a b\": {discovery: [], allowedDomains: []}}\n", "not the name of a binding", 1 },
    { "bindings: {\"a@\": {discovery: [], allowedDomains: []}}\n", "not the name of a binding", 1 },
    { "bindings: [a]\n", "want a mapping of services", 1 },
    { "secrets: {}\n", "unknown field", 1 },
    { "remembered: {work: {a: a}}\n", "not an absolute path", 1 },
    { "remembered: {/work: [a]}\n", "want a mapping", 1 },
    { "remembered: work\n", "want a mapping", 1 },
    { "remembered: {/work: {a: [b]}}\n", "want the name of a binding, got a list", 1 },
    { "remembered: {/work: {a: a}, /work: {}}\n", "given twice", 1 },
    { "bindings:\n  a: 1\n", "want a mapping", 2 },
    { ONE(GOOD "  a:\n" GOOD), "given twice", 5 },
};

static void what_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(refused); i++) {
        struct loaded l;

        load(&l, refused[i].text);
        if (!l.rc || !l.diags.errors || !strstr(l.diags.v[0].message, refused[i].want) ||
            l.diags.v[0].pos.line != refused[i].line)
            fail_msg("[%s]: %s (%s:%u)", refused[i].text, l.err.text,
                     l.diags.len ? l.diags.v[0].message : "nothing",
                     l.diags.len ? l.diags.v[0].pos.line : 0);
        release(&l);
    }
}

static void what_can_never_match_is_told(void **state)
{
    struct loaded l;

    (void)state;
    load(&l, ONE("    discovery: []\n    allowedDomains: [169.254.169.254, b.example.com]\n"));
    assert_int_equal(l.rc, SBX_OK);
    assert_int_equal(l.diags.len, 1);
    assert_int_equal(l.diags.v[0].severity, SBX_WARNING);
    assert_string_equal(l.diags.v[0].message, "never matches a request (169.254.169.254)");
    assert_int_equal(l.diags.v[0].pos.line, 4);
    release(&l);
    /* a key given twice is one finding, not a wrong type too */
    load(&l, "remembered: {/work: {a: a}, /work: {}}\n");
    assert_int_equal(l.diags.errors, 1);
    release(&l);
}

static struct sbx_binding binding(const char *id, const char **env, const char **domains, size_t n)
{
    static struct sbx_discovery d;
    struct sbx_binding b = { .id = id, .api_key_domains = { .v = domains, .len = n, .set = true } };

    d = (struct sbx_discovery){ .env = { .v = env, .len = 1, .set = true } };
    b.discovery.v = &d;
    b.discovery.len = 1;
    return b;
}

static enum sbx_code edit(const struct sbx_credentials_change *change)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    rc = sbx_credentials_edit(path, change, &diags, &err);
    if (rc && rc != SBX_NOT_FOUND && rc != SBX_SCHEMA)
        fail_msg("%s", err.text);
    return rc;
}

static const char *env[] = { "MY_TOKEN" };
static const char *domains[] = { "x.example.com", "*.y.example.com" };

static void a_first_binding_makes_the_file(void **state)
{
    struct sbx_binding b = binding("svc", env, domains, 2);
    struct stat st;

    (void)state;
    put(NULL);
    assert_int_equal(edit(&(struct sbx_credentials_change){ .set = &b }), SBX_OK);
    expect_text("# Where your credentials are, and which domains they may be sent to. No secret is in here.\n"
                "bindings:\n"
                "  svc:\n"
                "    discovery:\n"
                "      - env: [MY_TOKEN]\n"
                "    allowedDomains:\n"
                "      - x.example.com\n"
                "      - \"*.y.example.com\"\n"
                );
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void a_change_leaves_all_other_lines_alone(void **state)
{
    struct sbx_binding b = binding("github@work", env, domains, 1);
    char want[2000];
    const char *cut;

    (void)state;
    put(example);
    assert_int_equal(edit(&(struct sbx_credentials_change){ .set = &b }), SBX_OK);
    cut = strstr(example, "  github@work:");
    snprintf(want, sizeof(want), "%.*s%s%s", (int)(cut - example), example,
             "  \"github@work\":\n    discovery:\n      - env: [MY_TOKEN]\n    allowedDomains:\n"
             "      - x.example.com\n",
             strstr(example, "\nremembered:"));
    expect_text(want);
    /* another one goes behind the last */
    b = binding("npm", env, domains, 1);
    put(example);
    assert_int_equal(edit(&(struct sbx_credentials_change){ .set = &b }), SBX_OK);
    cut = strstr(example, "\nremembered:");
    snprintf(want, sizeof(want), "%.*s%s%s", (int)(cut - example), example,
             "  npm:\n    discovery:\n      - env: [MY_TOKEN]\n    allowedDomains:\n      - x.example.com\n",
             cut);
    expect_text(want);
    /* one is removed */
    put(example);
    assert_int_equal(edit(&(struct sbx_credentials_change){ .remove = "github" }), SBX_OK);
    snprintf(want, sizeof(want), "# mine\nbindings:\n%s", strstr(example, "  # for work"));
    expect_text(want);
    assert_int_equal(edit(&(struct sbx_credentials_change){ .remove = "github" }), SBX_NOT_FOUND);
    expect_text(want);
}

static void a_choice_is_remembered_and_forgotten(void **state)
{
    struct sbx_credentials_change k = { .workspace = "/work/b", .service = "github",
                                        .binding = "github" };
    char want[2000];
    size_t head = (size_t)(strstr(example, "remembered:") - example);

    (void)state;
    put(example);
    assert_int_equal(edit(&k), SBX_OK);
    snprintf(want, sizeof(want),
             "%.*sremembered:\n  \"/work/a\":\n    github: \"github@work\"\n  \"/work/b\":\n    github: github\n",
             (int)head, example);
    expect_text(want);
    k.binding = NULL;
    assert_int_equal(edit(&k), SBX_OK);
    k.workspace = "/work/a";
    assert_int_equal(edit(&k), SBX_OK);
    snprintf(want, sizeof(want), "%.*s", (int)head, example);
    expect_text(want);
}

static void flow_style_is_written_anew(void **state)
{
    struct sbx_binding b = binding("svc", env, domains, 1);
    struct loaded l;

    (void)state;
    put("# top\nbindings: {a: {discovery: [], allowedDomains: [q.example.com]}}\n");
    assert_int_equal(edit(&(struct sbx_credentials_change){ .set = &b }), SBX_OK);
    expect_text("# top\nbindings:\n  a:\n    discovery: []\n    allowedDomains:\n      - q.example.com\n"
                "  svc:\n    discovery:\n      - env: [MY_TOKEN]\n    allowedDomains:\n      - x.example.com\n");
    load(&l, "bindings: {}\n");
    release(&l);
    assert_int_equal(edit(&(struct sbx_credentials_change){ .set = &b }), SBX_OK);
}

static void a_change_that_would_not_load_changes_nothing(void **state)
{
    struct sbx_binding b = binding("no good", env, domains, 1);

    (void)state;
    put(example);
    assert_int_equal(edit(&(struct sbx_credentials_change){ .set = &b }), SBX_SCHEMA);
    expect_text(example);
    put("bindings: [\n");
    b.id = "svc";
    {
        SBX_AUTO(sbx_diags) diags = { 0 };
        struct sbx_err err;

        assert_int_equal(sbx_diags_init(&diags), SBX_OK);
        assert_int_equal(sbx_credentials_edit(path, &(struct sbx_credentials_change){ .set = &b },
                                              &diags, &err),
                         SBX_SYNTAX);
    }
    expect_text("bindings: [\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_form_with_discovery_is_read),
        cmocka_unit_test(the_form_by_mechanism_is_read),
        cmocka_unit_test(what_is_wrong_is_told_with_its_line),
        cmocka_unit_test(what_can_never_match_is_told),
        cmocka_unit_test(a_first_binding_makes_the_file),
        cmocka_unit_test(a_change_leaves_all_other_lines_alone),
        cmocka_unit_test(a_choice_is_remembered_and_forgotten),
        cmocka_unit_test(flow_style_is_written_anew),
        cmocka_unit_test(a_change_that_would_not_load_changes_nothing),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
