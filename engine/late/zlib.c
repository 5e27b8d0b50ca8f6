#include "sbx/late_zlib.h"

#include "sbx/late.h"

static struct sbx_zlib table;

static const struct sbx_late_symbol symbols[] = {
#define SYMBOL(name) { #name, offsetof(struct sbx_zlib, name) },
    SBX_ZLIB_FUNCTIONS(SYMBOL)
};

static struct sbx_late lib = {
    .soname = "libz.so.1",
    .package = "zlib1g",
    .symbols = symbols,
    .n_symbols = SBX_ARRAY_LEN(symbols),
    .table = &table,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const struct sbx_zlib *sbx_zlib(struct sbx_err *err)
{
    return sbx_late_load(&lib, err) == SBX_OK ? &table : NULL;
}
