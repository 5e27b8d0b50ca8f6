/* The parser of command lines, on a small table of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli.h"

struct toy_opts {
    bool all, big;
    const char *name, *mode;
    struct sbx_texts env;
    double cpus;
    unsigned limit;
};

static const char *const modes[] = { "fast", "slow", NULL };
static const struct sbx_opt toy_rows[] = {
    SBX_SWITCH(struct toy_opts, all, "all", 'a', "All"),
    SBX_SWITCH(struct toy_opts, big, "big", 'b', "Big"),
    SBX_TEXT(struct toy_opts, name, "name", 'n', "NAME", "Name"),
    SBX_TEXT(struct toy_opts, mode, "mode", 0, "MODE", "Mode", .choices = modes),
    SBX_LISTOF(struct toy_opts, env, "env", 'e', "K=V", "Variable"),
    SBX_NUMBER(struct toy_opts, cpus, "cpus", 0, "N", "Cores"),
    SBX_COUNT(struct toy_opts, limit, "limit", 'l', "N", "Rows"),
    SBX_REFUSED("clone", 'c', SBX_OPT_SWITCH, NULL, "not built yet"),
    SBX_OPT_END
};

static const struct sbx_opt_group toy_groups[] = { { .v = toy_rows } };
static const struct sbx_verb toy_plain = {
    .name = "plain",
    .summary = "s",
    .args = "ONE [TWO]",
    .groups = toy_groups,
    .n_groups = 1,
    .size = sizeof(struct toy_opts),
    .min = 1,
    .max = 2,
    .rest = true,
};

static const struct sbx_verb toy_exec = {
    .name = "exec",
    .summary = "s",
    .args = "BOX COMMAND",
    .groups = toy_groups,
    .n_groups = 1,
    .size = sizeof(struct toy_opts),
    .min = 2,
    .max = 100,
    .stop_at = 2,
    .passthrough = true,
};

static const struct sbx_verb toy_old = { .name = "old",
                                         .summary = "s",
                                         .not_built = "gone for good" };
static const struct sbx_verb *const toy_subs[] = { &toy_plain, &toy_exec, &toy_old };
static const struct sbx_verb toy = { .name = "toy", .summary = "s", .sub = toy_subs, .n_sub = 3 };

static int setup(void **state)
{
    struct sbx_cli *cli = calloc(1, sizeof(*cli));

    cli->arena = sbx_arena_new();
    *state = cli;
    return 0;
}

static int teardown(void **state)
{
    struct sbx_cli *cli = *state;

    sbx_arena_free(cli->arena);
    free(cli);
    return 0;
}

/* Split a line at blanks and parse it. */
static enum sbx_code parse(struct sbx_cli *cli, const char *line, struct sbx_err *err)
{
    char *argv[32] = { (char *)"toy" }, *copy = sbx_arena_strdup(cli->arena, line), *word;
    int argc = 1;

    while ((word = strsep(&copy, " ")))
        if (*word)
            argv[argc++] = word;
    return sbx_cli_parse(cli, &toy, argc, argv, err);
}

static void flags_stand_anywhere_and_in_every_spelling(void **state)
{
    static const char *const lines[] = {
        "plain one -a -b -n x --mode fast -e A=1 -e B=2 --cpus 1.5 -l 7 two",
        "plain -ab --name=x --mode=fast one --env A=1 --env=B=2 --cpus=1.5 two --limit 7",
        "--debug=false plain -abnx one two --mode fast -eA=1 -e=B=2 --cpus 1.5 -l7",
        "plain --all=true --big one two -n y -n x --mode slow --mode fast -e A=1 -eB=2 --cpus 1.5 -l=7",
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(lines); i++) {
        struct sbx_cli cli = { .arena = ((struct sbx_cli *)*state)->arena };
        struct sbx_err err = SBX_ERR_INIT;
        const struct toy_opts *o;

        assert_int_equal(parse(&cli, lines[i], &err), SBX_OK);
        o = cli.options;
        assert_true(o->all && o->big);
        assert_string_equal(o->name, "x");
        assert_string_equal(o->mode, "fast");
        assert_int_equal(o->env.n, 2);
        assert_string_equal(o->env.v[0], "A=1");
        assert_string_equal(o->env.v[1], "B=2");
        assert_true(o->cpus > 1.49 && o->cpus < 1.51);
        assert_int_equal(o->limit, 7);
        assert_int_equal(cli.args.n, 2);
        assert_string_equal(cli.args.v[1], "two");
        assert_string_equal(cli.path, "toy plain");
    }
}

