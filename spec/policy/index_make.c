/* Where a host stands among the rules: making the index. */
#include "index.h"

#include <stdlib.h>
#include <string.h>

#define ROOT ""      /* above all names */
#define NODES_MAX 64 /* two a level, of 32 at most */

/* Of a name while the leaves are numbered, parallel to the names. */
struct family {
    uint16_t parent, child, next; /* 0: none; the root is nobody's child */
    uint32_t self,
        end; /* its leaf; behind it that of what else is below, then those of its children */
};

/* From `lo` up to `hi`. */
struct leaves {
    uint32_t lo, hi;
};

/* Nodes 1 to 2 * width - 1 are the tree, `width` of them its leaves; behind them come those of `*.name`, a name each. */
struct make {
    struct sbx_policy *p;
    uint16_t *name_of; /* a rule's name */
    struct index_name *names;
    struct family *families;
    address_key *starts;
    uint32_t n_names, n_name_leaves, width;
    uint32_t *from;               /* where a node's rules begin among `members`; one node more */
    uint16_t *members;            /* rules in their order */
    uint32_t *lists;              /* of a node: its own, or the next one above */
    struct leaves *leaves;        /* of a rule */
    struct port_rule *port_rules; /* of a rule */
    struct port_set cuts;
};

static void make_release(struct make *m)
{
    free(m->name_of);
    free(m->names);
    free(m->families);
    free(m->starts);
    free(m->from);
    free(m->members);
    free(m->lists);
    free(m->leaves);
    free(m->port_rules);
}

static bool is_name(const struct sbx_pattern *x)
{
    return x->kind == PATTERN_NAME || x->kind == PATTERN_ONE || x->kind == PATTERN_MORE ||
           x->kind == PATTERN_HOST;
}

static uint16_t add_name(struct make *m, const char *text)
{
    uint32_t hash;
    uint16_t *slot = sbx_index_slot(m->p, text, &hash);

    if (!*slot) {
        m->names[m->n_names] = (struct index_name){ .text = text, .hash = hash };
        *slot = (uint16_t)m->n_names++;
    }
    return *slot;
}

static bool make_names(struct make *m)
{
    struct sbx_policy *p = m->p;
    size_t most = 1, slots = 16; /* the root */

    for (size_t i = 0; i < p->n; i++)
        most += is_name(&p->rules[i].pattern);
    while (slots < 2 * most)
        slots *= 2;
    p->mask = slots - 1;
    p->slots = sbx_arena_array(p->arena, slots, sizeof(*p->slots));
    m->name_of = calloc(p->n + 1, sizeof(*m->name_of));
    p->names = m->names = calloc(most, sizeof(*m->names));
    if (!p->slots || !m->name_of || !m->names)
        return false;
    m->names[m->n_names++].text = ROOT;
    for (size_t i = 0; i < p->n; i++) {
        const struct sbx_pattern *x = &p->rules[i].pattern;

        if (is_name(x))
            m->name_of[i] = add_name(m, x->kind == PATTERN_HOST ? HOST_RESOURCE : x->name);
    }
    return true;
}

/* Depth first, so that the leaves of a domain follow each other. */
static bool number_names(struct make *m)
{
    struct family *f = m->families = calloc(m->n_names, sizeof(*f));
    uint32_t leaf = 0;

    if (!f)
        return false;
    for (uint32_t i = 1; i < m->n_names; i++) {
        uint16_t up = f[i].parent = sbx_index_above(m->p, m->names[i].text);

        f[i].next = f[up].child;
        f[up].child = (uint16_t)i;
    }
    for (uint16_t at = 0;;) {
        f[at].self = leaf;
        leaf += 2;
        if (f[at].child) {
            at = f[at].child;
            continue;
        }
        for (f[at].end = leaf; at && !f[at].next; f[at].end = leaf)
            at = f[at].parent;
        if (!at)
            break;
        at = f[at].next;
    }
    m->n_name_leaves = leaf;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    address_key x = *(const address_key *)a, y = *(const address_key *)b;

    return (x > y) - (x < y);
}

