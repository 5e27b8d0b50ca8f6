/* Which grammar a spec is of: by schemaVersion, and where that is missing or wrong, by its keys. */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "version.h"

/* The first key of the root or a block below it that only one version has. */
struct clues {
    const char *of_1, *of_2;
    struct sbx_diags *diags; /* gets a note at each key of version 2; NULL: none are wanted */
};

static void weigh(struct clues *c, const struct sbx_yaml_node *map, const struct sbx_block *v1,
                  const struct sbx_block *v2);

static void take(struct clues *c, int version, const char *key, struct sbx_pos pos)
{
    const char **first = version == 1 ? &c->of_1 : &c->of_2;

    if (!*first)
        *first = key;
    if (version == 2 && c->diags)
        sbx_diags_add(c->diags, SBX_NOTE, "version-guess", pos, "", NULL, "\"%s\" is of version 2", key);
}

/* A key that both have, but as a mapping in one and a list in the other. */
static void weigh_shape(struct clues *c, const struct sbx_yaml_entry *e, const struct sbx_field *one,
                        const struct sbx_field *two)
{
    enum sbx_yaml_kind kind = e->value->kind;

    if (one->type != SBX_FIELD_BLOCK || kind == SBX_YAML_SCALAR)
        return;
    if (two->type == SBX_FIELD_BLOCK)
        weigh(c, e->value, one->block, two->block);
    else if (two->type == SBX_FIELD_STRINGS)
        take(c, kind == SBX_YAML_MAPPING ? 1 : 2, e->key->text, e->value->pos);
}

static void weigh_entry(struct clues *c, const struct sbx_yaml_entry *e, const struct sbx_block *v1,
                        const struct sbx_block *v2)
{
    const struct sbx_field *one = sbx_grammar_field(v1, e->key->text);
    const struct sbx_field *two = sbx_grammar_field(v2, e->key->text);

    if (one && two)
        weigh_shape(c, e, one, two);
    else if (one || two)
        take(c, one ? 1 : 2, e->key->text, e->key->pos);
}

static void weigh(struct clues *c, const struct sbx_yaml_node *map, const struct sbx_block *v1,
                  const struct sbx_block *v2)
{
    for (size_t i = 0; map->kind == SBX_YAML_MAPPING && i < map->len; i++)
        if (map->entries[i].key->kind == SBX_YAML_SCALAR)
            weigh_entry(c, &map->entries[i], v1, v2);
}

static struct clues clues_of(const struct sbx_yaml_node *root, struct sbx_diags *diags)
{
    struct clues c = { NULL, NULL, diags };

    weigh(&c, root, &sbx_kit_v1, &sbx_kit_v2);
    return c;
}

static bool is_version(const struct sbx_yaml_node *root, const char *version)
{
    const struct sbx_yaml_node *n = sbx_yaml_get(root, "schemaVersion");

    return n && sbx_yaml_is(n, version);
}

bool sbx_kit_is_version_2(const struct sbx_yaml_node *root)
{
    struct clues c;

    if (is_version(root, "1") || is_version(root, "2"))
        return is_version(root, "2");
    c = clues_of(root, NULL);
    return c.of_2 && !c.of_1; /* any other is read as the reference reads it */
}

void sbx_kit_version_hint(const struct sbx_yaml_node *root, char *out, size_t size)
{
    struct clues c = clues_of(root, NULL);

    if (c.of_1 && !c.of_2)
        snprintf(out, size, "write schemaVersion: \"1\", since \"%.60s\" is of version 1", c.of_1);
    else
        snprintf(out, size, "write schemaVersion: \"2\"");
}

enum sbx_code sbx_kit_check_version(const char *file, const struct sbx_yaml_node *root,
                                    struct sbx_diags *diags)
{
    struct sbx_pos pos = { .file = file, .line = 1, .column = 1 };
    const struct sbx_yaml_node *n;

    if (!root) {
        sbx_diags_add(diags, SBX_ERROR, "empty-file", pos, "", "begin with schemaVersion: \"2\"",
                      "the file is empty");
        return SBX_SCHEMA;
    }
    n = sbx_yaml_get(root, "schemaVersion");
    if (n && sbx_yaml_is(n, "3") && !sbx_yaml_get(root, "name")) { /* which version 3 does not have */
        sbx_diags_add(diags, SBX_ERROR, "bad-version", n->pos, "schemaVersion",
                      "use the kit's version 2, or write schemaVersion: \"2\"",
                      "this is a kit of version 3, which sbx does not read");
        return SBX_SCHEMA;
    }
    if (!is_version(root, "2") && sbx_kit_is_version_2(root))
        clues_of(root, diags);
    return SBX_OK; /* a missing or unknown one is reported with the rest */
}
