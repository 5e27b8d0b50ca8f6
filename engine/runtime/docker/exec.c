#include "docker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "pump.h"
#include "sbx/text.h"

#define SETTLE_MAX_MS 64 /* longest pause between looks at a process whose streams have ended */

/* The Engine eats its detach keys on a terminal; it cannot be told to have none. These begin with
 * NUL, which nobody waits for an answer to. */
#define DETACH_KEYS "ctrl-@,ctrl-^,ctrl-@,ctrl-_,ctrl-@,ctrl-^"

static json_t *create_body(const struct docker *d, const struct sbx_exec *x)
{
    json_t *body = json_pack("{s:o, s:o, s:b, s:b, s:b, s:b, s:b, s:s}", "Cmd",
                             sbx_json_strings(x->argv), "Env", sbx_json_strings(x->env),
                             "AttachStdin", x->in >= 0, "AttachStdout", 1, "AttachStderr", 1, "Tty",
                             x->tty, "Privileged", x->privileged, "DetachKeys", DETACH_KEYS);

    if (body && x->user)
        json_object_set_new(body, "User", json_string(x->user));
    if (body && x->workdir)
        json_object_set_new(body, "WorkingDir", json_string(x->workdir));
    if (body && x->tty && x->winsize && d->console_size) {
        struct sbx_winsize s = x->winsize(x->ctx);

        json_object_set_new(body, "ConsoleSize", json_pack("[i,i]", s.rows, s.cols));
    }
    return body;
}

static enum sbx_code create_exec(struct docker *d, const char *container, const struct sbx_exec *x,
                                 char **ret_id, struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO_JSON json_t *body = create_body(d, x);
    enum sbx_code rc;

    if (!body)
        return sbx_err_set(err, SBX_FAILED, "the command or its environment is not UTF-8");
    rc = docker_do(d, &c, err, "POST", body, "/containers/%s/exec", container);
    if (rc == SBX_CONFLICT) /* 409: not running, or paused; the text says which */
        return err ? err->code = SBX_UNAVAILABLE : SBX_UNAVAILABLE;
    if (rc)
        return rc;
    *ret_id = strdup(sbx_json_text_of(c.json, "Id"));
    return *ret_id ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* An exec that did not start: the Engine's words go to the caller's stderr, as a shell's would. */
static void report_unstarted(struct docker_pump *p)
{
    int fd = p->x->tty || p->x->err_fd < 0 ? p->x->out : p->x->err_fd;
    size_t len = p->held_len;
    const char *end = p->x->tty ? "\r\n" : "\n", *text = p->held, *inner;
    SBX_AUTO(sbx_buf)
    clean = SBX_BUF_INIT(8 * PUMP_HELD_MAX); /* it quotes argv and names of kits */

    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    if (len > 9 && memcmp(text + len - 9, ": unknown", 9) == 0)
        len -= 9;
    inner = memmem(text, len, "exec: \"", 7);
    if (inner) {
        len -= (size_t)(inner - text);
        text = inner;
    }
    if (fd < 0 || !len || sbx_text_escape(&clean, text, len))
        return;
    p->held_len = 0;
    if (dprintf(fd, "%s%s", clean.ptr, end) < 0)
        return; /* nobody is there to read it */
}

/* Engine 20.10 says 126 for both; a shell has 127 for a command that does not exist. */
static bool is_missing(const struct docker_pump *p)
{
    static const char *const words[] = { "executable file not found", "no such file" };
    static const char directory[] = "chdir to cwd";

    if (memmem(p->held, p->held_len, directory, strlen(directory)))
        return false; /* the program was not looked for yet */
    return memmem(p->held, p->held_len, words[0], strlen(words[0])) ||
           memmem(p->held, p->held_len, words[1], strlen(words[1]));
}

/* The streams ended; the process ends with them or, if it closed them itself, later. */
static enum sbx_code settle(struct docker_pump *p, int *ret_status, struct sbx_err *err)
{
    for (int ms = 1;; ms = ms < SETTLE_MAX_MS ? 2 * ms : ms) {
        SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
        enum sbx_code rc = docker_do(p->d, &c, err, "GET", NULL, "/exec/%s/json", p->exec_id);
        const json_t *exit_code;

        if (rc)
            return rc;
        exit_code = json_object_get(c.json, "ExitCode");
        if (!json_is_true(json_object_get(c.json, "Running")) && json_is_integer(exit_code)) {
            *ret_status = (int)json_integer_value(exit_code);
            if (p->held_len && (*ret_status == 126 || *ret_status == 127)) {
                *ret_status = is_missing(p) ? 127 : 126;
                report_unstarted(p);
            }
            docker_pump_unhold(p);
            if (p->given_up)
                *ret_status = 128 + SIGINT;
            return SBX_OK;
        }
        rc = docker_pump_idle(p, ms, err);
        if (rc)
            return rc;
    }
}

static enum sbx_code attach(struct docker *d, const char *container, const char *exec_id,
                            const struct sbx_exec *x, int *ret_status, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *body = json_pack("{s:b, s:b}", "Detach", 0, "Tty", x->tty);
    SBX_AUTO_FREE struct docker_pump *p = calloc(1, sizeof(*p));
    SBX_AUTO_PTR(docker_wire) w = calloc(1, sizeof(*w));
    char path[256];
    enum sbx_code rc;

    if (!body || !p || !w)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *p = (struct docker_pump){ .d = d, .x = x, .exec_id = exec_id, .container = container, .w = w };
    if (x->timeout_s > 0)
        p->deadline_ms = docker_now_ms() + (int64_t)x->timeout_s * 1000;
    snprintf(path, sizeof(path), "/exec/%s/start", exec_id);
    rc = docker_hijack(d, path, body, w, err);
    if (!rc)
        rc = docker_pump(p, err);
    if (!rc)
        rc = settle(p, ret_status, err);
    return rc;
}

enum sbx_code docker_exec(struct sbx_runtime *rt, const char *id, const struct sbx_exec *x,
                          int *ret_status, struct sbx_err *err)
{
    SBX_AUTO(docker_call) names = DOCKER_CALL_INIT;
    SBX_AUTO_FREE char *exec_id = NULL;
    struct docker *d = (struct docker *)rt;
    const char *container = docker_container(d, &names, id);
    int interrupt_fd = d->rt.interrupt_fd;
    enum sbx_code rc;

    if (!container)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (x->signal_fd >= 0) /* whoever sends signals to the process has them end our waits too */
        d->rt.interrupt_fd = x->signal_fd;
    rc = create_exec(d, container, x, &exec_id, err);
    if (!rc)
        rc = attach(d, container, exec_id, x, ret_status, err);
    d->rt.interrupt_fd = interrupt_fd;
    return rc;
}
