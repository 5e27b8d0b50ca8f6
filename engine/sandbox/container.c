/* The container of a plan: environment, mounts and limits as the runtime wants them. */
#include "net.h"
#include "steps.h"
#include "workspace.h"

#include "sbx/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>

#define STATUS_TMPFS_SIZE 1048576 /* bytes of /run/sbx-startup: a line a startup command */
#define STATE_LABEL "sbx.state"   /* two users of one Engine may give a sandbox the same name */
#define OWN_MOUNTS 8              /* run/, status, hosts, resolv.conf, hostname and some room */

/* ---- /etc/hosts and others: kept on the host, since runtimes mount their own there ---- */

const char *sbx_mounted_source(struct sbx_box *box, const struct sbx_plan_file *f)
{
    return sbx_box_path(box, "etc/%s", strrchr(f->path, '/') + 1);
}

enum sbx_code sbx_mounted_files(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    if (mkdirat(box->dirfd, "etc", 0755) && errno != EEXIST)
        return sbx_err_errno(err, "%s/etc", box->dir);
    for (size_t i = 0; !rc && i < box->plan->n_steps; i++)
        for (size_t k = 0; !rc && k < box->plan->steps[i].n_files; k++) {
            const struct sbx_plan_file *f = &box->plan->steps[i].files[k];
            SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STATE_MAX);
            char path[64];

            if (!f->mounted)
                continue;
            snprintf(path, sizeof(path), "etc/%s", strrchr(f->path, '/') + 1);
            rc = sbx_plan_file_read(f, &text, err);
            if (!rc)
                rc = sbx_put(box, path, text.ptr, text.len, 0644, err);
        }
    return rc;
}

/* ---- environment (F10): the image's, then the plan's ---- */

static size_t count(const char *const *v)
{
    size_t n = 0;

    while (v && v[n])
        n++;
    return n;
}

static bool same_name(const char *pair, const char *name)
{
    size_t len = strlen(name);

    return !strncmp(pair, name, len) && pair[len] == '=';
}

static void set_env(const char **v, size_t *n, const char *name, const char *pair, bool weak)
{
    for (size_t i = 0; i < *n; i++)
        if (same_name(v[i], name)) {
            if (!weak)
                v[i] = pair;
            return;
        }
    v[(*n)++] = pair;
}

/* The certificate in one variable, for programs that want it so. */
static const char *ca_variable(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) pem = SBX_BUF_INIT(65536);
    unsigned char *text;
    int n;

    if (sbx_ca_cert(box, &pem, err))
        return NULL;
    text = sbx_arena_alloc(box->arena, pem.len * 2 + 64);
    if (!text)
        return NULL;
    n = EVP_EncodeBlock(text, (const unsigned char *)pem.ptr, (int)pem.len);
    text[n] = '\0';
    return sbx_arena_printf(box->arena, "PROXY_CA_CERT_B64=%s", (char *)text);
}

static enum sbx_code make_env(struct sbx_box *box, const struct sbx_image *image,
                              struct sbx_err *err)
{
    size_t most = count(image->env) + box->plan->n_env + 2, n = 0;
    const char **v = sbx_arena_array(box->arena, most, sizeof(*v));
    const char *ca = ca_variable(box, err);

    if (!v || !ca)
        return sbx_out_of_memory(err);
    for (const char *const *e = image->env; e && *e; e++)
        if (!(v[n++] = sbx_arena_strdup(box->arena, *e)))
            return sbx_out_of_memory(err);
    for (size_t i = 0; i < box->plan->n_env; i++) {
        const struct sbx_plan_env *e = &box->plan->env[i];
        const char *pair = sbx_arena_printf(box->arena, "%s=%s", e->name, e->value);

        if (!pair)
            return sbx_out_of_memory(err);
        set_env(v, &n, e->name, pair, e->weak);
    }
    set_env(v, &n, "PROXY_CA_CERT_B64", ca, false);
    box->record.env = v;
    return SBX_OK;
}

/* ---- mounts ---- */

