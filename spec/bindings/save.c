/* policy.yaml: writing it; and the lock and the replacement of any of these files. */
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "approvals.h"
#include "sbx/file.h"
#include "sbx/json.h"
#include "sbx/yaml.h"

static const char default_head[] =
    "# The user's network rules, for all sandboxes (docs: sbx policy --help). \"sbx policy\" changes\n"
    "# this file, and so may you; comment lines at the top are kept.\n";

enum sbx_code sbx_bindings_quote(const char *value, struct sbx_buf *out)
{
    SBX_AUTO_JSON json_t *string = json_string(value);
    SBX_AUTO_FREE char *text = NULL;

    if (!string)
        return SBX_SCHEMA; /* not UTF-8 */
    text = json_dumps(string, JSON_ENCODE_ANY);
    return text ? sbx_buf_adds(out, text) : SBX_NO_MEMORY;
}

static enum sbx_code add_text(struct sbx_buf *out, const char *key, const char *value)
{
    enum sbx_code rc = sbx_buf_addf(out, "%s: ", key);

    if (!rc)
        rc = sbx_bindings_quote(value, out);
    return rc ? rc : sbx_buf_adds(out, "\n");
}

static enum sbx_code add_rule(struct sbx_buf *out, const struct sbx_policy_entry *e,
                              struct sbx_arena *arena)
{
    const char *id = e->id ? e->id : sbx_policy_rule_id(e, arena);
    enum sbx_code rc;

    if (!id)
        return SBX_NO_MEMORY;
    rc = sbx_buf_addf(out, "  - decision: %s\n", e->decision == SBX_ALLOW ? "allow" : "deny");
    if (!rc)
        rc = add_text(out, "    resource", e->resource);
    if (!rc)
        rc = add_text(out, "    id", id);
    if (!rc && e->sandbox)
        rc = add_text(out, "    sandbox", e->sandbox);
    return rc;
}

static enum sbx_code write_text(const struct sbx_policy_file *f, struct sbx_arena *arena,
                                struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_adds(out, f->head ? f->head : default_head);

    if (!rc)
        rc = sbx_buf_addf(out, "preset: %s\ninitialized: %s\n", f->preset ? f->preset : "balanced",
                          f->initialized ? "true" : "false");
    if (!rc)
        rc = sbx_buf_adds(out, f->n_rules ? "rules:\n" : "rules: []\n");
    for (size_t i = 0; i < f->n_rules && !rc; i++)
        rc = add_rule(out, &f->rules[i], arena);
    if (!rc && f->n_approvals)
        rc = sbx_buf_adds(out, "approvals:\n");
    for (size_t i = 0; i < f->n_approvals && !rc; i++)
        rc = sbx_approval_write(&f->approvals[i], out);
    return rc;
}

static enum sbx_code check_file(const struct sbx_policy_file *f, struct sbx_err *err)
{
    if (f->preset && !sbx_policy_is_preset(f->preset))
        return sbx_err_set(err, SBX_SCHEMA, "preset \"%s\": write allow-all, balanced or deny-all",
                           f->preset);
    if (f->n_rules > SBX_POLICY_FILE_RULES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu network rules; a file holds at most %d", f->n_rules,
                           SBX_POLICY_FILE_RULES_MAX);
    if (f->n_approvals > SBX_POLICY_FILE_RULES_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%zu approvals; a file holds at most %d",
                           f->n_approvals, SBX_POLICY_FILE_RULES_MAX);
    for (size_t i = 0; i < f->n_rules; i++) {
        struct sbx_pattern p;
        enum sbx_code rc = sbx_pattern_parse(f->rules[i].resource, SBX_RULE_USER, &p, NULL, err);

        if (rc)
            return rc;
    }
    return SBX_OK;
}

/* The directory of a path, made if it is missing. */
static enum sbx_code make_directory(const char *path, struct sbx_err *err)
{
    const char *slash = strrchr(path, '/');
    SBX_AUTO_FREE char *dir = slash && slash != path ? strndup(path, (size_t)(slash - path)) : NULL;

    return dir ? sbx_dir_make(dir, 0700, err) : SBX_OK;
}

enum sbx_code sbx_policy_file_save(const char *path, const struct sbx_policy_file *f,
                                   struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_BINDINGS_MAX);
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    enum sbx_code rc = check_file(f, err);

    if (rc)
        return sbx_err_wrap(err, rc, "write %s", path);
    rc = arena ? write_text(f, arena, &text) : SBX_NO_MEMORY;
    if (rc)
        return sbx_err_set(err, rc, "write %s: %s", path, sbx_code_name(rc));
    return sbx_bindings_replace(path, &text, err);
}

enum sbx_code sbx_bindings_replace(const char *path, const struct sbx_buf *text,
                                   struct sbx_err *err)
{
    SBX_AUTO_FREE char *real = realpath(path, NULL); /* NULL: not there yet */
    enum sbx_code rc = make_directory(path, err);

    return rc ? rc : sbx_file_write(AT_FDCWD, real ? real : path, text->ptr, text->len, 0600, err);
}

/* Held while a command reads, changes and writes; the lock file stays, since removing it would race. */
enum sbx_code sbx_bindings_lock(const char *path, int *ret, struct sbx_err *err)
{
    SBX_AUTO_FREE char *name = NULL;
    SBX_AUTO_FD int fd = -1;
    enum sbx_code rc = make_directory(path, err);

    if (rc)
        return rc;
    if (asprintf(&name, "%s.lock", path) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sbx_err_errno(err, "lock %s", name);
    while (flock(fd, LOCK_EX))
        if (errno != EINTR)
            return sbx_err_errno(err, "lock %s", name);
    *ret = sbx_take_fd(&fd);
    return SBX_OK;
}

enum sbx_code sbx_policy_file_edit(const char *path, sbx_policy_edit_fn *edit, void *data,
                                   struct sbx_diags *diags, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_FD int held = -1;
    struct sbx_policy_file f;
    enum sbx_code rc;

    if (!arena)
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    rc = sbx_bindings_lock(path, &held, err);
    if (!rc)
        rc = sbx_policy_file_load(path, arena, diags, &f, err);
    if (!rc)
        rc = edit(&f, arena, data, err);
    return rc ? rc : sbx_policy_file_save(path, &f, err);
}
