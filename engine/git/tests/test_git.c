/* Servers that say nothing, users who lose patience, and git's own daemon. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sbx/cache.h"
#include "sbx/file.h"
#include "sbx/git.h"

#define COMMIT "0123456789012345678901234567890123456789"
#define SOON_MS 300       /* a limit that a test may wait for */
#define PATIENCE_MS 60000 /* of the test for what must happen; only a failure waits so long */

struct world {
    char dir[64], url[160], cache[96];
    int listener, port;
};

static int setup(void **state)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(a);
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    snprintf(w->dir, sizeof(w->dir), SBX_TEST_TMP "/git-XXXXXX");
    if (!mkdtemp(w->dir))
        return -1;
    snprintf(w->cache, sizeof(w->cache), "%s/cache", w->dir);
    setenv("HOME", w->dir, 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    w->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(w->listener, (struct sockaddr *)&a, len) || listen(w->listener, 8) ||
        getsockname(w->listener, (struct sockaddr *)&a, &len))
        return -1;
    w->port = ntohs(a.sin_port);
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    close(w->listener);
    (void)!sbx_dir_remove(AT_FDCWD, w->dir, NULL);
    free(w);
    return 0;
}

static const char *address(struct world *w, const char *scheme)
{
    snprintf(w->url, sizeof(w->url), "%s://127.0.0.1:%d/x.git", scheme, w->port);
    return w->url;
}

/* The next connection to the silent server; the kernel has accepted more. */
static int accept_one(const struct world *w)
{
    struct pollfd p = { w->listener, POLLIN, 0 };

    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    return accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
}

/* Until the other side is gone; what it sends is not for us. */
static void until_closed(int fd)
{
    struct pollfd p = { fd, POLLIN, 0 };
    char unused[512];

    do
        assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    while (recv(fd, unused, sizeof(unused), 0) > 0);
    close(fd);
}

/* Nobody is left who talks to the server; on a busy machine it was not even reached. */
static void all_closed(const struct world *w)
{
    struct pollfd p = { w->listener, POLLIN, 0 };

    while (poll(&p, 1, 0) == 1)
        until_closed(accept4(w->listener, NULL, NULL, SOCK_CLOEXEC));
}

static size_t entries(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    size_t n = 0;

    while (d && (e = readdir(d)))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    return n;
}

static size_t left(const struct world *w)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/git", w->cache);
    return entries(path);
}

static void a_silent_server_is_given_up(void **state)
{
    static const char *const schemes[] = { "http", "https", "git", "ssh" };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(schemes); i++) {
        struct sbx_git_source s = { .url = address(w, schemes[i]),
                                    .commit = COMMIT,
                                    .silence_ms = SOON_MS };
        struct sbx_err err = SBX_ERR_INIT;
        char *dir = NULL;

        if (sbx_git_fetch(w->cache, &s, &dir, &err) != SBX_TIMEOUT)
            fail_msg("%s: %s", schemes[i], err.text);
        assert_non_null(strstr(err.text, "says nothing"));
        assert_int_equal(left(w), 0);
        all_closed(w);
    }
}

static void a_look_ends_at_its_limit(void **state)
{
    struct world *w = *state;
    struct sbx_git_source s = { .url = address(w, "http"), .limit_ms = SOON_MS };
    struct sbx_err err = SBX_ERR_INIT;
    char commit[41];

    assert_int_equal(sbx_git_look(&s, commit, &err), SBX_TIMEOUT);
    assert_non_null(strstr(err.text, "not done"));
    all_closed(w);
}

