/* Create: everything is decided and checked first, then made, then the steps run. */
#include "net.h"
#include "workspace.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/stat.h>

static enum sbx_code make_plan(struct sbx_engine *e, const struct sbx_create *c,
                               struct sbx_arena *arena, struct sbx_diags *diags,
                               struct sbx_plan **ret, struct sbx_err *err)
{
    struct sbx_workspace *workspaces = NULL;
    struct sbx_plan_options options = {
        .app = e->paths.app, .image = c->image, .n_workspaces = c->n_workspaces, .env = c->env,
        .cpus = c->cpus, .memory = c->memory, .allow_privileged = c->allow_privileged,
        .allow_userns = c->allow_userns, .approve = c->approve,
    };
    const struct sbx_user_policy *policy = e->config.policy;
    enum sbx_code rc = sbx_workspaces_resolve(e, c->workspaces, c->n_workspaces, arena, &workspaces,
                                              err);

    if (rc)
        return rc;
    options.approvals = policy ? policy->approvals : NULL;
    options.n_approvals = policy ? policy->n_approvals : 0;
    options.workspaces = workspaces;
    options.name = c->name ? c->name
                           : sbx_name_default(c->artifact->name,
                                              c->n_workspaces ? workspaces[0].path : NULL, arena);
    if (!options.name)
        return sbx_out_of_memory(err);
    rc = sbx_name_check(options.name, err);
    return rc ? rc : sbx_plan_make(c->artifact, &options, diags, ret, err);
}

enum sbx_code sbx_sandbox_plan(struct sbx_engine *e, const struct sbx_create *c,
                               struct sbx_diags *diags, struct sbx_plan **ret, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();

    return arena ? make_plan(e, c, arena, diags, ret, err) : sbx_out_of_memory(err);
}

static const char *new_id(struct sbx_arena *arena)
{
    unsigned char b[16];

    if (RAND_bytes(b, sizeof(b)) != 1)
        return NULL;
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    return sbx_arena_printf(arena,
                            "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                            b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
                            b[12], b[13], b[14], b[15]);
}

static const char *const *copy_strs(struct sbx_arena *arena, const char *const *v)
{
    size_t n = 0;
    const char **copy;

    while (v && v[n])
        n++;
    copy = sbx_arena_array(arena, n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = sbx_arena_strdup(arena, v[i])))
            return NULL;
    return copy;
}

static enum sbx_code fill_record(struct sbx_box *box, const struct sbx_create *c,
                                 struct sbx_err *err)
{
    static const char *const none[] = { NULL };
    struct sbx_record *r = &box->record;

    *r = (struct sbx_record){
        .id = new_id(box->arena), .name = box->name, .agent = box->plan->agent,
        .runtime = box->info->name, .image = box->plan->image, .created_at = sbx_now(box->arena),
        .last_used_at = "", .phase = SBX_STATE_CREATING, .net = sbx_net_mode_for(box->info),
        .weak_network = c->weak_network, .strict_startup = c->strict_startup,
        .learned = c->learn,
        .allow_sockets = copy_strs(box->arena, c->allow_sockets), .env = none, .volumes = none,
        .kit_args = copy_strs(box->arena, c->kit_args),
    };
    return r->id && r->created_at && r->allow_sockets && r->kit_args
               ? sbx_ports_record(box, c->ports, c->n_ports, err)
               : sbx_out_of_memory(err);
}

/* A name is free, or taken, or held by what a crash left: that goes first. */
static enum sbx_code claim(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = sbx_box_broken(box, err);

    if (rc || box->dirfd < 0)
        return rc;
    if (box->has_record && box->record.phase != SBX_STATE_CREATING)
        return sbx_err_set(err, SBX_EXISTS,
                           "sandbox %s exists already; run it again with \"sbx run --name %s\", or "
                           "remove it with \"sbx rm %s\"",
                           box->name, box->name, box->name);
    sbx_event_send(box->e, SBX_EVENT_NOTE, NULL,
                   "Removing what an interrupted create of %s left behind", box->name);
    return sbx_box_clean(box, err);
}

static enum sbx_code make_state(struct sbx_box *box, const struct sbx_create *c,
                                struct sbx_err *err)
{
    enum sbx_code rc = sbx_dir_make(box->dir, 0700, err);

