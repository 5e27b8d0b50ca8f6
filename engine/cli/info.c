#include "info.h"

#include <string.h>

/* A string, or null for NULL and "". */
static json_t *text(const char *s) { return s && *s ? json_string(s) : json_null(); }

json_t *sbx_published_json(const struct sbx_published *v, size_t n)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            list,
            json_pack("{s:s,s:o,s:i,s:s,s:o,s:o}", "host_ip", v[i].host_ip, "host_port",
                      v[i].host_port ? json_integer(v[i].host_port) : json_null(), "sandbox_port",
                      (int)v[i].sandbox_port, "protocol", sbx_published_protocol(&v[i]), "name",
                      text(v[i].name), "kit", text(v[i].kit)));
    return list;
}

/* Ports are open while the gate runs; those of a stopped sandbox come back with it. */
static json_t *open_ports(const struct sbx_sandbox_info *i)
{
    return sbx_published_json(i->ports, i->status == SBX_STATUS_RUNNING ? i->n_ports : 0);
}

const char *sbx_published_text(struct sbx_arena *arena, const struct sbx_published *p)
{
    return sbx_arena_printf(arena, p->ipv6 ? "[%s]:%u->%u/%s" : "%s:%u->%u/%s", p->host_ip,
                            p->host_port, p->sandbox_port, sbx_published_protocol(p));
}

const char *sbx_info_ports(struct sbx_arena *arena, const struct sbx_sandbox_info *i)
{
    const char *all = NULL;

    for (size_t k = 0; i->status == SBX_STATUS_RUNNING && k < i->n_ports; k++) {
        const char *one = sbx_published_text(arena, &i->ports[k]);

        all = all && one ? sbx_arena_printf(arena, "%s, %s", all, one) : one;
    }
    return all;
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
    json_t *row = json_pack(
        "{s:s,s:o,s:o,s:s,s:o,s:o,s:o,s:b,s:o,s:o}", "name", i->name, "id", text(i->id), "agent",
        text(i->agent), "status", sbx_status_name(i->status), "created_at", text(i->created_at),
        "last_used_at", text(i->last_used_at), "workspaces", workspaces(i), "workspace_missing",
        (int)i->workspace_missing, "runtime", text(i->runtime_name), "ports", open_ports(i));

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

const char *sbx_plan_rule_status(const struct sbx_plan *p, const struct sbx_plan_rule *r,
                                 const struct sbx_user_policy *policy)
{
    if (r->inert)
        return "never-matches";
    if (r->decision != SBX_ALLOW || !r->needs_consent)
        return "active";
    return r->consented && sbx_plan_is_approved(policy->approvals, policy->n_approvals, r->kit,
                                                sbx_plan_rule_digest(p, r), r->pattern)
               ? "active"
               : "needs-approval";
}

const char *sbx_plan_rule_text(struct sbx_arena *arena, const struct sbx_plan *p,
                               const struct sbx_plan_rule *r, const struct sbx_user_policy *policy)
{
    const char *status = sbx_plan_rule_status(p, r, policy), *remark = "";

    if (!strcmp(status, "never-matches"))
        remark = ": never matches";
    else if (!strcmp(status, "needs-approval"))
        remark = sbx_arena_printf(arena, ": closed, only with --approve %s", r->pattern);
    return remark ? sbx_arena_printf(arena, "%s %s%s%s%s%s",
                                     r->decision == SBX_ALLOW ? "allow" : "deny", r->pattern,
                                     r->kit ? " (kit " : "", r->kit ? r->kit : "",
                                     r->kit ? ")" : "", remark)
                  : NULL;
}

const char *sbx_policy_text(struct sbx_arena *arena, const struct sbx_user_policy *p,
                            const char *sandbox)
{
    const char *preset = p->preset ? p->preset : "balanced";
    size_t n = 0;

    for (size_t i = 0; i < p->n_rules; i++)
        n += !p->rules[i].sandbox || !strcmp(p->rules[i].sandbox, sandbox);
    if (!n)
        return preset;
    return sbx_arena_printf(arena, "%s, and %zu rule%s of yours", preset, n, n == 1 ? "" : "s");
}

static json_t *rules(const struct sbx_plan *p, const struct sbx_user_policy *policy)
{
    json_t *list = json_array();

    for (size_t i = 0; p && i < p->n_rules; i++)
        json_array_append_new(list, json_pack("{s:s,s:s,s:o,s:s,s:s}", "decision",
                                              p->rules[i].decision == SBX_ALLOW ? "allow" : "deny",
                                              "resource", p->rules[i].pattern, "kit",
                                              text(p->rules[i].kit), "id", p->rules[i].id, "status",
                                              sbx_plan_rule_status(p, &p->rules[i], policy)));
    return list;
}

json_t *sbx_info_full_json(const struct sbx_sandbox_info *i, const struct sbx_user_policy *policy)
{
    json_t *v = json_pack("{s:s,s:o,s:o,s:s,s:o,s:o,s:o,s:o}", "name", i->name, "id", text(i->id),
                          "agent", text(i->agent), "state", sbx_status_name(i->status), "detail",
                          text(i->detail), "image", text(i->image), "runtime",
                          text(i->runtime_name), "container", text(i->container));
    json_t *more = json_pack(
        "{s:o,s:o,s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:b,s:I,s:b,s:b}", "created_at", text(i->created_at),
        "last_used_at", text(i->last_used_at), "workspaces", workspaces(i), "workspace_missing",
        (int)i->workspace_missing, "kits", kits(i->plan), "mounts", mounts(i->plan),
        "network_rules", rules(i->plan, policy), "ports", open_ports(i), "plan_digest",
        text(i->plan ? i->plan->digest : NULL), "gate_up", (int)i->gate_up, "sessions",
        (json_int_t)i->sessions, "learned", (int)i->learned, "weak_network", (int)i->weak_network);

    if (!v || !more || json_object_update(v, more) ||
        json_object_set_new(v, "policy_preset",
                            json_string(policy->preset ? policy->preset : "balanced"))) {
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
