/* What version 2 has no place for: reported with what to do, and the user's half as a text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "migrate.h"
#include "yaml_out.h"

static bool given(const char *text)
{
    return text && *text;
}

static struct sbx_pos pos_of(const struct sbx_artifact *a, const void *field)
{
    for (size_t i = 0; i < a->places->len; i++)
        if (a->places->v[i].field == field)
            return a->places->v[i].pos;
    return a->at.pos;
}

static void lost(const struct sbx_artifact *a, struct sbx_diags *diags, const void *field,
                 const char *path, const char *recipe)
{
    sbx_diags_add(diags, SBX_WARNING, "not-migrated", pos_of(a, field), path, recipe, "%s",
                  "is lost: version 2 has nothing for it");
}

static void lost_sandbox(const struct sbx_artifact *a, const struct sbx_v1 *v,
                         struct sbx_diags *diags)
{
    const struct sbx_v1_sandbox *s = v->sandbox.set ? &v->sandbox : &v->agent;

    if (given(s->entrypoint.pipe_mode))
        lost(a, diags, &s->entrypoint.pipe_mode, "sandbox.entrypoint.pipeMode",
             "to read standard input, start a script of files/home as the entrypoint");
    if (v->sandbox.set && v->agent.set)
        lost(a, diags, &v->agent, "agent", "sandbox counts; move what is missing there by hand");
    if (s->set && v->lost.resources)
        lost(a, diags, &a->resources, "resources", "write it as sandbox.resources");
    if (s->set && s->build.set && v->lost.build)
        lost(a, diags, &a->build, "build", "sandbox.build counts");
    if (a->interactive_options.len && a->interactive_options.v != a->launch.interactive.v)
        lost(a, diags, &a->interactive_options, "interactiveOptions",
             s->set ? "ttyArgs counts" : "write sandbox.command.interactive in a sandbox kit");
    if (!strcmp(a->kind, "mixin") && given(a->extends) && !sbx_artifact_agent(a))
        lost(a, diags, &a->extends, "extends", "a mixin can only name an agent, with requires.agent");
    if (given(v->memory) && v->lost.memory)
        lost(a, diags, &v->memory, "memory", "agentContext counts; add the text there by hand");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* serviceAuth without a host that it is for */
static enum sbx_code lost_auth(const struct sbx_v1 *v, struct sbx_diags *diags)
{
    size_t n = v->service_domains.len + v->egress.len;
    const char **used = malloc((n ? n : 1) * sizeof(*used));

    if (!used)
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        used[i] = i < v->service_domains.len ? v->service_domains.v[i].value
                                             : v->egress.v[i - v->service_domains.len].value;
    qsort(used, n, sizeof(*used), by_text);
    for (size_t i = 0; i < v->service_auth.len; i++) {
        const struct sbx_v1_auth *auth = &v->service_auth.v[i];
        char path[SBX_PATH_MAX];

        if (bsearch(&auth->name, used, n, sizeof(*used), by_text))
            continue;
        snprintf(path, sizeof(path), "network.serviceAuth.%s", auth->name);
        sbx_diags_add(diags, SBX_WARNING, "not-migrated", auth->at.pos, path,
                      "add an entry with domain, header and format to credentials[].apiKey.inject",
                      "is lost: no host is named for the service");
    }
    free(used);
    return SBX_OK;
}

static void moved(struct sbx_diags *diags, const struct sbx_v1_source *s)
{
    char path[SBX_PATH_MAX];

    if (!s->file_set && !given(s->priority) && s->env.len < 2)
        return; /* one variable: the user's own is asked for by its name */
    snprintf(path, sizeof(path), "credentials.sources.%s", s->name);
    sbx_diags_add(diags, SBX_NOTE, "moved-to-user", s->at.pos, path,
                  "give users the text for credentials.yaml",
                  "where a value is found is not said by a kit of version 2");
}

/* Hosts that the kit sends the credential to: what the user is asked to allow. */
static void put_hosts(struct sbx_yaml_out *o, const struct sbx_artifact *a, const char *service)
{
    bool any = false;

    sbx_yaml_out_adds(o, "\n    allowedDomains:");
    for (size_t i = 0; i < a->credentials.len; i++) {
        const struct sbx_credential *c = &a->credentials.v[i];

        if (!c->service || strcmp(c->service, service))
            continue;
        for (size_t k = 0; k < c->api_key.inject.len; k++) {
            sbx_yaml_out_adds(o, "\n      - ");
            sbx_yaml_out_text(o, c->api_key.inject.v[k].domain, 8);
            any = true;
        }
    }
    if (!any)
        sbx_yaml_out_adds(o, " []");
}

static void put_env(struct sbx_yaml_out *o, const struct sbx_v1_source *s)
{
    if (!s->env.len)
        return;
    sbx_yaml_out_adds(o, "\n      - env:");
    for (size_t i = 0; i < s->env.len; i++) {
        sbx_yaml_out_adds(o, "\n          - ");
        sbx_yaml_out_text(o, s->env.v[i], 12);
    }
}

static void put_file(struct sbx_yaml_out *o, const struct sbx_v1_source *s)
{
    if (!given(s->file_path))
        return;
    sbx_yaml_out_adds(o, "\n      - file:\n          path: ");
    sbx_yaml_out_text(o, s->file_path, 12);
    if (!given(s->file_parser))
        return;
    sbx_yaml_out_adds(o, "\n          parser: ");
    sbx_yaml_out_text(o, s->file_parser, 12);
}

static void put_binding(struct sbx_yaml_out *o, const struct sbx_artifact *a,
                        const struct sbx_v1_source *s)
{
    bool file_first = s->priority && !strcmp(s->priority, "file-first");

    sbx_yaml_out_adds(o, "\n  ");
    sbx_yaml_out_key(o, s->name, 2);
    sbx_yaml_out_adds(o, "\n    discovery:");
    if (!s->env.len && !given(s->file_path))
        sbx_yaml_out_adds(o, " []");
    if (file_first)
        put_file(o, s);
    put_env(o, s);
    if (!file_first)
        put_file(o, s);
    put_hosts(o, a, s->name);
}

enum sbx_code sbx_migrate_losses(const struct sbx_artifact *a, struct sbx_diags *diags,
                                 struct sbx_buf *bindings)
{
    const struct sbx_v1 *v = a->v1;
    struct sbx_yaml_out o = { .out = bindings };

    lost_sandbox(a, v, diags);
    for (size_t i = 0; i < v->sources.len; i++) {
        moved(diags, &v->sources.v[i]);
        if (!i)
            sbx_yaml_out_adds(&o, "bindings:");
        put_binding(&o, a, &v->sources.v[i]);
    }
    if (v->sources.len)
        sbx_yaml_out_adds(&o, "\n");
    return o.rc ? o.rc : lost_auth(v, diags);
}
