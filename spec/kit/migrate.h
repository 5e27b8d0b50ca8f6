#ifndef SBX_KIT_MIGRATE_H
#define SBX_KIT_MIGRATE_H

#include "sbx/migrate.h"
#include "v1.h"

/* Report what version 2 has no place for, and write the user's half (migrate_loss.c). */
enum sbx_code sbx_migrate_losses(const struct sbx_artifact *a, struct sbx_diags *diags,
                                 struct sbx_buf *bindings);

#endif
