/* Looking: nothing here takes a lock or changes anything. */
#include "net.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *sbx_status_name(enum sbx_status s)
{
    static const char *const names[] = { "creating", "running", "stopped",
                                         "failed",   "broken",  "unknown" };

    return (unsigned)s < SBX_ARRAY_LEN(names) ? names[s] : "unknown";
}

/* One question a runtime for all of its containers. */
struct world {
    struct sbx_engine *e;
    struct sbx_arena *arena;
    struct sbx_container *list[SBX_RUNTIME_FAKE + 1];
    size_t n[SBX_RUNTIME_FAKE + 1];
    bool asked[SBX_RUNTIME_FAKE + 1];
    const char *failed[SBX_RUNTIME_FAKE + 1];
};

static void ask(struct world *w, enum sbx_runtime_kind kind)
{
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_runtime *rt;

    if (w->asked[kind])
        return;
    w->asked[kind] = true;
    if (sbx_engine_runtime(w->e, kind, &rt, &err) ||
        sbx_runtime_list(rt, w->arena, &w->list[kind], &w->n[kind], &err))
        w->failed[kind] = sbx_arena_strdup(w->arena, err.text);
}

static const struct sbx_container *find(const struct world *w, enum sbx_runtime_kind kind,
                                        const char *id)
{
    for (size_t i = 0; id && i < w->n[kind]; i++)
        if (!strcmp(w->list[kind][i].id, id))
            return &w->list[kind][i];
    return NULL;
}

static void set_status(struct world *w, struct sbx_box *box, struct sbx_sandbox_info *info)
{
    const struct sbx_container *c;

    if (box->record.phase == SBX_STATE_CREATING) {
        bool held = sbx_lock_held(box->e, box->name);

        info->status = held ? SBX_STATUS_CREATING : SBX_STATUS_BROKEN;
        info->detail = held ? NULL : "its create was cut off";
        return;
    }
    ask(w, info->runtime);
    if (w->failed[info->runtime]) {
        info->status = SBX_STATUS_UNKNOWN;
        info->detail = w->failed[info->runtime];
        return;
    }
    c = find(w, info->runtime, box->record.container);
    if (!c) {
        info->status = SBX_STATUS_BROKEN;
        info->detail = "its container is gone";
        return;
    }
    info->status = box->record.phase == SBX_STATE_FAILED ? SBX_STATUS_FAILED
                   : c->running                          ? SBX_STATUS_RUNNING
                                                         : SBX_STATUS_STOPPED;
    info->gate_up = c->running && box->record.net != SBX_NET_NONE && sbx_gate_alive(box);
}

static const char *keep(struct sbx_arena *arena, const char *text)
{
    return sbx_arena_strdup(arena, text ? text : "");
}

static void set_workspaces(struct sbx_arena *arena, const struct sbx_plan *p,
                           struct sbx_sandbox_info *info)
{
    struct sbx_workspace *v = sbx_arena_array(arena, p->n_mounts + 1, sizeof(*v));
    struct stat st;

    for (size_t i = 0; v && i < p->n_mounts; i++)
        if (p->mounts[i].kind == SBX_PLAN_WORKSPACE) {
            v[info->n_workspaces++] = (struct sbx_workspace){ p->mounts[i].source,
                                                              p->mounts[i].read_only };
            info->workspace_missing |= stat(p->mounts[i].source, &st) != 0;
        }
    info->workspaces = v;
}

static void set_ports(struct sbx_arena *arena, const struct sbx_record *r,
                      struct sbx_sandbox_info *info)
{
    struct sbx_published *v = sbx_arena_array(arena, r->n_ports + 1, sizeof(*v));

    for (size_t i = 0; v && i < r->n_ports; i++) {
        v[i] = r->ports[i];
        v[i].host_ip = keep(arena, v[i].host_ip);
        v[i].name = sbx_arena_strdup(arena, v[i].name);
        v[i].kit = sbx_arena_strdup(arena, v[i].kit);
    }
    info->ports = v;
    info->n_ports = v ? r->n_ports : 0;
}

static void free_plan(void *p)
{
    sbx_plan_free(p);
}

static void describe(struct world *w, struct sbx_box *box, struct sbx_sandbox_info *info)
{
    const struct sbx_record *r = &box->record;
    struct sbx_arena *arena = w->arena;

    *info = (struct sbx_sandbox_info){
        .name = keep(arena, box->name), .id = "", .agent = "", .image = "", .container = "",
        .runtime_name = "", .created_at = "", .last_used_at = "", .status = SBX_STATUS_BROKEN,
        .detail = "its record cannot be read", .state_dir = keep(arena, box->dir),
    };
    if (!box->has_record)
        return;
    info->detail = NULL;
    info->id = keep(arena, r->id);
    info->agent = keep(arena, r->agent);
    info->image = keep(arena, r->image);
    info->container = keep(arena, r->container);
    info->runtime_name = keep(arena, r->runtime);
    info->runtime = sbx_box_runtime_kind(box);
    info->created_at = keep(arena, r->created_at);
    info->last_used_at = keep(arena, r->last_used_at);
    info->learned = r->learned;
    info->weak_network = r->weak_network;
    info->sessions = sbx_sessions(box->dir);
    set_ports(arena, r, info);
    if (!sbx_planfile_read(box, NULL) && !sbx_arena_defer(arena, free_plan, box->plan)) {
        info->plan = SBX_TAKE(box->plan);
        set_workspaces(arena, info->plan, info);
    }
    set_status(w, box, info);
}

enum sbx_code sbx_sandbox_list(struct sbx_engine *e, struct sbx_arena *arena,
                               struct sbx_sandbox_info **ret, size_t *ret_n, struct sbx_err *err)
{
    struct world w = { .e = e, .arena = arena };
    const char *const *names;
    struct sbx_sandbox_info *v;
    size_t n_names, n = 0;
    enum sbx_code rc = sbx_sandbox_names(e, arena, &names, &n_names, err);

    if (rc)
        return rc;
    v = sbx_arena_array(arena, n_names + 1, sizeof(*v));
    if (!v)
        return sbx_out_of_memory(err);
    for (size_t i = 0; i < n_names; i++) {
        SBX_AUTO(sbx_box) box = SBX_BOX_INIT;

        if (!sbx_box_peek(e, names[i], &box, NULL))
            describe(&w, &box, &v[n++]);
    }
    *ret = v;
    *ret_n = n;
    return SBX_OK;
}

enum sbx_code sbx_sandbox_inspect(struct sbx_engine *e, const char *name, struct sbx_arena *arena,
                                  struct sbx_sandbox_info *ret, struct sbx_err *err)
{
    struct world w = { .e = e, .arena = arena };
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = sbx_box_peek(e, name, &box, err);
    if (!rc)
        describe(&w, &box, ret);
    return rc;
}
