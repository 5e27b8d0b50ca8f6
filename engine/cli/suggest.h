/**
 * @file
 * What a sandbox asked for, as the rules a kit would need (decision N13): read from its decision log.
 */
#ifndef SBX_CLI_SUGGEST_H
#define SBX_CLI_SUGGEST_H

#include <jansson.h>
#include <stdio.h>

#include "sbx/err.h"

#define SBX_SUGGEST_SIBLINGS 3 /* names below one parent that become a wildcard */
#define SBX_SUGGEST_MAX 20000  /* hosts and ports of one log: a kit may have as many rules */

/**
 * Read records of a log into `asked`: {"allow": {HOST:PORT: {"count", "steps": {STEP: true}}}, "refused": the same
 * with "reason"}. A host and port is in one of both: its last verdict counts. Called for each part, the oldest first.
 * @return SBX_OK, SBX_LIMIT, SBX_IO or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_suggest_read(FILE *log, json_t *asked, struct sbx_err *err);
/**
 * {"permissions": {"network": {"allow": [PATTERN...]}}, "rules": [{"pattern", "hosts", "steps", "count"}],
 *  "refused": [{"host", "reason", "steps", "count"}]}, sorted. NULL: no memory.
 */
json_t *sbx_suggest_rules(const json_t *asked);

#endif
