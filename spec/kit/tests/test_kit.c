/* Decoding, hints, tables and rules that need no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "check.h"
#include "field.h"
#include "pattern_re.h"
#include "sbx/kit.h"
#include "sbx/provider.h"
#include "spdx.h"

#define HEAD "schemaVersion: \"2\"\nkind: mixin\nname: a\n"
#define SANDBOX "schemaVersion: \"2\"\nkind: sandbox\nname: a\nsandbox:\n  image: x\n"

struct kit {
    struct sbx_diags diags;
    struct sbx_artifact *a;
    enum sbx_code rc;
};

static void kit_auto(struct kit *k)
{
    sbx_artifact_free(k->a);
    sbx_diags_release(&k->diags);
}

#define KIT __attribute__((cleanup(kit_auto))) struct kit

static struct kit load(const char *text)
{
    struct kit k = { .a = NULL };

    assert_int_equal(sbx_diags_init(&k.diags), SBX_OK);
    k.rc = sbx_kit_load_bytes("spec.yaml", text, strlen(text), &k.diags, &k.a, NULL);
    return k;
}

static const struct sbx_diag *finding(const struct kit *k, const char *code)
{
    for (size_t i = 0; i < k->diags.len; i++)
        if (!strcmp(k->diags.v[i].code, code))
            return &k->diags.v[i];
    return NULL;
}

static void join(const struct sbx_strs *s, char *out, size_t size)
{
    size_t len = 0;

    snprintf(out, size, "%s", s->set ? "" : "-");
    for (size_t i = 0; i < s->len; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", i ? " " : "", s->v[i]);
}

static void launches_are_split_and_flattened(void **state)
{
    static const struct { const char *yaml, *binary, *run, *interactive, *tail, *tty; } rows[] = {
        { "", NULL, "-", "-", "-", "-" },
        { "  entrypoint: [b, x]\n", "b", "x", "x", "-", "-" },
        { "  entrypoint: [b]\n  command: [y]\n", "b", "y", "y", "y", "-" },
        { "  entrypoint: [b, x]\n  command: {default: [y]}\n", "b", "x y", "x y", "y", "-" },
        { "  entrypoint: [b, x]\n  command: {default: [y], interactive: []}\n", "b", "x y", "x", "y", "" },
        { "  entrypoint: [b, x]\n  command: {interactive: [z]}\n", "b", "x", "x z", "-", "z" },
        { "  command: [y]\n", NULL, "y", "y", "y", "-" },
        { "  command: ~\n", NULL, "-", "-", "-", "-" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[400], got[100];

        snprintf(text, sizeof(text), "%s%s", SANDBOX, rows[i].yaml);
        KIT k = load(text);
        assert_int_equal(k.rc, SBX_OK);
        if (rows[i].binary)
            assert_string_equal(k.a->binary, rows[i].binary);
        else
            assert_null(k.a->binary);
        join(&k.a->run_options, got, sizeof(got));
        assert_string_equal(got, rows[i].run);
        join(&k.a->interactive_options, got, sizeof(got));
        assert_string_equal(got, rows[i].interactive);
        join(&k.a->launch.noninteractive, got, sizeof(got));
        assert_string_equal(got, rows[i].tail);
        join(&k.a->launch.interactive, got, sizeof(got));
        assert_string_equal(got, rows[i].tty);
    }
}

static void schemes_expand(void **state)
{
    static const struct { const char *yaml, *header, *format, *username; } rows[] = {
        { "scheme: bearer", "Authorization", "Bearer %s", NULL },
        { "scheme: bearer, header: X-K", "X-K", "Bearer %s", NULL },
        { "scheme: basic, username: u", NULL, "%s", "u" },
        { "scheme: basic, username: u, header: H", "H", "%s", "u" },
        { "header: H, format: \"token %s\"", "H", "token %s", NULL },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char text[400];
        const struct sbx_inject *in;

        snprintf(text, sizeof(text), HEAD "credentials:\n  - service: s\n    apiKey:\n      name: K\n"
                 "      inject:\n        - {domain: d.example.com, %s}\n", rows[i].yaml);
        KIT k = load(text);
        assert_int_equal(k.rc, SBX_OK);
        in = &k.a->credentials.v[0].api_key.inject.v[0];
        assert_string_equal(in->format, rows[i].format);
        assert_int_equal(!in->header, !rows[i].header);
        assert_int_equal(!in->username, !rows[i].username);
        if (in->header)
            assert_string_equal(in->header, rows[i].header);
    }
}

static void a_startup_command_is_text_or_a_list(void **state)
{
    char got[100];

    (void)state;
    KIT k = load(HEAD "setup: { startup: [ {command: 'a && b'}, {command: [a, 1, ~, true]} ] }\n");
    assert_int_equal(k.rc, SBX_OK);
    join(&k.a->startup.v[0].command, got, sizeof(got));
    assert_string_equal(got, "sh -c a && b");
    join(&k.a->startup.v[1].command, got, sizeof(got));
    assert_string_equal(got, "a 1 true");
    assert_int_equal(k.a->startup.v[1].command.len, 3);
}

static void empty_and_absent_are_told_apart(void **state)
{
    (void)state;
    KIT k = load(HEAD "args: { a: {default: \"\"}, b: {required: true} }\nlicenses: []\n"
                      "environment:\n  variables: {A: ~, B: ''}\nvolumes: ~\nports: []\n");
    assert_int_equal(k.rc, SBX_OK);
    assert_string_equal(k.a->args.v[0].default_value, "");
    assert_null(k.a->args.v[1].default_value);
    assert_true(k.a->licenses.set && !k.a->licenses.len);
    assert_string_equal(k.a->variables.v[0].value, "");
    assert_false(k.a->volumes.set);
    assert_true(k.a->ports.set);
    assert_false(k.a->mixins.set);
}

static void elements_know_where_they_come_from(void **state)
{
    (void)state;
    KIT k = load(HEAD "permissions:\n  network:\n    allow:\n      - a.example.com\n      - b.example.com\n"
                      "setup:\n  install:\n    - command: x\n");
    assert_int_equal(k.rc, SBX_OK);
    assert_int_equal(k.a->allow.at[1].pos.line, 8);
    assert_string_equal(k.a->allow.at[1].pos.file, "spec.yaml");
    assert_string_equal(k.a->allow.at[1].kit, "a");
    assert_int_equal(k.a->install.v[0].at.pos.line, 11);
}

static void specs_with_open_references_are_read(void **state)
{
    (void)state;
    KIT k = load("schemaVersion: \"2\"\nkind: sandbox\nname: child\nextends: shell\nmixins: [./m]\n"
                 "args: { v: {default: x} }\nsandbox: { entrypoint: [\"${{ kit.args.v }}\"] }\n");
    assert_int_equal(k.rc, SBX_OK);
    assert_string_equal(k.a->extends, "shell");
    assert_int_equal(k.a->warnings.len, 1); /* for mixins, as the reference has it */
    assert_string_equal(k.a->binary, "${{ kit.args.v }}");
}

