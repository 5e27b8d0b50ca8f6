/* What the parts of sbx_plan_make() share. Running out of memory is remembered and told once. */
#ifndef SBX_PLAN_BUILD_H
#define SBX_PLAN_BUILD_H

#include "sbx/plan.h"

struct sbx_planner {
    const struct sbx_artifact *a;
    const struct sbx_plan_options *o;
    struct sbx_diags *diags;
    struct sbx_arena *arena;
    struct sbx_plan *p;
    struct sbx_err *err;
    bool no_memory;
};

/* strings and arrays of the plan; NULL after no_memory was set (and for NULL) */
const char *sbx_build_str(struct sbx_planner *b, const char *text);
const char *sbx_build_fmt(struct sbx_planner *b, const char *fmt, ...) SBX_PRINTF(2, 3);
void *sbx_build_array(struct sbx_planner *b, size_t n, size_t size);
const char *const *sbx_build_strs(struct sbx_planner *b, const char *const *v, size_t n);
/* "hello/spec.yaml:12:5": stable wherever the kit lies */
const char *sbx_build_at(struct sbx_planner *b, const struct sbx_origin *at);
const char *sbx_build_kit(struct sbx_planner *b, const struct sbx_origin *at);
/* every "${WORKDIR}" replaced */
const char *sbx_build_workdir(struct sbx_planner *b, const char *text);
bool sbx_build_is_mixin(const struct sbx_planner *b, const char *kit);
/* digest and size of a file that has its data */
void sbx_build_data(struct sbx_planner *b, struct sbx_plan_file *f, const char *text, size_t len);

/* the parts, in the order they are called */
enum sbx_code
sbx_build_settings(struct sbx_planner *b); /* name, image, resources, workdir, launch */
enum sbx_code sbx_build_mounts(struct sbx_planner *b);
enum sbx_code sbx_build_environment(struct sbx_planner *b);
enum sbx_code sbx_build_rules(struct sbx_planner *b);
enum sbx_code sbx_build_steps(struct sbx_planner *b);
void sbx_build_defaults(struct sbx_planner *b, struct sbx_plan_step *step);
void sbx_build_startup(struct sbx_planner *b, struct sbx_plan_step *step,
                       const struct sbx_startup *from);
bool sbx_build_instructions(struct sbx_planner *b, struct sbx_plan_step *step);
void sbx_build_sensitive(struct sbx_planner *b);

/* 'text' as one word of a POSIX shell */
SBX_MUST_USE enum sbx_code sbx_shell_quote(const char *text, struct sbx_buf *out);
extern const char *const sbx_proxy_names[], *const sbx_ca_bundle_names[];

#define SBX_SCRIPT_MAX 1048576 /* bytes of a rendered script: a spec file is not longer */

#endif
