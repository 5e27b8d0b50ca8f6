/* Bringing a sandbox up, from whatever state it is found in. */
#include "net.h"
#include "steps.h"
#include "workspace.h"

#include <string.h>

static enum sbx_code inspect(struct sbx_box *box, struct sbx_container *ret, struct sbx_err *err)
{
    const char *id = box->record.container;
    enum sbx_code rc = id ? sbx_runtime_inspect(box->rt, id, box->arena, ret, err)
                          : sbx_err_set(err, SBX_NOT_FOUND, "no container");

    if (rc == SBX_NOT_FOUND)
        return sbx_err_set(err, SBX_FAILED,
                           "the container of sandbox %s is gone (removed without sbx); \"sbx rm %s\" "
                           "cleans up",
                           box->name, box->name);
    return rc;
}

/* Remember which start of the container this was: a later one that is not ours is noticed. */
static enum sbx_code remember(struct sbx_box *box, struct sbx_err *err)
{
    struct sbx_container c;
    enum sbx_code rc = inspect(box, &c, err);

    if (rc)
        return rc;
    box->record.started_at = c.started_at;
    box->record.last_used_at = sbx_now(box->arena);
    return sbx_box_save(box, err);
}

/* The network of a container that runs, then the steps. */
static enum sbx_code complete(struct sbx_box *box, unsigned when, struct sbx_stage *stage,
                              struct sbx_err *err)
{
    unsigned long long cookie = 0;
    enum sbx_code rc = sbx_net_after(box, &cookie, err);

    if (!rc) /* before the steps: a service that one of them starts is reachable at once */
        rc = sbx_ports_open(box, when & SBX_AT_CREATE, err);
    rc = sbx_stage_end(stage, rc);
    if (!rc)
        rc = sbx_steps_run(box, when, cookie, err);
    return rc ? rc : remember(box, err);
}

/* What create has done already before the first start. */
static enum sbx_code prepare(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = sbx_marks_begin(box, err);

    sbx_net_end(box);
    if (!rc)
        rc = sbx_workspaces_check(box, err);
    if (!rc)
        rc = sbx_mounted_files(box, err);
    if (!rc)
        rc = sbx_workspaces_mount(box, err);
    if (!rc) /* policy.yaml may have been edited by hand meanwhile */
        rc = sbx_gate_write_config(box, err);
    return rc ? rc : sbx_net_before(box, NULL, err);
}

static struct sbx_stage begin(struct sbx_box *box)
{
    return sbx_stage_begin(box, sbx_step_of(box, SBX_PHASE_NETWORK),
                           "Start with a closed network, open the gate");
}

static enum sbx_code start_stopped(struct sbx_box *box, unsigned when, struct sbx_err *err)
{
    struct sbx_stage stage = begin(box);
    enum sbx_code rc = when & SBX_AT_CREATE ? SBX_OK : prepare(box, err);

    box->record.starts++;
    if (!rc)
        rc = sbx_runtime_start(box->rt, box->record.container, err);
    sbx_fault_point("started");
    return rc ? sbx_stage_end(&stage, rc) : complete(box, when, &stage, err);
}

static enum sbx_code stop(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = sbx_runtime_stop(box->rt, box->record.container, SBX_STOP_TIMEOUT_S, err);

    if (box->record.holder && !rc)
        rc = sbx_runtime_stop(box->rt, box->record.holder, 1, err);
    sbx_net_end(box);
    sbx_workspaces_unmount(box->dir);
    return rc;
}

/* Started by other means: PID 1 waits, closed, until a gate is there for its namespace. */
static enum sbx_code started_by_hand(struct sbx_box *box, struct sbx_err *err)
{
    struct sbx_stage stage;
    enum sbx_code rc;

    if (box->record.net == SBX_NET_ENTER) {
        sbx_net_end(box);
        box->record.starts++;
        stage = begin(box);
        rc = sbx_marks_begin(box, err);
        if (!rc)
            rc = sbx_gate_write_config(box, err);
        return rc ? sbx_stage_end(&stage, rc) : complete(box, SBX_AT_START, &stage, err);
    }
    if (!sbx_net_ensure(box, err)) /* the namespace is the holder's: the gate stayed */
        return remember(box, err);
    return SBX_UNAVAILABLE;
}

static enum sbx_code up(struct sbx_box *box, unsigned when, struct sbx_err *err)
{
    struct sbx_container c;
    enum sbx_code rc = inspect(box, &c, err);

    if (rc)
        return rc;
    if (!c.running)
        return start_stopped(box, when, err);
    if (!box->record.started_at || strcmp(c.started_at, box->record.started_at))
        rc = started_by_hand(box, err);
    else
        rc = sbx_net_ensure(box, err);
    if (rc != SBX_UNAVAILABLE)
        return rc;
    /* its network helper is gone, and a namespace cannot be given to a running container */
    sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                   "the network of sandbox %s was lost; it is restarted", box->name);
    rc = stop(box, err);
    return rc ? rc : start_stopped(box, SBX_AT_START, err);
}

enum sbx_code sbx_box_up(struct sbx_box *box, unsigned when, struct sbx_err *err)
{
    unsigned starts = box->record.starts;
    struct sbx_err ignored = SBX_ERR_INIT;
    enum sbx_code rc = up(box, when, err);

    if (!rc && starts != box->record.starts && !(when & SBX_AT_CREATE))
        rc = sbx_history_add(box, "started", json_pack("{s:i}", "start", (int)box->record.starts),
                            err);
    if (!rc || when & SBX_AT_CREATE)
        return rc;
    if (starts != box->record.starts) { /* half up is worse than down: it would have no network */
        (void)!stop(box, &ignored);
        (void)!sbx_box_save(box, &ignored);
    }
    return sbx_err_wrap(err, rc, "start %s", box->name);
}

enum sbx_code sbx_sandbox_start(struct sbx_engine *e, const char *name, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = sbx_box_lock(e, name, &box, err);
    if (!rc)
        rc = sbx_box_open(&box, err);
    return rc ? rc : sbx_box_up(&box, SBX_AT_START, err);
}

enum sbx_code sbx_sandbox_stop(struct sbx_engine *e, const char *name, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    struct sbx_container c;
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = sbx_box_lock(e, name, &box, err);
    if (!rc)
        rc = sbx_box_open(&box, err);
    if (!rc)
        rc = inspect(&box, &c, err);
    if (rc)
        return rc;
    rc = stop(&box, err);
    if (!rc && c.running)
        rc = sbx_history_add(&box, "stopped", NULL, err);
    box.record.started_at = NULL;
    if (!rc)
        rc = sbx_box_save(&box, err);
    return rc ? sbx_err_wrap(err, rc, "stop %s", name) : SBX_OK;
}
