/* Arguments inside the loader: the scanner of references, and substitution in trees and files. */
#ifndef SBX_KIT_ARGS_H
#define SBX_KIT_ARGS_H

#include "sbx/args.h"
#include "sbx/buf.h"
#include "sbx/kit.h"
#include "sbx/yaml.h"

/* ---- values (args_values.c) ---- */

/* A value that the user gave, and how: "--kit-arg a.b", "FILE:3". */
struct sbx_arg_value {
    const char *text, *from;
};
/*
 * The value for an argument that `kit` declares, NULL text: none was given. Notes that the name is
 * declared, for sbx_arg_values_finish(); false: no memory for that.
 */
bool sbx_arg_values_take(struct sbx_arg_values *v, const char *kit, const char *name,
                         struct sbx_arg_value *ret);

/* ---- references (args_scan.c) ---- */

/* The value of a name, or NULL: it is not declared (the callback remembers that itself). */
typedef const char *sbx_arg_find_fn(void *data, const char *name, size_t len);
/*
 * Copy `text` into `out`, each `${{ kit.args.NAME }}` replaced and each `$${{` unescaped; `*changed`
 * tells whether there was any. Values are not scanned again. References to unknown names stay.
 * SBX_OK; SBX_SYNTAX (err says which reference is malformed); SBX_LIMIT (out is full), SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_args_expand(const char *text, size_t len, sbx_arg_find_fn *find,
                                           void *data, struct sbx_buf *out, bool *changed,
                                           struct sbx_err *err);
/* Is there "${{", white space and "kit.args." anywhere? Mapping keys may not have it. */
bool sbx_args_mentioned(const char *text, size_t len);

/* ---- substitution of one kit (args_tree.c, args_files.c) ---- */

/* A scalar or a file with references: which names stood there. */
struct sbx_arg_use {
    struct sbx_pos pos;
    const char *names; /* "channel, version" */
};

struct sbx_substitution {
    const struct sbx_arg *args; /* the declarations */
    size_t n_args;
    const char **values; /* parallel to args; NULL: none, which was reported */
    struct sbx_arg_use *uses;
    size_t n_uses, uses_cap;
    bool open; /* nothing was replaced: uses tells where references are */
};

/* Looks names up while one text is expanded (args_look.c); unknown ones become findings at `pos`. */
struct sbx_args_lookup {
    struct sbx_artifact *a;
    struct sbx_diags *diags;
    struct sbx_pos pos;
    const char *names;
    bool no_memory;
};
/* A name behind "channel, version" (NULL: none yet), unless it is there; NULL: no memory. */
const char *sbx_args_names_add(struct sbx_arena *arena, const char *names, const char *name, size_t len);
void sbx_args_look_begin(struct sbx_args_lookup *l, struct sbx_pos pos);
const char *sbx_args_look(void *lookup, const char *name, size_t len); /* sbx_arg_find_fn */
bool sbx_args_look_keep(struct sbx_args_lookup *l); /* note the use; false: no memory */

/*
 * Between parsing and decoding: read the declarations below the root key `args`, find the values, and
 * replace references in every scalar that is a value. Sets a->substitution.
 * SBX_OK; SBX_SCHEMA (errors are in diags), SBX_NO_MEMORY
 */
enum sbx_code sbx_args_substitute(struct sbx_artifact *a, const struct sbx_yaml_node *root,
                                  struct sbx_arg_values *values, struct sbx_diags *diags);
/*
 * Find the scalars with references to declared arguments and leave them as they are. Sets a->substitution, unless the
 * declarations are faulty, which decoding tells. SBX_OK, SBX_NO_MEMORY
 */
enum sbx_code sbx_args_find(struct sbx_artifact *a, const struct sbx_yaml_node *root);
/*
 * The same in the bytes of a->files; after the digest was taken. `root` is the kit's directory, where
 * only files below files/ are looked into; NULL: all of them are.
 * SBX_OK; SBX_SCHEMA (errors are in diags), SBX_IO, SBX_LIMIT, SBX_NO_MEMORY
 */
enum sbx_code sbx_args_files(struct sbx_artifact *a, const char *root, struct sbx_diags *diags,
                             struct sbx_err *err);

#endif
