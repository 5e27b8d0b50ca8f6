/* References that need a fetcher, where the caller has none: without a home there is no cache. */
#include "resolve_impl.h"

static const struct {
    const char *what;
    enum sbx_ref_kind kind;
} rows[] = {
    { "a kit from a git repository", SBX_REF_GIT },
    { "a kit from a registry", SBX_REF_OCI },
    { "a kit from a layout", SBX_REF_LAYOUT },
};

enum sbx_code sbx_unbuilt_ref(const struct sbx_ref *ref, struct sbx_err *err)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (rows[i].kind == ref->kind)
            return sbx_err_set(err, SBX_UNSUPPORTED, "%s cannot be fetched: no place for a cache (is HOME set?)",
                               rows[i].what);
    return SBX_OK;
}