/* Another command wants the cache to be empty; nothing goes. */
static void prune(const char *dir)
{
    pid_t pid = fork();
    int status = -1;

    if (!pid) {
        struct sbx_cache *cache = NULL;
        int64_t freed = -1;

        _exit(sbx_cache_open(dir, &cache, NULL) ||
              sbx_cache_trim(cache, 0, time(NULL) + 60, &freed, NULL) || freed);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static pid_t fetch_in_child(struct world *w, const char *scheme, void (*handler)(int))
{
    struct sbx_git_source s = { .url = address(w, scheme), .commit = COMMIT };
    pid_t pid = fork();
    char *dir = NULL;

    if (pid == 0) {
        signal(SIGINT, handler);
        signal(SIGTERM, handler);
        _exit((int)sbx_git_fetch(w->cache, &s, &dir, NULL));
    }
    return pid;
}

static void on_signal(int number) { (void)number; }

static void an_interrupt_ends_the_fetch_and_leaves_nothing(void **state)
{
    static const struct {
        const char *scheme;
        int number;
        void (*handler)(int);
    } rows[] = {
        { "http", SIGINT, SIG_DFL },
        { "ssh", SIGTERM, SIG_DFL },
        { "http", SIGINT, on_signal },
        { "ssh", SIGINT, on_signal },
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        pid_t pid = fetch_in_child(w, rows[i].scheme, rows[i].handler);
        int fd = accept_one(w), status = 0;

        assert_int_equal(left(w), 1);
        kill(pid, rows[i].number);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (rows[i].handler == SIG_DFL)
            assert_int_equal(WTERMSIG(status), rows[i].number);
        else
            assert_int_equal(WEXITSTATUS(status), SBX_CANCELED);
        assert_int_equal(left(w), 0);
        until_closed(fd);
    }
}

static void a_killed_fetch_takes_its_helpers_along_and_the_next_cleans_up(void **state)
{
    static const char *const schemes[] = { "http", "ssh" };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(schemes); i++) {
        struct sbx_git_source s = { .url = address(w, schemes[i]),
                                    .commit = COMMIT,
                                    .silence_ms = SOON_MS };
        pid_t pid = fetch_in_child(w, schemes[i], SIG_DFL);
        int fd = accept_one(w);
        char *dir = NULL;

        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        until_closed(fd);
        assert_int_equal(left(w), 1);
        assert_int_equal(sbx_git_fetch(w->cache, &s, &dir, NULL), SBX_TIMEOUT);
        assert_int_equal(left(w), 0);
        all_closed(w);
    }
}

static void who_waits_for_another_can_be_interrupted(void **state)
{
    struct world *w = *state;
    pid_t first = fetch_in_child(w, "http", SIG_DFL), second;
    int fd = accept_one(w), status = 0;

    second = fetch_in_child(w, "http", SIG_DFL);
    kill(second, SIGINT); /* before or in its wait */
    assert_int_equal(waitpid(second, &status, 0), second);
    assert_int_equal(WTERMSIG(status), SIGINT);
    assert_int_equal(left(w), 1);
    kill(first, SIGINT);
    assert_int_equal(waitpid(first, &status, 0), first);
    assert_int_equal(left(w), 0);
    until_closed(fd);
}

/* A repository DIR/repo with one commit; false: there is no git here. */
static bool make_repo(const struct world *w, char ret_commit[41])
{
    char command[1024];
    FILE *f;

    if (system("command -v git >/dev/null")) /* NOLINT(cert-env33-c): no input in it */
        return false;
    snprintf(
        command, sizeof(command),
        "cd %s && git init -q repo && cd repo && mkdir kit && echo hi >kit/file && git add -A && "
        "git -c user.name=t -c user.email=t@example.com commit -qm one && git rev-parse HEAD",
        w->dir);
    f = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(fgets(ret_commit, 41, f));
    pclose(f);
    return true;
}

static void a_commit_comes_from_git_daemon(void **state)
{
    struct world *w = *state;
    char commit[41] = "", file[256];
    struct sbx_git_source s = { .url = w->url, .commit = commit };
    struct sbx_err err = SBX_ERR_INIT;
    char *dir = NULL;
    pid_t daemon;

    if (!make_repo(w, commit))
        skip();
    daemon = fork();
    if (daemon == 0) { /* serves one connection after the other, as inetd would start it */
        for (;;) {
            int fd = accept(w->listener, NULL, NULL);
            char base[128];

            if (fork() == 0) {
                dup2(fd, 0);
                dup2(fd, 1);
                snprintf(base, sizeof(base), "--base-path=%s", w->dir);
                execlp("git", "git", "daemon", "--inetd", "--export-all", base, (char *)NULL);
                _exit(127);
            }
            close(fd);
        }
    }
    snprintf(w->url, sizeof(w->url), "git://127.0.0.1:%d/repo", w->port);
    assert_int_equal(sbx_git_look(&(struct sbx_git_source){ .url = w->url }, file, &err), SBX_OK);
    assert_string_equal(file, commit);
    if (sbx_git_fetch(w->cache, &s, &dir, &err))
        fail_msg("%s", err.text);
    kill(daemon, SIGKILL);
    waitpid(daemon, NULL, 0);
    snprintf(file, sizeof(file), "%s/kit/file", dir);
    assert_int_equal(access(file, R_OK), 0);
    prune(w->cache); /* it is ours until we end */
    assert_int_equal(access(file, R_OK), 0);
    free(dir);
}

/* The objects that an exported commit is checked by, as other bytes. */
static void objects_become(const char *path, const struct sbx_buf *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(sbx_write_all(fd, bytes->ptr, len), 0);
    close(fd);
}

static enum sbx_cache_state state_of(const struct world *w, const char *commit)
{
    enum sbx_cache_state state = SBX_CACHE_UNKNOWN;
    struct sbx_err err = SBX_ERR_INIT;
    char *what = NULL;

    if (sbx_git_verify(w->cache, commit, &state, &what, &err))
        fail_msg("%s", err.text);
    assert_int_equal(what != NULL, state == SBX_CACHE_CHANGED);
    free(what);
    return state;
}

static void no_damage_of_the_objects_passes_for_whole(void **state)
{
    struct world *w = *state;
    char commit[41] = "", url[80], path[200];
    struct sbx_git_source s = { .url = url, .commit = commit };
    struct sbx_buf bytes = SBX_BUF_INIT(65536);
    char *dir = NULL;

    if (!make_repo(w, commit))
        skip();
    snprintf(url, sizeof(url), "file://%s/repo", w->dir);
    assert_int_equal(sbx_git_fetch(w->cache, &s, &dir, NULL), SBX_OK);
    assert_int_equal(state_of(w, commit), SBX_CACHE_WHOLE);
    snprintf(path, sizeof(path), "%s/git/%s/.git", w->cache, commit);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &bytes, NULL), SBX_OK);
    for (size_t i = 0; i < bytes.len; i++) {
        objects_become(path, &bytes, i);
        assert_int_equal(state_of(w, commit), SBX_CACHE_CHANGED);
        for (int bit = 1; bit < 256; bit *= 4) {
            bytes.ptr[i] ^= (char)bit;
            objects_become(path, &bytes, bytes.len);
            assert_int_equal(state_of(w, commit), SBX_CACHE_CHANGED);
            bytes.ptr[i] ^= (char)bit;
        }
    }
    objects_become(path, &bytes, bytes.len);
    assert_int_equal(state_of(w, commit), SBX_CACHE_WHOLE);
    sbx_buf_release(&bytes);
    free(dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_silent_server_is_given_up),
        TEST(a_look_ends_at_its_limit),
        TEST(an_interrupt_ends_the_fetch_and_leaves_nothing),
        TEST(a_killed_fetch_takes_its_helpers_along_and_the_next_cleans_up),
        TEST(who_waits_for_another_can_be_interrupted),
        TEST(a_commit_comes_from_git_daemon),
        TEST(no_damage_of_the_objects_passes_for_whole),
    };

    return cmocka_run_group_tests_name("git", tests, NULL, NULL);
}
