/* The gate's questions, and the watch on the directory. See broker.h. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker.h"
#include "inject.h"
#include "sbx/auto.h"

#define LOOK_MS 500 /* between two looks where inotify does not work (128 instances a user) */
#define QUESTION_MAX (SBX_GATE_SECRET_NAME_MAX + 16)

struct wanted {
    char name[SBX_GATE_SECRET_NAME_MAX + 1];
    struct stat seen;
};

struct broker {
    int gate, dir, ended;
    char *msg; /* locked */
    size_t n;
    struct wanted v[SBX_GATE_SECRETS];
};

/* False: the gate is gone. */
static bool tell(struct broker *b, struct wanted *w)
{
    struct sbx_err err = SBX_ERR_INIT;
    size_t len = sbx_broker_read(b->dir, w->name, b->msg, &w->seen, &err);
    ssize_t n;

    if (err.code)
        dprintf(b->ended, "broker: %s\n", err.text);
    do
        n = send(b->gate, b->msg, len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    OPENSSL_cleanse(b->msg, SBX_BROKER_MESSAGE_MAX);
    return n >= 0;
}

static bool has_changed(const struct broker *b, const struct wanted *w)
{
    struct stat now;

    if (fstatat(b->dir, w->name, &now, AT_SYMLINK_NOFOLLOW))
        return w->seen.st_ino != 0;
    return now.st_ino != w->seen.st_ino || now.st_dev != w->seen.st_dev ||
           now.st_size != w->seen.st_size || now.st_mode != w->seen.st_mode ||
           now.st_uid != w->seen.st_uid || now.st_mtim.tv_sec != w->seen.st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != w->seen.st_mtim.tv_nsec ||
           now.st_ctim.tv_sec != w->seen.st_ctim.tv_sec ||
           now.st_ctim.tv_nsec != w->seen.st_ctim.tv_nsec;
}

static bool tell_changes(struct broker *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (has_changed(b, &b->v[i]) && !tell(b, &b->v[i]))
            return false;
    return true;
}

static struct wanted *find(struct broker *b, const char *name)
{
    for (size_t i = 0; i < b->n; i++)
        if (strcmp(b->v[i].name, name) == 0)
            return &b->v[i];
    if (b->n == SBX_GATE_SECRETS)
        b->n = 0; /* rules have changed many times: the gate asks again for what it still wants */
    snprintf(b->v[b->n].name, sizeof(b->v[b->n].name), "%s", name);
    return &b->v[b->n++];
}

/* "want NAME\n". False: the gate is gone, or sends what it must not. */
static bool answer(struct broker *b)
{
    char text[QUESTION_MAX + 1];
    ssize_t n = recv(b->gate, text, QUESTION_MAX, 0);

    if (n < 0 && errno == EINTR)
        return true;
    if (n < 7 || memcmp(text, "want ", 5) != 0 || text[n - 1] != '\n' ||
        !sbx_secret_is_name(text + 5, (size_t)n - 6))
        return false;
    text[n - 1] = '\0';
    return tell(b, find(b, text + 5));
}

static int watch(int dirfd)
{
    const uint32_t mask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                          IN_ATTRIB;
    SBX_AUTO_FD int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", dirfd);
    if (fd < 0 || inotify_add_watch(fd, path, mask) < 0)
        return -1;
    return sbx_take_fd(&fd);
}

static bool look(struct broker *b, int notify, bool noticed)
{
    char events[4096];

    while (noticed && read(notify, events, sizeof(events)) > 0)
        ;
    return tell_changes(b);
}

enum sbx_code sbx_broker_serve(int gate_fd, int dirfd, int ended_fd, struct sbx_err *err)
{
    SBX_AUTO_FD int notify = watch(dirfd);
    struct broker b = { .gate = gate_fd, .dir = dirfd, .ended = ended_fd };
    struct pollfd fds[] = { { .fd = gate_fd, .events = POLLIN }, { .fd = notify, .events = POLLIN } };
    enum sbx_code rc = SBX_OK;

    b.msg = OPENSSL_secure_malloc(SBX_BROKER_MESSAGE_MAX);
    if (!b.msg)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (;;) {
        int n = poll(fds, SBX_ARRAY_LEN(fds), notify < 0 ? LOOK_MS : -1);

        if (n < 0 && errno != EINTR) {
            rc = sbx_err_errno(err, "poll");
            break;
        }
        if (n > 0 && fds[0].revents && !answer(&b))
            break;
        if ((n == 0 || (n > 0 && fds[1].revents)) && !look(&b, notify, n > 0))
            break;
    }
    OPENSSL_secure_clear_free(b.msg, SBX_BROKER_MESSAGE_MAX);
    return rc;
}
