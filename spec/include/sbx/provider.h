/**
 * @file
 * The provider registry: what is known about services whose name says enough (decision S29). A
 * credential of such a service needs neither `inject` nor `provider`.
 * Source: what users of sbx know as its services, and the providers' public API documentation.
 */
#ifndef SBX_PROVIDER_H
#define SBX_PROVIDER_H

#include <stddef.h>

struct sbx_provider {
    const char *name;
    const char *variables[2]; /**< usual environment variables; NULL: only one */
    const char *header, *format;
    const char *hosts[7]; /**< where the credential goes; NULL behind the last */
    /** A host that wants HTTP Basic with this user name and the credential as the password; NULL: none. */
    const char *basic_host, *basic_user;
};

extern const struct sbx_provider sbx_providers[];
extern const size_t sbx_n_providers;

/** NULL: unknown (also for NULL and ""). */
const struct sbx_provider *sbx_provider_find(const char *name);

#endif
