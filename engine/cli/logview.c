#include "logview.h"

#include <string.h>

void sbx_log_view_release(struct sbx_log_view *v)
{
    json_decref(v->index);
    free(v->rows);
}

static const char *field(const json_t *record, const char *name)
{
    const char *text = json_string_value(json_object_get(record, name));

    return text ? text : "";
}

static enum sbx_log_section section_of(const json_t *record)
{
    const char *decision = field(record, "decision"), *event = field(record, "event");

    if (!strcmp(event, "end"))
        return SBX_LOG_ENDED;
    if (!strcmp(decision, "allow") || !strcmp(event, "close"))
        return SBX_LOG_ALLOWED;
    return strcmp(decision, "error") ? SBX_LOG_BLOCKED : SBX_LOG_FAILED;
}

static const char *host_of(const json_t *record, struct sbx_arena *arena)
{
    const char *host = field(record, "host");
    long long port = json_integer_value(json_object_get(record, "port"));

    if (!port)
        return sbx_arena_strdup(arena, host);
    return sbx_arena_printf(arena, strchr(host, ':') ? "[%s]:%lld" : "%s:%lld", host, port);
}

static struct sbx_log_row *new_row(struct sbx_log_view *v)
{
    struct sbx_log_row *rows;
    size_t cap = v->cap ? v->cap * 2 : 64;

    if (v->n == v->cap) {
        rows = realloc(v->rows, cap * sizeof(*rows));
        if (!rows)
            return NULL;
        v->rows = rows;
        v->cap = cap;
    }
    return &v->rows[v->n];
}

static enum sbx_code start_row(struct sbx_log_view *v, const json_t *record, const char *host,
                               const char *key, struct sbx_err *err)
{
    struct sbx_log_row *row = new_row(v);
    const char *rule = field(record, "rule"), *origin = field(record, "origin");

    if (!row || json_object_set_new(v->index, key, json_integer((json_int_t)v->n)))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *row = (struct sbx_log_row){
        .sandbox = sbx_arena_strdup(v->arena, field(record, "sandbox")),
        .type = section_of(record) == SBX_LOG_ENDED ? "gate" : "network",
        .host = host,
        .proxy = sbx_arena_strdup(v->arena, field(record, "proxy")),
        .rule = *rule ? sbx_arena_printf(v->arena, *origin ? "%s (%s)" : "%s", rule, origin) : "",
        .reason = sbx_arena_strdup(v->arena, field(record, "reason")),
        .first = sbx_arena_strdup(v->arena, field(record, "time")),
        .section = section_of(record),
    };
    v->n++;
    return SBX_OK;
}

static void count_in(struct sbx_log_view *v, struct sbx_log_row *row, const json_t *record)
{
    long long count = json_integer_value(json_object_get(record, "count"));

    row->bytes_in += json_integer_value(json_object_get(record, "bytesIn"));
    row->bytes_out += json_integer_value(json_object_get(record, "bytesOut"));
    row->duration_ms += json_integer_value(json_object_get(record, "durationMs"));
    if (strcmp(field(record, "event"), "close")) /* the end of one that was counted */
        row->count += count > 0 ? count : 1;
    if (!row->last || strcmp(field(record, "time"), row->last) > 0)
        row->last = sbx_arena_strdup(v->arena, field(record, "time"));
}

static enum sbx_code add_row(struct sbx_log_view *v, const json_t *record, struct sbx_err *err)
{
    const char *host = host_of(record, v->arena);
    SBX_AUTO_FREE char *key = NULL;
    json_t *found;
    enum sbx_code rc = SBX_OK;

    if (!host ||
        asprintf(&key, "%d\n%s\n%s\n%s\n%s\n%s", section_of(record), host, field(record, "sandbox"),
                 field(record, "proxy"), field(record, "rule"), field(record, "reason")) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    found = json_object_get(v->index, key);
    if (!found && !strcmp(field(record, "event"), "close"))
        return SBX_OK; /* of a request before the time that was asked for, or of a rule that moved */
    if (!found && v->n == SBX_LOG_ROWS_MAX) {
        v->skipped++;
        return SBX_OK;
    }
    if (!found)
        rc = start_row(v, record, host, key, err);
    if (!rc)
        count_in(v, &v->rows[found ? (size_t)json_integer_value(found) : v->n - 1], record);
    return rc;
}

/* A gate that starts where none has ended: the one before was killed, and nobody could say so. */
static enum sbx_code add_start(struct sbx_log_view *v, const json_t *record, struct sbx_err *err)
{
    bool killed = v->running;
    json_t *end;
    enum sbx_code rc;

    v->running = true;
    if (!killed)
        return SBX_OK;
    end = json_pack("{s:s, s:s, s:s, s:s}", "event", "end", "reason", "killed", "time",
                    field(record, "time"), "sandbox", field(record, "sandbox"));
    rc = end ? add_row(v, end, err) : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    json_decref(end);
    return rc;
}

static enum sbx_code add_record(struct sbx_log_view *v, const json_t *record, struct sbx_err *err)
{
    const char *event = field(record, "event");
    long long count = json_integer_value(json_object_get(record, "count"));

    if (!strcmp(event, "end"))
        v->running = false;
    if (!sbx_log_is_since(record, v->since)) {
        v->running |= !strcmp(event, "start");
        return SBX_OK;
    }
    if (!strcmp(field(record, "reason"), "records-lost")) { /* a gap, not a request */
        v->lost += count > 0 ? count : 1;
        return SBX_OK;
    }
    return !strcmp(event, "start") ? add_start(v, record, err) : add_row(v, record, err);
}

enum sbx_code sbx_log_view_add(struct sbx_log_view *v, FILE *log, struct sbx_err *err)
{
    SBX_AUTO_FREE char *line = NULL;
    size_t size = 0;
    bool full = false;
    ssize_t len;
    enum sbx_code rc = SBX_OK;

    if (!v->index)
        v->index = json_object();
    while (!rc && (len = getline(&line, &size, log)) > 0) {
        json_t *record = (size_t)len > SBX_LOG_LINE_MAX ? NULL
                                                        : json_loadb(line, (size_t)len, 0, NULL);

        full = !strcmp(field(record, "reason"), "log-full") ||
               (full && *field(record, "event")); /* the ends of what was open come behind it */
        if (json_is_object(record))
            rc = add_record(v, record, err);
        else if (line[len - 1] == '\n')
            v->skipped++;
        json_decref(record);
    }
    v->full |= full;
    if (!rc && ferror(log))
        return sbx_err_errno(err, "read the log");
    return rc;
}

static int newest_first(const void *a, const void *b)
{
    const struct sbx_log_row *x = a, *y = b;
    int order = strcmp(y->last, x->last);

    return order ? order : strcmp(x->host, y->host);
}

void sbx_log_view_sort(struct sbx_log_view *v)
{
    if (v->n)
        qsort(v->rows, v->n, sizeof(*v->rows), newest_first);
}
