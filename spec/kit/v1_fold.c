/*
 * Version 1 folded to what version 2 says. Each surface that a spec uses makes one warning, in the
 * order of the table below, which is the reference's (S12). Source: kit specification "v1 migration".
 */
#include <stdlib.h>
#include <string.h>

#include "v1.h"

enum surface {
    KIND, AGENT, SANDBOX_PERSISTENCE, SOURCES, SERVICE_AUTH, SERVICE_DOMAINS, PROXY_MANAGED, OAUTH,
    CAPS, ALLOWED, DENIED, PORTS, MEMORY, PERSISTENCE, KIT_DIR, TMPFS, SETTINGS, VOLUMES, N_SURFACES
};

#define OLD "is deprecated"
#define VOID "has no effect"

/* `path` is where the surface stands, `other` where else it may. */
static const struct { const char *path, *other, *what, *text, *hint; } surfaces[N_SURFACES] = {
    [KIND] = { "kind", NULL, "agent " OLD, "kind: agent " OLD, "write kind: sandbox" },
    [AGENT] = { "agent", NULL, OLD, "agent: " OLD, "write sandbox:" },
    [SANDBOX_PERSISTENCE] = { "sandbox.persistence", "agent.persistence", VOID,
        "sandbox.persistence " VOID, "declare volumes" },
    [SOURCES] = { "credentials.sources", "secrets", OLD, "credentials.sources " OLD,
        "write a list of {service, apiKey}; where a value is found stands in the user's credentials.yaml" },
    [SERVICE_AUTH] = { "network.serviceAuth", "egress", OLD, "network.serviceAuth " OLD,
        "write header and format in credentials[].apiKey.inject" },
    [SERVICE_DOMAINS] = { "network.serviceDomains", "egress", OLD, "network.serviceDomains " OLD,
        "write domain in credentials[].apiKey.inject" },
    [PROXY_MANAGED] = { "environment.proxyManaged", NULL, OLD, "environment.proxyManaged " OLD,
        "write proxyManaged: true beside credentials[].apiKey.name" },
    [OAUTH] = { "oauth", NULL, OLD, "oauth: (standalone block) " OLD,
        "write oauth in the entry of its service in credentials" },
    [CAPS] = { "caps", NULL, OLD, "caps " OLD, "write permissions in version 2" },
    [ALLOWED] = { "network.allowedDomains", NULL, OLD, "network.allowedDomains " OLD,
        "write permissions.network.allow in version 2" },
    [DENIED] = { "network.deniedDomains", NULL, OLD, "network.deniedDomains " OLD,
        "write permissions.network.deny in version 2" },
    [PORTS] = { "network.publishedPorts", NULL, OLD, "network.publishedPorts " OLD,
        "write ports at the top level in version 2" },
    [MEMORY] = { "memory", NULL, OLD, "memory " OLD, "write agentInstructions.content in version 2" },
    [PERSISTENCE] = { "persistence", NULL, VOID, "persistence " VOID, "declare volumes" },
    [KIT_DIR] = { "kitDir", NULL, VOID, "kitDir " VOID, "delete it" },
    [TMPFS] = { "tmpfs", NULL, OLD, "tmpfs " OLD, "write volumes with type: tmpfs" },
    [SETTINGS] = { "settings", NULL, VOID, "settings " VOID,
        "write the agent's settings file with setup.files (path, content, onlyIfMissing)" },
    [VOLUMES] = { "volumes", NULL, "as a mapping is deprecated", "volumes (mapping form) " OLD,
        "write a list of {path, size}" },
};

static bool given(const char *text)
{
    return text && *text;
}

