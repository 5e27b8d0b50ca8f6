/* policy.yaml: reading, writing, and changing it. */
#include "world.h"

static void rules_of_the_user(void **state)
{
    struct world *w = *state;
    struct sbx_policy_file f;

    assert_int_equal(load_policy(w, "preset: deny-all\ninitialized: true\nrules:\n"
                                    "- {decision: allow, resource: \"*.example.com:443\", id: mine}\n"
                                    "- decision: deny\n  resource: 10.0.0.0/8\n  sandbox: sb-1\n",
                                 &f), SBX_OK);
    assert_string_equal(f.preset, "deny-all");
    assert_true(f.initialized);
    assert_int_equal(f.n_rules, 2);
    assert_string_equal(f.rules[0].id, "mine");
    assert_int_equal(f.rules[0].at.line, 4);
    assert_int_equal(f.rules[1].decision, SBX_DENY);
    assert_string_equal(f.rules[1].sandbox, "sb-1");
    assert_int_equal(strlen(f.rules[1].id), 14);
}

static void wrong_policies_are_refused_with_their_line(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "preset: open\n", "f.yaml:1:9: preset: unknown value (open); write allow-all, balanced or "
                            "deny-all" },
        { "initialised: true\n", "f.yaml:1:1: unknown field \"initialised\"; did you "
                                 "mean \"initialized\"?" },
        { "initialized: perhaps\n", "f.yaml:1:14: initialized: want true or false" },
        { "rules: {a: b}\n", "f.yaml:1:8: rules: want a list of mappings, got a mapping" },
        { "rules: [example.com]\n", "f.yaml:1:9: rules[0]: want a mapping with decision, resource, "
                                    "id, sandbox" },
        { "rules: [{resource: a.com}]\n", "f.yaml:1:9: rules: a rule without a decision" },
        { "rules: [{decision: allow}]\n", "f.yaml:1:9: rules: a rule without a resource" },
        { "rules: [{decision: maybe, resource: a.com}]\n",
          "f.yaml:1:20: rules.decision: unknown value (maybe); write allow or deny" },
        { "rules: [{decision: allow, resource: \"https://a.com\"}]\n",
          "f.yaml:1:37: rules: network rule \"https://a.com\": a URL" },
        { "rules: [{decision: allow, resource: \"*\"}]\n", "f.yaml:1:37: rules: network rule \"*\"" },
        { "rules: [{decision: allow, resource: a.com, id: \"kit:x\"}]\n",
          "f.yaml:1:48: rules.id: not an id (kit:x)" },
        { "rules: [{decision: allow, resource: a.com, sandbox: a/b}]\n",
          "f.yaml:1:53: rules.sandbox: not a sandbox's name (a/b)" },
        { "approvals: [{kit: k}]\n", "f.yaml:1:13: approvals: an approval without a digest" },
        { "approvals: [{kit: k, digest: \"sha256:0\", resource: localhost:1}]\n",
          "f.yaml:1:30: approvals.digest: not a digest (sha256:0)" },
        { "approvals: [{kit: \"a\\e[31m\\n\", digest: \"sha256:0\", resource: localhost:1}]\n",
          "f.yaml:1:19: approvals.kit: not a kit's name (a" },
        { "approvals: [{kit: \"\", digest: \"sha256:0\", resource: localhost:1}]\n",
          "f.yaml:1:19: approvals.kit: not a kit's name ()" },
        { "approvals: [{kit: k, resources: [a]}]\n", "f.yaml:1:22: " },
        { "rules:\n- {decision: allow, resource: a.com, id: x}\n"
          "- {decision: allow, resource: b.com, id: x}\n",
          "f.yaml:3:3: rules: the id of line 2 is given again (x)" },
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_policy_file f;
        const char *got;

        if (load_policy(w, rows[i].text, &f) != SBX_SCHEMA)
            fail_msg("accepted: %s", rows[i].text);
        got = first_error(w);
        if (strncmp(got, rows[i].want, strlen(rows[i].want)))
            fail_msg("%s: %s\nwant %s", rows[i].text, got, rows[i].want);
        w->diags.len = w->diags.errors = 0;
    }
}

