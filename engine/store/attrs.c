#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "place.h"

#define FILE_SIZE_MAX (1LL << 40) /* bytes; sparse files may be large, a wrong header is larger */
#define XATTR_MAX 65536           /* bytes of a value: the kernel's own bound */

enum sbx_code sbx_entry_meta(const struct sbx_archive *la, struct archive_entry *e,
                             struct sbx_entry_meta *ret, struct sbx_err *err)
{
    int64_t uid = la->entry_uid(e), gid = la->entry_gid(e);

    *ret = (struct sbx_entry_meta){
        .type = la->entry_filetype(e),
        .perm = la->entry_perm(e) & 07777,
        .size = la->entry_size(e),
        .mtime = { la->entry_mtime(e), la->entry_mtime_nsec(e) },
        .rdev = makedev((unsigned)la->entry_rdevmajor(e), (unsigned)la->entry_rdevminor(e)),
        .link = la->entry_symlink(e),
        .hardlink = la->entry_hardlink(e),
    };
    if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "owner %lld:%lld is out of range", (long long)uid,
                           (long long)gid);
    if (ret->size < 0 || ret->size > FILE_SIZE_MAX)
        return sbx_err_set(err, SBX_LIMIT, "a file of %lld bytes, more than %lld",
                           (long long)ret->size, FILE_SIZE_MAX);
    if (S_ISLNK(ret->type) && (!ret->link || !*ret->link))
        return sbx_err_set(err, SBX_SCHEMA, "a symlink to nothing");
    ret->uid = (uid_t)uid;
    ret->gid = (gid_t)gid;
    return SBX_OK;
}

/* Which extended attributes mean something in another machine's tree. */
static enum sbx_code one_xattr(const struct sbx_place *p, int fd, const char *name,
                               const void *value, size_t size, struct sbx_err *err)
{
    if (p->how->layer && strncmp(name, "trusted.", 8) == 0)
        return sbx_err_set(err, SBX_SCHEMA, "attribute %s cannot come with an image", name);
    if (strcmp(name, "security.capability") != 0 && strncmp(name, "user.", 5) != 0)
        return SBX_OK; /* labels and ACL forms of the machine where it was packed */
    if (size > XATTR_MAX)
        return sbx_err_set(err, SBX_LIMIT, "attribute %s has %zu bytes", name, size);
    if (fsetxattr(fd, name, value, size, 0) == 0 || errno == ENOTSUP)
        return SBX_OK;
    return sbx_err_errno(err, "set attribute %s", name);
}

/* Owner first: chown takes away set-id bits and capabilities. */
enum sbx_code sbx_place_attributes(struct sbx_place *p, int fd, const struct sbx_entry_meta *m,
                                   struct archive_entry *entry, struct sbx_err *err)
{
    struct timespec times[2] = { { 0, UTIME_OMIT }, m->mtime };
    enum sbx_code rc = SBX_OK;
    const char *name;
    const void *value;
    size_t size;

    if (fchown(fd, m->uid, m->gid))
        return sbx_err_errno(err, "set owner %u:%u", m->uid, m->gid);
    if (fchmod(fd, m->perm))
        return sbx_err_errno(err, "set mode %04o", m->perm);
    p->la->entry_xattr_reset(entry);
    while (!rc && p->la->entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK)
        rc = one_xattr(p, fd, name, value, size, err);
    if (!rc && futimens(fd, times) && errno != EINVAL)
        rc = sbx_err_errno(err, "set time");
    return rc;
}
