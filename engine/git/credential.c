/* libgit2 runs no credential helper: git's own command does. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "remote.h"
#include "sbx/buf.h"

extern char **environ;

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

/* stdin and stdout are one socket pair; it must not ask on the terminal by itself. */
static enum sbx_code spawn(int fd, pid_t *ret, struct sbx_err *err)
{
    char *const argv[] = { (char *)"env",  (char *)"GIT_TERMINAL_PROMPT=0",
                           (char *)"git",  (char *)"credential",
                           (char *)"fill", NULL };
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);

    if (!number) {
        number = posix_spawn_file_actions_adddup2(&actions, fd, 0);
        if (!number)
            number = posix_spawn_file_actions_adddup2(&actions, fd, 1);
        if (!number)
            number = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        if (!number)
            number = posix_spawnp(ret, "env", &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    errno = number;
    return number ? sbx_err_errno(err, "run git credential fill") : SBX_OK;
}

static enum sbx_code read_all(int fd, struct sbx_buf *out, struct sbx_err *err)
{
    for (;;) {
        struct pollfd p = { fd, POLLIN, 0 };
        char piece[4096];
        ssize_t n;
        int ready = poll(&p, 1, CREDENTIAL_MS);

        if (ready == 0)
            return sbx_err_set(err, SBX_TIMEOUT, "git credential fill does not answer");
        n = ready < 0 ? -1 : recv(fd, piece, sizeof(piece), 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SBX_OK;
        ready = sbx_buf_add(out, piece, (size_t)n);
        explicit_bzero(piece, sizeof(piece));
        if (ready)
            return sbx_err_set(err, SBX_LIMIT, "git credential fill says too much");
    }
}

/* "https://host:port/path" as lines; a URL with control characters was refused by the grammar. */
static enum sbx_code question(const char *url, struct sbx_buf *out)
{
    const char *host = strstr(url, "://"), *slash, *at;
    int scheme = host ? (int)(host - url) : 0;

    if (!host || strpbrk(url, "\r\n"))
        return SBX_SCHEMA;
    host += 3;
    slash = host + strcspn(host, "/");
    at = memchr(host, '@', (size_t)(slash - host));
    if (at && sbx_buf_addf(out, "username=%.*s\n", (int)(at - host), host))
        return SBX_NO_MEMORY;
    host = at ? at + 1 : host;
    return sbx_buf_addf(out, "protocol=%.*s\nhost=%.*s\npath=%s\n\n", scheme, url,
                        (int)(slash - host), host, *slash ? slash + 1 : "");
}

static char *line_of(const struct sbx_buf *b, const char *key)
{
    const char *p = b->ptr;

    while (p && *p) {
        size_t len = strcspn(p, "\n");

        if (!strncmp(p, key, strlen(key)))
            return strndup(p + strlen(key), len - strlen(key));
        p += len + (p[len] == '\n');
    }
    return NULL;
}

enum sbx_code git_credential_fill(const char *url, char **ret_user, char **ret_secret,
                                  struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) ask = SBX_BUF_INIT(CREDENTIAL_MAX), out = SBX_BUF_INIT(CREDENTIAL_MAX);
    int fds[2], status = 0;
    pid_t pid = -1;
    enum sbx_code rc = question(url, &ask);

    if (rc || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
        return sbx_err_set(err, rc ? rc : SBX_IO, "git credential cannot be asked");
    rc = spawn(fds[1], &pid, err);
    close(fds[1]);
    if (!rc) {
        if (send(fds[0], ask.ptr, ask.len, MSG_NOSIGNAL) < 0 || shutdown(fds[0], SHUT_WR))
            status = 1;
        rc = read_all(fds[0], &out, err);
        if (rc)
            kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close(fds[0]);
    if (!rc && status == 0) {
        *ret_user = line_of(&out, "username=");
        *ret_secret = line_of(&out, "password=");
    }
    if (out.ptr)
        explicit_bzero(out.ptr, out.len);
    if (!rc && (!*ret_user || !*ret_secret))
        rc = sbx_err_set(err, SBX_CONSENT, "git credential has no log-in for it");
    return rc;
}

int git_login_acquire(git_credential **out, const char *url, const char *user, unsigned types,
                      void *payload)
{
    const struct sbx_git2 *git = sbx_git2(NULL);
    struct git_job *job = payload;
    char *name = NULL, *secret = NULL;
    int rc = GIT_EAUTH;

    (void)user;
    if (!(types & GIT_CREDENTIAL_USERPASS_PLAINTEXT) || job->asked_helper)
        return rc;
    job->asked_helper = true;
    git_waits(job, true);
    if (!git_credential_fill(url, &name, &secret, NULL))
        rc = git->credential_userpass_plaintext_new(out, name, secret);
    git_waits(job, false);
    wipe(name);
    wipe(secret);
    return rc;
}
