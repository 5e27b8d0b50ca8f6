#include "compose.h"

#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>

static const struct sbx_workspace work[] = { { "/home/user/work", false }, { "/data/ref", true } };
static const char *const user_env[] = { "TOKEN=a=b", "LANG=fr_FR.UTF-8", NULL };
static const char *const approve[] = { "10.0.0.0/8", NULL };

struct world {
    struct sbx_artifact *a;
    struct sbx_diags diags;
    struct sbx_plan *plan;
};

static void make(struct world *w, const struct sbx_plan_options *o)
{
    struct sbx_err err = SBX_ERR_INIT;

    if (sbx_plan_make(w->a, o, &w->diags, &w->plan, &err))
        fail_msg("%s", err.text);
}

static int set_up(void **state)
{
    static const char *const paths[] = { KITS "base", KITS "one", KITS "two", KITS "three", NULL };
    static const struct sbx_plan_options options = {
        .name = "demo", .workspaces = work, .n_workspaces = 2, .env = user_env, .approve = approve,
    };
    struct world *w = calloc(1, sizeof(*w));

    assert_int_equal(sbx_diags_init(&w->diags), SBX_OK);
    w->a = compose(paths);
    make(w, &options);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    sbx_plan_free(w->plan);
    sbx_artifact_free(w->a);
    sbx_diags_release(&w->diags);
    free(w);
    return 0;
}

static char *dump(const struct sbx_plan *p)
{
    json_t *o = sbx_plan_json(p);
    char *text = json_dumps(o, JSON_INDENT(1) | JSON_SORT_KEYS);

    json_decref(o);
    return text;
}

/* SBX_UPDATE_GOLDEN=1 writes the file anew: look at the difference before you commit it. */
static void three_mixins_make_the_plan_on_record(void **state)
{
    static const char path[] = SBX_TEST_DIR "/three-mixins.json";
    struct world *w = *state;
    SBX_AUTO(sbx_buf) want = SBX_BUF_INIT(1 << 20);
    char *text = dump(w->plan);

    if (getenv("SBX_UPDATE_GOLDEN"))
        assert_int_equal(sbx_file_write(AT_FDCWD, path, text, strlen(text), 0644, NULL), SBX_OK);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &want, NULL), SBX_OK);
    assert_string_equal(text, want.ptr);
    free(text);
}

static void the_plan_reads_back_as_the_same_plan(void **state)
{
    struct world *w = *state;
    SBX_AUTO_JSON json_t *o = sbx_plan_json(w->plan);
    SBX_AUTO_PTR(sbx_plan) again = NULL;
    char *before = dump(w->plan), *after;

    assert_int_equal(sbx_plan_parse(o, "/blobs", &again, NULL), SBX_OK);
    after = dump(again);
    assert_string_equal(before, after);
    assert_string_equal(w->plan->digest, again->digest);
    free(before);
    free(after);
}

static void the_same_input_gives_the_same_digest_and_another_gives_another(void **state)
{
    struct world *w = *state, b = { .a = w->a }, c = { .a = w->a };
    struct sbx_plan_options o = { .name = "demo", .workspaces = work, .n_workspaces = 2,
                                  .env = user_env, .approve = approve };

    assert_int_equal(sbx_diags_init(&b.diags), SBX_OK);
    assert_int_equal(sbx_diags_init(&c.diags), SBX_OK);
    make(&b, &o);
    o.cpus = 1;
    make(&c, &o);
    assert_string_equal(w->plan->digest, b.plan->digest);
    assert_string_not_equal(w->plan->digest, c.plan->digest);
    sbx_plan_free(b.plan);
    sbx_plan_free(c.plan);
    sbx_diags_release(&b.diags);
    sbx_diags_release(&c.diags);
}

static void steps_stand_in_the_order_they_run(void **state)
{
    static const char *const want[] = {
        "image", "container", "network", "defaults", "home", "install/agentix/1", "install/one/1",
        "install/one/2", "home-again", "setup-files", "startup/one/1", "startup/one/2",
        "workspace-files", "instructions",
    };
    struct world *w = *state;

    assert_int_equal(w->plan->n_steps, SBX_ARRAY_LEN(want));
    for (size_t i = 0; i < SBX_ARRAY_LEN(want); i++)
        assert_string_equal(w->plan->steps[i].id, want[i]);
}

