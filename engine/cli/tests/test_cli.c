/* The table of commands, its help and completion, in one process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "complete.h"
#include "groups.h"
#include "out.h"

static void visit(const struct sbx_verb *v, void (*fn)(const struct sbx_verb *v))
{
    fn(v);
    for (size_t i = 0; i < v->n_sub; i++)
        visit(v->sub[i], fn);
}

static void check_verb(const struct sbx_verb *v)
{
    if (!v->name || !v->summary || (!v->n_sub && !v->run && !v->not_built))
        fail_msg("verb %s lacks something", v->name ? v->name : "?");
    if (v->n_groups && !v->size)
        fail_msg("verb %s has flags and nowhere to put them", v->name);
    if (v->summary[strlen(v->summary) - 1] == '.')
        fail_msg("summary of %s ends with a full stop", v->name);
    for (const char *line = v->about; line && *line;
         line = strchrnul(line, '\n') + (*strchrnul(line, '\n') != 0))
        if (strcspn(line, "\n") > 108)
            fail_msg("help of %s has a line over 108 columns: %.40s", v->name, line);
    if (v->run && !v->hidden && !v->example)
        fail_msg("help of %s has no example", v->name);
    if (v->min && !v->args)
        fail_msg("verb %s needs arguments and does not name them", v->name);
}

static void every_verb_has_a_row_that_is_whole(void **state)
{
    (void)state;
    visit(&sbx_root, check_verb);
}

static void check_flags(const struct sbx_verb *v)
{
    struct sbx_opt_set sets[] = { { v->groups, v->n_groups, NULL },
                                  { &sbx_global_group, 1, NULL } };
    struct sbx_opt_found f;

    for (size_t g = 0; g < v->n_groups; g++)
        for (const struct sbx_opt *o = v->groups[g].v; o->name; o++) {
            if (!sbx_opt_find(sets, 2, o->name, strlen(o->name), &f) || f.opt != o)
                fail_msg("%s --%s is declared twice", v->name, o->name);
            if (o->letter && (!sbx_opt_find_letter(sets, 2, o->letter, &f) || f.opt != o))
                fail_msg("%s -%c is declared twice", v->name, o->letter);
            if (o->letter && sbx_opt_find_letter(sets + 1, 1, o->letter, &f))
                fail_msg("%s -%c is a global flag", v->name, o->letter);
            if ((o->type == SBX_OPT_SWITCH) != !o->value)
                fail_msg("%s --%s: a switch has no value, others name theirs", v->name, o->name);
            if (o->help[strlen(o->help) - 1] == '.' || strlen(o->help) > 100)
                fail_msg("%s --%s: help is one line without a full stop", v->name, o->name);
        }
}

static void no_flag_is_declared_twice(void **state)
{
    (void)state;
    visit(&sbx_root, check_flags);
}

/* Run the whole program; the caller frees both texts. */
static int run(const char *line, char **out, char **err)
{
    char *argv[32] = { (char *)"sbx" }, copy[256], *next = copy, *word;
    size_t out_size, err_size;
    int argc = 1, status;
    FILE *o = open_memstream(out, &out_size), *e = open_memstream(err, &err_size);

    snprintf(copy, sizeof(copy), "%s", line);
    while ((word = strsep(&next, " ")))
        if (*word)
            argv[argc++] = word;
    status = sbx_cli_main(argc, argv, o, e);
    fclose(o);
    fclose(e);
    return status;
}

static void help_comes_in_each_spelling_and_on_stdout(void **state)
{
    static const char *const same[] = { "run --help",
                                        "run -h",
                                        "--help run",
                                        "-h run",
                                        "help run",
                                        "run claude --help",
                                        "run --kit x --help extra -- more" };
    char *first = NULL, *out, *err;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(same); i++) {
        assert_int_equal(run(same[i], &out, &err), 0);
        assert_string_equal(err, "");
        assert_non_null(
            strstr(out, "Usage:\n  sbx run [flags] [AGENT|KIT] [PATH[:ro]...] [-- ARG...]"));
        assert_non_null(strstr(out, "-t, --template IMAGE"));
        assert_null(strstr(out, "--clone"));
        if (first)
            assert_string_equal(out, first);
        else
            first = strdup(out);
        free(out);
        free(err);
    }
    free(first);
}

