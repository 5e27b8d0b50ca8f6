/* A root file system of the test's own, for the parts of sbx-init. */
#ifndef SBX_INIT_TESTS_TREE_H
#define SBX_INIT_TESTS_TREE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands.h"
#include "inside.h"
#include "sbx/file.h"

struct tree {
    char path[64];
    int fd;
};

static inline int tree_setup(void **state)
{
    struct tree *t = calloc(1, sizeof(*t));

    strcpy(t->path, SBX_TEST_TMP "/init-test-XXXXXX");
    *state = t;
    if (!mkdtemp(t->path))
        return -1;
    t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return t->fd < 0 || mkdirat(t->fd, "etc", 0755);
}

static inline int tree_teardown(void **state)
{
    struct tree *t = *state;
    struct sbx_err err = SBX_ERR_INIT;

    close(t->fd);
    if (sbx_dir_remove(AT_FDCWD, t->path, &err))
        fprintf(stderr, "%s\n", err.text);
    free(t);
    return 0;
}

static inline void put(const struct tree *t, const char *path, const char *text)
{
    int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(sbx_write_all(fd, text, strlen(text)), 0);
    close(fd);
}

static inline const char *get(const struct tree *t, const char *path)
{
    static char text[4096];
    int fd = openat(t->fd, path, O_RDONLY | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    return text;
}

/* Run a batch; its answers, and its exit status. */
static inline const char *batch(const struct tree *t, const char *input, size_t len, int *status)
{
    static char answers[4096];
    FILE *in = tmpfile(), *out = tmpfile();
    ssize_t n;

    assert_non_null(in);
    assert_non_null(out);
    assert_int_equal(sbx_write_all(fileno(in), input, len), 0);
    lseek(fileno(in), 0, SEEK_SET);
    *status = sbx_init_batch(t->fd, fileno(in), fileno(out));
    n = pread(fileno(out), answers, sizeof(answers) - 1, 0);
    answers[n > 0 ? n : 0] = '\0';
    fclose(in);
    fclose(out);
    return answers;
}

/* Each "@" as "UID GID" of this test: the owner that it may set. */
static inline const char *own(const char *script)
{
    static char text[1024];
    size_t len = 0;

    for (; *script; script++) {
        if (*script == '@')
            len += (size_t)snprintf(text + len, sizeof(text) - len, "%u %u", getuid(), getgid());
        else
            text[len++] = *script;
        assert_true(len < sizeof(text) - 32);
    }
    text[len] = '\0';
    return text;
}

/* valgrind before 3.20 knows no openat2. */
static inline bool cannot_run(void)
{
    struct open_how how = { .flags = O_PATH };
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

    if (fd < 0)
        fprintf(stderr, "SKIPPED: no openat2 here: %s\n", strerror(errno));
    else
        close(fd);
    return fd < 0;
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

#endif
