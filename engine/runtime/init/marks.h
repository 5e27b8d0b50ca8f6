/**
 * @file
 * The engine's marks in /run/sbx: may the startup list run? Nothing inside can write there.
 */
#ifndef SBX_INIT_MARKS_H
#define SBX_INIT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

/** SO_NETNS_COOKIE of this network namespace; 0 where the kernel has none (no mark fits then). */
uint64_t sbx_netns_cookie(void);

/**
 * The gate is up for this namespace: gate-COOKIE, whose text is empty or this boot's id, since cookies
 * begin anew at each boot.
 * @param dir the directory of the marks, open
 */
bool sbx_marks_gate(int dir, uint64_t cookie, const char *boot_id);
/** So it is, and the steps of the newest start are done (done-COOKIE-N of start's COOKIE N). */
bool sbx_marks_ready(int dir, uint64_t cookie, const char *boot_id);

#endif
