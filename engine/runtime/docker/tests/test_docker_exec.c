/* The docker backend against a real Engine: what runs inside. */
#include "world.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static void streams_and_status_come_through(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("cat; echo problem >&2; exit 7"));
    SBX_AUTO(sbx_buf) out = { 0 };
    SBX_AUTO(sbx_buf) err = { 0 };
    int status = -1;

    x.in = feed("a\0b\n", 4);
    ASSERT_OK(run(w, &x, &out, &err, &status));
    close(x.in);
    assert_int_equal(status, 7);
    assert_int_equal(out.len, 4);
    assert_memory_equal(out.ptr, "a\0b\n", 4);
    assert_string_equal(err.ptr, "problem\n");
}

static void megabytes_of_any_bytes_survive_both_ways(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("cat"));
    SBX_AUTO(sbx_buf) out = { 0 };
    SBX_AUTO(sbx_buf) err = { 0 };
    size_t len = 8 << 20;
    unsigned char *data = malloc(len);
    unsigned seed = 1;
    int status = -1;

    for (size_t i = 0; i < len; i++)
        data[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
    x.in = feed(data, len);
    ASSERT_OK(run(w, &x, &out, &err, &status));
    close(x.in);
    assert_int_equal(status, 0);
    assert_int_equal(out.len, len);
    assert_int_equal(memcmp(out.ptr, data, len), 0);
    free(data);
}

static void an_input_may_be_empty_missing_or_not_wanted(void **state)
{
    struct world *w = *state;
    static char much[1 << 20];
    int status = -1, fd[3] = { feed("", 0), -1, feed(much, sizeof(much)) };
    static const char *const scripts[] = { "cat | wc -c", "cat | wc -c", "exec <&-; echo 0" };

    for (size_t i = 0; i < 3; i++) {
        struct sbx_exec x = bare(SH(scripts[i]));
        SBX_AUTO(sbx_buf) out = { 0 };
        SBX_AUTO(sbx_buf) err = { 0 };

        x.in = fd[i];
        ASSERT_OK(run(w, &x, &out, &err, &status));
        assert_int_equal(status, 0);
        assert_int_equal(atoi(out.ptr), 0);
        if (fd[i] >= 0)
            close(fd[i]);
    }
}

static void an_exec_has_its_own_user_environment_and_directory(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("id -u; echo $COLOUR; pwd"));
    SBX_AUTO(sbx_buf) out = { 0 };
    SBX_AUTO(sbx_buf) err = { 0 };
    int status = -1;

    x.env = (const char *const[]){ "COLOUR=a=b c", NULL };
    x.user = "1000:1000";
    x.workdir = "/tmp";
    ASSERT_OK(run(w, &x, &out, &err, &status));
    assert_string_equal(out.ptr, "1000\na=b c\n/tmp\n");
}

static void what_cannot_start_has_a_shells_status_and_words(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *argv[2], *user, *words;
        int status;
    } rows[] = {
        { { "nope", NULL }, NULL, "\"nope\"", 127 },
        { { "/etc/passwd", NULL }, NULL, "/etc/passwd", 126 },
        { { "true", NULL }, "nobody-here", "nobody-here", 126 },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_exec x = bare(rows[i].argv);
        SBX_AUTO(sbx_buf) out = { 0 };
        SBX_AUTO(sbx_buf) err = { 0 };
        int status = -1;

        x.user = rows[i].user;
        ASSERT_OK(run(w, &x, &out, &err, &status));
        assert_int_equal(status, rows[i].status);
        assert_string_equal(out.ptr, "");
        assert_non_null(strstr(err.ptr, rows[i].words));
    }
}

