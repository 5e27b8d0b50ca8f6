#include <string.h>

#include "oci.h"

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

static json_t *groups(const struct user *user)
{
    json_t *list = json_array();

    for (size_t i = 0; i < user->n_groups; i++)
        json_array_append_new(list, json_integer(user->groups[i]));
    return list;
}

static json_t *args(const struct sbx_exec *exec)
{
    json_t *list = json_array();

    for (const char *const *a = exec->argv; *a; a++)
        json_array_append_new(list, json_string_nocheck(*a));
    return list;
}

json_t *oci_process(const struct box *b, const struct sbx_exec *exec, const struct user *user)
{
    const char *cwd = exec->workdir && *exec->workdir ? exec->workdir : box_text(b, "workdir");
    json_t *process = json_pack("{s:b, s:{s:I, s:I, s:o}, s:o, s:o, s:s, s:o, s:o, s:b}",
                                "terminal", exec->tty, "user", "uid", (json_int_t)user->uid,
                                "gid", (json_int_t)user->gid, "additionalGids", groups(user),
                                "args", args(exec), "env", environment(b, exec, user), "cwd", cwd,
                                "capabilities",
                                oci_process_caps(b->spec, exec->privileged, user->uid == 0),
                                "rlimits", oci_rlimits(), "noNewPrivileges", 0);

    if (process && exec->tty && exec->winsize) {
        struct sbx_winsize w = exec->winsize(exec->ctx);

        json_object_set_new(process, "consoleSize",
                            json_pack("{s:i, s:i}", "height", w.rows, "width", w.cols));
    }
    return process;
}
