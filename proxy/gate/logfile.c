/* The file of the decision log. See logfile.h. */
#include "logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"

#define NAME "log.jsonl"
#define OLDER NAME ".1"
#define NEWER NAME ".new" /* being made; of no meaning when found at a start */

/* Blocks behind the end of the file, so that a disk that is full for a while does not stop records.
 * A file system that cannot do it, or a disk that is full already: then each write has to tell. */
static void reserve(struct sbx_logfile *f)
{
    uint64_t end = f->offset + SBX_GATE_LOG_RESERVE;

    if (!f->regular || f->reserved >= f->offset + SBX_GATE_LOG_RESERVE / 2)
        return;
    if (end > SBX_GATE_LOG_MAX)
        end = SBX_GATE_LOG_MAX;
    if (end > f->offset &&
        !fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)f->offset, (off_t)(end - f->offset)))
        f->reserved = end;
}

/* The new file stands under its name, or everything is as before. */
static int swap_names(int dir)
{
    if (renameat(dir, NAME, dir, OLDER) && errno != ENOENT)
        return -1;
    if (!renameat(dir, NEWER, dir, NAME))
        return 0;
    return renameat(dir, OLDER, dir, NAME) ? 0 : -1; /* it goes on under the name it has */
}

static bool rotate(struct sbx_logfile *f)
{
    int fd = openat(f->dir, NEWER, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return false;
    if (swap_names(f->dir)) {
        close(fd);
        return false;
    }
    /* The reserve was for this file alone. */
    if (f->regular && ftruncate(f->fd, (off_t)f->offset))
        errno = 0; /* blocks behind its end stay taken: no harm but to the disk */
    close(f->fd);
    f->fd = fd;
    f->before += f->offset;
    f->offset = f->reserved = 0;
    reserve(f);
    return true;
}

int sbx_logfile_init(struct sbx_logfile *f, int fd, int dir)
{
    struct stat st;

    *f = (struct sbx_logfile){ .fd = fd, .dir = dir };
    if (fstat(fd, &st))
        return -1;
    f->regular = S_ISREG(st.st_mode);
    f->offset = f->regular ? (uint64_t)st.st_size : 0;
    reserve(f);
    return 0;
}

void sbx_logfile_release(struct sbx_logfile *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->dir >= 0)
        close(f->dir);
    f->fd = f->dir = -1;
}

bool sbx_logfile_room(struct sbx_logfile *f, size_t len)
{
    if (f->full)
        return false;
    if (f->dir >= 0 && f->offset && f->offset + len > SBX_GATE_LOG_PART && rotate(f))
        return true;
    return f->offset + len <= SBX_GATE_LOG_MAX - SBX_GATE_RECORD_MAX;
}

/* Half a line would spoil the next one. */
bool sbx_logfile_put(struct sbx_logfile *f, const struct sbx_buf *line)
{
    ssize_t n;

    do
        n = write(f->fd, line->ptr, line->len);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)line->len) {
        f->offset += line->len;
        reserve(f);
    } else if (n > 0 && (!f->regular || ftruncate(f->fd, (off_t)f->offset))) {
        f->offset += (uint64_t)n;
    }
    f->broken = n != (ssize_t)line->len;
    return !f->broken;
}