/* Which surfaces a spec uses; asked before anything is folded. */
static void find_used(const struct sbx_v1 *v, bool used[N_SURFACES])
{
    const struct sbx_v1_sandbox *s = v->sandbox.set ? &v->sandbox : &v->agent;

    used[KIND] = v->a.kind && !strcmp(v->a.kind, "agent");
    used[AGENT] = v->agent.set;
    used[SANDBOX_PERSISTENCE] = s->set && given(s->persistence);
    used[SOURCES] = v->used.sources;
    used[SERVICE_AUTH] = v->used.auth;
    used[SERVICE_DOMAINS] = v->used.domains;
    used[PROXY_MANAGED] = v->proxy_managed.len > 0;
    used[OAUTH] = v->oauth.oauth.set;
    used[CAPS] = v->caps_given;
    used[ALLOWED] = v->allowed.len > 0;
    used[DENIED] = v->denied.len > 0;
    used[PORTS] = v->network_ports.len > 0;
    used[MEMORY] = given(v->memory);
    used[PERSISTENCE] = given(v->persistence);
    used[KIT_DIR] = given(v->kit_dir);
    used[TMPFS] = v->tmpfs.len > 0;
    used[SETTINGS] = v->settings_given;
    used[VOLUMES] = v->volumes.len > 0;
}

static void warn_of(struct sbx_decoder *d, const struct sbx_yaml_node *root, struct sbx_v1 *v)
{
    bool used[N_SURFACES];

    find_used(v, used);
    for (size_t i = 0; i < N_SURFACES; i++) {
        const char *path = surfaces[i].path;

        if (!used[i])
            continue;
        if (surfaces[i].other && !sbx_decode_has(root, path))
            path = surfaces[i].other;
        sbx_decode_warn(d, &v->a, "deprecated-field", sbx_decode_pos(root, path), path,
                        surfaces[i].hint, surfaces[i].what, surfaces[i].text);
    }
}

static void append(struct sbx_decoder *d, struct sbx_strs *to, const struct sbx_strs *from)
{
    struct sbx_strs all = { .set = true };

    if (!from->len)
        return;
    all.v = sbx_decode_alloc(d, to->len + from->len, sizeof(*all.v));
    all.at = sbx_decode_alloc(d, to->len + from->len, sizeof(*all.at));
    if (!all.v || !all.at)
        return;
    for (; all.len < to->len; all.len++) {
        all.v[all.len] = to->v[all.len];
        all.at[all.len] = to->at[all.len];
    }
    for (size_t i = 0; i < from->len; i++, all.len++) {
        all.v[all.len] = from->v[i];
        all.at[all.len] = from->at[i];
    }
    *to = all;
}

/* The field that a value went to is where the value was written. */
static void carry_place(struct sbx_decoder *d, const void *from, const void *to)
{
    for (size_t i = 0; i < d->places->len; i++)
        if (d->places->v[i].field == from) {
            sbx_decode_place(d, to, d->places->v[i].pos);
            return;
        }
}

static void fold_sandbox(struct sbx_decoder *d, struct sbx_v1 *v)
{
    struct sbx_artifact *a = &v->a;
    struct sbx_v1_sandbox *s = v->sandbox.set ? &v->sandbox : &v->agent;
    struct sbx_v1_entrypoint *e = &s->entrypoint;

    if (a->kind && !strcmp(a->kind, "agent"))
        a->kind = "sandbox";
    if (!s->set)
        return;
    a->sandbox_set = true;
    a->image = s->image;
    carry_place(d, &s->image, &a->image);
    a->ai_filename = s->ai_filename;
    carry_place(d, &s->ai_filename, &a->ai_filename);
    v->lost.resources = a->resources.set;
    a->resources = s->resources;
    v->lost.build = a->build.set;
    if (s->build.set)
        a->build = s->build;
    a->launch.entrypoint = e->run;
    a->launch.noninteractive = e->args;
    a->launch.interactive = e->tty_args;
}

/*
 * The flat list is the whole of what the binary gets with a terminal, its always-on arguments too; version
 * 2 says the same with a bare entrypoint. ttyArgs counts where both are given.
 */
static void fold_interactive(struct sbx_artifact *a, const struct sbx_strs *flat)
{
    struct sbx_launch *l = &a->launch;

    if (!flat->len || l->interactive.set || !a->sandbox_set)
        return;
    if (l->entrypoint.len > 1) {
        l->noninteractive = a->run_options; /* the always-on arguments, and its own */
        l->entrypoint.len = 1;
    }
    l->interactive = *flat;
    l->interactive.set = true;
}