static void the_environment_has_its_precedence(void **state)
{
    static const struct {
        const char *name, *value;
    } rows[] = {
        { "COLOR", "two" },             /* the later kit */
        { "LANG", "fr_FR.UTF-8" },      /* the user over a kit over the default */
        { "TOKEN", "a=b" },             /* only the first "=" parts */
        { "HTTP_PROXY", SBX_PROXY_URL }, /* the engine over a kit */
        { "NO_PROXY", "localhost,127.0.0.1,::1,internal.example.com" },
        { "no_proxy", "localhost,127.0.0.1,::1,internal.example.com" },
        { "EXAMPLE_KEY", "proxy-managed" },
        { "SBX_CRED_EXAMPLE_API_MODE", "none" },
        { "HOME", "/home/agent" },
        { "SSL_CERT_FILE", SBX_CA_BUNDLE },
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const char *value = sbx_plan_env_get(w->plan, rows[i].name);

        if (!value || strcmp(value, rows[i].value))
            fail_msg("%s is %s, want %s", rows[i].name, value ? value : "absent", rows[i].value);
    }
}

static const struct sbx_plan_step *step_of(const struct sbx_plan *p, const char *id)
{
    for (size_t i = 0; i < p->n_steps; i++)
        if (!strcmp(p->steps[i].id, id))
            return &p->steps[i];
    fail_msg("no step %s", id);
    return NULL;
}

static void a_later_kits_file_and_volume_win(void **state)
{
    struct world *w = *state;
    const struct sbx_plan_step *home = step_of(w->plan, "home");
    size_t found = 0;

    for (size_t i = 0; i < home->n_files; i++)
        if (!strcmp(home->files[i].path, "/home/agent/.agentixrc")) {
            assert_string_equal(home->files[i].kit, "three");
            found++;
        }
    for (size_t i = 0; i < w->plan->n_mounts; i++)
        if (!strcmp(w->plan->mounts[i].target, "/var/lib/agentix")) {
            assert_int_equal(w->plan->mounts[i].size, 20 << 20);
            assert_int_equal(w->plan->mounts[i].mode, 0700);
            found++;
        }
    assert_int_equal(found, 2);
}

static void startup_commands_become_quoted_scripts_and_a_list(void **state)
{
    struct world *w = *state;
    const struct sbx_plan_step *s = step_of(w->plan, "startup/one/1");
    SBX_AUTO(sbx_buf) list = SBX_BUF_INIT(1 << 16);

    assert_string_equal(s->files[0].path, SBX_STARTUP_DIR "/one-1.sh");
    assert_int_equal(s->files[0].mode, 0755);
    assert_non_null(strstr(s->files[0].data, "cd '/home/user/work' 2>/dev/null || cd /\n"
                                             "exec 'sh' '-c' 'echo one'\\''s'\n"));
    s = step_of(w->plan, "startup/one/2");
    assert_non_null(strstr(s->files[0].data, "export HOME=/root USER=root\n"));
    assert_int_equal(sbx_plan_startup_list(w->plan, &list), SBX_OK);
    assert_string_equal(list.ptr, "one-1.sh\tone\t1\t1000\t0\tSays one\n"
                                  "one-2.sh\tone\t2\t0\t1\t\n");
}

static bool has_diag(const struct sbx_diags *d, const char *code, const char *part)
{
    for (size_t i = 0; i < d->len; i++)
        if (!strcmp(d->v[i].code, code) && strstr(d->v[i].message, part))
            return true;
    return false;
}

static void remarks_name_inert_rules_and_sensitive_files(void **state)
{
    struct world *w = *state;

    assert_true(has_diag(&w->diags, "inert-rule", "a.*.example.com"));
    assert_true(has_diag(&w->diags, "sensitive-path", "kit two writes /home/agent/.ssh/config"));
    assert_false(has_diag(&w->diags, "consent-needed", "10.0.0.0/8")); /* approved */
    assert_false(has_diag(&w->diags, "sensitive-path", "bin/tool"));
}

static void instructions_lie_beside_the_workspace(void **state)
{
    struct world *w = *state;
    const struct sbx_plan_step *s = step_of(w->plan, "instructions");

    assert_int_equal(s->n_files, 3);
    assert_string_equal(s->files[0].path, "/home/user/AGENTIX.md");
    assert_string_equal(s->files[1].path, "/home/user/kits-memory/one.md");
    assert_non_null(strstr(s->files[0].data, "You are in a sandbox.\n\n"
                                             "<!-- sbx:kits-section start -->\n## Kits\n"));
    assert_non_null(strstr(s->files[0].data, "- two: `/home/user/kits-memory/two.md`\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_mixins_make_the_plan_on_record),
        cmocka_unit_test(the_plan_reads_back_as_the_same_plan),
        cmocka_unit_test(the_same_input_gives_the_same_digest_and_another_gives_another),
        cmocka_unit_test(steps_stand_in_the_order_they_run),
        cmocka_unit_test(the_environment_has_its_precedence),
        cmocka_unit_test(a_later_kits_file_and_volume_win),
        cmocka_unit_test(startup_commands_become_quoted_scripts_and_a_list),
        cmocka_unit_test(remarks_name_inert_rules_and_sensitive_files),
        cmocka_unit_test(instructions_lie_beside_the_workspace),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