static const char *volume_name(struct sbx_box *box, const char *key)
{
    char digest[SBX_DIGEST_TEXT_SIZE];

    if (sbx_digest(key, strlen(key), digest))
        return NULL;
    return sbx_arena_printf(box->arena, "%s-%.8s", box->name, digest + strlen("sha256:"));
}

/* Names go on record before anything is made, so that a crash leaves no volume unknown. */
static enum sbx_code make_volumes(struct sbx_box *box, struct sbx_err *err)
{
    const char **names = sbx_arena_array(box->arena, box->plan->n_mounts + 1, sizeof(*names));
    enum sbx_code rc;
    size_t n = 0;

    if (!names)
        return sbx_out_of_memory(err);
    for (size_t i = 0; i < box->plan->n_mounts; i++)
        if (box->plan->mounts[i].kind == SBX_PLAN_VOLUME)
            if (!(names[n++] = volume_name(box, box->plan->mounts[i].source)))
                return sbx_out_of_memory(err);
    box->record.volumes = names;
    rc = n ? sbx_box_save(box, err) : SBX_OK;
    sbx_fault_point("volumes");
    n = 0;
    for (size_t i = 0; !rc && i < box->plan->n_mounts; i++) {
        const struct sbx_plan_mount *m = &box->plan->mounts[i];
        bool sized = true, created = false;

        if (m->kind != SBX_PLAN_VOLUME)
            continue;
        rc = sbx_runtime_volume_ensure(box->rt, names[n++], m->size, &sized, &created, err);
        if (!rc && m->size && !sized)
            sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                           "volume %s of kit %s: this machine cannot limit its size", m->target,
                           m->kit);
    }
    return rc;
}

static void add_own(struct sbx_box *box, struct sbx_mount *v, size_t *n)
{
    v[(*n)++] = (struct sbx_mount){ .kind = SBX_MOUNT_BIND, .source = sbx_box_path(box, "run"),
                                    .target = "/run/sbx", .read_only = true };
    v[(*n)++] = (struct sbx_mount){ .kind = SBX_MOUNT_TMPFS, .target = "/run/sbx-startup",
                                    .size = STATUS_TMPFS_SIZE, .mode = 0755, .noexec = true };
    for (size_t i = 0; i < box->plan->n_steps; i++)
        for (size_t k = 0; k < box->plan->steps[i].n_files && *n < OWN_MOUNTS; k++)
            if (box->plan->steps[i].files[k].mounted)
                v[(*n)++] = (struct sbx_mount){
                    .kind = SBX_MOUNT_BIND, .target = box->plan->steps[i].files[k].path,
                    .source = sbx_mounted_source(box, &box->plan->steps[i].files[k]),
                };
}

static struct sbx_mount *make_mounts(struct sbx_box *box, size_t *ret_n)
{
    struct sbx_mount *v = sbx_arena_array(box->arena, box->plan->n_mounts + OWN_MOUNTS, sizeof(*v));
    size_t n = 0, workspace = 0, volume = 0;

    if (!v)
        return NULL;
    add_own(box, v, &n);
    for (size_t i = 0; i < box->plan->n_mounts; i++) {
        const struct sbx_plan_mount *m = &box->plan->mounts[i];
        struct sbx_mount *to = &v[n++];

        *to = (struct sbx_mount){ .target = m->target, .read_only = m->read_only, .size = m->size };
        if (m->kind == SBX_PLAN_WORKSPACE) {
            to->kind = SBX_MOUNT_BIND;
            to->source = box->record.sources[workspace++];
        } else if (m->kind == SBX_PLAN_VOLUME) {
            to->kind = SBX_MOUNT_VOLUME;
            to->source = box->record.volumes[volume++];
        } else {
            to->kind = SBX_MOUNT_TMPFS;
            to->mode = m->mode;
            to->noexec = m->noexec;
            to->uid = m->uid;
        }
    }
    *ret_n = n;
    return v;
}

/* ---- all of it ---- */