static void usage_errors_exit_2_on_stderr_and_as_json(void **state)
{
    char *out, *err;
    json_t *value;

    (void)state;
    assert_int_equal(run("kit inspect", &out, &err), 2);
    assert_string_equal(out, "");
    assert_non_null(strstr(err, "sbx: \"sbx kit inspect\" needs KIT"));
    assert_non_null(strstr(err, "Run \"sbx kit inspect --help\""));
    free(out);
    free(err);
    assert_int_equal(run("--json kit inspect a b", &out, &err), 2);
    value = json_loads(out, 0, NULL);
    assert_non_null(value);
    assert_int_equal(json_array_size(json_object_get(value, "diagnostics")), 1);
    json_decref(value);
    free(out);
    free(err);
}

static void names_users_know_are_refused_by_name(void **state)
{
    static const char *const lines[] = {
        "kit push ./x reg/y:1", "kit add box ./x", "secret set github",  "cp a b",
        "daemon status",        "settings list",   "run claude --clone", "template save a b",
        "policy profile x",
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(lines); i++) {
        char *out, *err;
        int status = run(lines[i], &out, &err);

        if (status != 1 || !strstr(err, "sbx: ") || *out)
            fail_msg("[%s] exits %d: %s", lines[i], status, err);
        free(out);
        free(err);
    }
}

