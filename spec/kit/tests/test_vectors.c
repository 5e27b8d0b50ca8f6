/*
 * 2,000 made-up specs of both versions (vectors.jsonl), many of them damaged, and what the public
 * reference makes of each: the artifact, and the surfaces it warns of in order, or a refusal and the
 * lines of unknown fields. What a decision lets differ is listed in spec/tests/corpus-known.tsv, and only that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/kit.h"

static void clean(json_t *artifact)
{
    json_t *environment = json_object_get(artifact, "environment");

    json_object_del(artifact, "warnings");
    json_object_del(artifact, "files");
    json_object_del(environment, "proxyManaged");
}

/* 2 and 2.0 are one number in JSON, but two kinds of value in jansson. */
static json_t *normal(const json_t *value)
{
    json_t *copy;
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_integer(value))
        return json_real(json_number_value(value));
    if (!json_is_array(value) && !json_is_object(value))
        return json_incref((json_t *)(uintptr_t)value);
    copy = json_is_array(value) ? json_array() : json_object();
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
        json_object_set_new(copy, key, normal(item));
    json_array_foreach(value, i, item)
        json_array_append_new(copy, normal(item));
    return copy;
}

static bool same(const json_t *a, const json_t *b)
{
    json_t *x = normal(a), *y = normal(b);
    bool equal = json_equal(x, y);

    json_decref(x);
    json_decref(y);
    return equal;
}

static bool names_line(const struct sbx_diags *diags, json_int_t line)
{
    for (size_t i = 0; i < diags->len; i++)
        if (diags->v[i].pos.line == (unsigned)line)
            return true;
    return false;
}

/* Each warning begins with the name of its surface. */
static bool same_warnings(const json_t *want, const struct sbx_strs *got)
{
    json_t *name;
    size_t i;

    if (json_array_size(want) != got->len)
        return false;
    json_array_foreach(want, i, name)
        if (strncmp(got->v[i], json_string_value(name), json_string_length(name)))
            return false;
    return true;
}

static const char *judge_accepted(json_t *row, const struct sbx_artifact *a)
{
    json_t *want = json_object_get(row, "artifact"), *got = sbx_artifact_json(a);
    const char *fault = NULL;

    if (!same_warnings(json_object_get(row, "warningFields"), &a->warnings))
        fault = "other warnings";
    clean(got);
    clean(want);
    if (!same(want, got))
        fault = "another artifact";
    json_decref(got);
    return fault;
}

static const char *judge(json_t *row)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    const char *text = json_string_value(json_object_get(row, "spec"));
    bool ok = json_is_true(json_object_get(row, "ok"));
    json_t *line;
    size_t i;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    if (sbx_kit_load_bytes("spec.yaml", text, strlen(text), &diags, &a, NULL) == SBX_OK)
        return ok ? judge_accepted(row, a) : "accepted, want refused";
    if (ok)
        return "refused, want accepted";
    if (json_array_size(json_object_get(row, "unknownFields")))
        json_array_foreach(json_object_get(row, "lines"), i, line)
            if (!names_line(&diags, json_integer_value(line)))
                return "a line with an unknown field is not named";
    return NULL;
}

/* What a version 1 kit cannot say again in version 2's words. */
static void clean_for_rewrite(json_t *artifact, bool old)
{
    json_t *manifest = json_object_get(artifact, "manifest");

    clean(artifact);
    if (!old)
        return;
    json_object_del(manifest, "schemaVersion");
    json_object_del(manifest, "interactiveOptions"); /* always empty there (RB 4.4) */
    if (!strcmp(json_string_value(json_object_get(manifest, "kind")), "mixin")) {
        json_object_del(artifact, "extends"); /* S19: became requires */
        json_object_del(artifact, "requires");
    }
}

