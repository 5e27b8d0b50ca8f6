/* Any bytes give a tree or a finding; every accessor may be asked about every node. */
#include <stdint.h>

#include "sbx/yaml.h"

#define VISITS_MAX 20000 /* nodes looked at; a tree with aliases can be larger than its text */

struct visit {
    struct sbx_arena *arena;
    unsigned left;
};

static void visit(struct visit *v, const struct sbx_yaml_node *n, unsigned depth)
{
    int64_t i;
    double d;
    bool b, word;

    if (!v->left || depth > 500)
        return;
    v->left--;
    (void)sbx_yaml_string(v->arena, n);
    (void)sbx_yaml_int(n, &i, &b);
    (void)sbx_yaml_float(n, &d);
    (void)sbx_yaml_bool(n, &b, &word);
    (void)sbx_yaml_type_name(n);
    (void)sbx_yaml_noun(n);
    if (n->pos.line == 0 || n->pos.column == 0)
        __builtin_trap();
    for (size_t k = 0; n->kind == SBX_YAML_SEQUENCE && k < n->len; k++)
        visit(v, n->items[k], depth + 1);
    for (size_t k = 0; n->kind == SBX_YAML_MAPPING && k < n->len; k++) {
        visit(v, n->entries[k].key, depth + 1);
        visit(v, n->entries[k].value, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const struct sbx_yaml_node *root = NULL;
    json_t *json = NULL;

    if (!arena || sbx_diags_init(&diags))
        return 0;
    if (sbx_yaml_parse(arena, "f", (const char *)data, size, &diags, &root) != SBX_OK) {
        if (!diags.errors)
            __builtin_trap(); /* a refusal says why */
        return 0;
    }
    if (!root)
        return 0;
    visit(&(struct visit){ arena, VISITS_MAX }, root, 0);
    if (root->weight < VISITS_MAX && sbx_yaml_json(arena, root, &json, NULL) == SBX_OK)
        json_decref(json);
    return 0;
}
