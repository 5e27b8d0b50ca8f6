/*
 * The grammar as data. A block is a mapping of the spec file, a field one of its keys; one row drives
 * decoding, hints, type errors, generic checks and the documentation. Order of rows means nothing.
 */
#ifndef SBX_KIT_FIELD_H
#define SBX_KIT_FIELD_H

#include "sbx/kit.h"
#include "sbx/yaml.h"

struct sbx_decoder;
struct sbx_checker;
struct sbx_field;

enum sbx_field_type {
    SBX_FIELD_STRING, /* const char *; any scalar's text */
    SBX_FIELD_BOOL,   /* bool */
    SBX_FIELD_INT,    /* int */
    SBX_FIELD_FLOAT,  /* double */
    SBX_FIELD_STRINGS, /* struct sbx_strs */
    SBX_FIELD_PAIRS,  /* struct sbx_pairs: mapping of strings */
    SBX_FIELD_BLOCK,  /* a struct inside this one, by `block` */
    SBX_FIELD_LIST,   /* SBX_LIST of structs, by `block` */
    SBX_FIELD_NAMED,  /* SBX_LIST of structs from a mapping; the key becomes the name */
    SBX_FIELD_CUSTOM, /* by `custom`; `block` only tells its keys to hints and documentation */
    SBX_FIELD_IGNORED, /* accepted and dropped, with the warning in `doc` */
    SBX_FIELD_JSON, /* json_t *: any mapping; only as the shape of a CUSTOM field */
};

/* Decode a node of a CUSTOM field into the struct at `base`; never called for null. */
typedef void sbx_custom_fn(struct sbx_decoder *d, const struct sbx_field *f,
                           const struct sbx_yaml_node *n, void *base);
/* Check one decoded, non-empty string; report through sbx_check_report(). */
typedef void sbx_check_fn(struct sbx_checker *c, const char *const *place, const char *value);

struct sbx_field {
    const char *key;
    enum sbx_field_type type;
    size_t offset; /* of the value in the block's struct */
    size_t set;    /* 1 + offset of a bool that says the key was given; 0: none */
    const struct sbx_block *block;
    sbx_custom_fn *custom;
    sbx_check_fn *check; /* STRING: each; STRINGS: every item */
    bool required;       /* STRING: must not be empty */
    const char *want;    /* wanted shape for type errors; NULL: by type */
    const char *old;     /* STRINGS, LIST: hint where a mapping is given, as the other version has it */
    /* For writing (yaml.c) and the JSON Schema (schema.c). */
    enum sbx_field_type as; /* CUSTOM: the shape it is written in */
    enum sbx_field_type other; /* CUSTOM: a second shape that is read; the same as `as`: none */
    const struct sbx_block *other_block; /* of `other` */
    bool always;            /* written even if empty */
    bool keep;              /* an empty value that was given is written */
    bool sugar;             /* never written: other fields say the same */
    const char *const *words; /* STRING: the only values, NULL behind the last */
    const char *doc;
};

struct sbx_block {
    const char *name; /* dotted path from the root, "[]" for lists: "credentials[].apiKey" */
    size_t size;
    int at;        /* offset of the struct's origin; -1: none */
    int name_field; /* NAMED: offset of the name; -1: none */
    const struct sbx_field *fields;
    size_t n_fields;
    /* After the fields, with the struct's own node: sugar, rules that need the text's shape. */
    void (*finish)(struct sbx_decoder *d, const struct sbx_yaml_node *n, void *base);
};

extern const struct sbx_block sbx_kit_v2; /* grammar.c: the whole grammar, of struct sbx_artifact */

extern const struct sbx_block sbx_kit_v1; /* v1_grammar.c: of struct sbx_v1 */

/* Keys of the other schema version or of drafts, and what replaces them (moved.c). */
struct sbx_moved {
    const struct sbx_block *grammar; /* of the file: sbx_kit_v1 or sbx_kit_v2 */
    const char *block, *key;
    const char *to;   /* dotted path that the decoder takes; NULL: nothing replaces it */
    const char *note; /* what else to know; NULL: nothing */
};
extern const struct sbx_moved sbx_moved_keys[];
extern const size_t sbx_n_moved_keys;

/* What to write instead of an unknown key; false: no idea. */
bool sbx_hint_for_key(const struct sbx_block *block, const char *key, char *out, size_t size);
/* Does the grammar have this dotted path (lists without "[]")? */
bool sbx_grammar_has(const struct sbx_block *grammar, const char *path);
/* Its field of this name that is not ignored; NULL: none. */
const struct sbx_field *sbx_grammar_field(const struct sbx_block *block, const char *key);

#endif
