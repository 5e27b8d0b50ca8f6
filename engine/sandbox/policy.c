/* The gate's rules follow the user's files. */
#include "net.h"

#include "sbx/file.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RELOAD_TRIES 20 /* of 50 ms: a gate that ends is gone within a second */
#define RELOAD_PAUSE_MS 50

/* A gate that is gone, or goes while it is asked, has no right to keep: the next one reads the file. */
static enum sbx_code reload(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (int i = 0; i < RELOAD_TRIES && sbx_gate_alive(box); i++) {
        rc = sbx_gate_ask(box, json_pack("{s:s}", "op", "reload"), NULL, err);
        if (rc != SBX_IO && rc != SBX_NOT_FOUND && rc != SBX_UNAVAILABLE)
            return rc;
        poll(NULL, 0, RELOAD_PAUSE_MS);
    }
    return sbx_gate_alive(box) ? rc : SBX_OK;
}

/*
 * Without the sandbox's lock: a create that runs for minutes must not hold a rule up. Before it has
 * written gate.json there is nothing to do, since it reads the user's files then.
 */
static enum sbx_code refresh(struct sbx_engine *e, const char *name, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    struct stat st;
    enum sbx_code rc = sbx_box_peek(e, name, &box, err);

    if (rc || !box.has_record || fstatat(box.dirfd, "gate/gate.json", &st, 0))
        return rc;
    rc = sbx_planfile_read(&box, err);
    if (!rc)
        rc = sbx_gate_write_config(&box, err);
    if (!rc && box.record.net != SBX_NET_NONE)
        rc = reload(&box, err);
    if (!rc && box.record.net != SBX_NET_NONE && sbx_gate_alive(&box))
        sbx_broker_ensure(&box);
    if (rc && fstatat(box.dirfd, "gate/gate.json", &st, 0))
        return SBX_OK; /* removed meanwhile */
    return rc ? sbx_err_wrap(err, rc, "policy of sandbox %s", name) : SBX_OK;
}

/* One that cannot follow keeps no other from following. */
static enum sbx_code refresh_all(struct sbx_engine *e, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const char *const *names;
    size_t n = 0;
    enum sbx_code rc = arena ? sbx_sandbox_names(e, arena, &names, &n, err)
                             : sbx_out_of_memory(err);

    for (size_t i = 0; i < n; i++) {
        struct sbx_err one = SBX_ERR_INIT;
        enum sbx_code got = refresh(e, names[i], &one);

        if (!got || got == SBX_NOT_FOUND)
            continue;
        sbx_event_send(e, SBX_EVENT_WARNING, NULL, "%s", one.text);
        rc = rc ? rc : sbx_err_set(err, got, "%s", one.text);
    }
    return rc;
}

enum sbx_code sbx_sandbox_policy_refresh(struct sbx_engine *e, const char *name,
                                         struct sbx_err *err)
{
    enum sbx_code rc = name ? sbx_name_check(name, err) : SBX_OK;

    if (rc)
        return rc;
    return name ? refresh(e, name, err) : refresh_all(e, err);
}

enum sbx_code sbx_sandbox_gate_config(struct sbx_engine *e, const char *name, json_t **ret,
                                      struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);
    enum sbx_code rc = sbx_name_check(name, err);

    if (!rc)
        rc = sbx_box_peek(e, name, &box, err);
    if (!rc)
        rc = sbx_file_read(box.dirfd, "gate/gate.json", &text, err);
    if (rc)
        return rc;
    *ret = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    return *ret ? SBX_OK : sbx_err_set(err, SBX_SYNTAX, "gate.json of sandbox %s", name);
}
