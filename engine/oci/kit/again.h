/* A kit that is an artifact already, pushed to another place as it is. */
#ifndef SBX_OCI_KIT_AGAIN_H
#define SBX_OCI_KIT_AGAIN_H

#include "sbx/kit_artifact.h"

/* sbx_kit_push() of a reference in place of a directory: its digest stays. */
SBX_MUST_USE enum sbx_code kit_push_again(const struct sbx_kit_io *io, const char *from,
                                          const struct sbx_place *to, enum sbx_anchor anchor,
                                          struct sbx_diags *diags, struct sbx_arena *arena,
                                          struct sbx_pushed *ret, struct sbx_err *err);

#endif
