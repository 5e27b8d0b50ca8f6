#include <errno.h>
#include <string.h>
#include <time.h>

#include "logfollow.h"
#include "logview.h"
#include "out.h"
#include "session.h"
#include "verbs.h"

struct log_opts {
    bool raw, quiet, follow;
    unsigned limit;
    const char *type, *since;
};

static const char *const types[] = { "all", "network", "filesystem", NULL };

static const struct sbx_opt rows[] = {
    SBX_SWITCH(struct log_opts, raw, "raw", 0,
               "Print the records themselves, one JSON value a line"),
    SBX_COUNT(struct log_opts, limit, "limit", 0, "N",
              "At most N rows of each section (with --raw: the last N)"),
    SBX_SWITCH(struct log_opts, follow, "follow", 'f', "Print records as they come"),
    SBX_TEXT(struct log_opts, since, "since", 0, "TIME",
             "Only later ones: 10m, 2h30m, 3d ago, or a UTC time such as 2026-01-02T03:04:05Z"),
    SBX_SWITCH(struct log_opts, quiet, "quiet", 'q', "Print hosts only, each once"),
    SBX_TEXT(struct log_opts, type, "type", 0, "TYPE", "all, network; filesystem has none",
             .choices = types, .hidden = true),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };

static const char *const section_names[] = { "Blocked requests", "Allowed requests",
                                             "Failed requests", "Ends of the gate" };
static const char *const section_keys[] = { "blocked_hosts", "allowed_hosts", "failed_hosts",
                                            "gate_ends" };

static enum sbx_code open_log(struct sbx_cli *cli, struct sbx_session *s, const char *name,
                              FILE *ret[SBX_LOG_PARTS], struct sbx_err *err)
{
    const char *path = NULL;
    enum sbx_code rc = sbx_sandbox_log_path(s->engine, name, cli->arena, &path, err);

    return rc ? rc : sbx_log_open(path, ret, err);
}

static json_t *row_json(const struct sbx_log_row *r)
{
    json_t *row = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:I}", "vm_name", r->sandbox, "type",
                            r->type, "host", r->host, "proxy_type", r->proxy, "rule", r->rule,
                            "reason", r->reason, "last_seen", r->last, "count_since", r->first,
                            "count", (json_int_t)r->count);

    if (row && r->section == SBX_LOG_ALLOWED &&
        (json_object_set_new(row, "bytes_in", json_integer(r->bytes_in)) ||
         json_object_set_new(row, "bytes_out", json_integer(r->bytes_out)) ||
         json_object_set_new(row, "duration_ms", json_integer(r->duration_ms)))) {
        json_decref(row);
        return NULL;
    }
    return row;
}

static enum sbx_code as_value(struct sbx_cli *cli, const struct sbx_log_view *v, size_t limit,
                              struct sbx_err *err)
{
    json_t *value = json_object();

    for (int section = 0; section < SBX_LOG_SECTIONS; section++) {
        json_t *list = json_array();

        for (size_t i = 0; i < v->n && json_array_size(list) < limit; i++)
            if (v->rows[i].section == (enum sbx_log_section)section)
                json_array_append_new(list, row_json(&v->rows[i]));
        if (json_object_set_new(value, section_keys[section], list))
            return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    return sbx_out_value(cli, value, err);
}

static enum sbx_code as_table(struct sbx_cli *cli, const struct sbx_log_view *v, size_t limit,
                              struct sbx_err *err)
{
    static const char *const head[] = { "SANDBOX", "TYPE",   "HOST",      "PROXY",
                                        "RULE",    "REASON", "LAST SEEN", "COUNT" };
    bool any = false;

    for (int section = 0; section < SBX_LOG_SECTIONS; section++) {
        struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };

