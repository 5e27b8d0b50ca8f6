#include <stdio.h>
#include <string.h>

#include "images.h"
#include "lines.h"
#include "sbx/json.h"
#include "sbx/text.h"

#define LAYER_ID_LEN 12 /* digits; the Engine shortens them */

struct pull {
    const struct sbx_progress *progress;
    json_t *last;   /* layer id: status that was said */
    json_t *totals; /* layer id: bytes, or ALL_HERE */
};

static enum sbx_code failed(const char *text, struct sbx_err *err)
{
    static const struct {
        const char *words;
        enum sbx_code code;
    } kinds[] = {
        { "manifest unknown", SBX_NOT_FOUND },
        { "not found", SBX_NOT_FOUND },
        { "denied", SBX_CONSENT },
        { "unauthorized", SBX_CONSENT },
        { "no basic auth", SBX_CONSENT },
        { "authentication required", SBX_CONSENT },
        { "no such host", SBX_UNAVAILABLE },
        { "connection refused", SBX_UNAVAILABLE },
        { "timeout", SBX_UNAVAILABLE },
        { "toomanyrequests", SBX_UNAVAILABLE },
    };
    SBX_AUTO(sbx_buf) clean = SBX_BUF_INIT(SBX_ERR_TEXT_MAX * 4);
    enum sbx_code code = SBX_FAILED;

    for (size_t i = 0; i < SBX_ARRAY_LEN(kinds) && code == SBX_FAILED; i++)
        if (strstr(text, kinds[i].words))
            code = kinds[i].code;
    if (sbx_text_escape(&clean, text, strnlen(text, SBX_ERR_TEXT_MAX)))
        return sbx_err_set(err, code, "the pull failed");
    return sbx_err_set(err, code, "%s", clean.ptr ? clean.ptr : "");
}

#define ALL_HERE (-1)

/* How much of a layer is here; that all of it is, is told once. */
static void count(struct pull *p, const json_t *value)
{
    const json_t *detail = json_object_get(value, "progressDetail");
    const char *id = sbx_json_text_of(value, "id"), *status = sbx_json_text_of(value, "status");
    json_int_t done = json_integer_value(json_object_get(detail, "current"));
    json_int_t total = json_integer_value(json_object_get(detail, "total"));
    json_int_t known = json_integer_value(json_object_get(p->totals, id));

    if (!strcmp(status, "Download complete"))
        done = total = known;
    else if (strcmp(status, "Downloading") != 0)
        return;
    if (total <= 0 || known == ALL_HERE)
        return;
    json_object_set_new(p->totals, id, json_integer(done < total ? total : ALL_HERE));
    p->progress->bytes(p->progress->ctx, id, done, total);
}

/* Of layers ("id" is theirs) only bytes are told where somebody counts them; "latest: Pulling from x" is no layer. */
static bool is_layer(const json_t *value)
{
    const char *id = sbx_json_text_of(value, "id");

    return strlen(id) == LAYER_ID_LEN && strspn(id, "0123456789abcdef") == LAYER_ID_LEN;
}

/* A line where a layer's status changed. */
static void say(struct pull *p, const json_t *value)
{
    const char *id = sbx_json_text_of(value, "id"), *status = sbx_json_text_of(value, "status");
    const char *before = sbx_json_text_of(p->last, id);
    json_int_t total = json_integer_value(
        json_object_get(json_object_get(value, "progressDetail"), "total"));
    SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(4096);
    enum sbx_code rc;

    if (!p->progress || !p->progress->line || !*status || strcmp(before, status) == 0)
        return;
    if (*id)
        json_object_set_new(p->last, id, json_string(status));
    rc = sbx_text_escape(&line, id, strnlen(id, 256));
    if (!rc && *id)
        rc = sbx_buf_adds(&line, ": ");
    if (!rc)
        rc = sbx_text_escape(&line, status, strnlen(status, 1024));
    if (!rc && total > 0)
        rc = sbx_buf_addf(&line, " (%.1f MB)", (double)total / 1e6);
    if (!rc)
        p->progress->line(p->progress->ctx, line.ptr);
}

static enum sbx_code take(void *ctx, const json_t *value, struct sbx_err *err)
{
    const char *text = sbx_json_text_of(value, "error");
    struct pull *p = ctx;

    if (*text)
        return failed(text, err);
    if (p->progress && p->progress->bytes && is_layer(value))
        count(p, value);
    else
        say(p, value);
    return SBX_OK;
}

static enum sbx_code fetch(struct docker *d, const struct docker_name *name, const char *auth,
                           const struct sbx_progress *progress, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *last = json_object(), *totals = json_object();
    struct pull p = { progress, last, totals };
    SBX_AUTO(docker_lines) lines = DOCKER_LINES_INIT(take, &p);
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    const struct docker_extra extra = {
        .auth = auth, .stream = true, .sink = docker_lines_feed, .ctx = &lines
    };
    const char *repository = docker_escape(&c, name->repository, "/:");
    const char *tag = docker_escape(&c, name->tag, ":");
    enum sbx_code rc;

    if (!last || !totals || !repository || !tag)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = docker_send(d, &c, err, "POST", NULL, &extra, "/images/create?fromImage=%s&tag=%s",
                     repository, tag);
    if (rc)
        return rc;
    if (c.status >= 400)
        return *sbx_json_text_of(c.json, "message")
                   ? failed(sbx_json_text_of(c.json, "message"), err)
                   : docker_failed(&c, err);
    return docker_lines_end(&lines, err);
}

enum sbx_code docker_pull(struct docker *d, const char *reference,
                          const struct sbx_progress *progress, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_FREE char *auth = NULL;
    const char *remark = NULL;
    struct docker_name name;
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = docker_name_parse(reference, arena, &name, err);
    if (!rc)
        rc = docker_auth(name.registry, arena, &auth, &remark, err);
    if (!rc)
        rc = fetch(d, &name, auth, progress, err);
    /* A registry of this machine that refuses the Engine is tried without TLS too, and that answer is told. */
    if (rc == SBX_FAILED && !auth && err && strstr(err->text, "HTTP request to an HTTPS server"))
        rc = SBX_CONSENT;
    if (rc == SBX_CONSENT)
        sbx_err_wrap(err, rc,
                     auth ? "the log-in for %s is refused; docker login %s"
                          : "no credentials for %s; run docker login %s",
                     name.registry, name.registry);
    if (auth)
        explicit_bzero(auth, strlen(auth));
    if (rc && remark && err) {
        size_t used = strlen(err->text);

        snprintf(err->text + used, sizeof(err->text) - used, " (%s)", remark);
    }
    return rc;
}
