/* Between manifest.c and referrers.c. */
#ifndef SBX_OCI_PUT_H
#define SBX_OCI_PUT_H

#include "registry.h"

/* PUT; `reference` NULL: the digest. *ret_subject: the registry keeps the list of referrers itself. */
enum sbx_code registry_put_manifest(struct sbx_registry *r, const char *repository,
                                    const char *reference, const char *type, const char *text,
                                    size_t len, bool *ret_subject, struct sbx_err *err);

#endif
