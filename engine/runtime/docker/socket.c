#include "docker.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_SOCKET "/var/run/docker.sock"

static enum sbx_code refuse(const char *host, struct sbx_err *err)
{
    static const char *const remote[] = { "tcp://",   "ssh://", "http://",
                                          "https://", "fd://",  "npipe://" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(remote); i++)
        if (strncmp(host, remote[i], strlen(remote[i])) == 0)
            return sbx_err_set(err, SBX_UNSUPPORTED,
                               "DOCKER_HOST=%s: only an Engine on this machine (unix://PATH) can "
                               "be used, the gate must share its kernel; unset DOCKER_HOST or "
                               "use --runtime oci",
                               host);
    return sbx_err_set(err, SBX_UNSUPPORTED,
                       "DOCKER_HOST=%s is not understood: write unix:///path/to/docker.sock", host);
}

/* A rootless Engine listens below the user's runtime directory; taken where no other is. */
static char *rootless_socket(void)
{
    const char *dir = getenv("XDG_RUNTIME_DIR");
    char *path = NULL;

    if (!dir || *dir != '/' || access(DEFAULT_SOCKET, F_OK) == 0 || geteuid() == 0)
        return NULL;
    if (asprintf(&path, "%s/docker.sock", dir) < 0)
        return NULL;
    if (access(path, F_OK) == 0)
        return path;
    free(path);
    return NULL;
}

enum sbx_code docker_socket(const char *docker_host, char **ret, struct sbx_err *err)
{
    const char *path = DEFAULT_SOCKET;
    char *copy;

    if (docker_host && *docker_host) {
        if (strncmp(docker_host, "unix://", 7) != 0)
            return refuse(docker_host, err);
        path = docker_host + 7;
        if (*path != '/' || strlen(path) > 107) /* bytes: sun_path with its NUL */
            return sbx_err_set(err, SBX_UNSUPPORTED,
                               "DOCKER_HOST=%s: the path must be absolute and at most 107 bytes",
                               docker_host);
        copy = strdup(path);
    } else {
        copy = rootless_socket();
        if (!copy)
            copy = strdup(path);
    }
    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *ret = copy;
    return SBX_OK;
}

enum sbx_code docker_unreachable(const struct docker *d, CURLcode code, int number,
                                 struct sbx_err *err)
{
    struct stat st;

    if (code == CURLE_OUT_OF_MEMORY)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (code == CURLE_OPERATION_TIMEDOUT)
        return sbx_err_set(err, SBX_TIMEOUT,
                           "the Engine at %s took the request but does not answer: is it stuck?",
                           d->socket);
    if (code != CURLE_COULDNT_CONNECT)
        return sbx_err_set(err, SBX_UNAVAILABLE, "Engine at %s: %s", d->socket,
                           d->curl->easy_strerror(code));
    if (number == EACCES || number == EPERM)
        return sbx_err_set(err, SBX_UNAVAILABLE,
                           "no permission on %s: become root or a member of its group "
                           "(usually: usermod -aG docker USER, then log in again)",
                           d->socket);
    if (stat(d->socket, &st) == 0 && !S_ISSOCK(st.st_mode))
        return sbx_err_set(err, SBX_UNAVAILABLE, "%s is not a socket", d->socket);
    if (number == ENOENT || access(d->socket, F_OK))
        return sbx_err_set(err, SBX_UNAVAILABLE,
                           "no Engine at %s: start Docker (systemctl start docker) or set "
                           "DOCKER_HOST",
                           d->socket);
    return sbx_err_set(err, SBX_UNAVAILABLE,
                       "the Engine at %s does not answer (%s): is it running?", d->socket,
                       number ? strerror(number) : d->curl->easy_strerror(code));
}
