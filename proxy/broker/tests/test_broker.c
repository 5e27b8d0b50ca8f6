/* The broker: which files are secrets, and what the gate is told when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker.h"

#define WAIT_MS 20000

struct fixture {
    char path[64];
    int dir, gate, ended[2];
    pthread_t thread;
};

static int g_broker; /* its end of the socket */

static void put(struct fixture *f, const char *name, const char *text, size_t len, mode_t mode)
{
    char temporary[80];
    int fd;

    snprintf(temporary, sizeof(temporary), ".%s.new", name);
    fd = openat(f->dir, temporary, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    assert_int_equal(renameat(f->dir, temporary, f->dir, name), 0);
}

static void puts_(struct fixture *f, const char *name, const char *text)
{
    put(f, name, text, strlen(text), 0600);
}

static void *serve(void *arg)
{
    struct fixture *f = arg;
    struct sbx_err err = SBX_ERR_INIT;

    if (sbx_broker_serve(g_broker, f->dir, f->ended[1], &err))
        abort();
    close(g_broker);
    return NULL;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    int ends[2];

    if (!f)
        return -1;
    snprintf(f->path, sizeof(f->path), SBX_TEST_TMP "/broker-XXXXXX");
    if (!mkdtemp(f->path) || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) || pipe(f->ended))
        return -1;
    f->dir = open(f->path, O_RDONLY | O_DIRECTORY);
    fcntl(f->ended[0], F_SETFL, O_NONBLOCK);
    f->gate = ends[0];
    g_broker = ends[1];
    *state = f;
    return f->dir < 0 || pthread_create(&f->thread, NULL, serve, f);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];

    close(f->gate); /* the broker ends with its gate */
    pthread_join(f->thread, NULL);
    close(f->dir);
    close(f->ended[0]);
    close(f->ended[1]);
    snprintf(command, sizeof(command), "rm -rf %s", f->path);
    free(f);
    return system(command);
}

static void hear(struct fixture *f, const char *want)
{
    struct pollfd p = { .fd = f->gate, .events = POLLIN };
    char text[SBX_BROKER_MESSAGE_MAX + 1];
    ssize_t n;

    assert_int_equal(poll(&p, 1, WAIT_MS), 1);
    n = recv(f->gate, text, sizeof(text) - 1, 0);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, want);
}

static void ask(struct fixture *f, const char *name)
{
    char text[128];
    int n = snprintf(text, sizeof(text), "want %s\n", name);

    assert_int_equal(send(f->gate, text, (size_t)n, 0), n);
}

static void a_value_is_told_and_told_again_when_it_changes(void **state)
{
    struct fixture *f = *state;

    puts_(f, "key", "one\n");
    ask(f, "key");
    hear(f, "value key\none");
    puts_(f, "key", "two\r\n");
    hear(f, "value key\ntwo");
    puts_(f, "other", "not asked for");
    assert_int_equal(unlinkat(f->dir, "key", 0), 0);
    hear(f, "gone key\n");
    puts_(f, "key", "three");
    hear(f, "value key\nthree");
}

static void complains(struct fixture *f, const char *about)
{
    char text[1024];
    ssize_t n = read(f->ended[0], text, sizeof(text) - 1);

    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text, about));
    assert_null(strstr(text, "TOPSECRET"));
}

static void a_file_that_others_can_read_is_no_secret(void **state)
{
    struct fixture *f = *state;

    put(f, "key", "TOPSECRET", 9, 0640);
    ask(f, "key");
    hear(f, "gone key\n");
    complains(f, "broker: secret key: other users can reach it");
    assert_int_equal(fchmodat(f->dir, "key", 0600, 0), 0);
    hear(f, "value key\nTOPSECRET");
}

static void links_and_directories_are_no_secrets(void **state)
{
    struct fixture *f = *state;

    puts_(f, "target", "TOPSECRET");
    assert_int_equal(symlinkat("target", f->dir, "link"), 0);
    assert_int_equal(mkdirat(f->dir, "dir", 0700), 0);
    assert_int_equal(mkfifoat(f->dir, "pipe", 0600), 0);
    ask(f, "link");
    hear(f, "gone link\n");
    complains(f, "secret link: open:");
    ask(f, "dir");
    hear(f, "gone dir\n");
    complains(f, "secret dir: not a regular file");
    ask(f, "pipe");
    hear(f, "gone pipe\n");
    complains(f, "secret pipe: not a regular file");
}

static void a_value_that_no_field_can_hold_is_not_told(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } rows[] = {
        { "", 0 }, { "\n", 1 }, { "TOPSECRET\nX: y", 14 }, { "TOPSECRET\0x", 11 }, { " TOPSECRET", 10 },
        { "TOPSECRET ", 10 }, { "TOPSECRET\x7f", 10 },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        put(f, "key", rows[i].text, rows[i].len, 0600);
        if (i == 0)
            ask(f, "key");
        hear(f, "gone key\n");
        complains(f, "secret key: must be one line");
    }
}

static void the_largest_value_is_told_and_the_next_is_not(void **state)
{
    static char text[SBX_GATE_SECRET_MAX + 2], want[SBX_BROKER_MESSAGE_MAX + 1];
    struct fixture *f = *state;

    memset(text, 'x', sizeof(text));
    text[SBX_GATE_SECRET_MAX] = '\n';
    put(f, "key", text, SBX_GATE_SECRET_MAX + 1, 0600);
    snprintf(want, sizeof(want), "value key\n%.*s", SBX_GATE_SECRET_MAX, text);
    ask(f, "key");
    hear(f, want);
    text[SBX_GATE_SECRET_MAX] = 'x';
    put(f, "key", text, SBX_GATE_SECRET_MAX + 1, 0600);
    hear(f, "gone key\n");
    complains(f, "must be one line");
}

static void names_that_are_none_end_the_connection(void **state)
{
    struct fixture *f = *state;
    char byte;

    ask(f, "../../etc/passwd");
    assert_int_equal(recv(f->gate, &byte, 1, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_is_told_and_told_again_when_it_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_others_can_read_is_no_secret, setup, teardown),
        cmocka_unit_test_setup_teardown(links_and_directories_are_no_secrets, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_that_no_field_can_hold_is_not_told, setup, teardown),
        cmocka_unit_test_setup_teardown(the_largest_value_is_told_and_the_next_is_not, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_are_none_end_the_connection, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
