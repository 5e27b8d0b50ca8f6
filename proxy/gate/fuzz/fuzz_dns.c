/* DNS queries: an answer is never longer than its question. */
#include <stdlib.h>

#include "dnsmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t out[SBX_DNS_QUERY_MAX];
    struct sbx_dns_query q;
    enum sbx_dns_kind kind = sbx_dns_parse(data, size, &q);

    if (kind != SBX_DNS_DROP && sbx_dns_refuse(data, &q, kind, out) > size)
        abort();
    for (const char *p = q.name; *p; p++)
        if (*p <= 0x20 || *p > 0x7e)
            abort();
    return 0;
}
