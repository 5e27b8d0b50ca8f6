/** @file What the tests against a real Engine share: a world of one app of this process alone. */
#ifndef SBX_TEST_DOCKER_WORLD_H
#define SBX_TEST_DOCKER_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>

#include "sbx/buf.h"
#include "sbx/runtime.h"

struct world {
    struct sbx_runtime *rt;
    struct sbx_arena *arena;
    struct sbx_err err;
    char *id; /* of the container "one", or the last that a test made */
};

extern const char *image;       /* what containers of these tests are made from */
extern char app[32];            /* of this process alone */
extern const char *const idle[]; /* a PID 1 that does nothing */

#define ASSERT_OK(call)                                                                            \
    do {                                                                                           \
        enum sbx_code rc_ = (call);                                                                \
        if (rc_)                                                                                   \
            print_error("%s\n", w->err.text);                                                      \
        assert_int_equal(rc_, SBX_OK);                                                             \
    } while (0)

/** First call of main(): find Engine and image. 0, or 77 with a loud line. */
int find_image(void);
int setup(void **state);         /* a world, empty */
int setup_running(void **state); /* with the container "one", started */
int teardown(void **state);      /* whatever a test left of this app is removed */

/** A pipe that a thread reads to its end; returns the end to write to, the caller's to close. */
struct drain {
    int fd;
    struct sbx_buf b;
    pthread_t thread;
};
int start_drain(struct drain *d);
/** A file without a name that holds these bytes, at its start. */
int feed(const void *data, size_t len);
/** An exec with nothing attached. */
struct sbx_exec bare(const char *const *argv);
/** Run in `w->id` with out and err captured; the caller releases them. */
enum sbx_code run(struct world *w, struct sbx_exec *x, struct sbx_buf *out, struct sbx_buf *err,
                  int *status);
#define SH(script) ((const char *const[]){ "sh", "-c", script, NULL })
/** The same of a script that must run; its status. */
int shell(struct world *w, const char *script, struct sbx_buf *out);

#define PLAIN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define RUNNING(test) cmocka_unit_test_setup_teardown(test, setup_running, teardown)

#endif