/*
 * The name is ours by the lock and the record knows of no container: one that says of itself that it
 * is of this state is what an Engine made for a create that was killed meanwhile.
 */
static enum sbx_code remove_stray(struct sbx_box *box, const char *name, struct sbx_err *err)
{
    struct sbx_container c;
    enum sbx_code rc = sbx_runtime_inspect(box->rt, name, box->arena, &c, err);

    if (rc == SBX_NOT_FOUND)
        return SBX_OK;
    if (rc)
        return rc;
    if (!sbx_container_is_ours(box->e, box->rt, &c))
        return sbx_err_set(err, SBX_EXISTS,
                           "the name is taken by another container (%s), which is not of this state "
                           "directory",
                           c.id);
    return sbx_runtime_remove(box->rt, c.id, err);
}

const char *sbx_container_label(struct sbx_box *box)
{
    return sbx_arena_printf(box->arena, STATE_LABEL "=%s", box->e->paths.state);
}

bool sbx_container_is_ours(const struct sbx_engine *e, const struct sbx_runtime *rt,
                           const struct sbx_container *c)
{
    size_t len = strlen(STATE_LABEL);

    for (const char *const *l = c->labels; l && *l; l++)
        if (!strncmp(*l, STATE_LABEL "=", len + 1))
            return !strcmp(*l + len + 1, e->paths.state);
    return sbx_runtime_info(rt)->kind != SBX_RUNTIME_DOCKER;
}

enum sbx_code sbx_container_ask(struct sbx_box *box, const struct sbx_container_spec *spec,
                                const char **ret_id, struct sbx_err *err)
{
    SBX_AUTO_FREE char *id = NULL;
    enum sbx_code rc = sbx_put(box, SBX_ASKED, spec->name, strlen(spec->name), 0600, err);

    if (!rc)
        rc = sbx_runtime_create(box->rt, spec, &id, err);
    if (rc == SBX_EXISTS && !(rc = remove_stray(box, spec->name, err)))
        rc = sbx_runtime_create(box->rt, spec, &id, err);
    sbx_fault_point("created");
    if (rc)
        return rc;
    *ret_id = sbx_arena_strdup(box->arena, id);
    rc = *ret_id ? sbx_box_save(box, err) : sbx_out_of_memory(err);
    unlinkat(box->dirfd, SBX_ASKED, 0);
    return rc;
}

enum sbx_code sbx_container_make(struct sbx_box *box, const struct sbx_image *image,
                                 struct sbx_err *err)
{
    static const char *const argv[] = { "/run/sbx/init", NULL };
    static const char *const drop[] = { "NET_RAW", "MKNOD", "AUDIT_WRITE", NULL }; /* N21 */
    const char *labels[] = { "sbx.role=sandbox", sbx_arena_printf(box->arena, "sbx.agent=%s",
                                                                  box->plan->agent),
                             sbx_container_label(box), NULL };
    struct sbx_container_spec spec = {
        .name = box->name, .image = image->id, .hostname = box->plan->hostname, .argv = argv,
        .workdir = box->plan->workdir, .labels = labels, .cap_drop = drop,
        .cpus = box->plan->cpus, .memory = box->plan->memory, .gpus = box->plan->gpu,
        .privileged = box->plan->privileged, .userns_allowed = box->plan->userns,
        .netns = SBX_NETNS_NONE,
    };
    enum sbx_code rc = remove_stray(box, box->name, err);

    if (!rc)
        rc = make_env(box, image, err);
    if (!rc)
        rc = sbx_mounted_files(box, err);
    if (!rc)
        rc = sbx_workspaces_mount(box, err);
    if (!rc)
        rc = make_volumes(box, err);
    if (!rc)
        rc = sbx_net_before(box, &spec, err);
    if (rc)
        return rc;
    spec.env = box->record.env;
    spec.mounts = make_mounts(box, &spec.n_mounts);
    if (!spec.mounts || !labels[1] || !labels[2])
        return sbx_out_of_memory(err);
    return sbx_container_ask(box, &spec, &box->record.container, err);
}