static void a_signal_reaches_the_process_and_its_children(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("trap 'echo got it; exit 5' INT; echo ready; sleep 100"));
    struct drain d;
    int status = -1, p[2];

    /* a pipe that holds the byte from the start: it waits for the process to have a pid */
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    assert_int_equal(write(p[1], "\2", 1), 1);
    x.argv = SH("sleep 100");
    x.signal_fd = p[0];
    ASSERT_OK(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err));
    assert_int_equal(status, 128 + SIGINT);
    x.argv = SH("trap 'echo got it; exit 5' TERM; echo ready; sleep 100");
    x.out = start_drain(&d);
    (void)d;
    assert_int_equal(write(p[1], "\17", 1), 1);
    ASSERT_OK(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err));
    close(x.out);
    pthread_join(d.thread, NULL);
    sbx_buf_release(&d.b);
    assert_true(status == 5 || status == 128 + SIGTERM); /* before or after its trap stood */
    close(p[0]);
    close(p[1]);
}

static void a_deadline_ends_the_process(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("echo $$ >/tmp/pid; exec sleep 100"));
    SBX_AUTO(sbx_buf) out = { 0 };
    int status = -1;

    x.timeout_s = 1;
    assert_int_equal(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err), SBX_TIMEOUT);
    assert_non_null(strstr(w->err.text, "within 1 s"));
    /* it may need a moment to be reaped: the shell waits for that, bounded by the exec's own */
    assert_int_equal(shell(w, "while kill -0 $(cat /tmp/pid) 2>/dev/null; do :; done", &out), 0);
}

static void a_reader_that_goes_away_ends_the_process(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("exec yes"));
    int status = -1, p[2];

    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    close(p[0]);
    x.out = p[1];
    ASSERT_OK(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err));
    close(p[1]);
    assert_int_equal(status, 128 + SIGPIPE);
}

static void a_process_that_closes_its_streams_is_still_waited_for(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("exec >&- 2>&- <&-; sleep 0.3; exit 9"));
    int status = -1;

    ASSERT_OK(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err));
    assert_int_equal(status, 9);
}

static struct sbx_winsize size(void *ctx) { return *(struct sbx_winsize *)ctx; }

static void a_terminal_has_the_size_that_was_asked_for(void **state)
{
    struct world *w = *state;
    struct sbx_winsize s = { 50, 200 };
    struct sbx_exec x = bare(
        SH("until [ \"$(stty size 2>/dev/null)\" = '50 200' ]; do :; done; echo size ok; tty -s"));
    SBX_AUTO(sbx_buf) out = { 0 };
    SBX_AUTO(sbx_buf) err = { 0 };
    int status = -1;

    x.tty = true;
    x.winsize = size;
    x.ctx = &s;
    x.timeout_s = 20;
    ASSERT_OK(run(w, &x, &out, &err, &status));
    assert_string_equal(out.ptr, "size ok\r\n");
    assert_int_equal(status, 0);
}

/* Types when it is asked to: the keys, then Ctrl-C. */
struct typist {
    int from, to;
    struct sbx_buf *seen;
};

static void *type(void *arg)
{
    struct typist *t = arg;
    bool keys = false, interrupt = false;
    char piece[256];
    ssize_t n;

    while ((n = read(t->from, piece, sizeof(piece))) > 0) {
        if (sbx_buf_add(t->seen, piece, (size_t)n))
            break;
        if (!keys && strstr(t->seen->ptr, "ready"))
            keys = write(t->to, "\x10\x11\0\x1e\x04", 5) == 5;
        if (!interrupt && strstr(t->seen->ptr, "go"))
            interrupt = write(t->to, "\3", 1) == 1;
    }
    return NULL;
}

