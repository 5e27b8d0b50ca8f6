/* The agent's profile file: what the image or the user has there stays. */
#include "steps.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define PROFILE_MAX 16777216 /* bytes */
#define TAR_BLOCK 512

/* The content of the first regular file of a tar that holds one file. */
static bool tar_content(const struct sbx_buf *tar, const char **ret, size_t *ret_len)
{
    for (size_t at = 0; at + TAR_BLOCK <= tar->len;) {
        const char *header = tar->ptr + at;
        char digits[13] = "";
        size_t size;

        memcpy(digits, header + 124, 12);
        size = strtoull(digits, NULL, 8);
        if (size > tar->len - at - TAR_BLOCK)
            return false;
        if (header[156] == '0' || header[156] == '\0') {
            *ret = header + TAR_BLOCK;
            *ret_len = size;
            return header[0] != '\0';
        }
        at += TAR_BLOCK + (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    }
    return false;
}

static enum sbx_code drain(int fd, struct sbx_buf *out, struct sbx_err *err)
{
    if (lseek(fd, 0, SEEK_SET) < 0)
        return sbx_err_errno(err, "read back");
    for (;;) {
        char *room = sbx_buf_room(out, 65536);
        ssize_t n = room ? read(fd, room, 65536) : -1;

        if (!room)
            return sbx_err_set(err, SBX_LIMIT, "larger than %d bytes", PROFILE_MAX);
        if (n <= 0)
            return n ? sbx_err_errno(err, "read back") : SBX_OK;
        sbx_buf_commit(out, (size_t)n);
    }
}

static enum sbx_code old_content(struct sbx_box *box, const char *path, struct sbx_buf *tar,
                                 const char **ret, size_t *ret_len, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = memfd_create("sbx-profile", MFD_CLOEXEC);
    enum sbx_code rc;

    *ret = "";
    *ret_len = 0;
    if (fd < 0)
        return sbx_err_errno(err, "memory for %s", path);
    rc = sbx_runtime_copy_out(box->rt, box->record.container, path, fd, err);
    if (rc == SBX_NOT_FOUND)
        return SBX_OK;
    if (!rc)
        rc = drain(fd, tar, err);
    if (!rc && !tar_content(tar, ret, ret_len)) {
        *ret = "";
        *ret_len = 0;
    }
    return rc;
}

static enum sbx_code queue_profile(struct sbx_box *box, struct sbx_batch *b,
                                   const struct sbx_plan_file *f, struct sbx_err *err)
{
    struct sbx_entry entry = { "write", f->path, f->mode, f->uid, f->gid, false };
    SBX_AUTO(sbx_buf) tar = SBX_BUF_INIT(PROFILE_MAX);
    SBX_AUTO(sbx_buf) fresh = SBX_BUF_INIT(PROFILE_MAX);
    SBX_AUTO(sbx_buf) merged = SBX_BUF_INIT(PROFILE_MAX * 2);
    const char *old;
    size_t len;
    enum sbx_code rc = sbx_plan_file_read(f, &fresh, err);

    if (!rc)
        rc = old_content(box, f->path, &tar, &old, &len, err);
    if (rc)
        return rc;
    rc = sbx_instructions_merge(old, len, fresh.ptr ? fresh.ptr : "", &merged);
    return rc ? sbx_err_set(err, rc, "%s: %s", f->path, sbx_code_name(rc))
              : sbx_batch_add(b, &entry, merged.ptr ? merged.ptr : "", merged.len, err);
}

enum sbx_code sbx_queue_instructions(struct sbx_box *box, struct sbx_batch *b,
                                     const struct sbx_plan_step *s, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < s->n_files; i++)
        rc = s->files[i].generated ? queue_profile(box, b, &s->files[i], err)
                                   : sbx_batch_file(b, &s->files[i], err);
    return rc;
}