    if (rc)
        return rc;
    box->dirfd = open(box->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (box->dirfd < 0)
        return sbx_err_errno(err, "%s", box->dir);
    rc = fill_record(box, c, err);
    if (!rc)
        rc = sbx_box_save(box, err);
    if (!rc)
        rc = sbx_planfile_write(box, err);
    if (!rc)
        rc = sbx_ca_make(box, err);
    if (!rc)
        rc = sbx_upstream_ca_save(box, c->upstream_ca, err);
    if (!rc)
        rc = sbx_marks_init(box, err);
    if (!rc)
        rc = sbx_gate_make_dir(box, err);
    if (!rc)
        rc = sbx_gate_write_config(box, err);
    return rc ? rc : sbx_box_save(box, err);
}

static enum sbx_code make_container(struct sbx_box *box, const struct sbx_create *c,
                                    const struct sbx_image *image, struct sbx_err *err)
{
    enum sbx_code rc = make_state(box, c, err);

    sbx_fault_point("state");
    if (!rc)
        rc = sbx_workspaces_check(box, err);
    if (rc)
        return rc;
    box->record.image_id = image->id;
    return sbx_container_make(box, image, err);
}

static enum sbx_code make(struct sbx_box *box, const struct sbx_create *c, struct sbx_err *err)
{
    struct sbx_image image;
    struct sbx_stage stage;
    enum sbx_code rc;

    stage = sbx_stage_begin(box, sbx_step_of(box, SBX_PHASE_IMAGE), "Get image %s", box->plan->image);
    rc = sbx_stage_end(&stage, sbx_image_get(box, c->pull, &image, err));
    if (!rc)
        rc = sbx_interrupted(box->e, err);
    if (rc)
        return rc;
    stage = sbx_stage_begin(box, sbx_step_of(box, SBX_PHASE_CONTAINER), "Create the container");
    rc = sbx_stage_end(&stage, make_container(box, c, &image, err));
    return rc ? rc : sbx_box_up(box, SBX_AT_CREATE, err);
}

static enum sbx_code finish(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc;

    rc = sbx_history_add(box, "created",
                        json_pack("{s:s, s:s, s:s, s:s}", "id", box->record.id, "plan",
                                  box->plan->digest, "image", box->record.image_id, "runtime",
                                  box->record.runtime),
                        err);
    return rc ? rc : sbx_box_settle(box, SBX_STATE_READY, err);
}

/* Kept for a look inside: the state says that it never got ready. */
static void keep_failed(struct sbx_box *box, const struct sbx_err *why)
{
    struct sbx_err ignored = SBX_ERR_INIT;

    (void)!sbx_history_add(box, "failed", json_pack("{s:s}", "error", why->text), &ignored);
    (void)!sbx_box_settle(box, SBX_STATE_FAILED, &ignored);
    sbx_event_send(box->e, SBX_EVENT_NOTE, NULL,
                   "Kept as asked: look with \"sbx exec -it %s -- sh\", remove with \"sbx rm %s\"",
                   box->name, box->name);
}

static enum sbx_code give_up(struct sbx_box *box, const struct sbx_create *c, enum sbx_code rc,
                             struct sbx_err *err)
{
    struct sbx_err inner = SBX_ERR_INIT;

    if (c->keep_failed && box->record.container && rc != SBX_CANCELED) {
        keep_failed(box, err);
        return rc;
    }
    if (sbx_box_clean(box, &inner))
        sbx_event_send(box->e, SBX_EVENT_WARNING, NULL, "clean up: %s", inner.text);
    return rc;
}

static enum sbx_code open_runtime(struct sbx_box *box, const struct sbx_create *c,
                                  struct sbx_err *err)
{
    enum sbx_code rc = sbx_engine_runtime(box->e, c->runtime, &box->rt, err);

    if (rc)
        return rc;
    box->info = sbx_runtime_info(box->rt);
    return sbx_plan_check(box->plan, box->info, err);
}

enum sbx_code sbx_sandbox_create(struct sbx_engine *e, const struct sbx_create *c,
                                 struct sbx_diags *diags, struct sbx_arena *arena,
                                 const char **ret_name, struct sbx_err *err)
{
    SBX_AUTO(sbx_box) box = SBX_BOX_INIT;
    SBX_AUTO_PTR(sbx_plan) plan = NULL;
    const char *name = NULL;
    enum sbx_code rc = c->upstream_ca ? sbx_upstream_ca_check(c->upstream_ca, err) : SBX_OK;

    if (rc)
        return sbx_err_wrap(err, rc, "--upstream-ca");
    rc = make_plan(e, c, arena, diags, &plan, err);
    if (!rc && !(name = sbx_arena_strdup(arena, plan->name)))
        rc = sbx_out_of_memory(err);
    if (!rc)
        rc = sbx_box_lock(e, name, &box, err);
    if (rc)
        return rc;
    sbx_plan_free(box.plan);
    box.plan = SBX_TAKE(plan);
    rc = claim(&box, err);
    if (rc)
        return rc;
    rc = open_runtime(&box, c, err);
    if (!rc && c->claimed)
        rc = c->claimed(c->claimed_data, box.plan, err);
    if (!rc)
        rc = make(&box, c, err);
    if (!rc)
        rc = finish(&box, err);
    if (rc == SBX_UNSUPPORTED && c->weak_network)
        rc = sbx_err_wrap(err, rc, "--weak-network is not built yet");
    if (rc)
        return sbx_err_wrap(err, give_up(&box, c, rc, err), "create %s", name);
    *ret_name = name;
    return SBX_OK;
}
