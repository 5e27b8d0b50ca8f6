/**
 * @file
 * The decision log of a sandbox (docs/gate-config.md, "Log records"), read and summed up: one row for
 * each host, port, kind of way, rule and reason.
 */
#ifndef SBX_CLI_LOGVIEW_H
#define SBX_CLI_LOGVIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "sbx/arena.h"
#include "sbx/err.h"

#define SBX_LOG_LINE_MAX 65536  /* bytes of a record; the gate's longest is below 2 KiB */
#define SBX_LOG_ROWS_MAX 100000 /* rows of a summary; a sandbox can ask for any number of names */

#define SBX_LOG_PARTS 2 /* of a log: the older one, and the one that is written */

enum sbx_log_section {
    SBX_LOG_BLOCKED,
    SBX_LOG_ALLOWED,
    SBX_LOG_FAILED,
    SBX_LOG_ENDED, /**< why its gate ended: no requests */
    SBX_LOG_SECTIONS
};

struct sbx_log_row {
    const char *sandbox, *type, *host, *proxy, *rule, *reason; /**< host with its port; in arena */
    const char *first, *last;                                  /**< RFC 3339 */
    long long count;
    long long bytes_in, bytes_out, duration_ms; /**< of those that have ended, together */
    enum sbx_log_section section;
};

/** Starts as { .arena = ... }. */
struct sbx_log_view {
    struct sbx_arena *arena;
    struct sbx_log_row *rows;
    size_t n, cap;
    const char *since; /**< RFC 3339 in UTC: older records do not count; NULL: all do */
    json_t *index;     /* key of a row -> its number */
    long long lost;    /**< records that the gate could not write */
    bool full;         /**< the log ends with the record of its cap */
    bool running;      /**< the gate of the records before has not said why it ended */
    size_t skipped;    /**< lines that were no record, and rows over the bound */
};
void sbx_log_view_release(struct sbx_log_view *v);
SBX_DEFINE_AUTO(sbx_log_view, sbx_log_view_release);

/**
 * Open both parts, the older one first; NULL: not there. SBX_IO: one cannot be read.
 * @param ret all NULL; the caller's: sbx_log_close()
 */
SBX_MUST_USE enum sbx_code sbx_log_open(const char *path, FILE *ret[SBX_LOG_PARTS],
                                        struct sbx_err *err);
void sbx_log_close(FILE *parts[SBX_LOG_PARTS]);
/** One part; NULL with errno. */
FILE *sbx_log_open_part(const char *path, bool older, struct stat *ret_st);

/** Sum up one log. A line cut at the end (the gate is writing) is no error. */
SBX_MUST_USE enum sbx_code sbx_log_view_add(struct sbx_log_view *v, FILE *log, struct sbx_err *err);
/** Is the record of that time or later? `since` NULL: yes. */
bool sbx_log_is_since(const json_t *record, const char *since);
/**
 * "10m", "2h30m", "3d", Unix seconds, a date or a time of RFC 3339 as what records carry; in arena.
 * @param now Unix seconds
 * @return SBX_OK, SBX_USAGE, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_log_since(struct sbx_arena *arena, const char *text, long long now,
                                         const char **ret, struct sbx_err *err);
/** Newest first. */
void sbx_log_view_sort(struct sbx_log_view *v);

#endif
