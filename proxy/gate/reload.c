/* A new gate.json: noticed, read, swapped in as a whole, and the open connections judged again
 * (N8, GC G4). See gate.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "intercept.h"

static bool stays(struct sbx_conn *c)
{
    struct sbx_config *old = sbx_config_ref(c->asked.config);
    struct sbx_verdict before = c->asked.verdict, now;
    bool right = sbx_judge_again(c);

    if (!right) { /* that it was allowed at first may not have been said yet */
        now = c->asked.verdict;
        c->asked.verdict = before;
        sbx_tunnel_log(c);
        sbx_log_end(c);
        sbx_session_free(c); /* so its requests end, under the rules that they had */
        c->asked.verdict = now;
    }
    sbx_config_unref(old);
    if (right)
        return true;
    c->asked.logged = false; /* losing its right is a decision of its own */
    sbx_log_asked(c, "deny", "policy-changed", 0);
    return false;
}

static void judge_list(struct sbx_list *list)
{
    struct sbx_list *n = list->next;

    while (n != list) {
        struct sbx_conn *c = sbx_container_of(n, struct sbx_conn, node);

        n = n->next;
        if (sbx_conn_is_active(c->state) && !stays(c))
            sbx_conn_close(c, true);
    }
}

static void judge_active(struct sbx_gate *g)
{
    judge_list(&g->active);
    judge_list(&g->idle);
    /* Those that wait for a name or a server are judged again before their first byte (dial.c). */
}

enum sbx_code sbx_gate_reload(struct sbx_gate *g, struct sbx_err *err)
{
    struct sbx_config *next = NULL;
    enum sbx_code rc;

    if (g->config && !sbx_watch_changed(&g->watch)) {
        *err = g->config_fault;
        return err->code;
    }
    rc = sbx_watch_read(&g->watch, &next, err);
    g->config_fault = *err;
    if (rc)
        return rc;
    sbx_config_unref(g->config);
    g->config = next;
    *err = g->config_fault = (struct sbx_err)SBX_ERR_INIT;
    g->log.sandbox = next->sandbox;
    sbx_cache_clear(g->cache);
    sbx_secrets_want(g->secrets, &next->injects);
    judge_active(g);
    return SBX_OK;
}

void sbx_gate_refresh(struct sbx_gate *g)
{
    struct sbx_err err = SBX_ERR_INIT;

    if (g->config_fault.code && !sbx_watch_changed(&g->watch))
        return; /* said before */
    if (sbx_gate_reload(g, &err))
        dprintf(g->ended_fd, "gate: keeps the rules of generation %llu: %s\n",
                (unsigned long long)g->config->generation, err.text);
}

static void on_notify(struct sbx_source *s, uint32_t events)
{
    struct sbx_gate *g = sbx_container_of(s, struct sbx_gate, notify);
    char buf[4096];

    (void)events;
    while (read(s->fd, buf, sizeof(buf)) > 0)
        ;
    sbx_gate_refresh(g);
}

static void on_poll(struct sbx_timer *t)
{
    struct sbx_gate *g = sbx_container_of(t, struct sbx_gate, poll);

    sbx_gate_refresh(g);
    sbx_loop_arm(&g->loop, t, SBX_GATE_POLL_MS);
}

/* inotify by the descriptor's own path; where that fails (128 instances a user, no /proc), look. */
enum sbx_code sbx_gate_watch(struct sbx_gate *g, struct sbx_err *err)
{
    char path[64];
    const uint32_t mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE;

    g->notify = (struct sbx_source){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), .on = on_notify };
    snprintf(path, sizeof(path), "/proc/self/fd/%d", g->watch.dirfd);
    if (g->notify.fd >= 0 && inotify_add_watch(g->notify.fd, path, mask) >= 0 &&
        !sbx_loop_add(&g->loop, &g->notify, EPOLLIN))
        return SBX_OK;
    sbx_loop_close(&g->loop, &g->notify);
    g->poll.on = on_poll;
    if (sbx_loop_arm(&g->loop, &g->poll, SBX_GATE_POLL_MS))
        return sbx_err_set(err, SBX_NO_MEMORY, "watch the configuration: out of memory");
    return SBX_OK;
}