static void the_same_rule_twice_counts_once(void **state)
{
    struct world *w = *state;
    struct sbx_policy_file f;

    assert_int_equal(load_policy(w, "rules:\n- {decision: allow, resource: a.com}\n"
                                    "- {decision: deny, resource: a.com}\n"
                                    "- {decision: allow, resource: a.com}\n", &f), SBX_OK);
    assert_int_equal(f.n_rules, 2);
    assert_int_equal(w->diags.len, 1);
    assert_string_equal(w->diags.v[0].message, "the same rule as line 2 (a.com)");
}

static void a_rule_that_can_never_match_is_told(void **state)
{
    struct world *w = *state;
    struct sbx_policy_file f;

    assert_int_equal(load_policy(w, "rules:\n- {decision: allow, resource: 169.254.169.254}\n", &f), SBX_OK);
    assert_int_equal(f.n_rules, 1);
    assert_int_equal(w->diags.len, 1);
    assert_int_equal(w->diags.v[0].severity, SBX_WARNING);
    assert_string_equal(w->diags.v[0].message, "never matches a request (169.254.169.254)");
}

#define DIGEST "sha256:00000000000000000000000000000000000000000000000000000000000000aa"

static void an_approval_that_opens_nothing_is_told(void **state)
{
    static const struct {
        const char *resource, *want; /* NULL: nothing is said */
    } rows[] = {
        { "localhost:5432", NULL },
        { "host.docker.internal:*", NULL },
        { "10.0.0.0/8", NULL },
        { "169.254.169.254", "never matches a request (169.254.169.254)" },
        { "**", "never matches a request (**)" },
        { "*", "never matches a request (*)" },
        { "api.example.com:443", "a kit's rule for it needs no approval (api.example.com:443)" },
        { "1.1.1.1", "a kit's rule for it needs no approval (1.1.1.1)" },
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_policy_file f;
        char text[256];

        snprintf(text, sizeof(text), "approvals:\n- {kit: k, digest: \"%s\", resource: \"%s\"}\n", DIGEST,
                 rows[i].resource);
        assert_int_equal(load_policy(w, text, &f), SBX_OK);
        assert_int_equal(f.n_approvals, 1);
        assert_int_equal(w->diags.len, rows[i].want != NULL);
        if (rows[i].want) {
            assert_int_equal(w->diags.v[0].severity, SBX_WARNING);
            assert_string_equal(w->diags.v[0].message, rows[i].want);
        }
        w->diags.len = 0;
    }
}

static void the_same_approval_twice_counts_once(void **state)
{
    struct world *w = *state;
    struct sbx_policy_file f;

    assert_int_equal(load_policy(w, "approvals:\n"
                                    "- {kit: k, digest: \"" DIGEST "\", resource: \"localhost:1\"}\n"
                                    "- {kit: l, digest: \"" DIGEST "\", resource: \"localhost:1\"}\n"
                                    "- {kit: k, digest: \"" DIGEST "\", resource: \"localhost:2\"}\n"
                                    "- {kit: k, digest: \"" DIGEST "\", resource: \"localhost:1\"}\n", &f), SBX_OK);
    assert_int_equal(f.n_approvals, 3);
    assert_string_equal(f.approvals[1].kit, "l");
    assert_string_equal(f.approvals[2].resource, "localhost:2");
    assert_int_equal(w->diags.len, 1);
    assert_int_equal(w->diags.v[0].severity, SBX_WARNING);
    assert_int_equal(w->diags.v[0].pos.line, 5);
    assert_string_equal(w->diags.v[0].message, "the same approval as line 2 (localhost:1)");
}

