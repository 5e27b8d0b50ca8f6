#include "sbx/late_seccomp.h"

#include "sbx/late.h"

static struct sbx_seccomp table;

static const struct sbx_late_symbol symbols[] = {
#define SYMBOL(name) { "seccomp_" #name, offsetof(struct sbx_seccomp, name) },
    SBX_SECCOMP_FUNCTIONS(SYMBOL)
};

static struct sbx_late lib = {
    .soname = "libseccomp.so.2",
    .package = "libseccomp2",
    .symbols = symbols,
    .n_symbols = SBX_ARRAY_LEN(symbols),
    .table = &table,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const struct sbx_seccomp *sbx_seccomp(struct sbx_err *err)
{
    return sbx_late_load(&lib, err) == SBX_OK ? &table : NULL;
}
