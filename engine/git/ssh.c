/*
 * ssh:// goes through the user's ssh, as git's own does: his configuration, agent, keys and known_hosts count,
 * and new kinds of keys work. (libssh2, which libgit2 would use, reads no configuration and signs RSA only in a
 * way that servers no longer take.) It never asks: it has no terminal.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <git2/sys/transport.h>

#include "remote.h"
#include "sbx/buf.h"
#include "sbx/file.h"

#define COMMAND_MAX 8192 /* bytes of an address, and of the user's own command for ssh */

struct ssh {
    git_smart_subtransport base;
    git_smart_subtransport_stream stream;
    struct git_job *job;
    pid_t pid;
    int in, out, words; /* of ssh: its stdin, stdout and stderr; -1 */
    bool open;
};

/* "user@host", "port" ("" where none), "/path" of an address. */
struct address {
    char host[COMMAND_MAX], port[16], path[COMMAND_MAX];
};

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Percent signs decoded, as git does; false: not a path. */
static bool decode(const char *text, char *out, size_t size)
{
    size_t n = 0;

    for (; *text && n + 1 < size; text++) {
        out[n] = *text;
        if (*text == '%') {
            if (hex(text[1]) < 0 || hex(text[2]) < 0)
                return false;
            out[n] = (char)(hex(text[1]) << 4 | hex(text[2]));
            text += 2;
        }
        if (!out[n++])
            return false;
    }
    out[n] = '\0';
    return !*text;
}

static bool parse(const char *url, struct address *a)
{
    const char *at, *host, *slash, *end, *colon;

    if (strncmp(url, "ssh://", 6) || strlen(url) >= COMMAND_MAX)
        return false;
    url += 6;
    slash = url + strcspn(url, "/");
    at = memrchr(url, '@', (size_t)(slash - url));
    host = at ? at + 1 : url;
    end = *host == '[' ? memchr(host, ']', (size_t)(slash - host)) : NULL;
    colon = memchr(end ? end : host, ':', (size_t)(slash - (end ? end : host)));
    snprintf(a->port, sizeof(a->port), "%.*s", colon ? (int)(slash - colon - 1) : 0,
             colon ? colon + 1 : "");
    snprintf(a->host, sizeof(a->host), "%.*s%.*s", at ? (int)(at + 1 - url) : 0, url,
             end ? (int)(end - host - 1) : (int)((colon ? colon : slash) - host),
             end ? host + 1 : host);
    if (!a->host[0] || a->host[0] == '-' || a->port[strspn(a->port, "0123456789")] ||
        !decode(slash, a->path, sizeof(a->path)))
        return false;
    if (a->path[1] == '~') /* a home directory of the server */
        memmove(a->path, a->path + 1, strlen(a->path));
    return true;
}

/* "git-upload-pack 'PATH'" for the server's shell. */
static enum sbx_code request(const char *path, struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_addf(out, "git-upload-pack '");

    for (; !rc && *path; path++)
        rc = *path == '\'' ? sbx_buf_addf(out, "'\\''") : sbx_buf_add(out, path, 1);
    return rc ? rc : sbx_buf_addf(out, "'");
}

/* The user's own command, words for a shell: GIT_SSH_COMMAND, core.sshCommand; "": none. */
static void own_command(char *out, size_t size)
{
    const struct sbx_git2 *git = sbx_git2(NULL);
    const char *given = getenv("GIT_SSH_COMMAND");
    git_buf value = { NULL, 0, 0 };
    git_config *config = NULL;

    if (!given && !git->config_open_default(&config) &&
        !git->config_get_string_buf(&value, config, "core.sshCommand"))
        given = value.ptr;
    snprintf(out, size, "%s", given ? given : "");
    git->buf_dispose(&value);
    git->config_free(config);
}

/* In the child. */
__attribute__((noreturn)) static void run_ssh(const struct address *a, const char *wanted)
{
    char own[COMMAND_MAX], script[COMMAND_MAX + 16];
    const char *argv[12] = { "ssh" };
    size_t n = 1;

    own_command(own, sizeof(own));
    if (own[0]) { /* as git does: the command may have words of its own */
        snprintf(script, sizeof(script), "%s \"$@\"", own);
        argv[0] = "sh";
        argv[n++] = "-c";
        argv[n++] = script;
        argv[n++] = "sh";
    }
    argv[n++] = "-oBatchMode=yes";
    if (a->port[0]) {
        argv[n++] = "-p";
        argv[n++] = a->port;
    }
    argv[n++] = "--";
    argv[n++] = a->host;
    argv[n++] = wanted;
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], (char *const *)argv);
    dprintf(2, "%s: %s (Debian package openssh-client)\n", argv[0], strerror(errno));
    _exit(127);
}

static int start(struct ssh *s, const char *url)
{
    SBX_AUTO(sbx_buf) wanted = SBX_BUF_INIT(2 * COMMAND_MAX);
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, words[2] = { -1, -1 };
    struct address *a = calloc(1, sizeof(*a));
    bool known = a && parse(url, a) && !request(a->path, &wanted);
    bool good = known && !pipe2(in, O_CLOEXEC) && !pipe2(out, O_CLOEXEC) && !pipe2(words, O_CLOEXEC);

    s->pid = good ? fork() : -1;
    if (s->pid < 0)
        snprintf(s->job->ssh, sizeof(s->job->ssh), "%s",
                 known ? strerror(errno)
                       : "not such an address: ssh://USER@HOST:PORT/PATH, its port a number");
    if (s->pid == 0) {
        if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(words[1], 2) < 0)
            _exit(127);
        run_ssh(a, wanted.ptr);
    }
    free(a);
    close(in[0]);
    close(out[1]);
    close(words[1]);
    s->in = in[1];
    s->out = out[0];
    s->words = words[0];
    s->open = true;
    return s->pid > 0 ? 0 : -1;
}

