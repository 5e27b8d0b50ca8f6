/* Elements of all kits by key: which is the first of its key, which the last. */
#include <stdlib.h>
#include <string.h>

#include "compose.h"

static int by_key(const void *a, const void *b)
{
    const struct sbx_keyed *x = a, *y = b;
    int order = strcmp(x->key, y->key);

    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b)
{
    const struct sbx_keyed *x = a, *y = b;

    return (x->order > y->order) - (x->order < y->order);
}

static size_t count(const struct sbx_composer *c, sbx_list_fn *list)
{
    const char *key;
    size_t n = 0;

    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; list(c->kits[k], i, &key); i++)
            n++;
    return n;
}

static void collect(const struct sbx_composer *c, sbx_list_fn *list, struct sbx_keyed *v)
{
    const void *element;
    const char *key;
    size_t n = 0;

    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; (element = list(c->kits[k], i, &key)); i++, n++)
            v[n] = (struct sbx_keyed){ key ? key : "", element, k, i, n, n, n };
}

struct sbx_keyed *sbx_compose_group(struct sbx_composer *c, sbx_list_fn *list, size_t *ret_n)
{
    size_t n = count(c, list);
    struct sbx_keyed *v = n ? calloc(n, sizeof(*v)) : NULL;

    *ret_n = v ? n : 0;
    if (n && !v)
        c->no_memory = true;
    if (!v)
        return NULL;
    collect(c, list, v);
    qsort(v, n, sizeof(*v), by_key);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(v[i].key, v[i - 1].key))
            v[i].first = v[i - 1].first;
    for (size_t i = n - 1; i-- > 0;)
        if (!strcmp(v[i].key, v[i + 1].key))
            v[i].last = v[i + 1].last;
    qsort(v, n, sizeof(*v), by_order);
    return v;
}
