/* Any two texts, written as a key and its value, are read as the same two; and as an item of a list. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "a:\n  KEY: VALUE\n  - VALUE" and the like. SBX_SCHEMA: not UTF-8. */
static enum sbx_code write_both(struct sbx_buf *out, const char *key, const char *value)
{
    enum sbx_code rc = sbx_buf_adds(out, "map:\n  ");

    if (!rc)
        rc = sbx_yaml_write_key(out, key, 2);
    if (!rc)
        rc = sbx_buf_adds(out, " ");
    if (!rc)
        rc = sbx_yaml_write_text(out, value, 4);
    if (!rc)
        rc = sbx_buf_adds(out, "\nlist:\n  - ");
    if (!rc)
        rc = sbx_yaml_write_text(out, value, 4);
    return rc ? rc : sbx_buf_adds(out, "\n  - last\n");
}

static void check_same(const struct sbx_yaml_node *n, const char *want)
{
    if (n->kind != SBX_YAML_SCALAR || n->len != strlen(want) || memcmp(n->text, want, n->len) ||
        n->type != SBX_YAML_STR)
        __builtin_trap();
}

static void read_back(const struct sbx_buf *text, const char *key, const char *value)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const struct sbx_yaml_node *root = NULL, *map, *list;

    if (!arena || sbx_diags_init(&diags))
        abort();
    if (sbx_yaml_parse(arena, "f", text->ptr, text->len, &diags, &root) || !root || diags.len)
        __builtin_trap();
    map = sbx_yaml_get(root, "map");
    list = sbx_yaml_get(root, "list");
    if (root->len != 2 || !map || map->len != 1 || !list || list->len != 2)
        __builtin_trap();
    check_same(map->entries[0].key, key);
    check_same(map->entries[0].value, value);
    check_same(list->items[0], value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1 << 24);
    size_t len = strnlen((const char *)data, size);
    SBX_AUTO_FREE char *key = strndup((const char *)data, len);
    SBX_AUTO_FREE char *value = len < size ? strndup((const char *)data + len + 1, size - len - 1) : strdup("");
    enum sbx_code rc = write_both(&out, key, value);

    if (!rc)
        read_back(&out, key, value);
    else if (rc != SBX_SCHEMA)
        __builtin_trap();
    if ((sbx_yaml_key_order(key, value) < 0) != (sbx_yaml_key_order(value, key) > 0))
        __builtin_trap(); /* an order has two directions */
    return 0;
}
