/* Names for what lies in the cache: CACHE/index.json, for other tools too, and CACHE/names for people. */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cache.h"
#include "sbx/file.h"
#include "sbx/json.h"

#define INDEX_MAX 4096         /* manifests named in the index: past it the oldest name goes */
#define INDEX_TEXT_MAX (16 << 20) /* bytes of index.json: INDEX_MAX entries are below 4 MiB */

static json_t *read_index(const char *path)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(INDEX_TEXT_MAX);
    json_t *root = NULL;

    if (sbx_file_read(AT_FDCWD, path, &text, NULL) == SBX_OK)
        root = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    if (json_is_array(json_object_get(root, "manifests")))
        return root;
    json_decref(root); /* a broken index of a cache is a missing one */
    return json_pack("{s:i, s:[]}", "schemaVersion", 2, "manifests");
}

#define NAME_KEY "org.opencontainers.image.ref.name"

/* Names of blobs that are gone; other tools would stumble over them. */
static size_t drop_gone(struct sbx_cache *c, json_t *list)
{
    size_t before = json_array_size(list);

    for (size_t i = before; i-- > 0;) {
        const char *digest = json_string_value(json_object_get(json_array_get(list, i), "digest"));

        if (!digest || !sbx_digest_valid(digest) ||
            faccessat(c->blobs, sbx_blob_name(digest), F_OK, AT_SYMLINK_NOFOLLOW))
            json_array_remove(list, i);
    }
    return before - json_array_size(list);
}

static enum sbx_code set_entry(json_t *list, json_t *entry, const char *name)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        json_t *a = json_object_get(json_array_get(list, i), "annotations");
        const char *had = json_string_value(json_object_get(a, NAME_KEY));

        if ((had && strcmp(had, name) == 0) || json_array_size(list) >= INDEX_MAX)
            json_array_remove(list, i);
    }
    return entry && json_array_append(list, entry) == 0 ? SBX_OK : SBX_NO_MEMORY;
}

/* Of all names; held until *ret is closed. */
static enum sbx_code lock_names(const struct sbx_cache *c, int *ret, struct sbx_err *err)
{
    char path[CACHE_PATH];
    SBX_AUTO_FD int lock = -1;

    snprintf(path, sizeof(path), "%.4000s/index.lock", c->dir);
    lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX))
        return sbx_err_errno(err, "lock %s", path);
    *ret = sbx_take_fd(&lock);
    return SBX_OK;
}

/* Read it, with its lock held until *ret_lock is closed. */
static enum sbx_code open_index(struct sbx_cache *c, char path[CACHE_PATH], int *ret_lock,
                                json_t **ret, struct sbx_err *err)
{
    SBX_AUTO_FD int lock = -1;
    enum sbx_code rc = lock_names(c, &lock, err);

    if (rc)
        return rc;
    snprintf(path, CACHE_PATH, "%.4000s/index.json", c->dir);
    *ret = read_index(path);
    if (!*ret)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *ret_lock = sbx_take_fd(&lock);
    return SBX_OK;
}

/* Not synced, unlike most files: names are a convenience, and a broken file of them is a missing one. */
static enum sbx_code replace(const char *path, const char *text, size_t len, struct sbx_err *err)
{
    char tmp[CACHE_PATH + 8];
    SBX_AUTO_FD int fd = -1;

    snprintf(tmp, sizeof(tmp), "%s.new", path); /* the lock is held: nobody else writes it */
    fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || sbx_write_all(fd, text, len) || rename(tmp, path))
        return sbx_err_errno(err, "write %s", path);
    return SBX_OK;
}

static enum sbx_code write_index(const char *path, const json_t *root, struct sbx_err *err)
{
    SBX_AUTO_FREE char *text = json_dumps(root, JSON_INDENT(2));

    return text ? replace(path, text, strlen(text), err)
                : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code sbx_blob_index(struct sbx_cache *c, const char *digest, size_t size,
                             const char *media_type, const char *name, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL, *entry = NULL;
    SBX_AUTO_FD int lock = -1;
    char path[CACHE_PATH];
    json_t *list;
    enum sbx_code rc = sbx_cache_ready(c, err);

    if (!rc)
        rc = open_index(c, path, &lock, &root, err);
    if (rc)
        return rc;
    list = json_object_get(root, "manifests");
    drop_gone(c, list);
    entry = json_pack("{s:s, s:s, s:I, s:{s:s}}", "mediaType", media_type, "digest", digest, "size",
                      (json_int_t)size, "annotations", NAME_KEY, name);
    if (set_entry(list, entry, name))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return write_index(path, root, err);
}

/* ---- CACHE/names ---- */

static const char *file_of_name(const char *name)
{
    return sbx_digest_valid(name) ? sbx_blob_name(name) : name;
}

enum sbx_code sbx_cache_names_read(const struct sbx_cache *c, const char *name, struct sbx_buf *out)
{
    char path[CACHE_PATH];