static void wrong_lines_are_usage_errors_that_say_what_is_wrong(void **state)
{
    static const struct {
        const char *line, *text;
        enum sbx_code code;
    } rows[] = {
        { "plian x", "unknown command \"plian\" for \"toy\"; did you mean \"plain\"?", SBX_USAGE },
        { "wholly-different", "unknown command \"wholly-different\" for \"toy\"", SBX_USAGE },
        { "old --anything", "\"toy old\": gone for good", SBX_UNSUPPORTED },
        { "plain", "\"toy plain\" needs ONE [TWO]", SBX_USAGE },
        { "plain a b c", "unexpected argument \"c\"", SBX_USAGE },
        { "plain a --naem x", "unknown flag --naem for \"toy plain\"; did you mean --name?",
          SBX_USAGE },
        { "plain a --xyzzy", "unknown flag --xyzzy", SBX_USAGE },
        { "plain a -z", "unknown flag -z", SBX_USAGE },
        { "plain a -az", "unknown flag -z", SBX_USAGE },
        { "plain a --name", "--name needs a value (NAME)", SBX_USAGE },
        { "plain a -n", "-n needs a value (NAME)", SBX_USAGE },
        { "plain a --mode medium", "--mode medium: want one of fast, slow", SBX_USAGE },
        { "plain a --all=maybe", "--all=maybe: want true or false", SBX_USAGE },
        { "plain a --cpus many", "--cpus many: want a number", SBX_USAGE },
        { "plain a --cpus -1", "want a number, 0 or more", SBX_USAGE },
        { "plain a --cpus nan", "want a number", SBX_USAGE },
        { "plain a --cpus 0x10", "want a number", SBX_USAGE },
        { "plain a --limit -3", "want a whole number", SBX_USAGE },
        { "plain a --limit=", "want a whole number", SBX_USAGE },
        { "plain a --limit 99999999999999999999", "want a whole number", SBX_USAGE },
        { "plain a --clone", "--clone: not built yet", SBX_UNSUPPORTED },
        { "plain a -c", "--clone: not built yet", SBX_UNSUPPORTED },
        { "plain a --output xml", "--output xml: want one of table, json, yaml", SBX_USAGE },
        { "plain a --json --output yaml", "contradict", SBX_USAGE },
        { "exec box cmd", "", SBX_OK },
        { "exec --json box cmd", "takes no --json and no --output", SBX_USAGE },
        { "--", "", SBX_OK },
        { "--name x plain a", "unknown flag --name for \"toy\"", SBX_USAGE },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_cli cli = { .arena = ((struct sbx_cli *)*state)->arena };
        struct sbx_err err = SBX_ERR_INIT;
        enum sbx_code rc = parse(&cli, rows[i].line, &err);

        if (rc != rows[i].code || !strstr(err.text, rows[i].text))
            fail_msg("[%s] gave %s: [%s]", rows[i].line, sbx_code_name(rc), err.text);
    }
}

static void words_behind_two_dashes_are_never_flags(void **state)
{
    struct sbx_cli *cli = *state;
    struct sbx_err err = SBX_ERR_INIT;

    assert_int_equal(parse(cli, "plain one -- -a --name x", &err), SBX_OK);
    assert_int_equal(cli->args.n, 1);
    assert_int_equal(cli->rest.n, 3);
    assert_string_equal(cli->rest.v[0], "-a");
    assert_false(((struct toy_opts *)cli->options)->all);
}

static void the_command_of_exec_keeps_its_own_flags(void **state)
{
    static const char *const lines[] = { "exec -a box ls -la --name -- x",
                                         "exec box -a -- ls -la --name -- x",
                                         "exec -a -- box ls -la --name -- x" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(lines); i++) {
        struct sbx_cli cli = { .arena = ((struct sbx_cli *)*state)->arena };
        struct sbx_err err = SBX_ERR_INIT;

        assert_int_equal(parse(&cli, lines[i], &err), SBX_OK);
        assert_true(((struct toy_opts *)cli.options)->all);
        assert_int_equal(cli.args.n, 6);
        assert_string_equal(cli.args.v[1], "ls");
        assert_string_equal(cli.args.v[2], "-la");
        assert_string_equal(cli.args.v[4], "--");
        assert_string_equal(cli.args.v[5], "x");
    }
}

static void a_lone_dash_is_a_word(void **state)
{
    struct sbx_cli *cli = *state;
    struct sbx_err err = SBX_ERR_INIT;

    assert_int_equal(parse(cli, "plain -", &err), SBX_OK);
    assert_string_equal(cli->args.v[0], "-");
}

#define IN_CLI(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_CLI(flags_stand_anywhere_and_in_every_spelling),
        IN_CLI(wrong_lines_are_usage_errors_that_say_what_is_wrong),
        IN_CLI(words_behind_two_dashes_are_never_flags),
        IN_CLI(the_command_of_exec_keeps_its_own_flags),
        IN_CLI(a_lone_dash_is_a_word),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