static void fold_ports(struct sbx_decoder *d, struct sbx_v1 *v)
{
    size_t n = v->a.ports.len + v->network_ports.len;
    struct sbx_port *all;

    if (!v->network_ports.len)
        return;
    all = sbx_decode_alloc(d, n, sizeof(*all));
    if (!all)
        return;
    if (v->a.ports.len)
        memcpy(all, v->a.ports.v, v->a.ports.len * sizeof(*all));
    memcpy(all + v->a.ports.len, v->network_ports.v, v->network_ports.len * sizeof(*all));
    v->a.ports.v = all;
    v->a.ports.len = n;
    v->a.ports.set = true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sbx_pair *)a)->name, ((const struct sbx_pair *)b)->name);
}

static void add_volumes(struct sbx_volume *out, size_t *len, struct sbx_pairs *from, const char *type)
{
    if (from->len)
        qsort(from->v, from->len, sizeof(*from->v), by_name);
    for (size_t i = 0; i < from->len; i++)
        out[(*len)++] = (struct sbx_volume){ .at = from->v[i].at, .path = from->v[i].name,
                                             .type = type, .size = from->v[i].value };
}

/* tmpfs first, each mapping by path, then the list as it was written (S22). */
static void fold_volumes(struct sbx_decoder *d, struct sbx_v1 *v)
{
    size_t n = v->tmpfs.len + v->volumes.len + v->a.volumes.len, len = 0;
    struct sbx_volume *all;

    if (n == v->a.volumes.len)
        return;
    all = sbx_decode_alloc(d, n, sizeof(*all));
    if (!all)
        return;
    add_volumes(all, &len, &v->tmpfs, "tmpfs");
    add_volumes(all, &len, &v->volumes, NULL);
    if (v->a.volumes.len)
        memcpy(all + len, v->a.volumes.v, v->a.volumes.len * sizeof(*all));
    v->a.volumes.v = all;
    v->a.volumes.len = n;
    v->a.volumes.set = true;
}

static void fold_context(struct sbx_decoder *d, const struct sbx_yaml_node *root, struct sbx_v1 *v)
{
    v->lost.memory = given(v->a.agent_context);
    if (!given(v->memory) || v->lost.memory)
        return;
    v->a.agent_context = v->memory;
    v->a.agent_context_at = (struct sbx_origin){ d->kit, sbx_decode_pos(root, "memory") };
}

/* Fields of the artifact keep their place although it moves. */
static void move_places(struct sbx_decoder *d, const struct sbx_v1 *v, struct sbx_artifact *a)
{
    const char *from = (const char *)&v->a;

    for (size_t i = 0; i < d->places->len; i++) {
        const char *field = d->places->v[i].field;

        if (field >= from && field < from + sizeof(v->a))
            d->places->v[i].field = (const char *)a + (field - from);
    }
}

void sbx_decode_v1(struct sbx_decoder *d, const struct sbx_yaml_node *root, struct sbx_artifact *a)
{
    struct sbx_v1 *v = sbx_decode_alloc(d, 1, sizeof(*v));
    size_t before = d->diags->errors;

    if (!v)
        return;
    v->a = *a;
    sbx_decode_block(d, &sbx_kit_v1, root, v);
    if (d->diags->errors == before && !d->no_memory) {
        struct sbx_strs interactive = v->a.interactive_options;

        sbx_v1_fold_credentials(d, v);
        warn_of(d, root, v);
        append(d, &v->a.allow, &v->allowed);
        append(d, &v->a.deny, &v->denied);
        v->a.caps_set = v->a.caps_set || v->a.allow.len || v->a.deny.len;
        fold_sandbox(d, v);
        fold_ports(d, v);
        fold_volumes(d, v);
        fold_context(d, root, v);
        d->no_memory |= !sbx_flatten_launch(&v->a);
        v->a.interactive_options = interactive; /* ttyArgs is not in the flat list (S12) */
        fold_interactive(&v->a, &interactive);
        sbx_decode_not_applied(d, root, &v->a);
    }
    if (!strcmp(v->a.schema_version ? v->a.schema_version : "", "1"))
        v->a.v1 = v;
    *a = v->a;
    move_places(d, v, a);
}
