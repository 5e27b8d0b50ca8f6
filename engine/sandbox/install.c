/* One install command, and what to say when it fails (decision F5). */
#include "net.h"
#include "steps.h"

#include "sbx/json.h"

#include <string.h>

#define HOSTS_NAMED 8 /* blocked hosts in one message */
#define LINES_NAMED 5 /* last lines of output in the error; all of them were shown before */

json_int_t sbx_gate_step(struct sbx_box *box, const char *id)
{
    SBX_AUTO_JSON json_t *answer = NULL;

    if (box->record.net == SBX_NET_NONE ||
        sbx_gate_ask(box, json_pack("{s:s, s:s}", "op", "step", "id", id), &answer, NULL))
        return 0;
    return json_integer_value(json_object_get(answer, "offset"));
}

/* One entry of the gate's answer: "host:port (reason)", without a port for DNS. */
static const char *name_of(struct sbx_box *box, const json_t *entry)
{
    const char *host = json_string_value(json_object_get(entry, "host"));
    const char *reason = json_string_value(json_object_get(entry, "reason"));
    int port = (int)json_integer_value(json_object_get(entry, "port"));

    if (json_is_string(entry))
        return json_string_value(entry);
    if (!host)
        return NULL;
    if (!reason || !strcmp(reason, "default-deny"))
        reason = "no allow rule"; /* as the gate itself tells the client */
    if (!port)
        return sbx_arena_printf(box->arena, "%s (%s)", host, reason);
    return sbx_arena_printf(box->arena, "%s:%d (%s)", host, port, reason);
}

/* "; blocked during this command: cdn.example.com:443 (no allow rule)", or "". */
static const char *blocked(struct sbx_box *box, json_int_t since)
{
    SBX_AUTO_JSON json_t *answer = NULL;
    const json_t *hosts;
    const char *text = "";

    if (box->record.net == SBX_NET_NONE ||
        sbx_gate_ask(box, json_pack("{s:s, s:I}", "op", "blocked", "since", since), &answer, NULL))
        return "";
    hosts = json_object_get(answer, "blocked");
    if (!hosts)
        hosts = json_object_get(answer, "hosts");
    for (size_t i = 0; text && i < json_array_size(hosts) && i < HOSTS_NAMED; i++) {
        const char *name = name_of(box, json_array_get(hosts, i));

        if (name)
            text = sbx_arena_printf(box->arena, "%s%s%s", text, *text ? ", " : "", name);
    }
    if (!text || !*text)
        return "";
    text = sbx_arena_printf(box->arena, "\n  blocked during this command: %s", text);
    return text ? text : "";
}

static enum sbx_code failed(struct sbx_box *box, const struct sbx_plan_step *s,
                            const struct sbx_tail *tail, json_int_t since, int status,
                            struct sbx_err *err)
{
    const char *lines = sbx_tail_text(tail, LINES_NAMED, box->arena);
    bool described = s->description && *s->description;

    return sbx_err_set(err, SBX_FAILED, "kit %s, install command %u%s%s%s: exit %d%s%s%s", s->kit,
                       s->number, described ? " (" : "", described ? s->description : "",
                       described ? ")" : "", status, lines && *lines ? ":\n" : "",
                       lines ? lines : "", blocked(box, since));
}

enum sbx_code sbx_step_install(struct sbx_box *box, const struct sbx_plan_step *s,
                               struct sbx_err *err)
{
    struct sbx_tail tail = { .n = 0 };
    struct sbx_inside x = { .step = s->id, .argv = s->argv, .user = s->user,
                            .workdir = box->plan->workdir, .in = -1, .tail = &tail };
    json_int_t since = sbx_gate_step(box, s->id);
    struct sbx_stage stage;
    int status = 0;
    enum sbx_code rc;

    stage = sbx_stage_begin(box, s, "Install %s%s%s", s->kit,
                            s->description && *s->description ? ": " : "",
                            s->description ? s->description : "");
    rc = sbx_inside(box, &x, &status, err);
    if (rc)
        rc = sbx_err_wrap(err, rc, "kit %s, install command %u", s->kit, s->number);
    else if (status)
        rc = failed(box, s, &tail, since, status, err);
    return sbx_stage_end(&stage, rc);
}
