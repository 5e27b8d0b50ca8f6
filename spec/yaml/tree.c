/* Events of libyaml to nodes. No recursion: the open collections are a stack of our own. */
#include <string.h>
#include <yaml.h>

#include "yaml_impl.h"

#define ANCHORS_MAX 1000 /* names; they are searched one by one, honest files have a few */

struct anchor {
    const char *name;
    const struct sbx_yaml_node *node;
};

/* A collection whose end was not seen yet. */
struct frame {
    struct sbx_yaml_node *node;
    size_t base; /* its first child in `pile` */
};

struct parse {
    struct sbx_yaml_builder b;
    const char *file;
    struct sbx_yaml_offsets starts, lines;
    yaml_parser_t parser;
    struct frame *frames;
    size_t depth, frames_cap;
    const struct sbx_yaml_node **pile; /* children of all open collections */
    size_t piled, pile_cap;
    struct anchor *anchors; /* ANCHORS_MAX, made with the first */
    size_t n_anchors;
    const struct sbx_yaml_node *root;
    bool done;
};

static unsigned column_of(struct parse *p, yaml_mark_t mark, size_t byte)
{
    if (p->lines.ascii || p->lines.unknown || mark.column > mark.index)
        return (unsigned)mark.column + 1;
    return (unsigned)(byte - sbx_yaml_offset(&p->lines, mark.index - mark.column)) + 1;
}

static struct sbx_pos pos_of(struct parse *p, yaml_mark_t start, yaml_mark_t end)
{
    struct sbx_pos pos = { .file = p->file, .line = (unsigned)start.line + 1 };

    pos.from = sbx_yaml_offset(&p->starts, start.index);
    pos.column = column_of(p, start, pos.from);
    pos.to = sbx_yaml_offset(&p->starts, end.index);
    return pos;
}

static enum sbx_code fail(struct parse *p, enum sbx_code rc, const char *code, struct sbx_pos pos,
                          const char *hint, const char *message)
{
    sbx_diags_add(p->b.diags, SBX_ERROR, code, pos, "", hint, "%s", message);
    return rc;
}

static enum sbx_code push_child(struct parse *p, const struct sbx_yaml_node *n)
{
    if (!p->depth) {
        p->root = n;
        return SBX_OK;
    }
    if (p->piled == p->pile_cap) {
        size_t cap = p->pile_cap ? p->pile_cap * 2 : 256;
        const struct sbx_yaml_node **grown = realloc(p->pile, cap * sizeof(*grown));

        if (!grown)
            return SBX_NO_MEMORY;
        p->pile = grown;
        p->pile_cap = cap;
    }
    p->pile[p->piled++] = n;
    return SBX_OK;
}

static enum sbx_code too_deep(struct parse *p, struct sbx_pos pos)
{
    sbx_diags_add(p->b.diags, SBX_ERROR, "yaml-limit", pos, "", NULL,
                  "nested deeper than %d levels", SBX_YAML_DEPTH_MAX);
    return SBX_LIMIT;
}

static enum sbx_code open_frame(struct parse *p, struct sbx_yaml_node *n)
{
    if (p->depth == SBX_YAML_DEPTH_MAX)
        return too_deep(p, n->pos);
    if (p->depth == p->frames_cap) {
        size_t cap = p->frames_cap ? p->frames_cap * 2 : 32;
        struct frame *grown = realloc(p->frames, cap * sizeof(*grown));

        if (!grown)
            return SBX_NO_MEMORY;
        p->frames = grown;
        p->frames_cap = cap;
    }
    p->frames[p->depth++] = (struct frame){ n, p->piled };
    return SBX_OK;
}

static enum sbx_code keep_anchor(struct parse *p, struct sbx_yaml_node *n, const yaml_char_t *name)
{
    if (!name)
        return SBX_OK;
    if (!p->anchors)
        p->anchors = calloc(ANCHORS_MAX, sizeof(*p->anchors));
    if (!p->anchors)
        return SBX_NO_MEMORY;
    if (p->n_anchors == ANCHORS_MAX)
        return fail(p, SBX_LIMIT, "yaml-limit", n->pos, NULL, "more than 1000 anchors");
    n->anchor = sbx_arena_strdup(p->b.arena, (const char *)name);
    if (!n->anchor)
        return SBX_NO_MEMORY;
    p->anchors[p->n_anchors++] = (struct anchor){ n->anchor, n };
    return SBX_OK;
}

static enum sbx_code new_node(struct parse *p, const yaml_event_t *e, const yaml_char_t *anchor,
                              const yaml_char_t *tag, struct sbx_yaml_node **ret)
{
    struct sbx_yaml_node *n = sbx_arena_alloc(p->b.arena, sizeof(*n));

    if (!n)
        return SBX_NO_MEMORY;
    n->pos = pos_of(p, e->start_mark, e->end_mark);
    if (tag && strcmp((const char *)tag, "!")) {
        n->tag = sbx_arena_strdup(p->b.arena, (const char *)tag);
        if (!n->tag)
            return SBX_NO_MEMORY;
    }
    *ret = n;
    return keep_anchor(p, n, anchor);
}

