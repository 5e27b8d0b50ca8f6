/* The only values of some fields. Checks of single values know them too (check_value.c). */
#include "rows.h"

const char *const sbx_words_kind[] = { "sandbox", "mixin", NULL };
const char *const sbx_words_old_kind[] = { "agent", "sandbox", "mixin", NULL };
const char *const sbx_words_scheme[] = { "", "bearer", "basic", NULL };
const char *const sbx_words_protocol[] = { "", "tcp", "udp", NULL };
const char *const sbx_words_volume[] = { "", "tmpfs", NULL };
