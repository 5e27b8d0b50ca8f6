/* Kits below tests/kits, composed. */
#ifndef TEST_COMPOSE_H
#define TEST_COMPOSE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "sbx/plan.h"

#define KITS SBX_SOURCE_DIR "/engine/plan/tests/kits/"
#define KITS_MAX 8

static inline struct sbx_artifact *load_kit(const char *path, struct sbx_diags *diags)
{
    struct sbx_artifact *a = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    if (sbx_kit_load(path, diags, &a, &err))
        fail_msg("%s: %s", path, err.text);
    return a;
}

/** Compose the kits at these paths, base first; NULL ends. */
static inline struct sbx_artifact *compose(const char *const *paths)
{
    struct sbx_artifact *parts[KITS_MAX], *ret = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    SBX_AUTO(sbx_diags) diags = { 0 };
    size_t n = 0;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    for (; paths[n]; n++)
        parts[n] = load_kit(paths[n], &diags);
    if (sbx_compose(parts[0], (const struct sbx_artifact *const *)parts + 1, n - 1, NULL, &diags,
                    &ret, &err))
        fail_msg("compose: %s", err.text);
    for (size_t i = 0; i < n; i++)
        sbx_artifact_free(parts[i]);
    return ret;
}

/** One sandbox kit from text: `more` is added to a minimal one. */
static inline struct sbx_artifact *kit_of(const char *more)
{
    char text[8192];
    struct sbx_artifact *a = NULL, *ret = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    SBX_AUTO(sbx_diags) diags = { 0 };
    int n = snprintf(text, sizeof(text),
                     "schemaVersion: \"2\"\nkind: sandbox\nname: basis\ndisplayName: B\n"
                     "description: d\n%s%s",
                     strstr(more, "sandbox:") ? "" : "sandbox: { image: \"i:1\" }\n", more);

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    if (sbx_kit_load_bytes("spec.yaml", text, (size_t)n, &diags, &a, &err)) {
        sbx_diags_print(&diags, stderr);
        fail_msg("%s: %s", more, err.text);
    }
    if (sbx_compose(a, NULL, 0, NULL, &diags, &ret, &err))
        fail_msg("compose: %s", err.text);
    sbx_artifact_free(a);
    return ret;
}

#endif
