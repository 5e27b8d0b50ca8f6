#include "patience.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "sbx/file.h"

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Nobody reads the bytes away: each is one more signal. */
static int bytes_in(int fd)
{
    int n = 0;

    return fd < 0 || ioctl(fd, FIONREAD, &n) ? 0 : n;
}

struct sbx_patience sbx_patience_begin(const struct sbx_runtime *rt, int64_t limit_ms)
{
    int fd = rt ? rt->interrupt_fd : -1;

    return (struct sbx_patience){ fd, bytes_in(fd), limit_ms ? now_ms() + limit_ms : 0 };
}

enum sbx_code sbx_patience_look(const struct sbx_patience *p)
{
    if (bytes_in(p->fd) > p->before)
        return SBX_CANCELED;
    return p->end_ms && now_ms() >= p->end_ms ? SBX_TIMEOUT : SBX_OK;
}

enum sbx_code sbx_patience_poll(const struct sbx_patience *p, int fd)
{
    for (;;) {
        struct pollfd one = { .fd = fd, .events = POLLIN };
        int n = poll(&one, 1, SBX_PATIENCE_TICK_MS);
        enum sbx_code rc;

        if (n > 0)
            return SBX_OK;
        if (n < 0 && errno != EINTR)
            return SBX_IO;
        rc = sbx_patience_look(p);
        if (rc)
            return rc;
    }
}

enum sbx_code sbx_patience_error(struct sbx_err *err, enum sbx_code rc, const char *who)
{
    if (rc == SBX_CANCELED)
        return sbx_err_set(err, rc, "interrupted");
    if (rc == SBX_TIMEOUT)
        return sbx_err_set(err, rc, "%s does not come to an end", who);
    return sbx_err_set(err, rc, "wait for %s", who);
}

bool sbx_process_stopped(pid_t pid)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(4096);
    const char *end;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (sbx_file_read(AT_FDCWD, path, &text, NULL) || !text.ptr)
        return false;
    end = strrchr(text.ptr, ')'); /* the command's name may hold anything */
    return end && (strncmp(end, ") T", 3) == 0 || strncmp(end, ") t", 3) == 0);
}