/* The first address behind a network; 0 behind the last of all. */
static address_key key_behind(const struct sbx_pattern *x)
{
    return sbx_address_key(&x->address) +
           (x->prefix_len ? (address_key)1 << (128 - x->prefix_len) : 0);
}

/* Ranges of a family begin where a network begins or has ended; one begins at 0. */
static void add_starts(struct make *m, bool v4)
{
    struct sbx_policy *p = m->p;
    size_t first = p->n_starts, n = first, kept = first;

    m->starts[n++] = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct sbx_pattern *x = &p->rules[i].pattern;

        if (x->kind != PATTERN_CIDR || sbx_address_is_v4(&x->address) != v4)
            continue;
        m->starts[n++] = sbx_address_key(&x->address);
        m->starts[n++] = key_behind(x);
    }
    qsort(m->starts + first, n - first, sizeof(*m->starts), compare_keys);
    for (size_t i = first; i < n; i++)
        if (i == first || m->starts[i] != m->starts[i - 1])
            m->starts[kept++] = m->starts[i];
    p->n_starts = kept;
}

static bool make_starts(struct make *m)
{
    struct sbx_policy *p = m->p;
    size_t most = 2;

    for (size_t i = 0; i < p->n; i++)
        most += p->rules[i].pattern.kind == PATTERN_CIDR ? 2 : 0;
    p->starts = m->starts = calloc(most, sizeof(*m->starts));
    if (!m->starts)
        return false;
    add_starts(m, true);
    p->n_v4 = p->n_starts;
    add_starts(m, false);
    return true;
}

static struct leaves leaves_of(const struct make *m, size_t rule)
{
    const struct sbx_pattern *x = &m->p->rules[rule].pattern;
    const struct family *f = &m->families[m->name_of[rule]];
    bool v4 = sbx_address_is_v4(&x->address);
    size_t first, last;

    switch ((enum pattern_kind)x->kind) {
    case PATTERN_NAME:
    case PATTERN_HOST:
        return (struct leaves){ f->self, f->self + 1 };
    case PATTERN_MORE:
        return (struct leaves){ f->self + 1, f->end };
    case PATTERN_ALL:
        return (struct leaves){ 0, m->width };
    case PATTERN_CIDR:
        first = m->n_name_leaves + sbx_index_start(m->p, sbx_address_key(&x->address), v4);
        last = m->n_name_leaves + sbx_index_start(m->p, key_behind(x) - 1, v4);
        return (struct leaves){ (uint32_t)first, (uint32_t)last + 1 };
    case PATTERN_ONE:
    case PATTERN_INERT:
        break;
    }
    return (struct leaves){ 0, 0 };
}

/* The nodes of a pattern: the highest ones that hold its leaves and no others. How many. */
static unsigned nodes_of(const struct make *m, size_t rule, uint32_t nodes[NODES_MAX])
{
    uint32_t lo = m->leaves[rule].lo + m->width, hi = m->leaves[rule].hi + m->width;
    unsigned n = 0;

    if (m->p->rules[rule].pattern.kind == PATTERN_ONE)
        nodes[n++] = 2 * m->width + m->name_of[rule];
    for (; lo < hi; lo /= 2, hi /= 2) {
        if (lo % 2)
            nodes[n++] = lo++;
        if (hi % 2)
            nodes[n++] = --hi;
    }
    return n;
}

static bool measure(struct make *m)
{
    size_t n = m->p->n;

    for (m->width = 1; m->width < m->n_name_leaves + m->p->n_starts; m->width *= 2)
        ;
    m->leaves = calloc(n + 1, sizeof(*m->leaves));
    m->port_rules = calloc(n + 1, sizeof(*m->port_rules));
    if (!m->leaves || !m->port_rules)
        return false;
    for (size_t i = 0; i < n; i++) {
        m->leaves[i] = leaves_of(m, i);
        m->port_rules[i] = sbx_port_rule(&m->p->rules[i]);
    }
    return true;
}

