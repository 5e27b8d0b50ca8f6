/**
 * @file
 * Results: one JSON or YAML value, or columns. Everything else goes to stderr (decision C2).
 */
#ifndef SBX_CLI_OUT_H
#define SBX_CLI_OUT_H

#include "cli.h"
#include "sbx/json.h"

#define SBX_COLUMNS_MAX 10    /* columns of a table; `policy log` has 8 */
#define SBX_OUT_MAX 268435456 /* bytes of one output: a log at its cap of 64 MiB, as pretty JSON */

/**
 * Print the one value of a command in JSON or YAML as `cli->format` says (TABLE: JSON).
 * Steals `value`; NULL means no memory.
 */
SBX_MUST_USE enum sbx_code sbx_out_value(struct sbx_cli *cli, json_t *value, struct sbx_err *err);
/** Block-style YAML of a JSON value: strings quoted where YAML would read something else. */
SBX_MUST_USE enum sbx_code sbx_yaml_write(const json_t *value, struct sbx_buf *out);

/**
 * One JSON object on a line of stderr: what a command tells while it works, where its result is JSON. A
 * single write, from any thread. Steals `event`; NULL (no memory) is not told.
 */
void sbx_out_event(const struct sbx_cli *cli, json_t *event);
/** An event of this kind with its text, repaired where that is not UTF-8; the caller may add to it. */
json_t *sbx_out_event_of(const char *kind, const char *text);

/** Columns aligned by the widest cell; the last column is not padded. */
struct sbx_columns {
    struct sbx_arena *arena;
    const char *const *head;
    size_t n; /**< columns, at most SBX_COLUMNS_MAX */
    const char **cells;
    size_t len, cap; /**< rows */
};

/** Add a row of `n` cells, copied and made safe for a terminal; NULL and "" print as "-". */
SBX_MUST_USE enum sbx_code sbx_columns_add(struct sbx_columns *c, const char *const *cells,
                                           struct sbx_err *err);
void sbx_columns_print(const struct sbx_columns *c, FILE *out);

/** Text made safe for a terminal (sbx_text_escape); NULL gives "-"; in arena, NULL: no memory. */
const char *sbx_out_clean(struct sbx_arena *arena, const char *text);
#define SBX_OUT_COMMAND_MAX 72 /* bytes of a command in a line for people; JSON has it whole */
/** A command in one line, shortened; of a shell's the script alone. In arena; NULL: no memory. */
const char *sbx_out_command(struct sbx_arena *arena, const char *const *argv);
/** "3 minutes ago" of an RFC 3339 time or Unix seconds; in arena. */
const char *sbx_out_ago(struct sbx_arena *arena, long long then, long long now);
/** "12.3MB" as docker prints sizes (powers of 1000); in arena. */
const char *sbx_out_size(struct sbx_arena *arena, long long bytes);

#endif