    snprintf(path, sizeof(path), "%.3900s/names/%.100s", c->dir, file_of_name(name));
    return sbx_file_read(AT_FDCWD, path, out, NULL);
}

static bool has_line(const char *text, const char *line)
{
    size_t len = strlen(line);

    for (const char *at = text; (at = strstr(at, line)); at += len)
        if ((at == text || at[-1] == '\n') && at[len] == '\n')
            return true;
    return false;
}

enum sbx_code sbx_cache_name(struct sbx_cache *c, const char *name, const char *reference,
                             struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) had = SBX_BUF_INIT(SBX_CACHE_NAMES_SIZE);
    SBX_AUTO_FREE char *text = NULL;
    SBX_AUTO_FD int lock = -1;
    char path[CACHE_PATH];
    const char *keep;
    enum sbx_code rc;

    if (strchr(reference, '\n')) /* names nothing */
        return SBX_OK;
    snprintf(path, sizeof(path), "%.3900s/names", c->dir);
    rc = sbx_dir_make(path, 0700, err);
    if (!rc)
        rc = lock_names(c, &lock, err);
    if (rc)
        return rc;
    if (sbx_cache_names_read(c, name, &had)) /* a broken one is a missing one */
        sbx_buf_clear(&had);
    keep = had.ptr ? had.ptr : "";
    if (has_line(keep, reference))
        return SBX_OK;
    while (*keep && strlen(keep) + strlen(reference) + 2 > SBX_CACHE_NAMES_SIZE)
        keep = strchrnul(keep, '\n') + (strchr(keep, '\n') != NULL);
    if (asprintf(&text, "%s%s\n", keep, reference) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    snprintf(path, sizeof(path), "%.3900s/names/%.100s", c->dir, file_of_name(name));
    return replace(path, text, strlen(text), err);
}

static bool is_here(const struct sbx_cache *c, const char *name)
{
    static const char *const places[] = { "blobs/sha256", "kits", "git" };
    char path[CACHE_PATH];

    for (size_t i = 0; i < SBX_ARRAY_LEN(places); i++) {
        snprintf(path, sizeof(path), "%.3800s/%s/%.255s", c->dir, places[i], name);
        if (!faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
            return true;
    }
    return false;
}

/* Of what is gone; where one cannot be removed it stays for the next time. */
static void tidy_names(const struct sbx_cache *c)
{
    char path[CACHE_PATH];
    struct dirent *e;
    DIR *d;

    snprintf(path, sizeof(path), "%.3900s/names", c->dir);
    d = opendir(path);
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.' && !is_here(c, e->d_name))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}

enum sbx_code sbx_blob_index_tidy(struct sbx_cache *c, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL;
    SBX_AUTO_FD int lock = -1;
    char path[CACHE_PATH];
    enum sbx_code rc = sbx_cache_ready(c, err);

    if (!rc)
        rc = open_index(c, path, &lock, &root, err);
    if (rc)
        return rc;
    tidy_names(c);
    return drop_gone(c, json_object_get(root, "manifests")) ? write_index(path, root, err) : SBX_OK;
}

void sbx_blob_index_each(struct sbx_cache *c, sbx_blob_index_fn *each, void *ctx)
{
    SBX_AUTO_JSON json_t *root = NULL;
    char path[CACHE_PATH];
    const json_t *entry;
    size_t i;

    snprintf(path, sizeof(path), "%.4000s/index.json", c->dir);
    root = read_index(path); /* it is replaced as a whole: no lock */
    json_array_foreach(json_object_get(root, "manifests"), i, entry) {
        const char *digest = json_string_value(json_object_get(entry, "digest"));
        const char *name = json_string_value(
            json_object_get(json_object_get(entry, "annotations"), NAME_KEY));

        if (digest && name && sbx_digest_valid(digest) && !each(ctx, digest, name))
            return;
    }
}
