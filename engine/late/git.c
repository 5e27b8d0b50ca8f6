#include "sbx/late_git.h"

#include "sbx/late.h"

static struct sbx_git2 table;

static bool ready(void) { return table.libgit2_init() > 0; }

static const struct sbx_late_symbol symbols[] = {
#define SYMBOL(name) { "git_" #name, offsetof(struct sbx_git2, name) },
    SBX_GIT_FUNCTIONS(SYMBOL)
};

static struct sbx_late lib = {
    .soname = "libgit2.so." LIBGIT2_SOVERSION,
    .package = "libgit2-" LIBGIT2_SOVERSION,
    .symbols = symbols,
    .n_symbols = SBX_ARRAY_LEN(symbols),
    .table = &table,
    .ready = ready,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const struct sbx_git2 *sbx_git2(struct sbx_err *err)
{
    return sbx_late_load(&lib, err) == SBX_OK ? &table : NULL;
}
