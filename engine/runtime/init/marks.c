#include "marks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "number.h"
#include "sbx/auto.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* Linux 5.14; older headers lack the name */
#endif

#define MARK_NAME 64 /* bytes; two numbers of 20 digits and a word */

uint64_t sbx_netns_cookie(void)
{
    SBX_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint64_t cookie = 0;
    socklen_t len = sizeof(cookie);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len))
        return 0;
    return cookie;
}

/* A small file's text without the newlines at its end; false: not there. */
static bool read_text(int dir, const char *name, char *out, size_t size)
{
    SBX_AUTO_FD int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

    if (n < 0)
        return false;
    while (n > 0 && out[n - 1] == '\n')
        n--;
    out[n] = '\0';
    return true;
}

static bool steps_done(int dir, uint64_t cookie)
{
    char text[MARK_NAME], name[MARK_NAME], *blank;
    uint64_t of, n;

    if (!read_text(dir, "start", text, sizeof(text)))
        return false;
    blank = strchr(text, ' ');
    if (!blank)
        return false;
    *blank = '\0';
    if (!sbx_number(text, 10, UINT64_MAX, &of) || !sbx_number(blank + 1, 10, UINT64_MAX, &n) ||
        of != cookie)
        return false;
    snprintf(name, sizeof(name), "done-%" PRIu64 "-%" PRIu64, cookie, n);
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool sbx_marks_gate(int dir, uint64_t cookie, const char *boot_id)
{
    char name[MARK_NAME], text[MARK_NAME];

    snprintf(name, sizeof(name), "gate-%" PRIu64, cookie);
    return cookie && read_text(dir, name, text, sizeof(text)) &&
           (!*text || !strcmp(text, boot_id));
}

bool sbx_marks_ready(int dir, uint64_t cookie, const char *boot_id)
{
    return sbx_marks_gate(dir, cookie, boot_id) && steps_done(dir, cookie);
}
