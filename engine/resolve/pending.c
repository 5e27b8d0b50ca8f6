/* Until spec/kit has it. Left out of the build then. */
#include "sbx/kit.h"

enum sbx_code sbx_compose(const struct sbx_artifact *base, const struct sbx_artifact *const *mixins,
                          size_t n, const char *const *references, struct sbx_diags *diags,
                          struct sbx_artifact **ret, struct sbx_err *err)
{
    (void)base;
    (void)mixins;
    (void)n;
    (void)references;
    (void)diags;
    (void)ret;
    return sbx_err_set(err, SBX_UNSUPPORTED, "composing kits is not built yet");
}
