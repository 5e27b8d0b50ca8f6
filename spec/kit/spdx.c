/* License identifiers. An unknown one is a warning, never an error: the list grows. */
#include "spdx.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sbx/suggest.h"

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

static bool is_in(const char *const *ids, size_t n, const char *text)
{
    return bsearch(text, ids, n, sizeof(*ids), compare) != NULL;
}

enum sbx_spdx sbx_spdx_status(const char *text)
{
    if (is_in(sbx_spdx_ids, sbx_n_spdx_ids, text) || !strncmp(text, "LicenseRef-", 11))
        return SBX_SPDX_KNOWN;
    return is_in(sbx_spdx_old_ids, sbx_n_spdx_old_ids, text) ? SBX_SPDX_DEPRECATED : SBX_SPDX_UNKNOWN;
}

const char *sbx_spdx_suggest(const char *text)
{
    struct sbx_suggest s = SBX_SUGGEST_INIT(text, strlen(text));

    for (size_t i = 0; i < sbx_n_spdx_ids; i++)
        if (!strcasecmp(sbx_spdx_ids[i], text))
            return sbx_spdx_ids[i];
    for (size_t i = 0; i < sbx_n_spdx_ids; i++)
        sbx_suggest_try(&s, sbx_spdx_ids[i]);
    return s.best;
}
