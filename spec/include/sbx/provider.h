/**
 * @file
 * The provider registry: what is known about services whose name says enough (decision S29). A
 * credential of such a service needs neither `inject` nor `provider`.
 * Source: the providers' public API documentation.
 */
#ifndef SBX_PROVIDER_H
#define SBX_PROVIDER_H

#include <stddef.h>

struct sbx_provider {
    const char *name;
    const char *variable; /**< usual environment variable */
    const char *header, *format;
    const char *hosts[4]; /**< where the credential goes; NULL behind the last */
};

extern const struct sbx_provider sbx_providers[];
extern const size_t sbx_n_providers;

/** NULL: unknown (also for NULL and ""). */
const struct sbx_provider *sbx_provider_find(const char *name);

#endif
