/* How the rows of a grammar are written (grammar.c, v1_grammar.c). The macros check the member's type. */
#ifndef SBX_KIT_ROWS_H
#define SBX_KIT_ROWS_H

#include "check.h"
#include "custom.h"
#include "field.h"

#define FIELDS(a) .fields = (a), .n_fields = SBX_ARRAY_LEN(a)
/* Offset of a member, if it has this type. */
#define AT(s, m, T) \
    (offsetof(struct s, m) + \
     0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((struct s *)0)->m), T) ? 1 : -1]))
#define STRING(s, m, k, ...) \
    { .key = k, .type = SBX_FIELD_STRING, .offset = AT(s, m, const char *), __VA_ARGS__ }
#define BOOL(s, m, k, ...) \
    { .key = k, .type = SBX_FIELD_BOOL, .offset = AT(s, m, bool), __VA_ARGS__ }
#define INT(s, m, k, ...) \
    { .key = k, .type = SBX_FIELD_INT, .offset = AT(s, m, int), __VA_ARGS__ }
#define STRINGS(s, m, k, ...) \
    { .key = k, .type = SBX_FIELD_STRINGS, .offset = AT(s, m, struct sbx_strs), \
      __VA_ARGS__ }
#define PAIRS(s, m, k, ...) \
    { .key = k, .type = SBX_FIELD_PAIRS, .offset = AT(s, m, struct sbx_pairs), \
      __VA_ARGS__ }
#define LIST(s, m, k, b, ...) \
    { .key = k, .type = SBX_FIELD_LIST, .offset = offsetof(struct s, m), .block = &(b), \
      __VA_ARGS__ }
#define CUSTOM(s, m, k, fn, ...) \
    { .key = k, .type = SBX_FIELD_CUSTOM, .offset = offsetof(struct s, m), \
      .custom = fn, __VA_ARGS__ }
/* A nested block with a struct of its own, and one whose members lie in the same struct. */
#define BLOCK(s, m, k, b, ...) \
    { .key = k, .type = SBX_FIELD_BLOCK, .offset = offsetof(struct s, m), \
      .block = &(b), __VA_ARGS__ }
#define INNER(k, b, ...) \
    { .key = k, .type = SBX_FIELD_BLOCK, .offset = 0, .block = &(b), __VA_ARGS__ }
#define SET(s, m) .set = AT(s, m, bool) + 1

/* The only values of some fields (words.c). */
extern const char *const sbx_words_kind[], *const sbx_words_old_kind[], *const sbx_words_scheme[],
    *const sbx_words_protocol[], *const sbx_words_volume[];

#endif
