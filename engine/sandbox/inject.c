/*
 * What the gate adds to requests, from a static source until credentials are built (docs/gate-config.md
 * 6): inject/NAME.json and secrets/ of the state directory. The broker hands the values to the gate.
 */
#include "net.h"

#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define RULES_MAX 262144     /* bytes: the gate takes 256 rules */
#define ROOTS_MAX 1048576    /* bytes; the same bound as the gate's */

#define PATH_SIZE 4096 /* bytes of a path below the state directory */

static void rules_path(const struct sbx_engine *e, const char *name, char out[PATH_SIZE])
{
    snprintf(out, PATH_SIZE, "%s/inject/%s.json", e->paths.state, name);
}

enum sbx_code sbx_inject_drop(const struct sbx_engine *e, const char *name, struct sbx_err *err)
{
    char path[PATH_SIZE];

    rules_path(e, name, path);
    return !unlink(path) || errno == ENOENT ? SBX_OK : sbx_err_errno(err, "remove %s", path);
}

/* Who can write it can send any secret anywhere. */
static enum sbx_code check_private(const char *path, struct sbx_err *err)
{
    struct stat st;

    if (lstat(path, &st))
        return sbx_err_errno(err, "%s", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return sbx_err_set(err, SBX_SCHEMA, "%s: must be a regular file of your own that nobody else "
                           "can write", path);
    return SBX_OK;
}

/* The list of rules; NULL: none. A privileged sandbox gets none (N23), nor does one that learns (N13). */
static enum sbx_code read_rules(struct sbx_box *box, json_t **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(RULES_MAX);
    SBX_AUTO_JSON json_t *o = NULL;
    char path[PATH_SIZE];
    json_error_t fault;
    enum sbx_code rc;

    *ret = NULL;
    rules_path(box->e, box->name, path);
    if (box->record.learned || access(path, F_OK))
        return SBX_OK;
    rc = box->plan ? SBX_OK : sbx_planfile_read(box, err); /* a guard of the gate has not read it */
    if (!rc && box->plan->privileged)
        return SBX_OK;
    if (!rc)
        rc = check_private(path, err);
    if (!rc)
        rc = sbx_file_read(AT_FDCWD, path, &text, err);
    if (rc)
        return rc;
    o = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_REJECT_DUPLICATES, &fault);
    if (!o)
        return sbx_err_set(err, SBX_SYNTAX, "%s:%d:%d: %s", path, fault.line, fault.column, fault.text);
    if (!json_is_array(o))
        return sbx_err_set(err, SBX_SCHEMA, "%s: a list of rules is needed", path);
    if (json_array_size(o))
        *ret = json_incref(o);
    return SBX_OK;
}

static enum sbx_code put_roots(struct sbx_box *box, json_t *o, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) pem = SBX_BUF_INIT(ROOTS_MAX);
    enum sbx_code rc;

    if (faccessat(box->dirfd, SBX_ROOTS_FILE, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
        return SBX_OK;
    rc = sbx_file_read(box->dirfd, SBX_ROOTS_FILE, &pem, err);
    if (!rc && json_object_set_new(o, "upstreamCa", json_stringn(pem.ptr ? pem.ptr : "", pem.len)))
        rc = sbx_err_set(err, SBX_SCHEMA, "%s/" SBX_ROOTS_FILE ": not text", box->dir);
    return rc;
}

enum sbx_code sbx_inject_config(struct sbx_box *box, json_t *o, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *rules = NULL;
    enum sbx_code rc = read_rules(box, &rules, err);

    if (!rc && rules && json_object_set(o, "inject", rules))
        rc = sbx_out_of_memory(err);
    return rc ? rc : put_roots(box, o, err);
}

enum sbx_code sbx_upstream_ca_check(const char *pem, struct sbx_err *err)
{
    BIO *bio = BIO_new_mem_buf(pem, (int)strlen(pem));
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    bool good = cert != NULL;

    X509_free(cert);
    BIO_free(bio);
    ERR_clear_error();
    if (strstr(pem, "PRIVATE KEY"))
        return sbx_err_set(err, SBX_USAGE, "holds a private key: give the certificates only");
    return good ? SBX_OK : sbx_err_set(err, SBX_USAGE, "no certificates in PEM form");
}

enum sbx_code sbx_upstream_ca_save(struct sbx_box *box, const char *pem, struct sbx_err *err)
{
    return pem ? sbx_put(box, SBX_ROOTS_FILE, pem, strlen(pem), 0600, err) : SBX_OK;
}

/* ---- the broker ---- */

static enum sbx_code spawn(struct sbx_box *box, int gate, int secrets, int ended, struct sbx_err *err)
{
    static const char *const argv[] = { "sbx-broker", "--gate-fd", "3", "--secrets-dir-fd", "4",
                                        "--ended-fd", "5", NULL };
    char path[4096];
    struct sbx_spawn s = { .path = path, .argv = argv, .fds = { gate, secrets, ended, -1 } };
    pid_t pid;

    snprintf(path, sizeof(path), "%s/sbx-broker", box->e->paths.libexec);
    return sbx_spawn(&s, &pid, err);
}

/* Its life is that of the socket: it ends with the gate, and where we die before the gate has its end. */
static enum sbx_code start(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO_FD int ended = sbx_open_ended(box);
    SBX_AUTO_FD int secrets = -1;
    SBX_AUTO_FD int ours = -1;
    SBX_AUTO_FD int theirs = -1;
    char path[4096];
    int ends[2];
    enum sbx_code rc;

    snprintf(path, sizeof(path), "%s/secrets", box->e->paths.state);
    secrets = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (secrets < 0 || ended < 0)
        return sbx_err_errno(err, "%s", secrets < 0 ? path : box->dir);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return sbx_err_errno(err, "socketpair");
    ours = ends[0];
    theirs = ends[1];
    rc = spawn(box, theirs, secrets, ended, err);
    return rc ? rc
              : sbx_gate_ask_with(box, json_pack("{s:s}", "op", "broker"), &ours, 1, NULL, err);
}

static bool has_broker(struct sbx_box *box)
{
    SBX_AUTO_JSON json_t *answer = NULL;

    return !sbx_gate_ask(box, json_pack("{s:s}", "op", "stats"), &answer, NULL) &&
           json_is_true(json_object_get(answer, "broker"));
}

void sbx_broker_ensure(struct sbx_box *box)
{
    SBX_AUTO_JSON json_t *rules = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc = read_rules(box, &rules, &err);

    if (!rc && rules && !has_broker(box))
        rc = start(box, &err);
    if (rc)
        sbx_event_send(box->e, SBX_EVENT_WARNING, NULL,
                       "requests that need a credential will be refused: broker: %s", err.text);
}
