/* Validation: rules over a decoded (or composed) artifact. */
#ifndef SBX_KIT_CHECK_H
#define SBX_KIT_CHECK_H

#include "decode.h"

struct sbx_checker {
    const struct sbx_artifact *a;
    struct sbx_diags *diags;
    bool composed;
    char path[SBX_PATH_MAX];
    size_t path_len;
    const struct sbx_origin *near; /* the element around: where a field's own place is not known */
};

/*
 * Report at a field. `field` is its address in the artifact (of a STRINGS item: of its slot in `v`,
 * with `near` set to its origin); `key` is appended to the path, NULL: the path as it is.
 */
void sbx_check_report(struct sbx_checker *c, enum sbx_severity severity, const char *code,
                      const void *field, const char *key, const char *hint, const char *fmt, ...)
    SBX_PRINTF(7, 8);
/* Is the kit that wrote the element around (`near`) of version 1? Composed kits may differ. */
bool sbx_check_is_old(const struct sbx_checker *c);
/* Append `text` and `name`, or `text` and "[index]"; returns what sbx_check_leave() wants. */
size_t sbx_check_enter(struct sbx_checker *c, const char *text, const char *name);
size_t sbx_check_enter_index(struct sbx_checker *c, const char *text, size_t index);
void sbx_check_leave(struct sbx_checker *c, size_t mark);

/* Rows' own checks (check_value.c). */
sbx_check_fn sbx_check_name, sbx_check_absolute, sbx_check_volume_type, sbx_check_size,
    sbx_check_mode, sbx_check_protocol, sbx_check_format, sbx_check_content, sbx_check_locked,
    sbx_check_license;
sbx_check_fn sbx_check_pattern; /* check_network.c */

bool sbx_is_kit_name(const char *text); /* [a-z0-9]([a-z0-9-]{0,62}[a-z0-9])? */
bool sbx_is_shell_name(const char *text); /* [A-Za-z_][A-Za-z0-9_]* */
bool sbx_is_octal_mode(const char *text);

/* Rules over several fields. */
void sbx_check_manifest(struct sbx_checker *c);    /* check_manifest.c */
void sbx_check_credentials(struct sbx_checker *c); /* check_credential.c */
void sbx_check_coverage(struct sbx_checker *c);    /* check_network.c; S9 */
void sbx_check_environment(struct sbx_checker *c); /* check_environment.c; S10 */
void sbx_check_reserved(struct sbx_checker *c, const void *field, const char *key, const char *name);
void sbx_check_args(struct sbx_checker *c);        /* check_args.c */

#endif
