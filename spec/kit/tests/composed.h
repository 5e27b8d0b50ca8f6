/* Kits from texts, and their composition, for the tests of compositions. */
#ifndef SBX_KIT_TESTS_COMPOSED_H
#define SBX_KIT_TESTS_COMPOSED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sbx/kit.h"

#define KITS 4
#define V2 "schemaVersion: \"2\"\n"
#define BASE V2 "kind: sandbox\nname: base\nsandbox: {image: img, entrypoint: [run]}\n"
#define MIXIN(name) V2 "kind: mixin\nname: " name "\n"

struct world {
    struct sbx_diags diags;
    struct sbx_artifact *kits[KITS];
    size_t n;
    struct sbx_artifact *out;
    struct sbx_err err;
};

static inline int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    return w && !sbx_diags_init(&w->diags) ? 0 : -1;
}

static inline int teardown(void **state)
{
    struct world *w = *state;

    for (size_t i = 0; i < w->n; i++)
        sbx_artifact_free(w->kits[i]);
    sbx_artifact_free(w->out);
    sbx_diags_release(&w->diags);
    free(w);
    return 0;
}

static inline struct sbx_artifact *load(struct world *w, const char *spec)
{
    char file[32];

    assert_true(w->n < KITS);
    snprintf(file, sizeof(file), "%zu.yaml", w->n);
    if (sbx_kit_load_bytes(file, spec, strlen(spec), &w->diags, &w->kits[w->n], &w->err))
        fail_msg("%s", w->err.text);
    return w->kits[w->n++];
}

static inline enum sbx_code compose_with(struct world *w, const struct sbx_compose_opts *opts)
{
    const struct sbx_artifact *mixins[KITS];

    for (size_t i = 1; i < w->n; i++)
        mixins[i - 1] = w->kits[i];
    return sbx_compose(w->kits[0], mixins, w->n - 1, opts, &w->diags, &w->out, &w->err);
}

/* Compose, then throw the inputs away: the result must stand alone. */
static const struct sbx_artifact *composed(struct world *w)
{
    if (compose_with(w, NULL))
        fail_msg("%s", w->err.text);
    while (w->n)
        sbx_artifact_free(w->kits[--w->n]);
    return w->out;
}

static inline void refused(struct world *w, enum sbx_code code, const char *want)
{
    assert_int_equal(compose_with(w, NULL), code);
    assert_null(w->out);
    assert_string_equal(w->err.text, want);
}

#define COMPOSE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
