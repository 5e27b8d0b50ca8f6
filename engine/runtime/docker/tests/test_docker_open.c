/* Opening the docker runtime where the socket is missing, forbidden, or someone else's. No Engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "sbx/file.h"
#include "sbx/runtime.h"

static char dir[] = SBX_TEST_TMP "/socket-XXXXXX";

/* Answers each connection with one text (JSON gets a good answer's head), after the request's first bytes, and closes it. */
struct server {
    int fd;
    const char *answer;
    pthread_t thread;
    char host[128];
};

static void *serve(void *arg)
{
    struct server *s = arg;
    int fd;

    while ((fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        char request[4096];

        if (recv(fd, request, sizeof(request), 0) > 0) {
            if (*s->answer == '{')
                dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(s->answer),
                        s->answer);
            else
                send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
        }
        close(fd);
    }
    return NULL;
}

static void start(struct server *s, const char *answer)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    s->answer = answer;
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", dir);
    snprintf(s->host, sizeof(s->host), "unix://%s", a.sun_path);
    unlink(a.sun_path);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(s->fd, 4), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void end(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

static enum sbx_code try(const char *host, struct sbx_err *err)
{
    const struct sbx_runtime_config config = { .docker_host = host };
    struct sbx_runtime *rt = NULL;
    enum sbx_code rc = sbx_runtime_open(SBX_RUNTIME_DOCKER, &config, &rt, err);

    sbx_runtime_close(rt);
    return rc;
}

/* An Engine that answers /version and then nothing any more; each later request is an interrupt. */
struct stuck {
    int fd, interrupt;
    pthread_t thread;
    char host[128];
};

static void *be_stuck(void *arg)
{
    static const char version[] = "{\"ApiVersion\":\"1.41\"}";
    struct stuck *s = arg;
    int held[16], n = 0, fd;

    while (n < 16 && (fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        char request[4096];
        ssize_t len;

        held[n++] = fd;
        while ((len = recv(fd, request, sizeof(request) - 1, 0)) > 0) {
            request[len] = '\0';
            if (strstr(request, "GET /version"))
                dprintf(fd, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(version),
                        version);
            else if (write(s->interrupt, "\2", 1) != 1)
                break;
        }
    }
    while (n)
        close(held[--n]);
    return NULL;
}

static void an_engine_that_never_answers_is_left_at_an_interrupt(void **state)
{
    static const char *const argv[] = { "true", NULL };
    struct sbx_exec x = { .argv = argv, .in = -1, .out = -1, .err_fd = -1, .resize_fd = -1 };
    struct sbx_runtime_config config = { .docker_host = NULL };
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct stuck s;
    int fds[2], status;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    s.interrupt = fds[1];
    s.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/stuck", dir);
    snprintf(s.host, sizeof(s.host), "unix://%s", a.sun_path);
    assert_int_equal(bind(s.fd, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(s.fd, 16), 0);
    assert_int_equal(pthread_create(&s.thread, NULL, be_stuck, &s), 0);
    config.docker_host = s.host;
    x.signal_fd = fds[0];
    for (int i = 0; i < 4; i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_runtime *rt = NULL;
        enum sbx_code rc;

        assert_int_equal(sbx_runtime_open(SBX_RUNTIME_DOCKER, &config, &rt, &err), SBX_OK);
        if (i < 3) /* the last: by the signals that are meant for the process */
            sbx_runtime_interrupt_by(rt, fds[0]);
        rc = i == 0   ? sbx_runtime_start(rt, "x", &err)
             : i == 1 ? sbx_runtime_stop(rt, "x", 1, &err)
             : i == 2 ? sbx_runtime_remove(rt, "x", &err)
                      : sbx_runtime_exec(rt, "x", &x, &status, &err);
        print_message("%s\n", err.text);
        assert_int_equal(rc, SBX_CANCELED);
        assert_non_null(strstr(err.text, "interrupted"));
        sbx_runtime_close(rt);
    }
    shutdown(s.fd, SHUT_RDWR);
    pthread_join(s.thread, NULL);
    close(s.fd);
    close(fds[0]);
    close(fds[1]);
    unlink(a.sun_path);
}

static void what_answers_must_be_an_engine_we_can_use(void **state)
{
    static const struct {
        const char *answer, *words;
        enum sbx_code code;
    } rows[] = {
        { "SSH-2.0-OpenSSH_9.2\r\n", "Engine at", SBX_UNAVAILABLE },
        { "", "Engine at", SBX_UNAVAILABLE },
        { "{}", "not a container Engine", SBX_UNAVAILABLE },
        { "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope", "nope", SBX_UNAVAILABLE },
        { "{\"ApiVersion\":\"1.39\",\"Version\":\"18.09.1\"}", "at least 1.41", SBX_UNSUPPORTED },
        { "{\"ApiVersion\":\"1.99\",\"MinAPIVersion\":\"1.90\"}", "1.90 or newer",
          SBX_UNSUPPORTED },
        { "{\"ApiVersion\":\"1.41\",\"KernelVersion\":\"9.9\"}", "another kernel",
          SBX_UNSUPPORTED },
        { "{\"ApiVersion\":\"1.41\",\"Os\":\"windows\"}", "not Linux", SBX_UNSUPPORTED },
        { "{\"ApiVersion\":\"1.41\"}", NULL, SBX_OK },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct server s;

        start(&s, rows[i].answer);
        print_message("%s\n", rows[i].words ? rows[i].words : "fine");
        assert_int_equal(try(s.host, &err), rows[i].code);
        end(&s);
        if (rows[i].words)
            assert_non_null(strstr(err.text, rows[i].words));
    }
}

static void a_socket_that_is_not_there_or_no_socket_is_named(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    char path[64], host[80];
    struct server s;

    (void)state;
    assert_int_equal(try("unix:///nonexistent/docker.sock", &err), SBX_UNAVAILABLE);
    assert_non_null(strstr(err.text, "no Engine at /nonexistent/docker.sock: start Docker"));
    snprintf(path, sizeof(path), "%s/file", dir);
    snprintf(host, sizeof(host), "unix://%s", path);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, "x", 1, 0644, &err), SBX_OK);
    assert_int_equal(try(host, &err), SBX_UNAVAILABLE);
    assert_non_null(strstr(err.text, "is not a socket"));
    start(&s, "");
    end(&s); /* the file stays, nobody listens */
    assert_int_equal(try(s.host, &err), SBX_UNAVAILABLE);
    assert_non_null(strstr(err.text, "is it running?"));
}

/* Root may do all: a child that is not root asks. */
static void a_forbidden_socket_says_which_group_helps(void **state)
{
    struct sbx_err err = SBX_ERR_INIT;
    char path[64];
    struct server s;
    int status;
    pid_t pid;

    (void)state;
    start(&s, "");
    snprintf(path, sizeof(path), "%s/sock", dir);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(chmod(dir, 0755), 0);
    pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setresuid(65533, 65533, 65533))
            _exit(2);
        if (geteuid() != 65533)
            _exit(0); /* the socket is ours: nothing is forbidden */
        _exit(!(try(s.host, &err) == SBX_UNAVAILABLE && strstr(err.text, "no permission on") &&
                strstr(err.text, "docker USER")));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    end(&s);
    assert_int_equal(status, 0);
}

static void a_remote_engine_is_refused_and_auto_does_not_pass_over_it(void **state)
{
    const struct sbx_runtime_config config = { .docker_host = "tcp://10.0.0.1:2375" };
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_runtime *rt = NULL;

    (void)state;
    assert_int_equal(sbx_runtime_open(SBX_RUNTIME_AUTO, &config, &rt, &err), SBX_UNSUPPORTED);
    assert_non_null(strstr(err.text, "--runtime oci"));
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return sbx_dir_remove(AT_FDCWD, dir, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_that_never_answers_is_left_at_an_interrupt),
        cmocka_unit_test(what_answers_must_be_an_engine_we_can_use),
        cmocka_unit_test(a_socket_that_is_not_there_or_no_socket_is_named),
        cmocka_unit_test(a_forbidden_socket_says_which_group_helps),
        cmocka_unit_test(a_remote_engine_is_refused_and_auto_does_not_pass_over_it),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
