#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "inside.h"
#include "sbx/file.h"

#define APPEND_MAX                                                                                 \
    67108864 /* bytes of a file that is added to; bundles of roots have about 300 KB */

static enum sbx_code make(int root, const char *path, const char *text, struct sbx_owner owner,
                          mode_t mode, struct sbx_err *err)
{
    SBX_AUTO(sbx_new_file) f = SBX_NEW_FILE_INIT;
    enum sbx_code rc = sbx_new_file_open(root, path, owner, mode, false, &f, err);

    if (rc)
        return rc;
    if (sbx_write_all(f.fd, text, strlen(text)))
        return sbx_err_errno(err, "write");
    return sbx_new_file_commit(&f, err);
}

/* What is there already: whether it holds the text, and whether it ends with a line's end. */
static enum sbx_code look(int fd, const char *text, bool *holds, bool *ended, struct sbx_err *err)
{
    struct stat st;
    char *data;

    *holds = false;
    *ended = true;
    if (fstat(fd, &st))
        return sbx_err_errno(err, "look at the file");
    if (!S_ISREG(st.st_mode))
        return sbx_err_set(err, SBX_FAILED, "not a regular file");
    if (st.st_size > APPEND_MAX)
        return sbx_err_set(err, SBX_LIMIT, "over %d bytes", APPEND_MAX);
    if (!st.st_size)
        return SBX_OK;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return sbx_err_errno(err, "read the file");
    *holds = memmem(data, (size_t)st.st_size, text, strlen(text)) != NULL;
    *ended = data[st.st_size - 1] == '\n';
    munmap(data, (size_t)st.st_size);
    return SBX_OK;
}

enum sbx_code sbx_inside_append(int root, const char *path, const char *text,
                                struct sbx_owner owner, mode_t mode, bool only_existing,
                                enum sbx_done *ret, struct sbx_err *err)
{
    SBX_AUTO_FD int fd = sbx_inside_open(root, path, O_RDWR | O_APPEND | O_NONBLOCK | O_NOCTTY);
    bool holds, ended;
    enum sbx_code rc;

    *ret = SBX_DONE_KEPT;
    if (fd < 0 && errno != ENOENT)
        return sbx_err_errno(err, "open the file");
    if (fd < 0 && only_existing)
        return SBX_OK;
    *ret = SBX_DONE_OK;
    if (fd < 0)
        return make(root, path, text, owner, mode, err);
    rc = look(fd, text, &holds, &ended, err);
    if (rc)
        return rc;
    if (holds) {
        *ret = SBX_DONE_KEPT;
        return SBX_OK;
    }
    if ((!ended && sbx_write_all(fd, "\n", 1)) || sbx_write_all(fd, text, strlen(text)))
        return sbx_err_errno(err, "write");
    return SBX_OK;
}
