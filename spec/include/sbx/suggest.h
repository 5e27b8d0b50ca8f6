/**
 * @file
 * "Did you mean" for flags, commands and fields: the nearest of several names, by edit distance with
 * swaps, if it is near enough.
 *
 *     struct sbx_suggest s = SBX_SUGGEST_INIT(word, strlen(word));
 *     for (...) sbx_suggest_try(&s, names[i]);
 *     if (s.best) ...
 */
#ifndef SBX_SUGGEST_H
#define SBX_SUGGEST_H

#include <stddef.h>

#define SBX_SUGGEST_MAX 48 /* bytes; longer words are not slips of the finger */

struct sbx_suggest {
    const char *word; /**< borrowed, not NUL-terminated */
    size_t len;
    const char *best; /**< nearest so far; NULL: none is near */
    unsigned distance;
};
#define SBX_SUGGEST_INIT(text, bytes) { (text), (bytes), NULL, 0 }

/** Consider one name; the first of equally near ones stays. */
void sbx_suggest_try(struct sbx_suggest *s, const char *name);

#endif
