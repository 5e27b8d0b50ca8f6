/* Until engine/sandbox has them: what the verbs of sandboxes call. Left out of the build then. */
#include "sbx/sandbox.h"

static enum sbx_code not_yet(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_UNSUPPORTED, "sandboxes are not built yet");
}

#define ENGINE struct sbx_engine *e
#define ERR struct sbx_err *err
/* clang-format off */
enum sbx_code sbx_paths_init(const char *app, struct sbx_paths *ret, ERR) { (void)app; (void)ret; return not_yet(err); }
void sbx_paths_release(struct sbx_paths *p) { (void)p; }
enum sbx_code sbx_engine_open(const struct sbx_engine_config *c, struct sbx_engine **ret, ERR) { (void)c; (void)ret; return not_yet(err); }
void sbx_engine_close(ENGINE) { (void)e; }
enum sbx_code sbx_engine_runtime(ENGINE, enum sbx_runtime_kind k, struct sbx_runtime **ret, ERR) { (void)e; (void)k; (void)ret; return not_yet(err); }
enum sbx_code sbx_engine_reset(ENGINE, ERR) { (void)e; return not_yet(err); }
enum sbx_code sbx_sandbox_plan(ENGINE, const struct sbx_create *c, struct sbx_diags *d, struct sbx_plan **ret, ERR) { (void)e; (void)c; (void)d; (void)ret; return not_yet(err); }
enum sbx_code sbx_sandbox_create(ENGINE, const struct sbx_create *c, struct sbx_diags *d, struct sbx_arena *a, const char **ret, ERR) { (void)e; (void)c; (void)d; (void)a; (void)ret; return not_yet(err); }
enum sbx_code sbx_sandbox_start(ENGINE, const char *n, ERR) { (void)e; (void)n; return not_yet(err); }
enum sbx_code sbx_sandbox_stop(ENGINE, const char *n, ERR) { (void)e; (void)n; return not_yet(err); }
enum sbx_code sbx_sandbox_remove(ENGINE, const char *n, bool f, ERR) { (void)e; (void)n; (void)f; return not_yet(err); }
const char *sbx_status_name(enum sbx_status s) { (void)s; return "unknown"; }
enum sbx_code sbx_sandbox_list(ENGINE, struct sbx_arena *a, struct sbx_sandbox_info **ret, size_t *n, ERR) { (void)e; (void)a; (void)ret; (void)n; return not_yet(err); }
enum sbx_code sbx_sandbox_inspect(ENGINE, const char *n, struct sbx_arena *a, struct sbx_sandbox_info *ret, ERR) { (void)e; (void)n; (void)a; (void)ret; return not_yet(err); }
enum sbx_code sbx_sandbox_find(ENGINE, const char *g, const char *w, struct sbx_arena *a, const char **ret, ERR) { (void)e; (void)g; (void)w; (void)a; (void)ret; return not_yet(err); }
enum sbx_code sbx_sandbox_exec(ENGINE, const char *n, const struct sbx_command *c, int *s, ERR) { (void)e; (void)n; (void)c; (void)s; return not_yet(err); }
enum sbx_code sbx_sandbox_launch(ENGINE, const char *n, bool i, const char *const *a, const char *const *v, const struct sbx_streams *s, int *st, ERR) { (void)e; (void)n; (void)i; (void)a; (void)v; (void)s; (void)st; return not_yet(err); }
enum sbx_code sbx_sandbox_policy_refresh(ENGINE, const char *n, ERR) { (void)e; (void)n; return not_yet(err); }
enum sbx_code sbx_sandbox_gate_config(ENGINE, const char *n, json_t **ret, ERR) { (void)e; (void)n; (void)ret; return not_yet(err); }
enum sbx_code sbx_sandbox_log_path(ENGINE, const char *n, struct sbx_arena *a, const char **ret, ERR) { (void)e; (void)n; (void)a; (void)ret; return not_yet(err); }
