/* Is an unpacked kit of the cache still what its blobs say? It is unpacked once more and laid beside. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "artifact.h"
#include "sbx/file.h"
#include "work.h"

#define BLOCK 65536 /* bytes of either file that are compared at a time */

static ssize_t read_full(int fd, char *to, size_t len)
{
    size_t have = 0;

    while (have < len) {
        ssize_t n = read(fd, to + have, len - have);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (!n)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

static enum sbx_code same_bytes(int a, int b, bool *ret, struct sbx_err *err)
{
    SBX_AUTO_FREE char *room = malloc(2 * (size_t)BLOCK);
    ssize_t n, m;

    if (!room)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    do {
        n = read_full(a, room, BLOCK);
        m = read_full(b, room + BLOCK, BLOCK);
        if (n < 0 || m < 0)
            return sbx_err_errno(err, "read a file of the kit");
        *ret = n == m && !memcmp(room, room + BLOCK, (size_t)n);
    } while (*ret && n);
    return SBX_OK;
}

static enum sbx_code same_dir(int a, int b, bool *ret, struct sbx_err *err);

/* `a` has what ought to be there; a mode counts for files, a directory's is the umask's. */
static enum sbx_code same_entry(int a, int b, const char *name, bool *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int x = -1, y = -1;
    struct stat s, t;

    if (fstatat(a, name, &s, AT_SYMLINK_NOFOLLOW))
        return sbx_err_errno(err, "%s", name);
    *ret = !fstatat(b, name, &t, AT_SYMLINK_NOFOLLOW) && (s.st_mode & S_IFMT) == (t.st_mode & S_IFMT) &&
           (S_ISDIR(s.st_mode) || (s.st_mode == t.st_mode && s.st_size == t.st_size));
    if (!*ret)
        return SBX_OK;
    x = openat(a, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    y = openat(b, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (x < 0)
        return sbx_err_errno(err, "%s", name);
    *ret = y >= 0;
    if (!*ret)
        return SBX_OK; /* it was written by us, and readable */
    return S_ISDIR(s.st_mode) ? same_dir(x, y, ret, err) : same_bytes(x, y, ret, err);
}

static DIR *list_of(int fd)
{
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own < 0 ? NULL : fdopendir(own);

    if (!d && own >= 0)
        close(own);
    return d;
}

static bool is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* Each entry of `a` is in `b`, and `b` has no more of them. */
static enum sbx_code same_dir(int a, int b, bool *ret, struct sbx_err *err)
{
    DIR *x = list_of(a), *y = list_of(b);
    size_t n = 0, m = 0;
    struct dirent *e;
    enum sbx_code rc = SBX_OK;

    *ret = true;
    if (!x || !y)
        rc = sbx_err_errno(err, "read a directory of the kit");
    while (!rc && (e = readdir(y)))
        m += is_entry(e);
    while (!rc && *ret && (e = readdir(x)))
        if (is_entry(e)) {
            n++;
            rc = same_entry(a, b, e->d_name, ret, err);
        }
    *ret = *ret && n == m;
    if (x)
        closedir(x);
    if (y)
        closedir(y);
    return rc;
}

/* What cannot be made from whole blobs was never made from them; a disk that is full says nothing of it. */
static bool says_no_kit(enum sbx_code rc)
{
    return rc == SBX_SCHEMA || rc == SBX_SYNTAX || rc == SBX_LIMIT || rc == SBX_UNSUPPORTED;
}

static enum sbx_code compare(struct sbx_cache *cache, const char *digest, int made, int kit,
                             enum sbx_cache_state *ret, struct sbx_err *err)
{
    bool same = false;
    enum sbx_code rc = kit_fill_from_cache(cache, digest, made, err);

    if (rc == SBX_NOT_FOUND) {
        *ret = SBX_CACHE_UNKNOWN;
        return SBX_OK;
    }
    if (!rc)
        rc = same_dir(made, kit, &same, err);
    *ret = !rc && same ? SBX_CACHE_WHOLE : SBX_CACHE_CHANGED;
    return says_no_kit(rc) ? SBX_OK : rc;
}

enum sbx_code sbx_kit_verify(struct sbx_cache *cache, const char *name, enum sbx_cache_state *ret,
                             struct sbx_err *err)
{
    SBX_AUTO_FREE char *path = NULL, *tmp = NULL, *digest = NULL;
    SBX_AUTO_FD int kit = -1, made = -1;
    enum sbx_code rc;

    if (asprintf(&digest, "sha256:%s", name) < 0 ||
        asprintf(&path, "%s/kits/%s", sbx_cache_dir(cache), name) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *ret = SBX_CACHE_CHANGED; /* no digest, or a link: nothing that was unpacked */
    kit = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (kit < 0 && errno != ENOTDIR && errno != ELOOP)
        return sbx_err_errno(err, "%s", path);
    if (kit < 0 || !sbx_digest_valid(digest))
        return SBX_OK;
    *ret = SBX_CACHE_UNKNOWN;
    if (access(path, W_OK) && errno == EROFS) /* nowhere to unpack it */
        return SBX_OK;
    rc = kit_work_make(sbx_cache_dir(cache), &tmp, &made, err);
    if (rc)
        return rc;
    rc = compare(cache, digest, made, kit, ret, err);
    if (sbx_dir_remove(AT_FDCWD, tmp, NULL))
        return rc; /* `cache prune` removes it */
    return rc;
}