        for (size_t i = 0; i < v->n && c.len < limit; i++) {
            const struct sbx_log_row *r = &v->rows[i];
            const char *cells[] = { r->sandbox, r->type,
                                    r->host,    r->proxy,
                                    r->rule,    r->reason,
                                    r->last,    sbx_arena_printf(cli->arena, "%lld", r->count) };

            if (r->section == (enum sbx_log_section)section && sbx_columns_add(&c, cells, err))
                return SBX_NO_MEMORY;
        }
        if (!c.len)
            continue;
        fprintf(cli->out, "%s%s:\n", any ? "\n" : "", section_names[section]);
        sbx_columns_print(&c, cli->out);
        any = true;
    }
    if (!any)
        fputs("No requests yet.\n", cli->out);
    return SBX_OK;
}

static void hosts_only(struct sbx_cli *cli, const struct sbx_log_view *v, size_t limit)
{
    SBX_AUTO_JSON json_t *seen = json_object();

    for (size_t i = 0, n = 0; i < v->n && n < limit; i++) {
        const struct sbx_log_row *r = &v->rows[i];

        if (r->section == SBX_LOG_ENDED || json_object_get(seen, r->host))
            continue;
        n++;
        fprintf(cli->out, "%s\n", sbx_out_clean(cli->arena, r->host));
        json_object_set_new(seen, r->host,
                            json_true()); /* one that cannot be kept is printed again */
    }
}

/* A record from then on? */
static bool counts(const char *line, size_t len, const char *since)
{
    json_t *record = json_loadb(line, len, 0, NULL);
    bool yes = record && sbx_log_is_since(record, since);

    json_decref(record);
    return yes;
}

static size_t count_lines(FILE *log, const char *since)
{
    SBX_AUTO_FREE char *line = NULL;
    size_t size = 0, n = 0;
    ssize_t len;

    while ((len = getline(&line, &size, log)) > 0)
        n += line[len - 1] == '\n' && counts(line, (size_t)len, since);
    rewind(log);
    return n;
}

static enum sbx_code raw_part(struct sbx_cli *cli, FILE *log, size_t *skip, const char *since,
                              json_t *list, struct sbx_err *err)
{
    SBX_AUTO_FREE char *line = NULL;
    size_t size = 0;
    ssize_t len;

    while ((len = getline(&line, &size, log)) > 0 && line[len - 1] == '\n') {
        if (!counts(line, (size_t)len, since) || (*skip && (*skip)--))
            continue;
        if (cli->format == SBX_FORMAT_TABLE)
            fwrite(line, 1, (size_t)len, cli->out);
        else
            json_array_append_new(list, json_loadb(line, (size_t)len, 0, NULL));
    }
    return ferror(log) ? sbx_err_errno(err, "read the log") : SBX_OK;
}

/* The records as the gate wrote them; only the last `limit` of those that count. */
static enum sbx_code raw(struct sbx_cli *cli, FILE *log[SBX_LOG_PARTS], size_t limit,
                         const char *since, json_t *list, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;
    size_t n = 0, skip;

    for (int i = 0; i < SBX_LOG_PARTS; i++)
        n += log[i] ? count_lines(log[i], since) : 0;
    skip = n > limit ? n - limit : 0;
    for (int i = 0; !rc && i < SBX_LOG_PARTS; i++)
        if (log[i])
            rc = raw_part(cli, log[i], &skip, since, list, err);
    return rc;
}

static enum sbx_code sum_up(struct sbx_log_view *v, FILE *log[SBX_LOG_PARTS], struct sbx_err *err)
{
    bool full = v->full;
    enum sbx_code rc = log[0] ? sbx_log_view_add(v, log[0], err) : SBX_OK;

    v->full = full; /* the older part may well have ended so */
    if (!rc && log[1])
        rc = sbx_log_view_add(v, log[1], err);
    return rc;
}

static enum sbx_code names(struct sbx_cli *cli, struct sbx_session *s, struct sbx_texts *ret,
                           struct sbx_err *err)
{
    const char *const *v = NULL;
    size_t n = 0;
    enum sbx_code rc;

