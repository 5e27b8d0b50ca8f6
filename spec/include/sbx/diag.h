/**
 * @file
 * The one diagnostic type: what is wrong (or noteworthy) in an input, where, and what to write
 * instead. All findings of one run are gathered in a list, so that a user sees them at once.
 * Text form: `file:line:column: path: message (value); hint`, safe for a terminal whatever bytes the
 * input had. JSON form: decision S28, always valid UTF-8.
 */
#ifndef SBX_DIAG_H
#define SBX_DIAG_H

#include <stdbool.h>
#include <stdio.h>

#include "sbx/arena.h"
#include "sbx/buf.h"
#include "sbx/err.h"

#define SBX_DIAGS_MAX 1000 /* findings kept in one list; past it only the count goes on */

enum sbx_severity { SBX_ERROR, SBX_WARNING, SBX_NOTE };

struct sbx_diag {
    enum sbx_severity severity;
    const char *code;    /**< stable, kebab-case, static: "unknown-field" */
    struct sbx_pos pos;  /**< `file` is kept by the list */
    const char *path;    /**< "credentials[0].apiKey"; "" for the whole document */
    const char *message; /**< what is wrong, with the value */
    const char *hint;    /**< what to write instead; NULL: nothing to add */
};

struct sbx_diags {
    struct sbx_arena *arena;
    struct sbx_diag *v;
    size_t len, cap;
    size_t errors; /**< of severity SBX_ERROR, beyond the kept ones too */
    size_t dropped;
    size_t max; /**< findings kept where it is larger than SBX_DIAGS_MAX; 0: that */
    bool no_memory; /**< a finding, or what would have made one, was lost for want of memory */
};

/** SBX_OK or SBX_NO_MEMORY. */
SBX_MUST_USE enum sbx_code sbx_diags_init(struct sbx_diags *d);
void sbx_diags_release(struct sbx_diags *d);
SBX_DEFINE_AUTO(sbx_diags, sbx_diags_release);

/**
 * Add a finding; everything is copied but `code`. `hint` may be NULL. Running out of memory sets
 * `no_memory` and is counted as `dropped`, and as an error if it was one.
 */
void sbx_diags_add(struct sbx_diags *d, enum sbx_severity severity, const char *code,
                   struct sbx_pos pos, const char *path, const char *hint, const char *fmt, ...)
    SBX_PRINTF(7, 8);
/** Forget the findings of one code and severity: another check has settled them. Keeps `errors` true. */
void sbx_diags_drop(struct sbx_diags *d, enum sbx_severity severity, const char *code);
/** Copy all findings of another list; of those that it dropped only the count. */
void sbx_diags_append(struct sbx_diags *d, const struct sbx_diags *more);
/** Put the findings in the order of file (as first seen), line and column. */
void sbx_diags_sort(struct sbx_diags *d);
/** One finding as text, without a newline. */
SBX_MUST_USE enum sbx_code sbx_diag_text(const struct sbx_diag *d, struct sbx_buf *out);
const char *sbx_severity_name(enum sbx_severity s); /**< "error", "warning", "note" */
/** Write all findings as text lines. */
void sbx_diags_print(const struct sbx_diags *d, FILE *out);

struct json_t;
/** The list `[{severity, code, file, line, column, path, message, hint}]`; NULL: no memory. */
struct json_t *sbx_diags_json(const struct sbx_diags *d);
/**
 * The whole as a SARIF 2.1.0 log of one run, for code scanners; `version` is the tool's. Columns are UTF-16
 * code units, for which the files are read again; a file that cannot be has lines only. NULL: no memory.
 */
struct json_t *sbx_diags_sarif(const struct sbx_diags *d, const char *version);
/**
 * The source line and, below it, a caret where the finding stands: two lines, no newline at the end,
 * safe for a terminal. Nothing if the file cannot be read or its line is too long to be of use.
 */
SBX_MUST_USE enum sbx_code sbx_diag_excerpt(const struct sbx_diag *d, struct sbx_buf *out);

#endif
