/*
 * The engine's own files inside, and trust in the sandbox's certificate authority. One exec: facts
 * about the inside (another kernel, no shell), the files, the bundles.
 */
#include "box.h"

#include "sbx/json.h"

#include <string.h>

#define PEM_MAX 65536

/* $1: a line that only our certificate has; $2: lines for /etc/environment. Only sh and cat. */
static const char script[] =
    "/run/sbx/init probe || exit 120\n"
    "/run/sbx/init batch; rc=$?\n"
    "ca=" SBX_CA_FILE "\n"
    "for b in " SBX_CA_BUNDLE " /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem"
    " /etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem /etc/ssl/cert.pem; do\n"
    "    if [ -f \"$b\" ]; then\n"
    "        case \"$(cat \"$b\")\" in *\"$1\"*) ;; *) { echo; cat \"$ca\"; } >>\"$b\" ;; esac\n"
    "    elif [ \"$b\" = " SBX_CA_BUNDLE " ]; then\n"
    "        [ -d /etc/ssl/certs ] || mkdir -p /etc/ssl/certs\n"
    "        cat \"$ca\" >\"$b\"\n"
    "    fi\n"
    "done\n"
    "[ -f /etc/environment ] && old=$(cat /etc/environment)\n"
    "case \"$old\" in *'# sbx: proxy and trust'*) ;; *) printf '%s\\n' \"$2\" >>/etc/environment ;; "
    "esac\n"
    "j=/etc/ssl/certs/java/cacerts\n"
    "if [ -f $j ] && command -v keytool >/dev/null 2>&1; then\n"
    "    keytool -importcert -noprompt -trustcacerts -alias sbx-ca -file \"$ca\" -keystore $j"
    " -storepass changeit >/dev/null 2>&1\n"
    "fi\n"
    "exit $rc\n";

static enum sbx_code queue_generated(struct sbx_box *box, struct sbx_batch *b,
                                     const struct sbx_plan_file *f, struct sbx_err *err)
{
    struct sbx_entry entry = { "write", f->path, f->mode, f->uid, f->gid, false };
    SBX_AUTO(sbx_buf) pem = SBX_BUF_INIT(PEM_MAX);
    enum sbx_code rc;

    if (strcmp(f->generated, "ca"))
        return SBX_OK; /* merged by the script */
    rc = sbx_ca_cert(box, &pem, err);
    return rc ? rc : sbx_batch_add(b, &entry, pem.ptr, pem.len, err);
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
    enum sbx_code rc = when & SBX_AT_CREATE ? queue_user(b, err) : SBX_OK;

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

/* Compare what PID 1's program sees inside with what we know outside (C9). */
static enum sbx_code check_probe(const char *text, unsigned long long cookie,
                                 struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *o = json_loads(text ? text : "", JSON_DISABLE_EOF_CHECK, NULL);
    const char *door = json_string_value(json_object_get(o, "door"));
    const char *boot_id = json_string_value(json_object_get(o, "bootId"));
    unsigned long long inside = (unsigned long long)json_integer_value(json_object_get(o, "cookie"));
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    char ours[64] = "";

    if (f) {
        if (!fgets(ours, sizeof(ours), f))
            ours[0] = '\0';
        fclose(f);
    }
    ours[strcspn(ours, "\n")] = '\0';
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
    return SBX_OK;
}

/* The second line of the certificate: base64 of its serial and name, as good as unique. */
static const char *mark_of(struct sbx_box *box, char *pem)
{
    char *line = pem ? strchr(pem, '\n') : NULL;

    line = line ? strchr(line + 1, '\n') : NULL;
    if (!line)
        return NULL;
    line[1 + strcspn(line + 1, "\n")] = '\0';
    return sbx_arena_strdup(box->arena, line + 1);
}

static const char *environment_lines(struct sbx_box *box)
{
    const char *text = "# sbx: proxy and trust";

    for (size_t i = 0; text && i < box->plan->n_env; i++) {
        const struct sbx_plan_env *e = &box->plan->env[i];

        if (!strcmp(e->origin, "engine") && !e->weak && strcmp(e->name, "HOME") &&
            strcmp(e->name, "USER"))
            text = sbx_arena_printf(box->arena, "%s\n%s=%s", text, e->name, e->value);
    }
    return text;
}

enum sbx_code sbx_run_defaults(struct sbx_box *box, struct sbx_batch *b, unsigned long long cookie,
                               struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) pem = SBX_BUF_INIT(PEM_MAX);
    SBX_AUTO(sbx_buf) head = SBX_BUF_INIT(PEM_MAX);
    const char *argv[] = { "/bin/sh", "-c", script, "sh", NULL, NULL, NULL };
    enum sbx_code rc = sbx_ca_cert(box, &pem, err);

    if (rc)
        return rc;
    argv[4] = mark_of(box, pem.ptr);
    argv[5] = environment_lines(box);
    if (!argv[4] || !argv[5])
        return sbx_out_of_memory(err);
    rc = sbx_batch_run(box, b, argv, &head, err);
    if (rc || box->info->kind == SBX_RUNTIME_FAKE)
        return rc;
    return check_probe(head.ptr, cookie, err);
}
