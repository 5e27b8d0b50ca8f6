/* Any bytes as the spec of a port: what is read has a port inside, and a host address that is one. */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/sandbox.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO_FREE char *text = strndup((const char *)data, size);
    struct sbx_port_spec s;
    unsigned char address[16];

    if (!text || sbx_port_spec_parse(text, &s, NULL))
        return 0;
    if (!s.sandbox_port)
        abort();
    if (*s.host_ip && inet_pton(s.protocol == SBX_PORT_TCP6 ? AF_INET6 : AF_INET, s.host_ip, address) != 1)
        abort();
    return 0;
}
