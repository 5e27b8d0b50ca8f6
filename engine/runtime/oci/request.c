#include <linux/filter.h>
#include <string.h>

#include "enter/enter.h"
#include "oci.h"
#include "sbx/file.h"

#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Set K=V in the list, replacing an earlier value. */
static int set_env(json_t *env, const char *pair)
{
    size_t key = strcspn(pair, "=") + 1;
    json_t *value = json_string_nocheck(pair);
    const json_t *item;
    size_t i;

    json_array_foreach(env, i, item)
        if (strncmp(json_string_value(item), pair, key) == 0)
            return json_array_set_new(env, i, value);
    return json_array_append_new(env, value);
}

static bool has_env(json_t *env, const char *key)
{
    const json_t *item;
    size_t i;

    json_array_foreach(env, i, item)
        if (strncmp(json_string_value(item), key, strlen(key)) == 0)
            return true;
    return false;
}

static json_t *environment(const struct box *b, const struct sbx_exec *exec,
                           const struct user *user)
{
    json_t *env = json_copy(json_object_get(b->spec, "env"));

    if (!env)
        env = json_array();
    for (const char *const *e = exec->env; e && *e; e++)
        set_env(env, *e);
    if (!has_env(env, "PATH="))
        set_env(env, DEFAULT_PATH);
    if (exec->tty && !has_env(env, "TERM="))
        set_env(env, "TERM=xterm");
    if (!has_env(env, "HOME="))
        json_array_append_new(env, json_sprintf("HOME=%s", user->home));
    return env;
}

/* The strings of an argument or environment list, one behind the other. */
static enum sbx_code add_strings(struct sbx_buf *out, const json_t *list)
{
    enum sbx_code rc = SBX_OK;
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)list, i, item)
        if (!rc)
            rc = sbx_buf_add(out, json_string_value(item), json_string_length(item) + 1);
    return rc;
}

static const char *path_of(const json_t *env)
{
    const json_t *item;
    size_t i;

    json_array_foreach((json_t *)env, i, item)
        if (strncmp(json_string_value(item), "PATH=", 5) == 0)
            return json_string_value(item) + 5;
    return "";
}

static enum sbx_code add_all_strings(struct sbx_buf *out, struct enter_request *r,
                                     const struct box *b, const struct sbx_exec *exec,
                                     const struct user *user)
{
    const char *cwd = exec->workdir && *exec->workdir ? exec->workdir : box_text(b, "workdir");
    SBX_AUTO_JSON json_t *env = environment(b, exec, user);
    const char *path = path_of(env);
    enum sbx_code rc;

    r->n_env = (uint32_t)json_array_size(env);
    rc = sbx_buf_add(out, cwd, strlen(cwd) + 1);
    if (!rc)
        rc = sbx_buf_add(out, path, strlen(path) + 1);
    for (const char *const *a = exec->argv; !rc && *a; a++, r->n_argv++)
        rc = sbx_buf_add(out, *a, strlen(*a) + 1);
    return rc ? rc : add_strings(out, env);
}

static enum sbx_code add_filter(struct sbx_buf *out, struct enter_request *r, const struct box *b,
                                struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) filter = SBX_BUF_INIT(OCI_FILTER_MAX);
    enum sbx_code rc;

    if (json_is_true(json_object_get(b->spec, "privileged")))
        return SBX_OK;
    rc = sbx_file_read(b->dir, OCI_FILTER_FILE, &filter, err);
    if (rc)
        return rc;
    r->filter = (uint32_t)out->len;
    r->n_filter = (uint32_t)(filter.len / sizeof(struct sock_filter));
    if (!r->n_filter)
        return sbx_err_set(err, SBX_FAILED, "%s/" OCI_FILTER_FILE " is empty", b->path);
    return sbx_buf_add(out, filter.ptr, filter.len);
}

static struct enter_request basics(const struct box *b, const struct sbx_exec *exec,
                                   const struct user *user)
{
    bool privileged = exec->privileged || json_is_true(json_object_get(b->spec, "privileged"));
    struct enter_request r = {
        .magic = ENTER_MAGIC,
        .uid = user->uid,
        .gid = user->gid,
        .n_groups = (uint32_t)user->n_groups,
        .bounding = oci_caps_bits(b->spec, privileged),
        .files = oci_files_max(),
        .tty = exec->tty,
    };

    if (user->uid == 0) /* anybody else gets what execve() leaves him: none */
        r.effective = r.bounding;
    for (size_t i = 0; i < user->n_groups; i++)
        r.groups[i] = user->groups[i];
    if (exec->tty && exec->winsize) {
        struct sbx_winsize w = exec->winsize(exec->ctx);

        r.rows = w.rows;
        r.cols = w.cols;
    }
    return r;
}

enum sbx_code oci_request(const struct box *b, const struct sbx_exec *exec, const struct user *user,
                          struct sbx_buf *out, struct sbx_err *err)
{
    struct enter_request r = basics(b, exec, user);
    enum sbx_code rc = sbx_buf_add(out, &r, sizeof(r));

    if (!rc)
        rc = add_filter(out, &r, b, err);
    if (rc)
        return rc;
    r.strings = (uint32_t)out->len;
    rc = add_all_strings(out, &r, b, exec, user);
    if (rc)
        return sbx_err_set(err, rc, "more than %d bytes of arguments and environment",
                           OCI_REQUEST_MAX);
    r.size = (uint32_t)out->len;
    memcpy(out->ptr, &r, sizeof(r));
    return SBX_OK;
}
