#include "oci.h"

static json_t *mounts(const struct sbx_container_spec *spec)
{
    static const char *const kinds[] = { "bind", "volume", "tmpfs" };
    json_t *out = json_array();

    for (size_t i = 0; out && i < spec->n_mounts; i++) {
        const struct sbx_mount *m = &spec->mounts[i];
        json_t *row = json_pack("{s:s, s:s, s:s, s:b, s:I, s:i, s:b, s:i}", "kind", kinds[m->kind],
                                "source", m->source ? m->source : "", "target", m->target,
                                "readOnly", m->read_only, "size", (json_int_t)m->size, "mode",
                                (int)m->mode, "noexec", m->noexec, "uid", m->uid);

        if (json_array_append_new(out, row)) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static const char *network(const struct sbx_container_spec *spec)
{
    return spec->netns == SBX_NETNS_PATH ? spec->netns_ref : "";
}

static const char *or_empty(const char *text) { return text ? text : ""; }

json_t *oci_spec_json(const struct sbx_container_spec *s, const char *id, const char *app,
                      const struct sbx_store_image *image)
{
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:s, "
        "s:f, s:I, s:I, s:b, s:b, s:b}",
        "version", 1, "id", id, "name", s->name, "app", app, "image", image->id, "hostname",
        or_empty(s->hostname), "workdir", s->workdir && *s->workdir ? s->workdir : "/", "argv",
        sbx_json_strings(s->argv), "env", sbx_json_strings(s->env), "labels",
        sbx_json_strings(s->labels), "mounts", mounts(s), "layers", sbx_json_strings(image->layers),
        "sysctls", sbx_json_strings(s->sysctls), "capAdd", sbx_json_strings(s->cap_add), "capDrop",
        sbx_json_strings(s->cap_drop), "netns", network(s), "user", image->user, "cpus", s->cpus,
        "memory", (json_int_t)s->memory, "pids", (json_int_t)s->pids, "privileged", s->privileged,
        "readOnlyRoot", s->read_only_root, "userns", s->userns_allowed);
}