static const enum sbx_yaml_style scalar_styles[] = { /* any other is plain */
    [YAML_SINGLE_QUOTED_SCALAR_STYLE] = SBX_YAML_SINGLE,
    [YAML_DOUBLE_QUOTED_SCALAR_STYLE] = SBX_YAML_DOUBLE,
    [YAML_LITERAL_SCALAR_STYLE] = SBX_YAML_LITERAL,
    [YAML_FOLDED_SCALAR_STYLE] = SBX_YAML_FOLDED,
};

static enum sbx_code on_scalar(struct parse *p, const yaml_event_t *e)
{
    struct sbx_yaml_node *n;
    enum sbx_code rc = new_node(p, e, e->data.scalar.anchor, e->data.scalar.tag, &n);

    if (rc)
        return rc;
    n->kind = SBX_YAML_SCALAR;
    n->style = scalar_styles[e->data.scalar.style];
    n->len = e->data.scalar.length;
    n->weight = 1;
    n->text = sbx_arena_memdup(p->b.arena, e->data.scalar.value, n->len);
    if (!n->text)
        return SBX_NO_MEMORY;
    n->misfit = !sbx_yaml_resolve(n);
    if (n->misfit && memmem(n->text, n->len, "${{", 3)) {
        n->type = SBX_YAML_OTHER; /* an error when it is decoded as it is */
    } else if (n->misfit) {
        sbx_diags_add(p->b.diags, SBX_ERROR, "yaml-tag", n->pos, "", "drop the tag",
                      "the tag %s does not fit the value \"%.40s\"", sbx_yaml_type_name(n),
                      n->text);
        return SBX_SYNTAX;
    }
    return push_child(p, n);
}

static enum sbx_code on_start(struct parse *p, const yaml_event_t *e, bool map)
{
    struct sbx_yaml_node *n;
    enum sbx_code rc = map ? new_node(p, e, e->data.mapping_start.anchor,
                                      e->data.mapping_start.tag, &n)
                           : new_node(p, e, e->data.sequence_start.anchor,
                                      e->data.sequence_start.tag, &n);
    bool flow = map ? e->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                    : e->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;

    if (rc)
        return rc;
    n->kind = map ? SBX_YAML_MAPPING : SBX_YAML_SEQUENCE;
    n->type = map ? SBX_YAML_MAP : SBX_YAML_SEQ;
    n->style = flow ? SBX_YAML_FLOW : SBX_YAML_BLOCK;
    return open_frame(p, n);
}

static void measure(struct sbx_yaml_node *n, const struct sbx_yaml_node **children, size_t count)
{
    uint64_t weight = 1;

    for (size_t i = 0; i < count; i++) {
        weight += children[i]->weight;
        if (children[i]->height + 1 > n->height)
            n->height = children[i]->height + 1;
    }
    n->weight = weight > UINT32_MAX ? UINT32_MAX : (uint32_t)weight;
}

static enum sbx_code fill_sequence(struct parse *p, struct sbx_yaml_node *n,
                                   const struct sbx_yaml_node **children, size_t count)
{
    n->len = count;
    n->items = sbx_arena_array(p->b.arena, count, sizeof(struct sbx_yaml_node *));
    if (!n->items)
        return SBX_NO_MEMORY;
    if (count)
        memcpy(n->items, children, count * sizeof(struct sbx_yaml_node *));
    return SBX_OK;
}

static enum sbx_code fill_mapping(struct parse *p, struct sbx_yaml_node *n,
                                  const struct sbx_yaml_node **children, size_t count)
{
    n->len = count / 2;
    n->entries = sbx_arena_array(p->b.arena, n->len, sizeof(*n->entries));
    if (!n->entries)
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < n->len; i++) {
        n->entries[i].key = children[2 * i];
        n->entries[i].value = children[2 * i + 1];
    }
    return sbx_yaml_finish_mapping(&p->b, n);
}

static enum sbx_code on_end(struct parse *p, const yaml_event_t *e)
{
    struct frame f = p->frames[--p->depth];
    size_t count = p->piled - f.base;
    const struct sbx_yaml_node **children = count ? p->pile + f.base : NULL;
    enum sbx_code rc;

    f.node->pos.to = sbx_yaml_offset(&p->starts, e->end_mark.index);
    measure(f.node, children, count);
    rc = f.node->kind == SBX_YAML_MAPPING ? fill_mapping(p, f.node, children, count)
                                          : fill_sequence(p, f.node, children, count);
    if (rc)
        return rc;
    p->piled = f.base;
    return push_child(p, f.node);
}

static enum sbx_code on_alias(struct parse *p, const yaml_event_t *e)
{
    const char *name = (const char *)e->data.alias.anchor;
    struct sbx_pos pos = pos_of(p, e->start_mark, e->end_mark);
    const struct sbx_yaml_node *target = NULL;
    enum sbx_code rc;