static void uncovered_domains_stop_only_compositions(void **state)
{
    SBX_AUTO(sbx_diags) whole = { 0 };

    (void)state;
    KIT k = load(HEAD "permissions: {network: {allow: [\"*.example.com\", \"b.example.org:443\"]}}\n"
                      "credentials:\n  - service: s\n    apiKey:\n      name: K\n      inject:\n"
                      "        - {domain: a.example.com, scheme: bearer}\n"
                      "        - {domain: b.example.org, scheme: bearer}\n"
                      "        - {domain: c.example.org, scheme: bearer}\n");
    assert_int_equal(k.rc, SBX_OK);
    assert_non_null(finding(&k, "uncovered-domain"));
    assert_int_equal(finding(&k, "uncovered-domain")->severity, SBX_WARNING);
    assert_int_equal(finding(&k, "uncovered-domain")->pos.line, 12);
    assert_int_equal(sbx_diags_init(&whole), SBX_OK);
    sbx_artifact_validate(k.a, true, &whole);
    assert_int_equal(whole.errors, 1);
}

static void every_replacement_is_something_the_grammar_has(void **state)
{
    (void)state;
    for (size_t i = 0; i < sbx_n_moved_keys; i++) {
        const struct sbx_moved *m = &sbx_moved_keys[i];
        bool nested = m->to && *m->block && !sbx_grammar_has(m->grammar, m->to);
        char path[200], *list;

        if (!m->to && !m->note)
            fail_msg("%s.%s: neither a replacement nor a note", m->block, m->key);
        if (!m->to)
            continue;
        snprintf(path, sizeof(path), "%s%s%s", nested ? m->block : "", nested ? "." : "", m->to);
        while ((list = strstr(path, "[]")))
            memmove(list, list + 2, strlen(list + 2) + 1);
        while ((list = strstr(path, ".*")))
            memmove(list, list + 2, strlen(list + 2) + 1);
        if (!sbx_grammar_has(m->grammar, path))
            fail_msg("%s.%s: the decoder refuses %s", m->block, m->key, path);
        snprintf(path, sizeof(path), "%s%s%s", m->block, *m->block ? "." : "", m->key);
        if (sbx_grammar_has(m->grammar, path))
            fail_msg("%s is no unknown field", path);
    }
}

