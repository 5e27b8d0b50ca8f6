/**
 * @file
 * YAML text to a tree whose nodes know where they stand. One document, libyaml underneath, values
 * read the way the public reference reads them (its Go decoder), so that equal files mean the same.
 *
 * The tree is made in one arena and does not change, but for sbx_yaml_replace(). Aliases point to the anchored node itself, merge
 * keys (`<<`, plain only) are already applied. Scalars keep their text; the typed accessors below
 * decide what the text may stand for.
 * Source: YAML 1.1 as libyaml 0.2.5 reads it, decisions S16 and S17.
 */
#ifndef SBX_YAML_H
#define SBX_YAML_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/arena.h"
#include "sbx/buf.h"
#include "sbx/diag.h"

#define SBX_YAML_DEPTH_MAX 10000 /* levels, aliases followed; the reference's own bound */
#define SBX_YAML_ALIAS_MAX 100000 /* nodes that aliases and merges may add; honest files add dozens */
#define SBX_YAML_JSON_DEPTH_MAX 64 /* levels of a value turned into JSON; written and freed recursively */

enum sbx_yaml_kind { SBX_YAML_SCALAR, SBX_YAML_SEQUENCE, SBX_YAML_MAPPING };

enum sbx_yaml_style { SBX_YAML_PLAIN, SBX_YAML_SINGLE, SBX_YAML_DOUBLE, SBX_YAML_LITERAL,
                      SBX_YAML_FOLDED, SBX_YAML_BLOCK, SBX_YAML_FLOW };

/** What a node is, after its tag and (plain scalars) its text. */
enum sbx_yaml_type {
    SBX_YAML_NULL, SBX_YAML_BOOL, SBX_YAML_INT, SBX_YAML_FLOAT, SBX_YAML_TIMESTAMP, SBX_YAML_STR,
    SBX_YAML_BINARY, SBX_YAML_MERGE, SBX_YAML_SEQ, SBX_YAML_MAP, SBX_YAML_OTHER /* a tag of its own */
};

struct sbx_yaml_node;

struct sbx_yaml_entry {
    const struct sbx_yaml_node *key, *value;
    bool merged; /**< came in through `<<` */
};

struct sbx_yaml_node {
    enum sbx_yaml_kind kind;
    enum sbx_yaml_style style;
    enum sbx_yaml_type type;
    const char *tag;    /**< as written, resolved by %TAG; NULL: none (or the non-specific "!") */
    const char *anchor; /**< NULL: none */
    struct sbx_pos pos;
    const char *text;   /**< scalars: the value, NUL behind it (and perhaps within) */
    size_t len;         /**< bytes of `text`, items, or entries */
    const struct sbx_yaml_node **items; /**< sequences */
    struct sbx_yaml_entry *entries;     /**< mappings, in the file's order, merged ones last */
    bool broken;        /**< a mapping with a key given twice: reported, not to be decoded */
    bool misfit;        /**< its tag cannot be for this text, which holds "${{" and may be replaced */
    bool marked;        /**< scratch of whoever walks the tree once */
    uint32_t height, weight; /* levels below; nodes below, aliases followed (bounds) */
};

/**
 * Parse the first document of a text. Syntax errors and keys given twice are added to `diags`.
 *
 * @param arena owns the tree
 * @param file  names the text in positions; borrowed by the tree
 * @param ret   the root; NULL for a text without a document (empty, comments only)
 * @return SBX_OK (see diags->errors for keys given twice); SBX_SYNTAX or SBX_LIMIT with one finding
 *         in `diags`; SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_yaml_parse(struct sbx_arena *arena, const char *file,
                                          const char *text, size_t len, struct sbx_diags *diags,
                                          const struct sbx_yaml_node **ret);

/** Value of a key of a mapping (exact text); NULL: no such key, or not a mapping. */
const struct sbx_yaml_node *sbx_yaml_get(const struct sbx_yaml_node *map, const char *key);
static inline bool sbx_yaml_is_null(const struct sbx_yaml_node *n)
{
    return n->type == SBX_YAML_NULL;
}
/** Does a scalar's text equal this C string? */
bool sbx_yaml_is(const struct sbx_yaml_node *n, const char *text);

/**
 * Any scalar as a string: its text as written (1.20, yes, 0644), binary decoded, null as "".
 * @return NULL: not a scalar, bad base64, or a NUL inside (no field of ours may hold one)
 */
const char *sbx_yaml_string(struct sbx_arena *arena, const struct sbx_yaml_node *n);
/** An integer, or a float cut towards zero (then *ret_cut); false: neither, or out of range. */
bool sbx_yaml_int(const struct sbx_yaml_node *n, int64_t *ret, bool *ret_cut);
bool sbx_yaml_float(const struct sbx_yaml_node *n, double *ret);
/** A boolean, or y/yes/on/n/no/off, even quoted (then *ret_word). */
bool sbx_yaml_bool(const struct sbx_yaml_node *n, bool *ret, bool *ret_word);
/**
 * A value without a schema as JSON.
 * @return SBX_OK; SBX_SCHEMA (err says what JSON cannot hold), SBX_LIMIT (too deep), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_yaml_json(struct sbx_arena *arena, const struct sbx_yaml_node *n,
                                         json_t **ret, struct sbx_err *err);
/**
 * Give a scalar another text, before the tree is decoded. A quoted one stays a string; any other, and
 * any with a tag, loses style and tag and stands for what the text would if it were written plain.
 *
 * @param text lives as long as the tree, NUL behind it
 */
void sbx_yaml_replace(const struct sbx_yaml_node *n, const char *text, size_t len);
/** What a text would be as a plain scalar without a tag. */
enum sbx_yaml_type sbx_yaml_plain_type(const char *text);

#define SBX_YAML_SIMPLE_KEY_MAX 500 /* bytes of a key written as "key:", with its escapes; libyaml reads up to 1024 */
/**
 * Append a string as a block scalar, plain, quoted or literal, so that it is read as the same string.
 *
 * @param indent column of a literal's lines: two more than the mapping's or the dash's
 * @return SBX_OK, SBX_SCHEMA (not UTF-8), SBX_LIMIT or SBX_NO_MEMORY (of `out`)
 */
SBX_MUST_USE enum sbx_code sbx_yaml_write_text(struct sbx_buf *out, const char *text,
                                               unsigned indent);
/** Append a key and its colon; `indent` is the mapping's column. */
SBX_MUST_USE enum sbx_code sbx_yaml_write_key(struct sbx_buf *out, const char *text,
                                              unsigned indent);
/** Order of keys for people: numbers by value, other signs before letters, capitals first. */
int sbx_yaml_key_order(const char *a, const char *b);

/** "!!str", "!!int", "!!map", "!custom" ... for messages. */
const char *sbx_yaml_type_name(const struct sbx_yaml_node *n);
/** What a user calls it: "a string", "a list", "a mapping", "a number" ... */
const char *sbx_yaml_noun(const struct sbx_yaml_node *n);

#endif