    for (size_t i = p->n_anchors; i-- > 0 && !target;)
        if (!strcmp(p->anchors[i].name, name))
            target = p->anchors[i].node;
    if (!target || !target->weight) { /* no weight yet: still open */
        sbx_diags_add(p->b.diags, SBX_ERROR, "yaml-alias", pos, "", NULL,
                      target ? "the value of anchor \"%s\" contains itself"
                             : "no anchor \"%s\" stands before this alias", name);
        return SBX_SYNTAX;
    }
    if (p->depth + target->height > SBX_YAML_DEPTH_MAX)
        return too_deep(p, pos);
    rc = sbx_yaml_add_nodes(&p->b, target->weight, pos);
    return rc ? rc : push_child(p, target);
}

static enum sbx_code on_document(struct parse *p, const yaml_event_t *e)
{
    const yaml_version_directive_t *v = e->data.document_start.version_directive;

    if (!v || (v->major == 1 && v->minor == 1))
        return SBX_OK;
    return fail(p, SBX_SYNTAX, "yaml-syntax", pos_of(p, e->start_mark, e->end_mark),
                "drop the %YAML line", "found incompatible YAML document (only version 1.1 is read)");
}

static enum sbx_code on_event(struct parse *p, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(p, e);
    case YAML_SCALAR_EVENT:
        return on_scalar(p, e);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(p, e, false);
    case YAML_MAPPING_START_EVENT:
        return on_start(p, e, true);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(p, e);
    case YAML_ALIAS_EVENT:
        return on_alias(p, e);
    case YAML_DOCUMENT_END_EVENT: /* later documents are not even parsed */
    case YAML_STREAM_END_EVENT:
        p->done = true;
        return SBX_OK;
    default:
        return SBX_OK;
    }
}

static struct sbx_pos pos_of_byte(struct parse *p, size_t offset)
{
    struct sbx_pos pos = { .file = p->file, .line = 1, .column = 1, .from = offset, .to = offset };

    for (size_t i = 0; i < offset && i < p->starts.len; i++) {
        pos.column++;
        if (p->starts.text[i] == '\n') {
            pos.line++;
            pos.column = 1;
        }
    }
    return pos;
}

static enum sbx_code syntax_error(struct parse *p)
{
    const yaml_parser_t *y = &p->parser;
    const char *problem = y->problem ? y->problem : "not YAML", *hint = NULL;
    struct sbx_pos pos;

    if (y->error == YAML_MEMORY_ERROR)
        return SBX_NO_MEMORY;
    if (y->error == YAML_READER_ERROR)
        pos = pos_of_byte(p, y->problem_offset);
    else
        pos = pos_of(p, y->problem_mark, y->problem_mark);
    if (!p->starts.unknown)
        hint = sbx_yaml_syntax_hint(problem, y->context, p->starts.text, p->starts.len, pos.from);
    if (y->context && y->context_mark.line != y->problem_mark.line)
        sbx_diags_add(p->b.diags, SBX_ERROR, "yaml-syntax", pos, "", hint, "%s (%s that starts on line %zu)",
                      problem, y->context, y->context_mark.line + 1);
    else
        sbx_diags_add(p->b.diags, SBX_ERROR, "yaml-syntax", pos, "", hint, y->context ? "%s (%s)" : "%s",
                      problem, y->context ? y->context : "");
    return SBX_SYNTAX;
}

/* What stands behind the first document is not read, as in the reference; but it is not hidden. */
static void note_rest(struct parse *p)
{
    yaml_event_t e;
    struct sbx_pos pos;
    bool more;

    if (!p->root)
        return;
    more = !yaml_parser_parse(&p->parser, &e) || e.type != YAML_STREAM_END_EVENT;
    if (p->parser.error == YAML_NO_ERROR) {
        pos = pos_of(p, e.start_mark, e.end_mark);
        yaml_event_delete(&e);
    } else {
        pos = pos_of(p, p->parser.problem_mark, p->parser.problem_mark);
    }
    if (more)
        sbx_diags_add(p->b.diags, SBX_WARNING, "more-documents", pos, "", "remove the rest",
                      "only the first document of the file is read");
}

static enum sbx_code read_events(struct parse *p)
{
    enum sbx_code rc = SBX_OK;

    while (!rc && !p->done) {
        yaml_event_t e;

        if (!yaml_parser_parse(&p->parser, &e))
            return syntax_error(p);
        rc = on_event(p, &e);
        yaml_event_delete(&e);
    }
    if (!rc)
        note_rest(p);
    return rc;
}

enum sbx_code sbx_yaml_parse(struct sbx_arena *arena, const char *file, const char *text,
                             size_t len, struct sbx_diags *diags, const struct sbx_yaml_node **ret)
{
    struct parse *p = calloc(1, sizeof(*p));
    enum sbx_code rc = SBX_NO_MEMORY;

    if (!p)
        return rc;
    p->b.arena = arena;
    p->b.diags = diags;
    p->file = file;
    sbx_yaml_offsets_init(&p->starts, text, len);
    p->lines = p->starts;
    if (yaml_parser_initialize(&p->parser)) {
        yaml_parser_set_input_string(&p->parser, (const unsigned char *)text, len);
        rc = read_events(p);
        yaml_parser_delete(&p->parser);
    }
    if (!rc)
        *ret = p->root;
    free(p->frames);
    free(p->pile);
    free(p->anchors);
    free(p);
    return rc;
}
