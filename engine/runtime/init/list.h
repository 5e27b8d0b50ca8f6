/**
 * @file
 * The startup list: /etc/durable-startup.d/list, one command a line, tab-separated:
 * SCRIPT KIT INDEX USER BACKGROUND DESCRIPTION.
 */
#ifndef SBX_INIT_LIST_H
#define SBX_INIT_LIST_H

#include <stdbool.h>

struct sbx_command {
    const char *script; /* a file name in SBX_LIST_DIR */
    const char *kit, *index, *user;
    bool background;
};

/**
 * Read one line, cutting it up; the fields point into it.
 * @return NULL, or what is wrong with the line
 */
const char *sbx_list_parse(char *line, struct sbx_command *ret);

/** KIT-INDEX.log for `c`, with every byte that is no letter, digit, "." or "_" as "-". */
void sbx_list_log_name(const struct sbx_command *c, char out[256]);

#endif