/* Every block, by the walk from the root. */
static void check_slips(const struct sbx_block *block)
{
    for (size_t i = 0; i < block->n_fields; i++) {
        char slip[100], hint[300], want[120];
        const struct sbx_field *f = &block->fields[i];
        size_t len = strlen(f->key);

        if (!f->doc)
            fail_msg("%s.%s is not documented", block->name, f->key);
        if (f->block)
            check_slips(f->block);
        if (f->type == SBX_FIELD_IGNORED || len < 4)
            continue;
        snprintf(slip, sizeof(slip), "%sx%s", "", f->key);
        memmove(slip, f->key, len - 1); /* the last letter twice */
        slip[len - 1] = f->key[len - 1];
        slip[len] = f->key[len - 1];
        slip[len + 1] = '\0';
        snprintf(want, sizeof(want), "did you mean \"%s\"?", f->key);
        if (!sbx_hint_for_key(block, slip, hint, sizeof(hint)) || strcmp(hint, want))
            fail_msg("%s in %s: %s", slip, block->name, hint);
    }
}

static void every_field_is_documented_and_found_after_a_slip(void **state)
{
    (void)state;
    check_slips(&sbx_kit_v2);
    check_slips(&sbx_kit_v1);
}

static void sizes_are_read_as_docker_does(void **state)
{
    static const struct { const char *text; bool ok; int64_t bytes; } rows[] = {
        { "5", true, 5 }, { "512m", true, 512 << 20 }, { "1.5g", true, 3LL << 29 },
        { "10GiB", true, 10LL << 30 }, { "2TB", true, 2LL << 40 }, { "1 g", true, 1 << 30 },
        { "1  g", false, 0 }, { "1e3", true, 1000 }, { "5.", true, 5 }, { "0.5k", true, 512 },
        { "-1", false, 0 }, { "10x", false, 0 }, { "", false, 0 }, { "g", false, 0 },
        { "0x10", false, 0 }, { "1b", true, 1 }, { "1kb", true, 1024 }, { "1kib", true, 1024 },
        { "1ki", false, 0 }, { "1kk", false, 0 }, { "1p", true, 1LL << 50 }, { "99999999p", false, 0 },
        { "1e400", false, 0 }, { "nan", false, 0 }, { "4 GiB", true, 4LL << 30 }, { " 1", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        int64_t bytes = 0;
        bool ok = sbx_size_parse(rows[i].text, &bytes);

        if (ok != rows[i].ok || (ok && bytes != rows[i].bytes))
            fail_msg("%s: %d %lld", rows[i].text, ok, (long long)bytes);
    }
}

static void memory_is_whole_mebibytes(void **state)
{
    (void)state;
    KIT k = load(SANDBOX "  resources: {cpu: 1.5, memory: \"1.5g\", gpu: 1}\n");
    assert_int_equal(k.rc, SBX_OK);
    assert_int_equal(k.a->resources.memory_mb, 1536);
    assert_string_equal(k.a->resources.memory, "1.5g");
    assert_true(k.a->resources.cpu_set && k.a->resources.cpu == 1.5);
    assert_string_equal(k.a->resources.gpu, "1");
}

static void names_and_modes_have_a_shape(void **state)
{
    (void)state;
    assert_true(sbx_is_kit_name("a") && sbx_is_kit_name("a--1") && sbx_is_kit_name("0"));
    assert_false(sbx_is_kit_name("") || sbx_is_kit_name("-a") || sbx_is_kit_name("a-"));
    assert_false(sbx_is_kit_name("A") || sbx_is_kit_name("a_b") || sbx_is_kit_name("a.b"));
    assert_true(sbx_is_kit_name("aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg"));
    assert_false(sbx_is_kit_name("aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggh"));
    assert_true(sbx_is_octal_mode("755") && sbx_is_octal_mode("0755") && sbx_is_octal_mode("01777"));
    assert_false(sbx_is_octal_mode("7") || sbx_is_octal_mode("0888") || sbx_is_octal_mode("11777"));
    assert_true(sbx_is_shell_name("_a1"));
    assert_false(sbx_is_shell_name("1a") || sbx_is_shell_name("") || sbx_is_shell_name("a-b"));
}

static void licenses_and_providers_are_found(void **state)
{
    static const char *const known[] = { "0BSD", "MIT", "Apache-2.0", "zlib-acknowledgement", "Zlib",
                                         "LicenseRef-mine", "GPL-3.0-or-later", "CC0-1.0", "FSL-1.1-MIT" };
    static const char *const unknown[] = { "mit", "", "GPL", "MIT OR Apache-2.0", "Apache 2.0" };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(known); i++)
        assert_int_equal(sbx_spdx_status(known[i]), SBX_SPDX_KNOWN);
    for (size_t i = 0; i < SBX_ARRAY_LEN(unknown); i++)
        assert_int_equal(sbx_spdx_status(unknown[i]), SBX_SPDX_UNKNOWN);
    assert_int_equal(sbx_spdx_status("GFDL-1.1"), SBX_SPDX_DEPRECATED);
    assert_string_equal(sbx_spdx_suggest("mit"), "MIT");
    assert_string_equal(sbx_spdx_suggest("Apache-2"), "Apache-2.0");
    for (size_t i = 1; i < sbx_n_spdx_ids; i++)
        assert_true(strcmp(sbx_spdx_ids[i - 1], sbx_spdx_ids[i]) < 0);
    assert_true(sbx_n_spdx_ids > 700);
    assert_string_equal(sbx_provider_find("anthropic")->header, "x-api-key");
    assert_string_equal(sbx_provider_find("github")->basic_host, "github.com");
    assert_string_equal(sbx_provider_find("droid")->variables[0], "FACTORY_API_KEY");
    assert_null(sbx_provider_find("nobody"));
    assert_null(sbx_provider_find(NULL));
    for (size_t i = 1; i < sbx_n_providers; i++)
        assert_true(strcmp(sbx_providers[i - 1].name, sbx_providers[i].name) < 0);
}

