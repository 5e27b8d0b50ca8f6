/* Separate objects in separate threads: each loads, composes and prints, and all say the same. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sbx/kit.h"

#define THREADS 4
#define ROUNDS 50

static const char base_text[] =
    "schemaVersion: \"2\"\nkind: sandbox\nname: base\nsandbox: {image: \"x:1\"}\n"
    "args: {v: {default: a, pattern: '[a-z]+'}}\n"
    "credentials: [{service: github, apiKey: {inject: [{domain: a.example.com, scheme: bearer}]}}]\n"
    "permissions: {network: {allow: [a.example.com, XN--NXASMQ6B.example.com]}}\n";
static const char mixin_text[] = "schemaVersion: \"1\"\nkind: mixin\nname: m\nmemory: hello\n";

static char *one_round(void)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) base = NULL;
    SBX_AUTO_PTR(sbx_artifact) mixin = NULL;
    SBX_AUTO_PTR(sbx_artifact) whole = NULL;
    json_t *json = NULL;
    char *text = NULL;

    if (!sbx_diags_init(&diags) &&
        !sbx_kit_load_bytes("base", base_text, strlen(base_text), &diags, &base, NULL) &&
        !sbx_kit_load_bytes("m", mixin_text, strlen(mixin_text), &diags, &mixin, NULL) &&
        !sbx_compose(base, (const struct sbx_artifact *[]){ mixin }, 1, NULL, &diags, &whole, NULL))
        json = sbx_artifact_json(whole);
    if (json)
        text = json_dumps(json, JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

static void *work(void *first)
{
    for (int i = 0; i < ROUNDS; i++) {
        SBX_AUTO_FREE char *text = one_round();

        if (!text || strcmp(text, first))
            return first; /* anything but NULL is a failure */
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    SBX_AUTO_FREE char *first = one_round();
    pthread_t threads[THREADS];
    void *failed;

    (void)state;
    assert_non_null(first);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, first), 0);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(threads_do_not_disturb_each_other) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
