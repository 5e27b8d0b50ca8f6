#include "sbx/late_archive.h"

#include "sbx/late.h"

static struct sbx_archive table;

static const struct sbx_late_symbol symbols[] = {
#define SYMBOL(name) { "archive_" #name, offsetof(struct sbx_archive, name) },
    SBX_ARCHIVE_FUNCTIONS(SYMBOL)
};

static struct sbx_late lib = {
    .soname = "libarchive.so.13",
    .package = "libarchive13",
    .symbols = symbols,
    .n_symbols = SBX_ARRAY_LEN(symbols),
    .table = &table,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const struct sbx_archive *sbx_archive(struct sbx_err *err)
{
    return sbx_late_load(&lib, err) == SBX_OK ? &table : NULL;
}