static void more_rules_than_the_bound_are_refused(void **state)
{
    struct world *w = *state;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SIZE_MAX);
    struct sbx_policy_entry *rules = calloc(SBX_POLICY_FILE_RULES_MAX + 1, sizeof(*rules));
    struct sbx_policy_file f = { false, "balanced", rules, SBX_POLICY_FILE_RULES_MAX + 1, NULL, NULL, 0 };

    assert_int_equal(sbx_policy_file_save(w->path, &f, &w->err), SBX_LIMIT);
    assert_non_null(strstr(w->err.text, "network rules; a file holds at most 10000"));
    free(rules);
    assert_int_equal(sbx_buf_adds(&text, "rules:\n"), SBX_OK);
    for (int i = 0; i <= SBX_POLICY_FILE_RULES_MAX; i++)
        assert_int_equal(sbx_buf_addf(&text, "- {decision: allow, resource: a%d.com}\n", i), SBX_OK);
    assert_int_equal(load_policy(w, text.ptr, &f), SBX_SCHEMA);
    assert_string_equal(w->diags.v[0].code, "too-many");
}

static void what_is_written_is_read_again(void **state)
{
    struct sbx_policy_entry rules[] = {
        { SBX_ALLOW, "b\xc3\xbc" "cher.example:443", NULL, NULL, { 0 } },
        { SBX_DENY, "[fd00::1]:22", "my-id", "sb", { 0 } },
    };
    struct sbx_policy_approval approval = {
        "web", "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "localhost:5432", NULL, { 0 }
    };
    struct sbx_policy_file in = { true, "allow-all", rules, 2, "# mine\n\n# too\n", &approval, 1 }, out, again;
    struct world *w = *state;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(5000);

    snprintf(w->path, sizeof(w->path), "%s/a/b/f.yaml", w->dir);
    assert_int_equal(sbx_policy_file_save(w->path, &in, &w->err), SBX_OK);
    assert_int_equal(sbx_policy_file_load(w->path, w->arena, &w->diags, &out, &w->err), SBX_OK);
    assert_string_equal(out.preset, "allow-all");
    assert_true(out.initialized);
    assert_string_equal(out.head, in.head);
    assert_int_equal(out.n_rules, 2);
    assert_string_equal(out.rules[0].resource, rules[0].resource);
    assert_null(out.rules[0].sandbox);
    assert_string_equal(out.rules[1].id, "my-id");
    assert_int_equal(out.rules[1].decision, SBX_DENY);
    assert_int_equal(sbx_policy_file_save(w->path, &out, &w->err), SBX_OK);
    assert_int_equal(sbx_policy_file_load(w->path, w->arena, &w->diags, &again, &w->err), SBX_OK);
    assert_string_equal(again.rules[0].id, out.rules[0].id);
    assert_int_equal(again.n_approvals, 1);
    assert_string_equal(again.approvals[0].kit, "web");
    assert_string_equal(again.approvals[0].digest, approval.digest);
    assert_string_equal(again.approvals[0].resource, "localhost:5432");
    assert_int_equal(strlen(again.approvals[0].id), 14);
    assert_string_equal(again.approvals[0].id, out.approvals[0].id);
    assert_int_equal(again.approvals[0].at.line, 15);
    assert_int_equal(sbx_file_read(AT_FDCWD, w->path, &text, NULL), SBX_OK);
    assert_int_equal(strncmp(text.ptr, in.head, strlen(in.head)), 0);
}

static void what_would_not_load_is_not_written(void **state)
{
    struct sbx_policy_entry bad = { .decision = SBX_ALLOW, .resource = "https://x" };
    struct sbx_policy_file f = { .preset = "open" };
    struct world *w = *state;

    assert_int_equal(sbx_policy_file_save(w->path, &f, &w->err), SBX_SCHEMA);
    f = (struct sbx_policy_file){ .preset = "balanced", .rules = &bad, .n_rules = 1 };
    assert_int_equal(sbx_policy_file_save(w->path, &f, &w->err), SBX_SCHEMA);
    assert_int_not_equal(access(w->path, F_OK), 0);
}

