#include "info.h"

#include <string.h>

/* A string, or null for NULL and "". */
static json_t *text(const char *s) { return s && *s ? json_string(s) : json_null(); }

static json_t *ports(const struct sbx_sandbox_info *i)
{
    json_t *list = json_array();

    for (size_t p = 0; i->plan && p < i->plan->n_ports; p++) {
        const struct sbx_plan_port *port = &i->plan->ports[p];

        json_array_append_new(
            list, json_pack("{s:n,s:n,s:i,s:s,s:o,s:o,s:b}", "host_ip", "host_port", "sandbox_port",
                            port->container, "protocol",
                            port->protocol && *port->protocol ? port->protocol : "tcp", "name",
                            text(port->name), "kit", text(port->kit), "published", 0));
    }
    return list;
}

static json_t *workspaces(const struct sbx_sandbox_info *i)
{
    json_t *list = json_array();

    for (size_t w = 0; w < i->n_workspaces; w++)
        json_array_append_new(list, json_string(i->workspaces[w].path));
    return list;
}

json_t *sbx_info_row_json(const struct sbx_sandbox_info *i)
{
    /* Only published ports belong here; none is yet. */
    json_t *row = json_pack(
        "{s:s,s:o,s:o,s:s,s:o,s:o,s:o,s:b,s:o,s:[]}", "name", i->name, "id", text(i->id), "agent",
        text(i->agent), "status", sbx_status_name(i->status), "created_at", text(i->created_at),
        "last_used_at", text(i->last_used_at), "workspaces", workspaces(i), "workspace_missing",
        (int)i->workspace_missing, "runtime", text(i->runtime_name), "ports");

    if (row && i->detail)
        json_object_set_new(row, "detail", json_string(i->detail));
    return row;
}

static json_t *kits(const struct sbx_plan *p)
{
    json_t *list = json_array();

    for (size_t i = 0; p && i < p->n_kits; i++)
        json_array_append_new(list, json_pack("{s:o,s:o,s:o,s:o}", "name", text(p->kits[i].name),
                                              "kind", text(p->kits[i].kind), "reference",
                                              text(p->kits[i].reference), "digest",
                                              text(p->kits[i].digest)));
    return list;
}

static json_t *mounts(const struct sbx_plan *p)
{
    static const char *const kinds[] = { "workspace", "volume", "tmpfs" };
    json_t *list = json_array();

    for (size_t i = 0; p && i < p->n_mounts; i++)
        json_array_append_new(list, json_pack("{s:s,s:o,s:s,s:b}", "type", kinds[p->mounts[i].kind],
                                              "source", text(p->mounts[i].source), "target",
                                              p->mounts[i].target, "read_only",
                                              (int)p->mounts[i].read_only));
    return list;
}

static json_t *rules(const struct sbx_plan *p)
{
    json_t *list = json_array();

    for (size_t i = 0; p && i < p->n_rules; i++)
        json_array_append_new(list, json_pack("{s:s,s:s,s:o,s:s}", "decision",
                                              p->rules[i].decision == SBX_ALLOW ? "allow" : "deny",
                                              "resource", p->rules[i].pattern, "kit",
                                              text(p->rules[i].kit), "id", p->rules[i].id));
    return list;
}

json_t *sbx_info_full_json(const struct sbx_sandbox_info *i)
{
    json_t *v = json_pack("{s:s,s:o,s:o,s:s,s:o,s:o,s:o,s:o}", "name", i->name, "id", text(i->id),
                          "agent", text(i->agent), "state", sbx_status_name(i->status), "detail",
                          text(i->detail), "image", text(i->image), "runtime",
                          text(i->runtime_name), "container", text(i->container));
    json_t *more = json_pack(
        "{s:o,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:b,s:I,s:b,s:b}", "created_at", text(i->created_at),
        "last_used_at", text(i->last_used_at), "workspaces", workspaces(i), "workspace_missing",
        (int)i->workspace_missing, "kits", kits(i->plan), "mounts", mounts(i->plan),
        "network_rules", rules(i->plan), "ports", ports(i), "plan_digest",
        text(i->plan ? i->plan->digest : NULL), "gate_up", (int)i->gate_up, "sessions",
        (json_int_t)i->sessions, "learned", (int)i->learned, "weak_network", (int)i->weak_network);

    if (!v || !more || json_object_update(v, more)) {
        json_decref(v);
        v = NULL;
    }
    json_decref(more);
    return v;
}

const char *sbx_info_workspace(struct sbx_arena *arena, const struct sbx_sandbox_info *i)
{
    if (!i->n_workspaces)
        return NULL;
    if (i->n_workspaces == 1)
        return sbx_arena_printf(arena, "%s%s", i->workspaces[0].path,
                                i->workspace_missing ? " (missing)" : "");
    return sbx_arena_printf(arena, "%s (+%zu)%s", i->workspaces[0].path, i->n_workspaces - 1,
                            i->workspace_missing ? " (missing)" : "");
}
