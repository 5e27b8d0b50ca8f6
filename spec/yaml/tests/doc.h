/* A parsed text, for the tests of this folder. */
#ifndef SBX_YAML_TESTS_DOC_H
#define SBX_YAML_TESTS_DOC_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "sbx/yaml.h"
#include "yaml_impl.h"

struct doc {
    struct sbx_arena *arena;
    struct sbx_diags diags;
    const struct sbx_yaml_node *root;
    enum sbx_code rc;
};

static inline void doc_auto(struct doc *d)
{
    sbx_arena_free(d->arena);
    sbx_diags_release(&d->diags);
}

static inline struct doc parse_n(const char *text, size_t len)
{
    struct doc d = { .arena = sbx_arena_new() };

    assert_non_null(d.arena);
    assert_int_equal(sbx_diags_init(&d.diags), SBX_OK);
    d.rc = sbx_yaml_parse(d.arena, "f", text, len, &d.diags, &d.root);
    return d;
}

static inline struct doc parse(const char *text)
{
    return parse_n(text, strlen(text));
}

#define DOC __attribute__((cleanup(doc_auto))) struct doc

static const struct sbx_yaml_node *value_of(const struct doc *d)
{
    const struct sbx_yaml_node *n = sbx_yaml_get(d->root, "k");

    assert_non_null(n);
    return n;
}

#endif