static void values_are_printed_as_yaml_that_reads_back(void **state)
{
    static const struct {
        const char *json, *yaml;
    } rows[] = {
        { "{\"a\": 1, \"b\": [\"x\", \"yes\", \"\", \"1\"], \"c\": {}}",
          "a: 1\nb:\n  - x\n  - \"yes\"\n  - \"\"\n  - \"1\"\nc: {}\n" },
        { "{\"list\": [{\"k\": null, \"l\": [[1, 2], []]}]}",
          "list:\n  - k: null\n    l:\n      -\n        - 1\n        - 2\n      - []\n" },
        { "{\"a: b\": \"x: y #z\\n\"}", "\"a: b\": \"x: y #z\\n\"\n" },
        { "[]", "[]\n" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(4096);
        json_t *v = json_loads(rows[i].json, 0, NULL);

        assert_int_equal(sbx_yaml_write(v, &b), SBX_OK);
        assert_string_equal(b.ptr, rows[i].yaml);
        json_decref(v);
    }
}

static void two_names(const char *app, void (*name)(void *ctx, const char *text), void *ctx)
{
    name(ctx, app ? app : "alpha");
    name(ctx, "beta");
}

static void completion_knows_the_table(void **state)
{
    static const struct {
        const char *line; /* ends with the word to complete, "_" for an empty one */
        const char *want, *never;
    } rows[] = {
        { "ru", "run\t", "rm" },
        { "r", "reset\t", "__complete" },
        { "kit _", "validate\t", "builder" },
        { "run --te", "--template\t", "--cpus" },
        { "run --cl", "", "--clone" },
        { "run --pull _", "missing\t", "claude" },
        { "run --pull=mi", "--pull=missing\t", "never" },
        { "run --kit=he", "--kit=hello\t", "claude" },
        { "run --name a", "alpha\t", "beta" },
        { "policy allow network x --sandbox=b", "--sandbox=beta\t", "alpha" },
        { "kit validate --with _", "claude\t", "hello" },
        { "run --upstream-ca _", ":files", "alpha" },
        { "help _", "kit\t", "validate" },
        { "help kit _", "validate\t", "run\t" },
        { "help run _", "", "\t" },
        { "help nonsense _", "", "\t" },
        { "run _", "claude\t", "hello" },
        { "run claude _", ":dirs", "claude" },
        { "run --kit _", "hello\t", "\t--" },
        { "run -- --", "", "--kit" },
        { "exec _", "alpha\t", "gamma" },
        { "exec b", "beta\t", "alpha" },
        { "exec alpha _", ":files", "beta\t" },
        { "--app-name gamma exec _", "gamma\t", "alpha" },
        { "exec --app-name=gamma _", "gamma\t", "alpha" },
        { "stop alpha _", "beta\t", ":files" },
        { "policy set-default _", "deny-all\t", "run" },
        { "completion _", "fish\t", "docs" },
        { "ls --output _", "yaml\t", "alpha" },
        { "exec -u _", "", "alpha" },
        { "kit validate _", ":files", "alpha" },
        { "--out", "--output\t", "run" },
        { "exec alpha ls --", "", "--user" },
        { "-=x", "", "run" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char copy[128], *next = copy, *word, *out;
        const char *words[16];
        size_t n = 0, size;
        FILE *f = open_memstream(&out, &size);

        snprintf(copy, sizeof(copy), "%s", rows[i].line);
        while ((word = strsep(&next, " ")))
            words[n++] = strcmp(word, "_") ? word : "";
        sbx_complete(words, n, two_names, f);
        fclose(f);
        if (!strstr(out, rows[i].want) || strstr(out, rows[i].never))
            fail_msg("[%s] offers [%s]", rows[i].line, out);
        free(out);
    }
}

/* What is offered behind the words of `path` and, for its last word, `word`. */
static char *offered(const char *path, const char *word)
{
    char copy[128], *next = copy, *one, *out;
    const char *words[16];
    size_t n = 0, size;
    FILE *f = open_memstream(&out, &size);

    snprintf(copy, sizeof(copy), "%s", path);
    while ((one = strsep(&next, " ")))
        if (*one)
            words[n++] = one;
    words[n++] = word;
    sbx_complete(words, n, two_names, f);
    fclose(f);
    return out;
}

static void check_offers(const struct sbx_verb *v, const char *path)
{
    char *flags = offered(path, "-"), *words = offered(path, ""), want[128], deeper[128];

    for (size_t g = 0; g < v->n_groups; g++)
        for (const struct sbx_opt *o = v->groups[g].v; o->name; o++) {
            snprintf(want, sizeof(want), "--%s\t", o->name);
            if (o->hidden == !!strstr(flags, want))
                fail_msg("sbx %s offers [%s]: --%s", path, flags, o->name);
        }
    for (size_t i = 0; i < v->n_sub; i++) {
        bool shown = !v->sub[i]->hidden && !v->sub[i]->not_built;

        snprintf(want, sizeof(want), "%s\t", v->sub[i]->name);
        if (shown && !strstr(words, want))
            fail_msg("sbx %s does not offer %s", path, v->sub[i]->name);
        snprintf(deeper, sizeof(deeper), "%s %s", path, v->sub[i]->name);
        if (shown)
            check_offers(v->sub[i], deeper);
    }
    free(flags);
    free(words);
}

static void completion_offers_every_command_and_flag(void **state)
{
    (void)state;
    check_offers(&sbx_root, "");
}

static void the_reference_page_is_in_step(void **state)
{
    char *out, *err, path[512], *text = NULL;
    size_t size = 0, len;
    FILE *f;

    (void)state;
    snprintf(path, sizeof(path), "%s/docs/cli.md", SBX_SOURCE_DIR);
    f = fopen(path, "r");
    assert_non_null(f);
    len = (size_t)getdelim(&text, &size, '\0', f);
    fclose(f);
    assert_int_equal(run("completion docs", &out, &err), 0);
    if (len != strlen(out) || strcmp(text, out))
        fail_msg("docs/cli.md is not what the table says; run: sbx completion docs > docs/cli.md");
    free(out);
    free(err);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_verb_has_a_row_that_is_whole),
        cmocka_unit_test(no_flag_is_declared_twice),
        cmocka_unit_test(help_comes_in_each_spelling_and_on_stdout),
        cmocka_unit_test(usage_errors_exit_2_on_stderr_and_as_json),
        cmocka_unit_test(names_users_know_are_refused_by_name),
        cmocka_unit_test(values_are_printed_as_yaml_that_reads_back),
        cmocka_unit_test(completion_knows_the_table),
        cmocka_unit_test(completion_offers_every_command_and_flag),
        cmocka_unit_test(the_reference_page_is_in_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
