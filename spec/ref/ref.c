/* What kind a reference is, and references that stand in a kit. */
#include "ref_int.h"

#include <stdio.h>
#include <string.h>

#include "sbx/text.h"

#define NAME_MAX_BYTES 64 /* of a kit's name (lifecycle 4) */

static bool starts(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

/* Lower-case letters, digits and hyphens: a kit's name. */
static bool is_name(const char *text)
{
    size_t n = strlen(text);

    return n <= NAME_MAX_BYTES && text[0] != '-' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

static enum sbx_code no_memory(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
}

static enum sbx_code parse_directory(const char *path, struct sbx_arena *a, struct sbx_ref *ret,
                                     struct sbx_err *err)
{
    if (!*path)
        return sbx_err_set(err, SBX_SCHEMA, "file:// without a path; write ./my-kit");
    ret->kind = SBX_REF_DIRECTORY;
    ret->immutable = true;
    ret->path = sbx_arena_strdup(a, path);
    return ret->path ? SBX_OK : no_memory(err);
}

static enum sbx_code parse_name(const char *text, struct sbx_arena *a, struct sbx_ref *ret,
                                struct sbx_err *err)
{
    ret->kind = SBX_REF_NAME;
    ret->immutable = true;
    ret->name = sbx_arena_strdup(a, text);
    return ret->name ? SBX_OK : no_memory(err);
}

/* Spellings that other tools know; each is told its equivalent here. */
static enum sbx_code refuse_scheme(const char *text, struct sbx_err *err)
{
    const char *rest = strstr(text, "://") + 3;
    size_t len = strcspn(text, "?#");

    if (len > 4 && !strncasecmp(text + len - 4, ".zip", 4))
        return sbx_err_set(err, SBX_SCHEMA, SBX_REF_ZIP_HINT);
    if (starts(text, "https://") || starts(text, "http://") || starts(text, "ssh://") ||
        starts(text, "git://"))
        return sbx_err_set(err, SBX_SCHEMA,
                           "write git+%s%.*s#ref=<40-hex commit> for a git repository, or "
                           "oci://HOST/REPOSITORY@sha256:<digest> for a registry",
                           starts(text, "ssh://")    ? "ssh://"
                           : starts(text, "http://") ? "http://"
                                                     : "https://",
                           (int)strcspn(rest, "#"), rest);
    if (starts(text, "docker://"))
        return sbx_err_set(err, SBX_SCHEMA, "write oci://%.200s", rest);
    return sbx_err_set(err, SBX_SCHEMA,
                       "unknown scheme \"%.*s\"; known are git+https://, git+ssh://, git+http://, "
                       "git+file://, oci:// and file://",
                       (int)(rest - text < 40 ? rest - text : 40), text);
}

static bool is_path(const char *text)
{
    return text[0] == '/' || text[0] == '~' || !strcmp(text, ".") || !strcmp(text, "..") ||
           starts(text, "./") || starts(text, "../");
}

/* What skopeo and its like call transports. */
static enum sbx_code check_transport(const char *text, struct sbx_err *err)
{
    static const struct {
        const char *transport, *say;
    } rows[] = {
        { "oci:", "an OCI layout is written oci-layout:DIRECTORY:TAG" },
        { "oci-archive:", "an archive is written oci-layout:FILE:TAG, as a directory is" },
        { "docker-archive:", "that is an image, not a kit" },
        { "docker-daemon:", "kits are not in a Docker Engine; write oci://HOST/REPOSITORY@sha256:<digest>" },
        { "containers-storage:", "kits are not there; write oci://HOST/REPOSITORY@sha256:<digest>" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        if (starts(text, rows[i].transport))
            return sbx_err_set(err, SBX_SCHEMA, "%s", rows[i].say);
    return SBX_OK;
}

/* "github.com/org/repo", "host/repo.git": a browser's address without its scheme. */
static bool is_repository_of_git(const char *text)
{
    static const char *const forges[] = { "github.com/", "gitlab.com/", "bitbucket.org/",
                                          "codeberg.org/" };
    size_t len = strcspn(text, "#?");

    for (size_t i = 0; i < SBX_ARRAY_LEN(forges); i++)
        if (starts(text, forges[i]))
            return true;
    return len > 4 && !strncmp(text + len - 4, ".git", 4);
}

static enum sbx_code parse_plain(const char *text, struct sbx_arena *a, struct sbx_ref *ret,
                                 struct sbx_err *err)
{
    const char *slash = strchr(text, '/'), *colon = strchr(text, ':'), *at = strchr(text, '@');

    enum sbx_code rc;

    if (is_name(text))
        return parse_name(text, a, ret, err);
    rc = check_transport(text, err);
    if (rc)
        return rc;
    if (at && colon && at < colon && (!slash || at < slash)) /* git@github.com:org/repo */
        return sbx_err_set(err, SBX_SCHEMA,
                           "write git+ssh://%.*s/%.200s#ref=<40-hex commit> for a git repository",
                           (int)(colon - text < 200 ? colon - text : 200), text, colon + 1);
    if (slash && sbx_ref_has_registry(text) && is_repository_of_git(text))
        return sbx_err_set(err, SBX_SCHEMA,
                           "write git+https://%.*s#ref=<40-hex commit> for a git repository",
                           (int)strcspn(text, "#"), text);
    if (slash && sbx_ref_has_registry(text))
        return sbx_ref_oci(text, a, ret, err);
    if (slash && (colon > slash || at > slash))
        return sbx_err_set(err, SBX_SCHEMA,
                           "name the registry too (of Docker's hub it is docker.io/%.200s), or write "
                           "./%.200s for a path", text, text);
    if (colon || at)
        return sbx_err_set(err, SBX_SCHEMA,
                           "write oci://HOST/REPOSITORY@sha256:<digest> for a registry, or ./%.200s "
                           "for a path",
                           text);
    return parse_directory(text, a, ret, err);
}

static enum sbx_code parse(const char *text, struct sbx_arena *a, struct sbx_ref *ret,
                           struct sbx_err *err)
{
    if (starts(text, "git+"))
        return sbx_ref_git(text, a, ret, err);
    if (starts(text, "oci://"))
        return sbx_ref_oci(text + 6, a, ret, err);
    if (starts(text, "oci-layout:"))
        return sbx_ref_layout(text + 11, a, ret, err);
    if (starts(text, "file://"))
        return parse_directory(text + 7, a, ret, err);
    if (is_path(text))
        return parse_directory(text, a, ret, err);
    if (strstr(text, "://"))
        return refuse_scheme(text, err);
    return parse_plain(text, a, ret, err);
}

static enum sbx_code check_text(const char *text, struct sbx_err *err)
{
    size_t n = strlen(text);

    if (!n)
        return sbx_err_set(err, SBX_SCHEMA, "empty; write a kit's name, a directory like ./my-kit, "
                                            "git+https://... or oci://...");
    if (n > SBX_REF_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "longer than %d bytes", SBX_REF_MAX);
    if (text[0] == '-')
        return sbx_err_set(err, SBX_SCHEMA, "begins with \"-\"; write ./%.200s for a path", text);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return sbx_err_set(err, SBX_SCHEMA, "a control character (byte 0x%02x)",
                               (unsigned char)text[i]);
    return SBX_OK;
}

enum sbx_code sbx_ref_parse(const char *text, struct sbx_arena *arena, struct sbx_ref *ret,
                            struct sbx_err *err)
{
    struct sbx_ref r = { .kind = SBX_REF_NAME };
    enum sbx_code rc = check_text(text, err);

    if (!rc)
        rc = parse(text, arena, &r, err);
    if (rc)
        return sbx_err_wrap(err, rc, "kit reference \"%.200s\"", text);
    r.text = sbx_arena_strdup(arena, text);
    if (!r.text)
        return no_memory(err);
    *ret = r;
    return SBX_OK;
}

static enum sbx_code require_commit(const struct sbx_ref *r, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    const char *instead = arena ? sbx_ref_git_text(r, "<40-hex commit>", arena) : NULL;

    if (!instead)
        return no_memory(err);
    if (r->revision)
        return sbx_err_set(err, SBX_SCHEMA,
                           "kit reference \"%.200s\": \"%.80s\" is not a full commit, and branches "
                           "and tags can move; write %.300s",
                           r->text, r->revision, instead);
    return sbx_err_set(err, SBX_SCHEMA,
                       "kit reference \"%.200s\": a git reference must name a full commit; write %.300s",
                       r->text, instead);
}

enum sbx_code sbx_ref_require_immutable(const struct sbx_ref *r, struct sbx_err *err)
{
    if (r->immutable)
        return SBX_OK;
    if (r->kind == SBX_REF_GIT)
        return require_commit(r, err);
    if (r->kind == SBX_REF_LAYOUT)
        return sbx_err_set(err, SBX_SCHEMA,
                           "kit reference \"%.200s\": a kit in a layout is named by its digest; write "
                           "oci-layout:%.200s@sha256:<digest>",
                           r->text, r->path);
    return sbx_err_set(err, SBX_SCHEMA,
                       "kit reference \"%.200s\": a registry reference must name a digest%s; write "
                       "oci://%.100s/%.200s@sha256:<digest>",
                       r->text, r->tag ? ", since tags can move" : "", r->registry, r->repository);
}

static enum sbx_code join_directory(const struct sbx_ref *declaring, struct sbx_arena *a,
                                    struct sbx_ref *r, struct sbx_err *err)
{
    bool escapes = false, git = declaring->kind == SBX_REF_GIT;
    const char *dir = git && declaring->subdir ? declaring->subdir : "";
    char *clean = sbx_ref_join(a, dir, r->path, &escapes);

    if (escapes)
        return sbx_err_set(err, SBX_SCHEMA, "kit reference \"%.200s\" leaves the %s of the kit that "
                                            "names it",
                           r->text, git ? "repository" : "directory");
    if (!clean)
        return no_memory(err);
    if (git) {
        const char *text = r->text;

        *r = *declaring;
        r->text = text;
        r->subdir = *clean ? clean : NULL;
        return SBX_OK;
    }
    r->path = *clean ? sbx_arena_printf(a, "%s/%s", declaring->path, clean) : declaring->path;
    return r->path ? SBX_OK : no_memory(err);
}

enum sbx_code sbx_ref_parse_in(const struct sbx_ref *declaring, const char *text,
                               struct sbx_arena *arena, struct sbx_ref *ret, struct sbx_err *err)
{
    struct sbx_ref r;
    enum sbx_code rc = sbx_ref_parse(text, arena, &r, err);

    if (rc)
        return rc;
    if (r.kind == SBX_REF_DIRECTORY || r.kind == SBX_REF_LAYOUT) {
        if (r.kind == SBX_REF_LAYOUT || r.path[0] == '/' || r.path[0] == '~')
            return sbx_err_set(err, SBX_SCHEMA,
                               "kit reference \"%.200s\": a kit cannot name a path of this machine; "
                               "write one relative to its spec, like ./%s",
                               text, "my-mixin");
        if (declaring->kind != SBX_REF_DIRECTORY && declaring->kind != SBX_REF_GIT)
            return sbx_err_set(err, SBX_SCHEMA,
                               "kit reference \"%.200s\": a %s kit has no directory around it; write "
                               "a kit's name, git+https://... or oci://...",
                               text, declaring->kind == SBX_REF_NAME ? "built-in" : "registry");
        rc = join_directory(declaring, arena, &r, err);
    }
    if (!rc)
        *ret = r;
    return rc;
}

const char *sbx_ref_kind_name(enum sbx_ref_kind kind)
{
    static const char *const names[] = { "name", "directory", "git", "oci", "layout" };

    return names[kind];
}