/* Why it ended: what it wrote to stderr, all of it. */
static void listen_to(struct ssh *s)
{
    size_t have = 0, size = sizeof(s->job->ssh);
    char piece[512];
    ssize_t n;

    while ((n = read(s->words, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR)) {
        if (n <= 0)
            continue;
        if (have + (size_t)n >= size) { /* the end says more than the beginning */
            memmove(s->job->ssh, s->job->ssh + have / 2, have - have / 2);
            have -= have / 2;
        }
        memcpy(s->job->ssh + have, piece, (size_t)n);
        have += (size_t)n;
        s->job->ssh[have] = '\0';
    }
}

static int on_read(git_smart_subtransport_stream *stream, char *data, size_t size, size_t *ret)
{
    struct ssh *s = (struct ssh *)stream->subtransport;
    ssize_t n;

    *ret = 0;
    do
        n = read(s->out, data, size);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        listen_to(s);
    if (n <= 0)
        return GIT_EEOF;
    git_alive(s->job);
    *ret = (size_t)n;
    return 0;
}

static int on_write(git_smart_subtransport_stream *stream, const char *data, size_t size)
{
    struct ssh *s = (struct ssh *)stream->subtransport;

    if (!sbx_write_all(s->in, data, size))
        return 0;
    listen_to(s);
    return GIT_EEOF;
}

static int on_close(git_smart_subtransport *base)
{
    struct ssh *s = (struct ssh *)base;

    if (!s->open)
        return 0;
    s->open = false;
    close(s->in);
    close(s->out);
    close(s->words);
    if (s->pid <= 0) /* it was not started; to kill() this is everybody */
        return 0;
    kill(s->pid, SIGTERM); /* all that we wanted is here, or will not come */
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

static void on_stream_free(git_smart_subtransport_stream *stream)
{
    on_close(stream->subtransport);
}

static void on_free(git_smart_subtransport *base)
{
    on_close(base);
    free(base);
}

static int on_action(git_smart_subtransport_stream **out, git_smart_subtransport *base,
                     const char *url, git_smart_service_t action)
{
    struct ssh *s = (struct ssh *)base;

    if (action == GIT_SERVICE_UPLOADPACK_LS && (on_close(base), start(s, url)))
        return -1;
    if (!s->open || (action != GIT_SERVICE_UPLOADPACK_LS && action != GIT_SERVICE_UPLOADPACK))
        return -1;
    *out = &s->stream;
    return 0;
}

static int make(git_smart_subtransport **out, git_transport *owner, void *job)
{
    struct ssh *s = calloc(1, sizeof(*s));

    (void)owner;
    if (!s)
        return -1;
    s->base.action = on_action;
    s->base.close = on_close;
    s->base.free = on_free;
    s->stream.subtransport = &s->base;
    s->stream.read = on_read;
    s->stream.write = on_write;
    s->stream.free = on_stream_free;
    s->job = job;
    *out = &s->base;
    return 0;
}

/* libgit2 keeps the definition until the process ends, which is soon. */
static git_smart_subtransport_definition definition = { .callback = make };

enum sbx_code git_ssh_use(const struct sbx_git2 *git, struct git_job *job, struct sbx_err *err)
{
    definition.param = job;
    return git->transport_register("ssh", git->transport_smart, &definition)
               ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory")
               : SBX_OK;
}

/* The last line that says something. */
static void last_line(const char *text, char *out, size_t size)
{
    const char *end = text + strlen(text), *line;

    while (end > text && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
        end--;
    for (line = end; line > text && line[-1] != '\n'; line--)
        ;
    snprintf(out, size, "%.*s", (int)(end - line), line);
}

enum sbx_code git_ssh_failed(const struct git_job *job, struct sbx_err *err)
{
    const char *url = job->source->url;
    struct address *a = calloc(1, sizeof(*a));
    char line[300];
    bool known = a && parse(url, a);
    const char *host = known ? a->host : "HOST";
    const char *bare = strrchr(host, '@') ? strrchr(host, '@') + 1 : host;
    bool port = known && a->port[0];
    enum sbx_code rc;

    last_line(job->ssh, line, sizeof(line));
    if (strstr(job->ssh, "IDENTIFICATION HAS CHANGED"))
        rc = sbx_err_set(
            err, SBX_CONSENT,
            "%.200s: ssh: the host key of %s is not the one in known_hosts. Somebody may stand "
            "in between. Where you know that it was changed: ssh-keygen -R '%s%s%s%s'",
            url, bare, port ? "[" : "", bare, port ? "]:" : "", port ? a->port : "");
    else if (strstr(job->ssh, "Host key verification failed"))
        rc = sbx_err_set(
            err, SBX_CONSENT,
            "%.200s: ssh: %s is not in known_hosts: connect once (ssh %s%s%s%s), compare its "
            "key with what its owner publishes, and say yes",
            url, bare, port ? "-p " : "", port ? a->port : "", port ? " " : "", host);
    else if (strstr(job->ssh, "Permission denied"))
        rc = sbx_err_set(
            err, SBX_CONSENT,
            "%.200s: ssh: %s: add a key that it takes to the agent (ssh-add), and look at the "
            "user in the address (ssh://git@HOST/...)",
            url, line);
    else
        rc = sbx_err_set(err, SBX_UNAVAILABLE, "%.200s: ssh: %s", url,
                         line[0] ? line : "ended without a word");
    free(a);
    return rc;
}