/* The rules of each node, in their order. */
static bool gather(struct make *m)
{
    uint32_t n_nodes = 2 * m->width + m->n_names, nodes[NODES_MAX];

    m->from = calloc(n_nodes + 1, sizeof(*m->from));
    m->lists = calloc(n_nodes, sizeof(*m->lists));
    if (!m->from || !m->lists)
        return false;
    for (size_t i = 0; i < m->p->n; i++)
        for (unsigned k = nodes_of(m, i, nodes); k-- > 0;)
            m->from[nodes[k]]++;
    for (uint32_t i = 1; i <= n_nodes; i++)
        m->from[i] += m->from[i - 1];
    m->members = calloc(m->from[n_nodes] + 1, sizeof(*m->members));
    if (!m->members)
        return false;
    for (size_t i = m->p->n; i-- > 0;)
        for (unsigned k = nodes_of(m, i, nodes); k-- > 0;)
            m->members[--m->from[nodes[k]]] = (uint16_t)i;
    return true;
}

/* A list for each node with rules. */
static bool make_lists(struct make *m)
{
    uint32_t n_nodes = 2 * m->width + m->n_names, n_lists = 1, n_spans = 0, most = 1, at = 0;
    SBX_AUTO_FREE struct port_span *spans = NULL;
    SBX_AUTO_FREE uint32_t *skip = NULL;
    struct port_lists *x = &m->p->lists;

    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t n = m->from[i + 1] - m->from[i];

        n_lists += n != 0;
        most = n > most ? n : most;
    }
    spans = calloc(PORT_SPANS_OF(m->from[n_nodes]) + 1, sizeof(*spans));
    skip = calloc(PORT_SPANS_OF(most) + 1, sizeof(*skip));
    x->v = sbx_arena_array(m->p->arena, n_lists + 1, sizeof(*x->v));
    if (!spans || !skip || !x->v)
        return false;
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t n = m->from[i + 1] - m->from[i];

        m->lists[i] = i < 2 * m->width ? m->lists[i / 2] : 0;
        if (!n)
            continue;
        at++;
        x->v[at].up = m->lists[i];
        x->v[at].spans = n_spans;
        n_spans += sbx_ports_cut(m->port_rules, m->members + m->from[i], n, &x->v[at],
                                 spans + n_spans, skip, &m->cuts);
        m->lists[i] = at;
    }
    x->v[at + 1].spans = n_spans;
    x->spans = (void *)sbx_arena_memdup(m->p->arena, spans, n_spans * sizeof(*spans));
    return x->spans != NULL;
}

/* What is kept, at its size. */
static bool keep(struct make *m)
{
    struct sbx_policy *p = m->p;
    const uint32_t *leaves = m->lists + m->width;

    for (uint32_t i = 0; i < m->n_names; i++) {
        m->names[i].self = leaves[m->families[i].self];
        m->names[i].below = leaves[m->families[i].self + 1];
        m->names[i].one = m->lists[2 * m->width + i];
    }
    p->names = (void *)sbx_arena_memdup(p->arena, m->names, m->n_names * sizeof(*m->names));
    p->starts = (void *)sbx_arena_memdup(p->arena, m->starts, p->n_starts * sizeof(*m->starts));
    p->ranges = (void *)sbx_arena_memdup(p->arena, leaves + m->n_name_leaves,
                                         p->n_starts * sizeof(*leaves));
    return p->names && p->starts && p->ranges;
}

bool sbx_index_make(struct sbx_policy *p)
{
    struct make m = { .p = p };
    bool ok = make_names(&m) && number_names(&m) && make_starts(&m) && measure(&m) && gather(&m) &&
              make_lists(&m) && keep(&m);

    make_release(&m);
    return ok;
}