static void argument_patterns_are_re2_and_match_the_whole(void **state)
{
    static const struct { const char *pattern, *value; enum sbx_code rc; } rows[] = {
        { "[0-9]+\\.[0-9]+", "1.20", SBX_OK }, { "[0-9]+", "1.20", SBX_CONFLICT },
        { "a|ab", "ab", SBX_OK }, { "^a$", "a", SBX_OK }, { "^a$", "a\n", SBX_CONFLICT },
        { "(?i)A", "a", SBX_OK }, { "(?P<n>a)", "a", SBX_OK }, { "(?:a)", "a", SBX_OK },
        { "a(?=b)", "a", SBX_SCHEMA }, { "(?<!a)b", "b", SBX_SCHEMA }, { "(a)\\1", "aa", SBX_SCHEMA },
        { "(?>a)", "a", SBX_SCHEMA }, { "a++", "a", SBX_SCHEMA }, { "(*FAIL)", "a", SBX_SCHEMA },
        { "(?P=n)", "a", SBX_SCHEMA }, { "(a", "a", SBX_SCHEMA }, { "[]a]+", "]a", SBX_OK },
        { "[(?=]", "?", SBX_OK }, { "\\(\\?=", "(?=", SBX_OK }, { "(a*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaac", SBX_CONFLICT },
        { "[+]+", "++", SBX_OK },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        enum sbx_code rc = sbx_re_match(rows[i].pattern, rows[i].value, &err);

        if (rc != rows[i].rc && !(rc == SBX_LIMIT && rows[i].rc == SBX_CONFLICT))
            fail_msg("%s on %s: %s %s", rows[i].pattern, rows[i].value, sbx_code_name(rc), err.text);
    }
}

static void names_of_built_ins_are_reserved(void **state)
{
    (void)state;
    assert_true(sbx_kit_name_reserved("claude") && sbx_kit_name_reserved("docker-agent"));
    assert_false(sbx_kit_name_reserved("copilot") || sbx_kit_name_reserved("opencode"));
}

static void long_specs_are_refused(void **state)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_FREE char *text = malloc(SBX_SPEC_MAX + 1);
    struct sbx_artifact *a = NULL;

    (void)state;
    memset(text, '#', SBX_SPEC_MAX + 1);
    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_kit_load_bytes("f", text, SBX_SPEC_MAX + 1, &diags, &a, NULL), SBX_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_are_split_and_flattened),
        cmocka_unit_test(schemes_expand),
        cmocka_unit_test(a_startup_command_is_text_or_a_list),
        cmocka_unit_test(empty_and_absent_are_told_apart),
        cmocka_unit_test(elements_know_where_they_come_from),
        cmocka_unit_test(specs_with_open_references_are_read),
        cmocka_unit_test(uncovered_domains_stop_only_compositions),
        cmocka_unit_test(every_replacement_is_something_the_grammar_has),
        cmocka_unit_test(every_field_is_documented_and_found_after_a_slip),
        cmocka_unit_test(sizes_are_read_as_docker_does),
        cmocka_unit_test(memory_is_whole_mebibytes),
        cmocka_unit_test(names_and_modes_have_a_shape),
        cmocka_unit_test(licenses_and_providers_are_found),
        cmocka_unit_test(argument_patterns_are_re2_and_match_the_whole),
        cmocka_unit_test(names_of_built_ins_are_reserved),
        cmocka_unit_test(long_specs_are_refused),
    };

    return cmocka_run_group_tests_name("kit", tests, NULL, NULL);
}
