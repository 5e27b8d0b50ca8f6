/* What a mapping needs when its last entry was read: keys given twice, and merge keys. */
#include <string.h>

#include "yaml_impl.h"

#define FEW 16 /* entries; the mappings of a kit have fewer, but for environments */

enum sbx_code sbx_yaml_add_nodes(struct sbx_yaml_builder *b, size_t n, struct sbx_pos pos)
{
    b->added += n;
    if (b->added <= SBX_YAML_ALIAS_MAX)
        return SBX_OK;
    sbx_diags_add(b->diags, SBX_ERROR, "yaml-limit", pos, "", "write the values out",
                  "aliases and merges expand to more than %d nodes", SBX_YAML_ALIAS_MAX);
    return SBX_LIMIT;
}

static int compare_keys(const struct sbx_yaml_node *x, const struct sbx_yaml_node *y)
{
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->kind != SBX_YAML_SCALAR)
        return 0; /* keys without text of their own: any two of a kind clash, as in the reference */
    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return memcmp(x->text, y->text, x->len);
}

/* Entries of one array, by key and then by place. */
static int compare_entries(const void *a, const void *b)
{
    const struct sbx_yaml_entry *x = *(struct sbx_yaml_entry *const *)a;
    const struct sbx_yaml_entry *y = *(struct sbx_yaml_entry *const *)b;
    int order = compare_keys(x->key, y->key);

    return order ? order : x < y ? -1 : x > y;
}

static struct sbx_yaml_entry **sorted(struct sbx_yaml_entry *entries, size_t n)
{
    struct sbx_yaml_entry **order = malloc(n * sizeof(struct sbx_yaml_entry *));

    if (!order)
        return NULL;
    for (size_t i = 0; i < n; i++)
        order[i] = &entries[i];
    qsort(order, n, sizeof(struct sbx_yaml_entry *), compare_entries);
    return order;
}

static void report_twice(struct sbx_yaml_builder *b, const struct sbx_yaml_node *first,
                         const struct sbx_yaml_node *again)
{
    const char *text = again->kind == SBX_YAML_SCALAR ? again->text : "(a key that is no scalar)";

    sbx_diags_add(b->diags, SBX_ERROR, "duplicate-key", again->pos, text, "keep one of them",
                  "given twice; first on line %u", first->pos.line);
}

/* Of a few entries each is compared with those before it, which is quicker than to sort them. */
static void find_twice_of_few(struct sbx_yaml_builder *b, struct sbx_yaml_node *map)
{
    for (size_t i = 1; i < map->len; i++)
        for (size_t k = 0; k < i; k++)
            if (!compare_keys(map->entries[k].key, map->entries[i].key)) {
                report_twice(b, map->entries[k].key, map->entries[i].key);
                map->broken = true;
                break;
            }
}

static enum sbx_code find_twice(struct sbx_yaml_builder *b, struct sbx_yaml_node *map)
{
    SBX_AUTO_FREE struct sbx_yaml_entry **order = NULL;
    size_t first = 0;

    if (map->len <= FEW) {
        find_twice_of_few(b, map);
        return SBX_OK;
    }
    order = sorted(map->entries, map->len);
    if (!order)
        return SBX_NO_MEMORY;
    for (size_t i = 1; i < map->len; i++) {
        if (compare_keys(order[first]->key, order[i]->key)) {
            first = i;
            continue;
        }
        report_twice(b, order[first]->key, order[i]->key);
        map->broken = true;
    }
    return SBX_OK;
}

static bool is_merge(const struct sbx_yaml_entry *e)
{
    return e->key->type == SBX_YAML_MERGE;
}

static enum sbx_code bad_merge(struct sbx_yaml_builder *b, const struct sbx_yaml_node *value)
{
    sbx_diags_add(b->diags, SBX_ERROR, "yaml-merge", value->pos, "<<",
                  "write `<<: *anchor`, or quote the key to mean the text \"<<\"",
                  "wants a mapping or a list of mappings, not %s", sbx_yaml_noun(value));
    return SBX_SYNTAX;
}

/* Count what one merge adds; its mappings were finished before, so their own merges are in. */
static enum sbx_code count_merge(struct sbx_yaml_builder *b, const struct sbx_yaml_node *value,
                                 size_t *total)
{
    enum sbx_code rc = SBX_OK;

    if (value->kind == SBX_YAML_MAPPING) {
        *total += value->len;
        return sbx_yaml_add_nodes(b, value->weight, value->pos);
    }
    if (value->kind != SBX_YAML_SEQUENCE)
        return bad_merge(b, value);
    for (size_t i = 0; i < value->len && !rc; i++) {
        if (value->items[i]->kind != SBX_YAML_MAPPING)
            return bad_merge(b, value->items[i]);
        *total += value->items[i]->len;
        rc = sbx_yaml_add_nodes(b, value->items[i]->weight, value->items[i]->pos);
    }
    return rc;
}

static size_t copy_merged(struct sbx_yaml_entry *to, const struct sbx_yaml_node *map)
{
    for (size_t i = 0; i < map->len; i++) {
        to[i] = map->entries[i];
        to[i].merged = true;
    }
    return map->len;
}

/* Keep the first entry of each key. */
static enum sbx_code drop_later(struct sbx_yaml_entry *entries, size_t *n)
{
    SBX_AUTO_FREE struct sbx_yaml_entry **order = *n ? sorted(entries, *n) : NULL;
    SBX_AUTO_FREE bool *drop = *n ? calloc(*n, sizeof(*drop)) : NULL;
    size_t kept = 0;

    if (*n && (!order || !drop))
        return SBX_NO_MEMORY;
    for (size_t i = 1; i < *n; i++)
        if (order[i]->merged && !compare_keys(order[i - 1]->key, order[i]->key))
            drop[order[i] - entries] = true;
    for (size_t i = 0; i < *n; i++)
        if (!drop[i])
            entries[kept++] = entries[i];
    *n = kept;
    return SBX_OK;
}

static enum sbx_code apply_merges(struct sbx_yaml_builder *b, struct sbx_yaml_node *map)
{
    struct sbx_yaml_entry *all;
    size_t total = map->len, n = 0;
    enum sbx_code rc;

    for (size_t i = 0; i < map->len; i++) {
        rc = is_merge(&map->entries[i]) ? count_merge(b, map->entries[i].value, &total) : SBX_OK;
        if (rc)
            return rc;
    }
    all = sbx_arena_array(b->arena, total, sizeof(*all));
    if (!all)
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < map->len; i++)
        if (!is_merge(&map->entries[i]))
            all[n++] = map->entries[i];
    for (size_t i = 0; i < map->len; i++) {
        const struct sbx_yaml_node *value = map->entries[i].value;

        if (!is_merge(&map->entries[i]))
            continue;
        if (value->kind == SBX_YAML_MAPPING)
            n += copy_merged(all + n, value);
        else
            for (size_t k = 0; k < value->len; k++)
                n += copy_merged(all + n, value->items[k]);
    }
    rc = drop_later(all, &n);
    if (rc)
        return rc;
    map->entries = all;
    map->len = n;
    return SBX_OK;
}

enum sbx_code sbx_yaml_finish_mapping(struct sbx_yaml_builder *b, struct sbx_yaml_node *map)
{
    enum sbx_code rc = find_twice(b, map);

    for (size_t i = 0; !rc && i < map->len; i++)
        if (is_merge(&map->entries[i]))
            return apply_merges(b, map);
    return rc;
}