static void keys_of_a_terminal_reach_the_process(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(
        SH("stty raw -echo; printf ready; head -c 5 | od -An -tx1; stty sane;"
           "trap 'echo interrupted; exit 4' INT; printf go; while :; do :; done"));
    SBX_AUTO(sbx_buf) seen = SBX_BUF_INIT(4096);
    int status = -1, in[2], out[2];
    struct typist t;
    pthread_t thread;

    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    x.tty = true;
    x.in = in[0];
    x.out = out[1];
    x.timeout_s = 60;
    t = (struct typist){ out[0], in[1], &seen };
    assert_int_equal(pthread_create(&thread, NULL, type, &t), 0);
    ASSERT_OK(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err));
    close(out[1]);
    pthread_join(thread, NULL);
    close(in[0]);
    close(in[1]);
    close(out[0]);
    assert_non_null(strstr(seen.ptr, "10 11 00 1e 04")); /* Docker's own detach keys too */
    assert_non_null(strstr(seen.ptr, "interrupted"));
    assert_int_equal(status, 4);
}

/* Stops the container, by a handle of its own, once the process has spoken. */
struct stopper {
    struct sbx_runtime *rt;
    const char *id;
    int fd;
    enum sbx_code rc;
};

static void *stop_it(void *arg)
{
    struct stopper *s = arg;
    char byte;

    s->rc = SBX_IO;
    if (read(s->fd, &byte, 1) == 1)
        s->rc = sbx_runtime_stop(s->rt, s->id, 0, NULL);
    return NULL;
}

static void a_container_that_is_stopped_ends_its_execs(void **state)
{
    struct world *w = *state, *other;
    struct sbx_exec x = bare(SH("echo ready; sleep 100"));
    struct stopper s = { .id = w->id };
    pthread_t thread;
    int status = -1, p[2];

    assert_int_equal(setup((void **)&other), 0);
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    s.rt = other->rt;
    s.fd = p[0];
    x.out = p[1];
    x.timeout_s = 60;
    assert_int_equal(pthread_create(&thread, NULL, stop_it, &s), 0);
    ASSERT_OK(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err));
    close(p[1]);
    pthread_join(thread, NULL);
    close(p[0]);
    sbx_runtime_close(other->rt);
    sbx_arena_free(other->arena);
    free(other);
    assert_int_equal(s.rc, SBX_OK);
    assert_int_equal(status, 128 + SIGKILL);
}

static void side_descriptors_may_reach_their_end(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("sleep 0.3; exit 6"));
    struct sbx_winsize s = { 24, 80 };
    int status = -1, p[2];

    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    close(p[1]);
    x.signal_fd = x.resize_fd = p[0];
    x.winsize = size;
    x.ctx = &s;
    ASSERT_OK(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err));
    close(p[0]);
    assert_int_equal(status, 6);
}

static void an_exec_needs_a_running_container(void **state)
{
    struct world *w = *state;
    struct sbx_exec x = bare(SH("true"));
    int status = -1;

    ASSERT_OK(sbx_runtime_stop(w->rt, w->id, 0, &w->err));
    assert_int_equal(sbx_runtime_exec(w->rt, w->id, &x, &status, &w->err), SBX_UNAVAILABLE);
    assert_int_equal(sbx_runtime_exec(w->rt, "nobody", &x, &status, &w->err), SBX_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUNNING(streams_and_status_come_through),
        RUNNING(megabytes_of_any_bytes_survive_both_ways),
        RUNNING(an_input_may_be_empty_missing_or_not_wanted),
        RUNNING(an_exec_has_its_own_user_environment_and_directory),
        RUNNING(what_cannot_start_has_a_shells_status_and_words),
        RUNNING(a_signal_reaches_the_process_and_its_children),
        RUNNING(a_deadline_ends_the_process),
        RUNNING(a_reader_that_goes_away_ends_the_process),
        RUNNING(a_process_that_closes_its_streams_is_still_waited_for),
        RUNNING(a_terminal_has_the_size_that_was_asked_for),
        RUNNING(keys_of_a_terminal_reach_the_process),
        RUNNING(a_container_that_is_stopped_ends_its_execs),
        RUNNING(side_descriptors_may_reach_their_end),
        RUNNING(an_exec_needs_a_running_container),
    };
    int rc = find_image();

    return rc ? rc : cmocka_run_group_tests(tests, NULL, NULL);
}
