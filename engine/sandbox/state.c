/* sandbox.json: what a sandbox is. Unknown versions are not guessed at. */
#include "box.h"

#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static const char *const phases[] = { "creating", "ready", "failed" };
static const char *const nets[] = { "none", "enter", "create", "holder" };

static json_t *ports_json(const struct sbx_record *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->n_ports; i++) {
        const struct sbx_published *p = &r->ports[i];
        json_t *o = json_pack("{s:s, s:i, s:i, s:b, s:b, s:b, s:s*, s:s*}", "hostIp", p->host_ip,
                              "hostPort", (int)p->host_port, "sandboxPort", (int)p->sandbox_port,
                              "ipv6", p->ipv6, "udp", p->udp, "fixed", p->fixed, "name", p->name, "kit", p->kit);

        if (json_array_append_new(list, o)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

enum sbx_code sbx_state_text(const struct sbx_record *r, struct sbx_buf *out, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *o = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:s*, s:s*, s:s*, s:s, s:s*, s:s*, s:s, s:s, s:i, s:i, s:b, "
        "s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "version", SBX_STATE_VERSION, "id", r->id, "name", r->name, "agent", r->agent, "runtime",
        r->runtime, "image", r->image, "imageId", r->image_id, "container", r->container, "holder",
        r->holder, "createdAt", r->created_at, "lastUsedAt", r->last_used_at, "startedAt",
        r->started_at, "phase", phases[r->phase], "net", nets[r->net], "starts", (int)r->starts,
        "generation", (int)r->generation, "weakNetwork", r->weak_network, "strictStartup",
        r->strict_startup, "learned", r->learned, "allowSockets",
        sbx_json_strings(r->allow_sockets), "kitArgs", sbx_json_strings(r->kit_args), "env",
        sbx_json_strings(r->env), "volumes", sbx_json_strings(r->volumes), "sources",
        sbx_json_strings(r->sources), "places", sbx_json_strings(r->places), "ports",
        ports_json(r));
    enum sbx_code rc;

    if (!o)
        return sbx_out_of_memory(err);
    rc = sbx_json_canonical(o, out);
    if (!rc)
        rc = sbx_buf_adds(out, "\n");
    return rc ? sbx_err_set(err, rc, "sandbox.json: %s", rc == SBX_LIMIT ? "too large" : "failed")
              : SBX_OK;
}

static int index_of(const json_t *o, const char *key, const char *const *names, size_t n)
{
    const char *text = json_string_value(json_object_get(o, key));

    for (size_t i = 0; text && i < n; i++)
        if (!strcmp(text, names[i]))
            return (int)i;
    return -1;
}

static const char *str(struct sbx_arena *arena, const json_t *o, const char *key)
{
    return sbx_arena_strdup(arena, json_string_value(json_object_get(o, key)));
}

/* Absent in the state of an older version: none. */
static bool read_ports(struct sbx_arena *arena, const json_t *o, struct sbx_record *r)
{
    const json_t *list = json_object_get(o, "ports");
    size_t n = json_array_size(list);

    r->ports = sbx_arena_array(arena, n + 1, sizeof(*r->ports));
    if (!r->ports || n > SBX_PORTS_MAX)
        return false;
    for (r->n_ports = 0; r->n_ports < n; r->n_ports++) {
        const json_t *one = json_array_get(list, r->n_ports);
        struct sbx_published *p = &r->ports[r->n_ports];
        json_int_t host = json_integer_value(json_object_get(one, "hostPort"));
        json_int_t inside = json_integer_value(json_object_get(one, "sandboxPort"));

        *p = (struct sbx_published){
            .host_ip = str(arena, one, "hostIp"), .host_port = (uint16_t)host,
            .sandbox_port = (uint16_t)inside, .ipv6 = json_is_true(json_object_get(one, "ipv6")),
            .udp = json_is_true(json_object_get(one, "udp")),
            .fixed = json_is_true(json_object_get(one, "fixed")),
            .name = str(arena, one, "name"), .kit = str(arena, one, "kit"),
        };
        if (!p->host_ip || host < 0 || host > 65535 || inside < 1 || inside > 65535)
            return false;
    }
    return true;
}

static bool fill(struct sbx_arena *arena, const json_t *o, struct sbx_record *r)
{
    int phase = index_of(o, "phase", phases, SBX_ARRAY_LEN(phases));
    int net = index_of(o, "net", nets, SBX_ARRAY_LEN(nets));

    r->id = str(arena, o, "id");
    r->name = str(arena, o, "name");
    r->agent = str(arena, o, "agent");
    r->runtime = str(arena, o, "runtime");
    r->image = str(arena, o, "image");
    r->image_id = str(arena, o, "imageId");
    r->container = str(arena, o, "container");
    r->holder = str(arena, o, "holder");
    r->created_at = str(arena, o, "createdAt");
    r->last_used_at = str(arena, o, "lastUsedAt");
    r->started_at = str(arena, o, "startedAt");
    r->phase = (enum sbx_state_phase)phase;
    r->net = (enum sbx_net_mode)net;
    r->starts = (unsigned)json_integer_value(json_object_get(o, "starts"));
    r->generation = (unsigned)json_integer_value(json_object_get(o, "generation"));
    r->weak_network = json_is_true(json_object_get(o, "weakNetwork"));
    r->strict_startup = json_is_true(json_object_get(o, "strictStartup"));
    r->learned = json_is_true(json_object_get(o, "learned"));
    r->allow_sockets = sbx_json_texts(json_object_get(o, "allowSockets"), arena);
    r->kit_args = sbx_json_texts(json_object_get(o, "kitArgs"),
                                 arena); /* absent in the state of an older version: none */
    r->env = sbx_json_texts(json_object_get(o, "env"), arena);
    r->volumes = sbx_json_texts(json_object_get(o, "volumes"), arena);
    r->sources = sbx_json_texts(json_object_get(o, "sources"), arena);
    r->places = sbx_json_texts(json_object_get(o, "places"), arena);
    if (!r->last_used_at)
        r->last_used_at = "";
    return phase >= 0 && net >= 0 && r->id && r->name && r->agent && r->runtime && r->image &&
           r->created_at && r->allow_sockets && r->kit_args && r->env && r->volumes &&
           r->sources && r->places && read_ports(arena, o, r);
}

enum sbx_code sbx_state_read(int dirfd, struct sbx_arena *arena, struct sbx_record *ret,
                             struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STATE_MAX);
    SBX_AUTO_JSON json_t *o = NULL;
    struct stat st;
    enum sbx_code rc = sbx_file_read(dirfd, "sandbox.json", &text, err);

    if (rc)
        return rc;
    /* a power failure during a create can leave that: nothing of it was synced, nothing recorded */
    if (!text.len && (fstatat(dirfd, "records.jsonl", &st, AT_SYMLINK_NOFOLLOW) || !st.st_size))
        return sbx_err_set(err, SBX_NOT_FOUND, "sandbox.json: empty");
    o = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    if (!json_is_object(o) || json_integer_value(json_object_get(o, "version")) != SBX_STATE_VERSION)
        return sbx_err_set(err, SBX_SCHEMA, "sandbox.json: not of version %d", SBX_STATE_VERSION);
    if (!fill(arena, o, ret))
        return sbx_err_set(err, SBX_SCHEMA, "sandbox.json: incomplete");
    return SBX_OK;
}
