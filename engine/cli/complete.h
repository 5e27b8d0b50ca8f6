/**
 * @file
 * What a shell may offer for the last word of an unfinished command line.
 */
#ifndef SBX_CLI_COMPLETE_H
#define SBX_CLI_COMPLETE_H

#include "cli.h"

/** Where the names of sandboxes come from; tests give their own. */
typedef void (*sbx_names_fn)(const char *app, void (*name)(void *ctx, const char *text), void *ctx);

/**
 * Print candidates for words[n-1], one a line, "TEXT<tab>DESCRIPTION"; ":files" and ":dirs" ask the
 * shell for paths.
 */
void sbx_complete(const char *const *words, size_t n, sbx_names_fn names, FILE *out);

#endif
