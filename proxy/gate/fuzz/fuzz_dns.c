/* DNS queries: an answer without a record is never longer than its question, and one with a record
 * stays within its buffer. */
#include <stdlib.h>

#include "dnsmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t out[SBX_DNS_REPLY_MAX];
    struct sbx_dns_query q;
    struct sbx_dns_data record;
    enum sbx_dns_kind kind = sbx_dns_parse(data, size, &q);

    if (kind != SBX_DNS_DROP && sbx_dns_reply(data, &q, SBX_DNS_REFUSED, NULL, out) > size)
        abort();
    if (kind == SBX_DNS_QUERY && !sbx_dns_put_name(&record, q.name) &&
        sbx_dns_reply(data, &q, SBX_DNS_NOERROR, &record, out) > sizeof(out))
        abort();
    for (const char *p = q.name; *p; p++)
        if (*p <= 0x20 || *p > 0x7e)
            abort();
    return 0;
}
