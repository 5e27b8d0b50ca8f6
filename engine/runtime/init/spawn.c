#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inside.h"
#include "place.h"
#include "users.h"

extern char **environ;

/* A new file each time: nothing that lies there is followed, opened or added to. */
static int open_log(int root, const struct sbx_command *c, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    const struct sbx_owner owner = { 0, 0 };
    char name[256], path[sizeof(SBX_LOG_DIR) + sizeof(name)];
    int fd;

    sbx_list_log_name(c, name);
    snprintf(path, sizeof(path), "%s/%s", SBX_LOG_DIR, name);
    if (sbx_inside_find(root, path, &owner, &spot, err))
        return -1;
    if (unlinkat(spot.dir, spot.name, 0) && errno != ENOENT) {
        sbx_err_errno(err, "replace it");
        return -1;
    }
    fd = openat(spot.dir, spot.name, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0644);
    if (fd < 0)
        sbx_err_errno(err, "make it");
    return fd;
}

static int become(const struct sbx_user *u)
{
    if (setgroups(u->n_groups, u->groups) || setgid(u->gid) || setuid(u->uid))
        return -1;
    return setenv("HOME", u->home, 1) || setenv("USER", u->name, 1) ||
           setenv("LOGNAME", u->name, 1);
}

static _Noreturn void child(const struct sbx_user *u, const char *path, int log)
{
    char *argv[] = { (char *)path, NULL };
    char *shell[] = { (char *)"/bin/sh", (char *)path, NULL };
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    if (null < 0 || dup2(null, 0) < 0 || dup2(log >= 0 ? log : null, 1) < 0 || dup2(1, 2) < 0)
        _exit(SBX_EXIT_CANNOT);
    if (become(u)) {
        dprintf(2, "become user %s: %s\n", u->name, strerror(errno));
        _exit(SBX_EXIT_CANNOT);
    }
    umask(022);
    execve(path, argv, environ);
    if (errno == ENOEXEC) /* no "#!" line: what a shell does with it */
        execve(shell[0], shell, environ);
    dprintf(2, "%s: %s\n", path, strerror(errno));
    _exit(errno == ENOENT ? SBX_EXIT_NOT_FOUND : SBX_EXIT_CANNOT);
}

enum sbx_code sbx_spawn(int root, const struct sbx_command *c, pid_t *ret, int *log,
                        struct sbx_err *err)
{
    char path[sizeof(SBX_LIST_DIR) + 256];
    struct sbx_user user;
    enum sbx_code rc;
    pid_t pid;

    *log = -1;
    if (snprintf(path, sizeof(path), "%s/%s", SBX_LIST_DIR, c->script) >= (int)sizeof(path))
        return sbx_err_set(err, SBX_LIMIT, "the script's name is too long");
    rc = sbx_user_find(root, c->user, &user, err);
    if (rc)
        return rc;
    *log = open_log(root, c, err);
    if (*log < 0)
        fprintf(stderr, "sbx-init: log of %s %s: %s\n", c->kit, c->index, err->text);
    pid = fork();
    if (pid < 0)
        return sbx_err_errno(err, "start a process");
    if (!pid)
        child(&user, path, *log);
    *ret = pid;
    return SBX_OK;
}

void sbx_spawn_last_line(int log, char *out, size_t size)
{
    char tail[4096];
    struct stat st;
    ssize_t n = -1;
    char *line;

    out[0] = '\0';
    if (log >= 0 && !fstat(log, &st))
        n = pread(log, tail, sizeof(tail) - 1,
                  st.st_size >= (off_t)sizeof(tail) ? st.st_size - (off_t)sizeof(tail) + 1 : 0);
    if (n <= 0)
        return;
    for (ssize_t i = 0; i < n; i++)
        if ((unsigned char)tail[i] < ' ' && tail[i] != '\n')
            tail[i] = ' ';
    while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' '))
        n--;
    tail[n] = '\0';
    line = strrchr(tail, '\n');
    snprintf(out, size, "%s", line ? line + 1 : tail);
}
