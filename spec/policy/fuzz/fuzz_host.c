/* Bytes of a request line, Host header or SNI: a host, a target, and their canonical form again. */
#include <stdlib.h>
#include <string.h>

#include "sbx/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sbx_host host, again;
    struct sbx_err err;
    uint16_t port;

    if (!sbx_target_parse((const char *)data, size, 443, &host, &port, &err) && !port)
        abort();
    if (sbx_host_parse((const char *)data, size, &host, &err))
        return 0;
    /* the canonical form is canonical, and holds nothing that a log or header could trip over */
    if (sbx_host_parse(host.text, strlen(host.text), &again, &err) ||
        strcmp(host.text, again.text) || host.kind != again.kind)
        abort();
    for (const char *p = host.text; *p; p++)
        if (*p <= ' ' || *p > '~' || (*p >= 'A' && *p <= 'Z') || strchr("%/@[]\"\\", *p))
            abort();
    return 0;
}
