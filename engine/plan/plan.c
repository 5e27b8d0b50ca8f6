#include "sbx/plan.h"

#include "build.h"
#include "sbx/json.h"

#include <string.h>

static void copy_kits(struct sbx_planner *b)
{
    size_t n = b->a->kits.len;
    struct sbx_kit_ref *v = sbx_build_array(b, n, sizeof(*v));

    for (size_t i = 0; v && i < n; i++) {
        const struct sbx_kit_ref *k = &b->a->kits.v[i];

        v[i].name = sbx_build_str(b, k->name);
        v[i].kind = sbx_build_str(b, k->kind);
        v[i].reference = sbx_build_str(b, k->reference);
        v[i].digest = sbx_build_str(b, k->digest);
    }
    b->p->kits = v;
    b->p->n_kits = v ? n : 0;
}

static enum sbx_code take_digest(struct sbx_plan *p)
{
    SBX_AUTO_JSON json_t *json = sbx_plan_json(p);
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);
    enum sbx_code rc;

    if (!json)
        return SBX_NO_MEMORY;
    rc = sbx_json_canonical(json, &text);
    return rc ? rc : sbx_digest(text.ptr, text.len, p->digest);
}

static enum sbx_code build(struct sbx_planner *b)
{
    static enum sbx_code (*const parts[])(struct sbx_planner *) = {
        sbx_build_settings, sbx_build_mounts, sbx_build_environment,
        sbx_build_rules,    sbx_build_steps,
    };
    enum sbx_code rc;

    for (size_t i = 0; i < SBX_ARRAY_LEN(parts); i++) {
        rc = parts[i](b);
        if (!rc && b->no_memory)
            rc = sbx_err_set(b->err, SBX_NO_MEMORY, "out of memory");
        if (rc)
            return sbx_err_wrap(b->err, rc, "plan of %s", b->a->name ? b->a->name : "(no name)");
    }
    copy_kits(b);
    sbx_build_sensitive(b);
    rc = b->no_memory ? SBX_NO_MEMORY : take_digest(b->p);
    return rc ? sbx_err_set(b->err, rc, "plan of %s: %s", b->a->name,
                            rc == SBX_LIMIT ? "too large" : "out of memory")
              : SBX_OK;
}

enum sbx_code sbx_plan_make(const struct sbx_artifact *a, const struct sbx_plan_options *options,
                            struct sbx_diags *diags, struct sbx_plan **ret, struct sbx_err *err)
{
    struct sbx_arena *arena = sbx_arena_new();
    struct sbx_planner b = { .a = a, .o = options, .diags = diags, .arena = arena, .err = err };
    enum sbx_code rc;

    b.p = arena ? sbx_arena_alloc(arena, sizeof(*b.p)) : NULL;
    if (!b.p) {
        sbx_arena_free(arena);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    b.p->arena = arena;
    rc = build(&b);
    if (rc) {
        sbx_plan_free(b.p);
        return rc;
    }
    *ret = b.p;
    return SBX_OK;
}

void sbx_plan_free(struct sbx_plan *p)
{
    if (p)
        sbx_arena_free(p->arena);
}

enum sbx_code sbx_plan_check(const struct sbx_plan *p, const struct sbx_runtime_info *info,
                             struct sbx_err *err)
{
    if (p->privileged && !info->privileged)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "security.privileged: the %s runtime cannot run privileged sandboxes",
                           info->name);
    if (p->gpu && *p->gpu && !info->gpu)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "sandbox.resources.gpu: \"%s\": the %s runtime cannot give GPUs", p->gpu,
                           info->name);
    return SBX_OK;
}

const char *sbx_plan_env_get(const struct sbx_plan *p, const char *name)
{
    for (size_t i = 0; i < p->n_env; i++)
        if (!strcmp(p->env[i].name, name))
            return p->env[i].value;
    return NULL;
}

bool sbx_plan_has_startup(const struct sbx_plan *p)
{
    for (size_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].phase == SBX_PHASE_STARTUP)
            return true;
    return false;
}

enum sbx_code sbx_plan_file_read(const struct sbx_plan_file *f, struct sbx_buf *out,
                                 struct sbx_err *err)
{
    struct sbx_static_file as = {
        .path = f->path, .size = f->size, .data = f->data, .source = f->source
    };

    char digest[SBX_DIGEST_TEXT_SIZE];
    size_t before = out->len;
    enum sbx_code rc;

    if (!f->size)
        return SBX_OK;
    rc = sbx_static_file_read(&as, out, err);
    if (rc || !f->digest)
        return rc;
    rc = sbx_digest(out->ptr + before, out->len - before, digest);
    if (!rc && strcmp(digest, f->digest))
        return sbx_err_set(err, SBX_CONFLICT, "%s: its content is not what was planned", f->path);
    return rc;
}
