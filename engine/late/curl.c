#include "sbx/late_curl.h"

#include "sbx/late.h"

static struct sbx_curl table;

static bool ready(void) { return table.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; }

static const struct sbx_late_symbol symbols[] = {
#define SYMBOL(name) { "curl_" #name, offsetof(struct sbx_curl, name) },
    SBX_CURL_FUNCTIONS(SYMBOL)
};

static struct sbx_late lib = {
    .soname = "libcurl.so.4",
    .package = "libcurl4",
    .symbols = symbols,
    .n_symbols = SBX_ARRAY_LEN(symbols),
    .table = &table,
    .ready = ready,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

const struct sbx_curl *sbx_curl(struct sbx_err *err)
{
    return sbx_late_load(&lib, err) == SBX_OK ? &table : NULL;
}
