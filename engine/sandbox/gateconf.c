/* gate.json: written by whoever changes the rules, also while another command holds the sandbox. */
#include "net.h"

#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

int sbx_gate_lock(struct sbx_box *box)
{
    SBX_AUTO_FD int fd = openat(box->dirfd, "gate", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (fd < 0)
        return -1;
    while (flock(fd, LOCK_EX)) /* held for a write of a file, never longer */
        if (errno != EINTR)
            return -1;
    return !fstat(fd, &st) && st.st_nlink ? sbx_take_fd(&fd) : -1;
}

/* What the gate has counts, since a command without the sandbox's lock writes too. */
static unsigned next_generation(const struct sbx_box *box)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);
    SBX_AUTO_JSON json_t *old = NULL;
    json_int_t was = box->record.generation;

    if (!sbx_file_read(box->dirfd, "gate/gate.json", &text, NULL) && text.len)
        old = json_loadb(text.ptr, text.len, 0, NULL);
    if (json_integer_value(json_object_get(old, "generation")) > was)
        was = json_integer_value(json_object_get(old, "generation"));
    return (unsigned)was + 1;
}

/* All that a learning sandbox asks for shall be seen: only kits and denials count (N13). */
static enum sbx_code closed(struct sbx_box *box, const struct sbx_user_policy *from,
                            struct sbx_user_policy *ret, struct sbx_err *err)
{
    struct sbx_user_rule *v = sbx_arena_array(box->arena, from->n_rules + 1, sizeof(*v));

    if (!v)
        return sbx_out_of_memory(err);
    *ret = *from;
    ret->preset = "deny-all";
    ret->rules = v;
    ret->n_rules = 0;
    for (size_t i = 0; i < from->n_rules; i++)
        if (from->rules[i].decision == SBX_DENY)
            v[ret->n_rules++] = from->rules[i];
    return SBX_OK;
}

static enum sbx_code compose(struct sbx_box *box, struct sbx_buf *out, struct sbx_err *err)
{
    const struct sbx_engine_config *config = &box->e->config;
    struct sbx_user_policy now = { .preset = NULL }, learning = { .preset = NULL };
    const struct sbx_user_policy *policy = config->policy;
    SBX_AUTO_JSON json_t *o = NULL;
    enum sbx_code rc = SBX_OK;

    if (config->policy_read) {
        rc = config->policy_read(config->ctx, box->arena, &now, err);
        policy = &now;
    }
    if (!rc && box->record.learned) {
        rc = closed(box, policy ? policy : &now, &learning, err);
        policy = &learning;
    }
    if (rc)
        return rc;
    box->record.generation = next_generation(box);
    rc = sbx_gate_config_json(box->plan, policy, box->record.generation, &o, err);
    if (!rc)
        rc = sbx_inject_config(box, o, err);
    if (!rc && box->record.learned && json_object_set_new(o, "learn", json_true()))
        rc = sbx_out_of_memory(err);
    if (rc)
        return rc;
    rc = sbx_json_canonical(o, out);
    return rc ? sbx_err_set(err, rc, "gate.json: %s", sbx_code_name(rc)) : SBX_OK;
}

enum sbx_code sbx_gate_make_dir(struct sbx_box *box, struct sbx_err *err)
{
    if ((mkdirat(box->dirfd, "gate", 0755) && errno != EEXIST) ||
        fchmodat(box->dirfd, "gate", 0755, 0))
        return sbx_err_errno(err, "%s/gate", box->dir);
    return SBX_OK;
}

enum sbx_code sbx_gate_write_config(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_PLAN_JSON_MAX);
    SBX_AUTO_FD int lock = sbx_gate_lock(box);
    enum sbx_code rc;

    if (lock < 0)
        return sbx_err_errno(err, "%s/gate", box->dir);
    rc = compose(box, &text, err);
    /* not synced: written anew at each start */
    return rc ? rc : sbx_put(box, "gate/gate.json", text.ptr, text.len, 0644, err);
}
