/**
 * @file
 * The synthetic address map (docs/gate-config.md, "The address map"): each name that the DNS door has
 * answered has an address of its own in 198.19.0.0/16, so that a connection to that address says
 * which name was meant. The file is append-only while a sandbox runs; a name is written before its
 * address is told, and no address goes to another name until the sandbox was stopped.
 */
#ifndef SBX_GATE_NAMES_H
#define SBX_GATE_NAMES_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/err.h"

struct sbx_names; /* opaque */

enum sbx_name_given {
    SBX_NAME_GIVEN,
    SBX_NAME_FULL,   /**< the cap of names is reached */
    SBX_NAME_EARLY,  /**< too many new names in this second */
    SBX_NAME_FAILED, /**< it could not be written down */
};

/**
 * Read the map of a file.
 * @param fd    read and append; borrowed. A last line that was cut short by a crash is cut off.
 * @param fresh the sandbox starts anew: names that were never connected are forgotten, and the file
 *              is written anew
 * @return SBX_OK, SBX_SYNTAX (the line is named), SBX_LIMIT, SBX_NO_MEMORY or SBX_FAILED
 */
SBX_MUST_USE enum sbx_code sbx_names_open(int fd, bool fresh, struct sbx_names **ret,
                                          struct sbx_err *err);
/** Take in the text of a map, whole lines; part of sbx_names_open(). */
SBX_MUST_USE enum sbx_code sbx_names_parse(struct sbx_names *n, const char *text, size_t len,
                                           struct sbx_err *err);
struct sbx_names *sbx_names_new(int fd); /**< An empty map; NULL: no memory. */
void sbx_names_clear(struct sbx_names *n); /**< As it was when new; its file stays as it is. */
void sbx_names_free(struct sbx_names *n);  /**< NULL is fine. */

/** The address of a name (sbx_host.text, not an address), given now if it has none. */
enum sbx_name_given sbx_names_give(struct sbx_names *n, const char *name, uint64_t now_ms,
                                   struct in6_addr *ret);
/** Is it in the range of synthetic addresses, given or not? */
bool sbx_names_in_range(const struct in6_addr *a);
const char *sbx_names_find(const struct sbx_names *n, const struct in6_addr *a); /**< or NULL */
/** The name was connected: it keeps its address over a stop and start. */
void sbx_names_use(struct sbx_names *n, const struct in6_addr *a);
unsigned sbx_names_count(const struct sbx_names *n);

#endif