static const char *judge_rewritten(const struct sbx_artifact *a, struct sbx_buf *text)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) b = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    bool old = strcmp(a->schema_version, "2") != 0, equal;
    json_t *want, *got;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    assert_int_equal(sbx_artifact_yaml(a, text, NULL), SBX_OK);
    if (sbx_kit_load_bytes("rewritten.yaml", text->ptr, text->len, &diags, &b, &err)) {
        printf("%s\n", err.text);
        sbx_diags_print(&diags, stdout);
        return "refused";
    }
    want = sbx_artifact_json(a);
    got = sbx_artifact_json(b);
    clean_for_rewrite(want, old);
    clean_for_rewrite(got, old);
    equal = same(want, got);
    json_decref(want);
    json_decref(got);
    return equal ? NULL : "another artifact";
}

static bool rewrite(json_t *row)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(16 * SBX_SPEC_MAX);
    const char *spec = json_string_value(json_object_get(row, "spec")), *fault;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    if (sbx_kit_load_bytes("spec.yaml", spec, strlen(spec), &diags, &a, NULL))
        return false;
    fault = judge_rewritten(a, &text);
    if (fault)
        fail_msg("vector %s as YAML: %s:\n%s", json_string_value(json_object_get(row, "id")), fault,
                 text.ptr);
    return true;
}

static void each_is_the_same_after_it_was_written_as_yaml(void **state)
{
    FILE *f = fopen(SBX_TEST_DIR "/vectors.jsonl", "r");
    size_t cap = 0, n = 0;
    SBX_AUTO_FREE char *line = NULL;

    (void)state;
    assert_non_null(f);
    while (getline(&line, &cap, f) > 0) {
        json_t *row = json_loads(line, 0, NULL);

        assert_non_null(row);
        n += rewrite(row);
        json_decref(row);
    }
    fclose(f);
    assert_true(n >= 390);
}

#define KNOWN_MAX 100 /* rows of corpus-known.tsv */

static char known[KNOWN_MAX][8];
static size_t n_known;

/* Rows of an id and, behind a tab, the decision. */
static void read_known(void)
{
    FILE *f = fopen(SBX_SOURCE_DIR "/spec/tests/corpus-known.tsv", "r");
    size_t cap = 0;
    SBX_AUTO_FREE char *line = NULL;

    assert_non_null(f);
    while (getline(&line, &cap, f) > 0) {
        char *tab = strchr(line, '\t');

        assert_true(n_known < KNOWN_MAX && tab && tab - line < 8);
        assert_true(tab[1] == 'S' && strchr(tab, ':')); /* "S16: what it says" */
        snprintf(known[n_known++], sizeof(known[0]), "%.*s", (int)(tab - line), line);
    }
    fclose(f);
}

static bool is_known(const char *id)
{
    for (size_t i = 0; i < n_known; i++)
        if (!strcmp(known[i], id))
            return true;
    return false;
}

static void the_reference_makes_the_same_of_each(void **state)
{
    FILE *f = fopen(SBX_TEST_DIR "/vectors.jsonl", "r");
    size_t cap = 0, n = 0, bad = 0, differ = 0;
    SBX_AUTO_FREE char *line = NULL;

    (void)state;
    assert_non_null(f);
    read_known();
    while (getline(&line, &cap, f) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        const char *fault;

        assert_non_null(row);
        fault = judge(row);
        if (fault && is_known(json_string_value(json_object_get(row, "id"))))
            differ++;
        else if (fault)
            bad += printf("vector %s: %s\n", json_string_value(json_object_get(row, "id")), fault) > 0;
        n++;
        json_decref(row);
    }
    fclose(f);
    assert_int_equal(n, 2000);
    assert_int_equal(bad, 0);
    assert_int_equal(differ, n_known); /* a row that differs no more has to go */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_reference_makes_the_same_of_each),
                                       cmocka_unit_test(each_is_the_same_after_it_was_written_as_yaml) };

    return cmocka_run_group_tests_name("kit vectors", tests, NULL, NULL);
}