    if (cli->args.n) {
        *ret = cli->args;
        return SBX_OK;
    }
    rc = sbx_sandbox_names(s->engine, cli->arena, &v, &n, err);
    ret->v = sbx_arena_array(cli->arena, n + 1, sizeof(*ret->v));
    if (!rc && !ret->v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (ret->n = 0; !rc && ret->n < n; ret->n++)
        ret->v[ret->n] = v[ret->n];
    return rc;
}

static enum sbx_code read_all(struct sbx_cli *cli, struct sbx_session *s,
                              const struct sbx_texts *who, struct sbx_log_view *v, json_t *records,
                              struct sbx_err *err)
{
    const struct log_opts *o = cli->options;
    bool none = o->type && !strcmp(o->type, "filesystem");
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < who->n; i++) {
        FILE *log[SBX_LOG_PARTS] = { NULL };

        v->running = false;
        rc = open_log(cli, s, who->v[i], log, err);
        if (!rc && !none)
            rc = o->raw ? raw(cli, log, o->limit ? o->limit : SIZE_MAX, v->since, records, err)
                        : sum_up(v, log, err);
        sbx_log_close(log);
    }
    return rc;
}

static enum sbx_code show(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct log_opts *o = cli->options;
    size_t limit = o->limit ? o->limit : SIZE_MAX;
    SBX_AUTO(sbx_session) s = { .quiet = true };
    SBX_AUTO(sbx_log_view) v = { .arena = cli->arena };
    SBX_AUTO_JSON json_t *records = json_array();
    struct sbx_texts who = { 0 };
    enum sbx_code rc = o->since ? sbx_log_since(cli->arena, o->since, time(NULL), &v.since, err)
                                : SBX_OK;

    if (!rc && o->follow && (o->quiet || cli->format == SBX_FORMAT_YAML))
        return sbx_err_set(err, SBX_USAGE, "--follow prints records: no --quiet and no YAML");
    if (!rc)
        rc = sbx_session_open(&s, cli, NULL, err);
    if (!rc)
        rc = names(cli, &s, &who, err);
    if (!rc && o->follow)
        return sbx_log_follow(cli, &s, &who, &(struct sbx_follow){ v.since, o->limit, o->raw },
                              err);
    if (!rc)
        rc = read_all(cli, &s, &who, &v, records, err);
    if (rc)
        return rc;
    if (v.skipped)
        sbx_cli_note(cli, "note: %zu lines of the log were left out", v.skipped);
    if (v.lost)
        sbx_cli_note(
            cli, "note: %lld records were lost: the log could not be written (is the disk full?)",
            v.lost);
    if (v.full)
        sbx_cli_note(
            cli, "note: the log is full and nothing more is allowed; stop and start the sandbox");
    if (o->raw)
        return cli->format == SBX_FORMAT_TABLE ? SBX_OK
                                               : sbx_out_value(cli, json_incref(records), err);
    sbx_log_view_sort(&v);
    if (cli->format != SBX_FORMAT_TABLE)
        return as_value(cli, &v, limit, err);
    if (!o->quiet)
        return as_table(cli, &v, limit, err);
    hosts_only(cli, &v, limit);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_policy_log = {
    .name = "log",
    .summary = "Show what sandboxes asked for, and what was decided",
    .args = "[SANDBOX]",
    .about =
        "Two sections, blocked and allowed (and failed: allowed, but the host did not "
        "answer), with one row a\n"
        "host and port. PROXY is how it came: forward and forward-bypass by the proxy, "
        "transparent and network\n"
        "around it. --json adds the bytes and the time of allowed ones that have ended. Why "
        "the sandbox's gate\n"
        "ended stands in a section of its own. The log of a removed sandbox is kept until its "
        "name is used\n"
        "again. --follow prints one line a record (JSON Lines with --json), the last 10 first, "
        "until you\n"
        "interrupt it or the sandbox is removed.",
    .example = "sbx policy log my-sandbox --since 1h\n"
               "sbx policy log my-sandbox --follow\n"
               "sbx policy log my-sandbox --raw | jq 'select(.decision == \"deny\")'",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct log_opts),
    .max = 1,
    .words = SBX_WORDS_SANDBOX,
    .run = show,
};
