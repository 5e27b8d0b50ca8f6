/**
 * @file
 * From version 1 of the kit grammar to version 2: the spec is written anew, what version 2 says elsewhere
 * is moved there, and what it cannot say is reported, with what to do by hand. Planning changes nothing;
 * writing keeps the old file beside the new one.
 * Source: kit specification "v1 migration"; the layout of the result is that of sbx_artifact_yaml().
 */
#ifndef SBX_MIGRATE_H
#define SBX_MIGRATE_H

#include "sbx/kit.h"

#define SBX_MIGRATED_MAX (16 * SBX_SPEC_MAX) /* bytes; escapes and indents make a spec longer */

struct sbx_migration {
    bool needed;          /**< false: it is of version 2 already; all below is empty but `file` */
    char *file;           /**< the spec's path, which is written */
    char *backup;         /**< where the old one goes: `file` and ".bak" */
    struct sbx_buf old, spec;
    /**
     * Where the kit looked for credentials, as a text for the user's credentials.yaml; empty: it did not.
     * Never written anywhere by us: it is the user's file.
     */
    struct sbx_buf bindings;
    unsigned mode;        /**< of the old file */
    struct sbx_artifact *kit; /**< as it was read */
};

void sbx_migration_release(struct sbx_migration *m);
SBX_DEFINE_AUTO(sbx_migration, sbx_migration_release);

/**
 * Work out the migration of a kit's directory. The result is loaded again and compared: it is valid and
 * says the same.
 *
 * @param diags findings of the kit: each surface of version 1 that it uses ("deprecated-field"), and each
 *              loss ("not-migrated", "moved-to-user") with the recipe as its hint
 * @param ret   the caller's, also on failure; all zero before
 * @return SBX_OK; SBX_SCHEMA or SBX_SYNTAX (the kit, or what it would become, is not valid: diags);
 *         SBX_NOT_FOUND, SBX_IO, SBX_LIMIT, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_migration_plan(const char *dir, struct sbx_diags *diags,
                                              struct sbx_migration *ret, struct sbx_err *err);
/**
 * Keep the old spec as `backup` and replace it. An existing backup is never touched: SBX_CONFLICT.
 * A failure leaves the old spec in place.
 */
SBX_MUST_USE enum sbx_code sbx_migration_write(const struct sbx_migration *m, struct sbx_err *err);

#endif
