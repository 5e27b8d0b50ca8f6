/*
 * The engine's own files inside, and trust in the sandbox's certificate authority: one batch with facts
 * about the inside first (another kernel, no shell), then the files and the bundles.
 */
#include "net.h"
#include "steps.h"

#include "sbx/boot.h"
#include "sbx/json.h"

#include <string.h>

#define PEM_MAX 65536

/* Where distributions keep all trusted roots in one file. The first is made where there is none. */
static const char *const bundles[] = {
    SBX_CA_BUNDLE,
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

/* Lines for /etc/environment: what logins without a shell's profile get. */
static enum sbx_code environment_lines(const struct sbx_box *box, struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_adds(out, "# sbx: proxy and trust\n");

    for (size_t i = 0; !rc && i < box->plan->n_env; i++) {
        const struct sbx_plan_env *e = &box->plan->env[i];

        if (!strcmp(e->origin, "engine") && !e->weak && strcmp(e->name, "HOME") &&
            strcmp(e->name, "USER"))
            rc = sbx_buf_addf(out, "%s=%s\n", e->name, e->value);
    }
    return rc;
}

static enum sbx_code queue_bundles(struct sbx_batch *b, const struct sbx_buf *pem,
                                   struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(bundles); i++) {
        struct sbx_entry entry = { "append", bundles[i], 0644, 0, 0, i > 0 };

        rc = sbx_batch_add(b, &entry, pem->ptr, pem->len, err);
    }
    return rc;
}

static enum sbx_code queue_generated(struct sbx_box *box, struct sbx_batch *b,
                                     const struct sbx_plan_file *f, struct sbx_err *err)
{
    struct sbx_entry entry = { "write", f->path, f->mode, f->uid, f->gid, false };
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(PEM_MAX);
    enum sbx_code rc;

    if (!strcmp(f->generated, "environment")) {
        entry.verb = "append";
        rc = environment_lines(box, &text);
        if (rc)
            return sbx_err_set(err, rc, "%s: too large", f->path);
        return sbx_batch_add(b, &entry, text.ptr, text.len, err);
    }
    rc = sbx_ca_cert(box, &text, err);
    if (rc)
        return rc;
    return !strcmp(f->generated, "ca-bundle") ? queue_bundles(b, &text, err)
                                              : sbx_batch_add(b, &entry, text.ptr, text.len, err);
}

/* The agent's user, its working directory, the roots of new volumes. */
static enum sbx_code queue_places(struct sbx_box *box, struct sbx_batch *b, unsigned when,
                                  struct sbx_err *err)
{
    struct sbx_entry workdir = { "mkdir", box->plan->workdir, 0755, SBX_AGENT_UID, SBX_AGENT_UID,
                                 true };
    enum sbx_code rc = SBX_OK;

    if (!(when & SBX_AT_CREATE))
        return SBX_OK;
    for (size_t i = 0; !rc && i < box->plan->n_mounts; i++) {
        const struct sbx_plan_mount *m = &box->plan->mounts[i];
        struct sbx_entry root = { "mkdir", m->target, m->mode, m->uid, m->uid, false };

        if (m->kind == SBX_PLAN_VOLUME)
            rc = sbx_batch_add(b, &root, "", 0, err);
    }
    return rc ? rc : sbx_batch_add(b, &workdir, "", 0, err);
}

static enum sbx_code queue_user(struct sbx_batch *b, struct sbx_err *err)
{
    struct sbx_entry user = { "user", "agent:" SBX_AGENT_HOME, 0, SBX_AGENT_UID, SBX_AGENT_UID,
                              false };

    return sbx_batch_add(b, &user, "", 0, err);
}

enum sbx_code sbx_queue_defaults(struct sbx_box *box, struct sbx_batch *b,
                                 const struct sbx_plan_step *s, unsigned when, struct sbx_err *err)
{
    struct sbx_entry probe = { "probe", "/", 0, 0, 0, false };
    enum sbx_code rc = sbx_batch_add(b, &probe, "", 0, err);

    if (!rc && when & SBX_AT_CREATE)
        rc = queue_user(b, err);
    if (!rc)
        rc = queue_places(box, b, when, err);
    for (size_t i = 0; !rc && i < s->n_files; i++) {
        const struct sbx_plan_file *f = &s->files[i];

        if (f->generated)
            rc = queue_generated(box, b, f, err);
        else if (!f->mounted)
            rc = sbx_batch_file(b, f, err);
    }
    return rc;
}

/* Compare what is seen inside with what we know outside (C9, F11). */
static enum sbx_code check_facts(const json_t *o, unsigned long long cookie, struct sbx_err *err)
{
    const char *door = json_string_value(json_object_get(o, "door"));
    const char *boot_id = json_string_value(json_object_get(o, "bootId"));
    unsigned long long inside = (unsigned long long)json_integer_value(json_object_get(o, "cookie"));
    char ours[SBX_BOOT_ID_SIZE];

    sbx_boot_id(ours);
    if (!boot_id)
        return sbx_err_set(err, SBX_FAILED, "PID 1's program tells no facts about the inside");
    if (strcmp(ours, boot_id) || (cookie && inside != cookie))
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "the sandbox runs on another kernel or network stack than this machine's: "
                           "its network cannot be closed");
    if (cookie && (!door || strcmp(door, "open")))
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "a connection from inside does not reach the gate (%s)",
                           door ? door : "unknown");
    if (!json_is_true(json_object_get(json_object_get(o, "programs"), "sh")))
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "the image has no sh: sandboxes need one; use an image with a shell");
    return SBX_OK;
}

/* Java trusts its own store only. The store's password is the one that every Java has. */
static enum sbx_code trust_java(struct sbx_box *box, struct sbx_err *err)
{
    static const char *const argv[] = {
        "/bin/sh", "-c",
        "j=/etc/ssl/certs/java/cacerts; [ -f $j ] || exit 0; keytool -importcert -noprompt -trustcacerts"
        " -alias sbx-ca -file " SBX_CA_FILE " -keystore $j -storepass changeit >/dev/null 2>&1",
        NULL,
    };
    struct sbx_inside x = { .argv = argv, .user = "0", .workdir = "/", .in = -1 };
    int status = 0;
    enum sbx_code rc = sbx_inside(box, &x, &status, err);

    if (!rc && status)
        sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                       "Java's certificate store could not be extended: Java programs will not "
                       "trust the gate");
    return rc;
}

enum sbx_code sbx_run_defaults(struct sbx_box *box, struct sbx_batch *b, unsigned long long cookie,
                               unsigned when, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) head = SBX_BUF_INIT(PEM_MAX);
    SBX_AUTO_JSON json_t *facts = NULL;
    enum sbx_code rc = sbx_batch_run(box, b, &head, err);

    if (rc || box->info->kind == SBX_RUNTIME_FAKE)
        return rc;
    facts = json_loads(head.ptr ? head.ptr : "", JSON_DISABLE_EOF_CHECK, NULL);
    rc = check_facts(facts, cookie, err);
    if (!rc && when & SBX_AT_CREATE &&
        json_is_true(json_object_get(json_object_get(facts, "programs"), "keytool")))
        rc = trust_java(box, err);
    return rc;
}
