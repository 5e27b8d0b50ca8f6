#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "docker.h"
#include "layouts.h"
#include "sbx/file.h"

#define PROFILE SBX_SOURCE_DIR "/engine/runtime/seccomp/profile.json"

const char *image;
char app[32];

static const struct sbx_runtime_config *config(void)
{
    static struct sbx_runtime_config c;

    c.app = app;
    c.seccomp = PROFILE;
    c.docker_host = getenv("DOCKER_HOST");
    return &c;
}

const char *const idle[] = { "sleep", "1000", NULL };

int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    w->arena = sbx_arena_new();
    ASSERT_OK(sbx_runtime_open(SBX_RUNTIME_DOCKER, config(), &w->rt, &w->err));
    return 0;
}

int setup_running(void **state)
{
    struct sbx_container_spec spec = {
        .name = "one", .image = image, .argv = idle, .hostname = "one"
    };
    struct world *w;

    setup(state);
    w = *state;
    if (sbx_runtime_create(w->rt, &spec, &w->id, &w->err) == SBX_OK &&
        sbx_runtime_start(w->rt, w->id, &w->err) == SBX_OK)
        return 0;
    print_error("%s\n", w->err.text);
    teardown(state); /* cmocka calls it only after a setup that went well */
    return -1;
}

int teardown(void **state)
{
    struct world *w = *state;
    struct sbx_container *list;
    const char **volumes;
    size_t n;

    ASSERT_OK(sbx_runtime_list(w->rt, w->arena, &list, &n, &w->err));
    for (size_t i = 0; i < n; i++)
        ASSERT_OK(sbx_runtime_remove(w->rt, list[i].id, &w->err));
    ASSERT_OK(sbx_runtime_volume_list(w->rt, w->arena, &volumes, &n, &w->err));
    for (size_t i = 0; i < n; i++)
        ASSERT_OK(sbx_runtime_volume_remove(w->rt, volumes[i], &w->err));
    sbx_runtime_close(w->rt);
    sbx_arena_free(w->arena);
    free(w->id);
    free(w);
    return 0;
}

static void *drain(void *arg)
{
    struct drain *d = arg;
    char piece[65536];
    ssize_t n;

    while ((n = read(d->fd, piece, sizeof(piece))) > 0)
        if (sbx_buf_add(&d->b, piece, (size_t)n))
            break;
    close(d->fd);
    return NULL;
}

int start_drain(struct drain *d)
{
    int p[2];

    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    *d = (struct drain){ .fd = p[0], .b = SBX_BUF_INIT(256 << 20) };
    assert_int_equal(pthread_create(&d->thread, NULL, drain, d), 0);
    return p[1];
}

int feed(const void *data, size_t len)
{
    char name[] = SBX_TEST_TMP "/test-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);

    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(write(fd, data, len), (ssize_t)len);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

struct sbx_exec bare(const char *const *argv)
{
    return (struct sbx_exec){
        .argv = argv, .in = -1, .out = -1, .err_fd = -1, .resize_fd = -1, .signal_fd = -1
    };
}

enum sbx_code run(struct world *w, struct sbx_exec *x, struct sbx_buf *out, struct sbx_buf *err,
                  int *status)
{
    struct drain a, b;
    enum sbx_code rc;

    x->out = start_drain(&a);
    x->err_fd = start_drain(&b);
    rc = sbx_runtime_exec(w->rt, w->id, x, status, &w->err);
    close(x->out);
    close(x->err_fd);
    pthread_join(a.thread, NULL);
    pthread_join(b.thread, NULL);
    *out = a.b;
    *err = b.b;
    if (!out->ptr)
        assert_int_equal(sbx_buf_adds(out, ""), SBX_OK);
    if (!err->ptr)
        assert_int_equal(sbx_buf_adds(err, ""), SBX_OK);
    return rc;
}

int shell(struct world *w, const char *script, struct sbx_buf *out)
{
    struct sbx_exec x = bare(SH(script));
    SBX_AUTO(sbx_buf) err = { 0 };
    int status = -1;

    ASSERT_OK(run(w, &x, out, &err, &status));
    return status;
}

#define TINY "sbx.local/test-busybox:1"

/* No base image: one of busybox is made and left, for the tests that come after. */
static const char *make_tiny(struct world *w)
{
    char dir[] = SBX_TEST_TMP "/busybox-XXXXXX";
    const char **names, *made = NULL;
    size_t n;

    if (!mkdtemp(dir))
        return NULL;
    if (make_busybox_layout(w, dir, TINY, ((struct docker *)w->rt)->arch) &&
        sbx_runtime_image_load(w->rt, dir, w->arena, &names, &n, &w->err) == SBX_OK)
        made = TINY;
    if (sbx_dir_remove(AT_FDCWD, dir, &w->err))
        fprintf(stderr, "%s\n", w->err.text);
    return made;
}

int find_image(void)
{
    struct world world = { 0 }, *w = &world;
    const char *forced = getenv("SBX_TEST_IMAGE"); /* to try the tests on another image */
    const char *const wanted[] = { forced ? forced : "sbx.local/base:bookworm", TINY };
    struct sbx_image found;

    snprintf(app, sizeof(app), "t%d", (int)getpid());
    if (sbx_runtime_open(SBX_RUNTIME_DOCKER, config(), &w->rt, &w->err)) {
        fprintf(stderr, "SKIPPED: no container Engine for this test: %s\n", w->err.text);
        return 77;
    }
    w->arena = sbx_arena_new();
    for (size_t i = 0; i < SBX_ARRAY_LEN(wanted) && !image; i++)
        if (sbx_runtime_image_ensure(w->rt, wanted[i], SBX_PULL_NEVER, NULL, w->arena, &found,
                                     &w->err) == SBX_OK)
            image = wanted[i];
    if (!image)
        image = make_tiny(w);
    sbx_arena_free(w->arena);
    sbx_runtime_close(w->rt);
    if (!image)
        fprintf(stderr, "SKIPPED: no image to test with: run scripts/base-image.sh, or install "
                        "busybox-static\n");
    return image ? 0 : 77;
}
