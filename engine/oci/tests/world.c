#include "world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sbx/file.h"

static int free_port(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = -1;

    if (!bind(fd, (struct sockaddr *)&a, len) && !getsockname(fd, (struct sockaddr *)&a, &len))
        port = ntohs(a.sin_port);
    close(fd);
    return port;
}

/* It answers, or it ended. */
static int answers(const struct world *w, int port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    for (int i = 0; i < 6000; i++) {
        const struct timespec step = { 0, 10000000 };
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int ok = !connect(fd, (struct sockaddr *)&a, sizeof(a));

        close(fd);
        if (ok)
            return 1;
        if (waitpid(w->pid, NULL, WNOHANG) == w->pid)
            return 0;
        nanosleep(&step, NULL);
    }
    return 0;
}

static void write_config(const struct world *w, int port, const char *extra)
{
    char path[128];
    FILE *f;

    snprintf(path, sizeof(path), "%s/config.yml", w->dir);
    f = fopen(path, "w");
    fprintf(f, "version: 0.1\nlog: { level: error, accesslog: { disabled: true } }\n"
               "storage: { filesystem: { rootdirectory: %s/data }, delete: { enabled: false } }\n"
               "http: { addr: \"127.0.0.1:%d\" }\n%s",
            w->dir, port, extra);
    fclose(f);
}

int world_start(struct world *w, const char *extra)
{
    int port = free_port();
    char path[128];

    strcpy(w->dir, SBX_TEST_TMP "/registry-XXXXXX");
    if (port < 0 || !mkdtemp(w->dir))
        return 0;
    snprintf(w->host, sizeof(w->host), "127.0.0.1:%d", port);
    write_config(w, port, extra);
    snprintf(path, sizeof(path), "%s/config.yml", w->dir);
    w->pid = fork();
    if (!w->pid) {
        int null = open("/dev/null", O_RDWR);

        dup2(null, 1);
        dup2(null, 2);
        execlp("docker-registry", "docker-registry", "serve", path, (char *)NULL);
        _exit(127);
    }
    if (answers(w, port))
        return 1;
    world_stop(w);
    return 0;
}

void world_stop(struct world *w)
{
    if (w->pid > 0) {
        kill(w->pid, SIGTERM);
        waitpid(w->pid, NULL, 0);
    }
    w->pid = 0;
    if (sbx_dir_remove(AT_FDCWD, w->dir, NULL))
        fprintf(stderr, "cannot remove %s\n", w->dir);
}