static void a_symlink_stays_one(void **state)
{
    struct sbx_policy_file f = { .preset = "deny-all" }, out;
    struct world *w = *state;
    char real[80];
    struct stat st;

    snprintf(real, sizeof(real), "%s/real.yaml", w->dir);
    assert_int_equal(sbx_policy_file_save(real, &f, &w->err), SBX_OK);
    assert_int_equal(symlink("real.yaml", w->path), 0);
    f.preset = "allow-all";
    assert_int_equal(sbx_policy_file_save(w->path, &f, &w->err), SBX_OK);
    assert_int_equal(lstat(w->path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(sbx_policy_file_load(real, w->arena, &w->diags, &out, &w->err), SBX_OK);
    assert_string_equal(out.preset, "allow-all");
}

static void a_link_to_nothing_is_neither_no_rules_nor_replaced(void **state)
{
    struct sbx_policy_file f;
    struct world *w = *state;
    struct stat st;

    assert_int_equal(symlink("nowhere.yaml", w->path), 0);
    assert_int_equal(sbx_policy_file_load(w->path, w->arena, &w->diags, &f, &w->err), SBX_FAILED);
    assert_non_null(strstr(w->err.text, "f.yaml: a link to a file that is not there"));
    assert_int_equal(sbx_policy_file_edit(w->path, NULL, NULL, &w->diags, &w->err), SBX_FAILED);
    assert_int_equal(lstat(w->path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static enum sbx_code add_one(struct sbx_policy_file *f, struct sbx_arena *arena, void *data,
                             struct sbx_err *err)
{
    struct sbx_policy_entry *v = sbx_arena_array(arena, f->n_rules + 1, sizeof(*v));

    if (!data)
        return sbx_err_set(err, SBX_EXISTS, "no");
    if (f->n_rules)
        memcpy(v, f->rules, f->n_rules * sizeof(*v));
    v[f->n_rules] = (struct sbx_policy_entry){ .decision = SBX_ALLOW, .resource = data };
    f->rules = v;
    f->n_rules++;
    return SBX_OK;
}

static void edits_at_once_lose_nothing(void **state)
{
    enum { WRITERS = 4, EACH = 10 };
    struct world *w = *state;
    struct sbx_policy_file f;
    pid_t pids[WRITERS];

    for (int i = 0; i < WRITERS; i++) {
        pids[i] = fork();
        for (int k = 0; !pids[i] && k < EACH; k++) {
            char resource[40];

            snprintf(resource, sizeof(resource), "h%d-%d.example.com", i, k);
            if (sbx_policy_file_edit(w->path, add_one, resource, &w->diags, &w->err))
                _exit(1);
        }
        if (!pids[i])
            _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = -1;

        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(sbx_policy_file_load(w->path, w->arena, &w->diags, &f, &w->err), SBX_OK);
    assert_int_equal(f.n_rules, WRITERS * EACH);
}

static void an_edit_that_fails_changes_nothing(void **state)
{
    struct world *w = *state;

    assert_int_equal(sbx_policy_file_edit(w->path, add_one, NULL, &w->diags, &w->err), SBX_EXISTS);
    assert_int_not_equal(access(w->path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(rules_of_the_user),
        FILE_TEST(wrong_policies_are_refused_with_their_line),
        FILE_TEST(the_same_rule_twice_counts_once),
        FILE_TEST(a_rule_that_can_never_match_is_told),
        FILE_TEST(an_approval_that_opens_nothing_is_told),
        FILE_TEST(the_same_approval_twice_counts_once),
        FILE_TEST(more_rules_than_the_bound_are_refused),
        FILE_TEST(what_is_written_is_read_again),
        FILE_TEST(what_would_not_load_is_not_written),
        FILE_TEST(a_symlink_stays_one),
        FILE_TEST(a_link_to_nothing_is_neither_no_rules_nor_replaced),
        FILE_TEST(edits_at_once_lose_nothing),
        FILE_TEST(an_edit_that_fails_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
