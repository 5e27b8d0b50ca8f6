/*
 * Blobs that nobody waited for: they have their name before they are on the disk. After a power cut such a
 * file may be there without its content. So it carries a mark, and who finds a blob with the mark reads it
 * before it counts as here. The mark is a bit of the mode: a file system's journal never has the name
 * without the inode, and the bit is set before the name.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cache.h"

#define PLAIN 0600
#define MARKED (PLAIN | S_IXUSR)

void sbx_cache_hurry(struct sbx_cache *c) { c->hurry = true; }

/* A file without a name gets it; what is there already stays if it is whole. */
static int give_name(struct sbx_cache *c, int fd, const char *digest)
{
    const char *name = sbx_blob_name(digest);
    char self[64];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (!linkat(AT_FDCWD, self, c->blobs, name, AT_SYMLINK_FOLLOW))
        return 0;
    if (errno != EEXIST)
        return -1;
    if (sbx_blob_has(c, digest, NULL))
        return 0;
    return linkat(AT_FDCWD, self, c->blobs, name, AT_SYMLINK_FOLLOW) && errno != EEXIST ? -1 : 0;
}

enum sbx_code sbx_cache_publish(struct sbx_cache *c, const char *digest, int fd, int partial,
                                struct sbx_err *err)
{
    const char *name = sbx_blob_name(digest);
    bool hurry = c->hurry && c->n_own < OWN_MAX;

    if (hurry ? fchmod(fd, MARKED) : fdatasync(fd))
        return sbx_err_errno(err, "write to the cache");
    if (partial < 0 ? give_name(c, fd, digest) : renameat(partial, name, c->blobs, name))
        return sbx_err_errno(err, "name blob %s", digest);
    if (hurry)
        snprintf(c->own[c->n_own++], SBX_DIGEST_TEXT_SIZE, "%s", digest);
    sbx_cache_note_growth();
    return SBX_OK;
}

/* Good: on the disk by now, and without its mark. Not good: gone. */
static bool look(struct sbx_cache *c, const char *name, const struct stat *st)
{
    const struct sbx_cache_entry e = { .kind = "blob", .name = name };
    SBX_AUTO_FD int fd = -1;
    struct stat now;
    bool good = false;

    if (sbx_cache_check(c, &e, &good, NULL))
        return false;
    if (!good) {
        if (!fstatat(c->blobs, name, &now, AT_SYMLINK_NOFOLLOW) && now.st_ino == st->st_ino)
            unlinkat(c->blobs, name, 0);
        return false;
    }
    fd = openat(c->blobs, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && !fdatasync(fd))
        (void)!fchmod(fd, PLAIN); /* else it is looked at again */
    return true;
}

bool sbx_cache_trusts(struct sbx_cache *c, const char *digest, const struct stat *st)
{
    if (!(st->st_mode & S_IXUSR))
        return true;
    for (size_t i = 0; i < c->n_own; i++)
        if (!strcmp(c->own[i], digest))
            return true;
    return look(c, sbx_blob_name(digest), st);
}
