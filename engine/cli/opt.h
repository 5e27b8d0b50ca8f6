/**
 * @file
 * Command line options as tables: one row serves parsing, help, completion and the reference page.
 *
 * A row's destination is an offset into a struct of options; groups of rows with a struct of their
 * own are shared by verbs, which embed that struct. All-zero is "nothing given".
 */
#ifndef SBX_CLI_OPT_H
#define SBX_CLI_OPT_H

#include <stdbool.h>
#include <stddef.h>

#include "sbx/arena.h"
#include "sbx/err.h"

/** Words of the command line; `v` is not NULL-terminated. */
struct sbx_texts {
    const char **v;
    size_t n;
};

enum sbx_opt_type {
    SBX_OPT_SWITCH, /**< bool; "--x", "--x=true", "--x=false" */
    SBX_OPT_TEXT,   /**< const char *; the last one wins */
    SBX_OPT_LIST,   /**< struct sbx_texts, in the order given */
    SBX_OPT_NUMBER, /**< double, not negative */
    SBX_OPT_COUNT,  /**< unsigned */
};

struct sbx_opt {
    const char *name; /**< without dashes */
    char letter;      /**< 0: none */
    enum sbx_opt_type type;
    size_t at;                  /**< offset in the group's struct */
    const char *value;          /**< what help calls the value; NULL for switches */
    const char *const *choices; /**< NULL-terminated; NULL: anything */
    const char *some;    /**< a choice of few verbs (`sarif`): not named where a value is wrong */
    const char *help;    /**< one line */
    bool hidden;         /**< an older spelling: parsed, not shown */
    const char *refused; /**< known to users of sbx but not built: why; parsing it fails */
};

/* The member must have the type of its row: _Generic has no other branch. */
#define SBX_AT(s, member, type) _Generic(((s *)0)->member, type : offsetof(s, member))
#define SBX_SWITCH(s, m, n, l, h, ...)                                                             \
    {                                                                                              \
        .name = n, .letter = l, .type = SBX_OPT_SWITCH, .at = SBX_AT(s, m, bool), .help = h,       \
        __VA_ARGS__                                                                                \
    }
#define SBX_TEXT(s, m, n, l, val, h, ...)                                                          \
    {                                                                                              \
        .name = n, .letter = l, .type = SBX_OPT_TEXT, .at = SBX_AT(s, m, const char *),            \
        .value = val, .help = h, __VA_ARGS__                                                       \
    }
#define SBX_LISTOF(s, m, n, l, val, h, ...)                                                        \
    {                                                                                              \
        .name = n, .letter = l, .type = SBX_OPT_LIST, .at = SBX_AT(s, m, struct sbx_texts),        \
        .value = val, .help = h, __VA_ARGS__                                                       \
    }
#define SBX_NUMBER(s, m, n, l, val, h, ...)                                                        \
    {                                                                                              \
        .name = n, .letter = l, .type = SBX_OPT_NUMBER, .at = SBX_AT(s, m, double), .value = val,  \
        .help = h, __VA_ARGS__                                                                     \
    }
#define SBX_COUNT(s, m, n, l, val, h, ...)                                                         \
    {                                                                                              \
        .name = n, .letter = l, .type = SBX_OPT_COUNT, .at = SBX_AT(s, m, unsigned), .value = val, \
        .help = h, __VA_ARGS__                                                                     \
    }
/** A flag that users of sbx may type and that is not built. */
#define SBX_REFUSED(n, l, t, val, why)                                                             \
    {                                                                                              \
        .name = n, .letter = l, .type = t, .value = val, .help = why, .hidden = true,              \
        .refused = why                                                                             \
    }

#define SBX_OPT_END                                                                                \
    {                                                                                              \
        .name = NULL                                                                               \
    }

struct sbx_opt_group {
    const char *title;       /**< heading in help; NULL: "Flags" */
    const struct sbx_opt *v; /**< ends with SBX_OPT_END */
    size_t at;               /**< offset of the group's struct in the verb's options */
};

/** A set of groups with the structs they write to. */
struct sbx_opt_set {
    const struct sbx_opt_group *groups;
    size_t n;
    void *into;
};

/** A row and the struct it writes to. */
struct sbx_opt_found {
    const struct sbx_opt *opt;
    char *base;
};

/** Find by long name (`len` bytes); false: none. */
bool sbx_opt_find(const struct sbx_opt_set *sets, size_t n, const char *name, size_t len,
                  struct sbx_opt_found *ret);
bool sbx_opt_find_letter(const struct sbx_opt_set *sets, size_t n, char letter,
                         struct sbx_opt_found *ret);

/**
 * Read the option at argv[*i] ("-abc", "-e V", "-eV", "--name", "--name=V") and move *i behind it.
 *
 * @param max   bound of a list (argc): what one list can hold
 * @param what  the command for messages: "sbx run"
 * @return SBX_OK, SBX_USAGE, SBX_UNSUPPORTED (a refused flag) or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_opt_read(const struct sbx_opt_set *sets, size_t n, int argc,
                                        char *const *argv, int *i, const char *what,
                                        struct sbx_arena *arena, struct sbx_err *err);

#endif
