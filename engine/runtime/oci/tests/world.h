/* A runtime on a directory of its own, with a small image: static busybox and a few files. */
#ifndef SBX_TEST_WORLD_H
#define SBX_TEST_WORLD_H

#include "../../../store/tests/image.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "sbx/runtime.h"

struct world {
    char dir[64], state[80], cache[80], seccomp[300];
    char app[32]; /* names that no other test on this machine has */
    struct sbx_runtime *rt;
    struct sbx_arena *arena;
    struct sbx_err err;
};

#define BUSYBOX "/usr/bin/busybox"
#define IMAGE "sbx.test/busybox:1"

static struct sbx_buf busybox = SBX_BUF_INIT(16 << 20);

static inline void world_image(struct world *w)
{
    static const char *const applets[] = {
        "sh",    "true",   "cat",    "id",     "ls",    "sleep",   "mkdir",    "stat",
        "mount", "tty",    "stty",   "head",   "dd",    "grep",    "hostname", "chmod",
        "rm",    "ln",     "touch",  "wc",     "mknod", "unshare", "chroot",   "printf",
        "yes",   "env",    "pwd",    "kill",   "tail",  "sed",     "nsenter",  "swapon",
        "date",  "insmod", "md5sum", "umount", "mv",    "ps",      "test",     "sync",
    };
    struct test_image im = { .tag = IMAGE, .config = "{\"Env\":[\"PATH=/bin\"]}" };
    struct sbx_buf *out = &im.layer[0];
    char path[100], file[128];
    const char **names;
    size_t n;

    *out = (struct sbx_buf)SBX_BUF_INIT(32 << 20);
    im.n = 1;
    tar_add(out,
            &(struct member){
                .name = "bin/busybox", .mode = 0755, .data = busybox.ptr, .len = busybox.len });
    for (size_t i = 0; i < SBX_ARRAY_LEN(applets); i++) {
        snprintf(path, sizeof(path), "bin/%s", applets[i]);
        tar_add(out,
                &(struct member){ .name = path, .type = '2', .mode = 0777, .link = "busybox" });
    }
    tar_add(out,
            &(struct member){
                .name = "etc/passwd",
                .mode = 0644,
                .data = "root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n" });
    tar_add(out, &(struct member){ .name = "etc/group",
                                   .mode = 0644,
                                   .data = "root:x:0:\nagent:x:1000:\nextra:x:50:agent\n" });
    tar_add(out, &(struct member){
                     .name = "home/agent/", .type = '5', .mode = 0700, .uid = 1000, .gid = 1000 });
    tar_add(out, &(struct member){ .name = "home/agent/.profile",
                                   .mode = 0640,
                                   .uid = 1000,
                                   .gid = 1000,
                                   .data = "hello" });
    tar_add(out, &(struct member){ .name = "bin/setuid", .type = '0', .mode = 04755, .data = "x" });
    tar_add(out, &(struct member){ .name = "bin/text", .mode = 0644, .data = "no program" });
    tar_add(out, &(struct member){ .name = "tmp/", .type = '5', .mode = 01777 });
    tar_end(out);
    snprintf(file, sizeof(file), "%s/image.tar", w->dir);
    image_save(&im, file);
    assert_int_equal(sbx_runtime_image_load(w->rt, file, w->arena, &names, &n, &w->err), SBX_OK);
    assert_int_equal(n, 1);
    assert_string_equal(names[0], IMAGE);
}

static inline enum sbx_code world_reopen(struct world *w)
{
    struct sbx_runtime_config config = {
        .app = w->app,
        .state_dir = w->state,
        .cache_dir = w->cache,
        .seccomp = w->seccomp,
        .oci_runtime = getenv("SBX_TEST_OCI_RUNTIME"),
    };

    sbx_runtime_close(w->rt);
    w->rt = NULL;
    return sbx_runtime_open(SBX_RUNTIME_OCI, &config, &w->rt, &w->err);
}

static inline int world_up(void **state)
{
    static int worlds;
    struct world *w = calloc(1, sizeof(*w));

    snprintf(w->dir, sizeof(w->dir), SBX_TEST_TMP "/oci-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->state, sizeof(w->state), "%s/state", w->dir);
    snprintf(w->cache, sizeof(w->cache), "%s/cache", w->dir);
    snprintf(w->seccomp, sizeof(w->seccomp), "%s/engine/runtime/seccomp/profile.json",
             SBX_SOURCE_DIR);
    snprintf(w->app, sizeof(w->app), "t%d.%d", (int)getpid(), worlds++);
    w->arena = sbx_arena_new();
    *state = w;
    assert_int_equal(world_reopen(w), SBX_OK);
    world_image(w);
    return 0;
}

static inline int world_down(void **state)
{
    struct world *w = *state;
    struct sbx_container *list;
    size_t n = 0;

    if (w->rt && sbx_runtime_list(w->rt, w->arena, &list, &n, &w->err) == SBX_OK)
        for (size_t i = 0; i < n; i++)
            if (sbx_runtime_remove(w->rt, list[i].id, &w->err))
                print_message("%s\n", w->err.text);
    sbx_runtime_close(w->rt);
    sbx_arena_free(w->arena);
    assert_int_equal(sbx_dir_remove(AT_FDCWD, w->dir, &w->err), SBX_OK);
    free(w);
    return 0;
}

/* 0, or 77 after saying why nothing can be tested. */
static inline int world_can_run(void)
{
    char template[] = SBX_TEST_TMP "/probe-XXXXXX";
    struct sbx_runtime_config config = { .seccomp = "" };
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_runtime *rt = NULL;
    enum sbx_code rc;

    if (geteuid() != 0) {
        fprintf(stderr, "SKIPPED: containers are made as root only\n");
        return 77;
    }
    if (sbx_file_read(AT_FDCWD, BUSYBOX, &busybox, NULL) ||
        system("cd / && chroot / " BUSYBOX " true && ! ldd " BUSYBOX " >/dev/null 2>&1")) {
        fprintf(stderr, "SKIPPED: no static " BUSYBOX " (package busybox-static)\n");
        return 77;
    }
    config.state_dir = config.cache_dir = mkdtemp(template);
    config.oci_runtime = getenv("SBX_TEST_OCI_RUNTIME");
    rc = sbx_runtime_open(SBX_RUNTIME_OCI, &config, &rt, &err);
    sbx_runtime_close(rt);
    if (sbx_dir_remove(AT_FDCWD, template, NULL) || rc) {
        fprintf(stderr, "SKIPPED: %s\n", err.text);
        return 77;
    }
    return 0;
}

static inline enum sbx_code try_create(struct world *w, struct sbx_container_spec spec, char **ret)
{
    static const char *const idle[] = { "/bin/sleep", "100000", NULL };
    static const char *const env[] = { "PATH=/bin", "FROM=container", NULL };

    spec.image = spec.image ? spec.image : IMAGE;
    spec.argv = spec.argv ? spec.argv : idle;
    spec.env = spec.env ? spec.env : env;
    spec.hostname = spec.hostname ? spec.hostname : spec.name;
    return sbx_runtime_create(w->rt, &spec, ret, &w->err);
}

/* Created and started; the id lives in the world's arena. */
static inline const char *running(struct world *w, struct sbx_container_spec spec)
{
    char *id = NULL;
    const char *kept;
    enum sbx_code rc = try_create(w, spec, &id);

    if (!rc)
        rc = sbx_runtime_start(w->rt, id, &w->err);
    if (rc)
        print_message("%s\n", w->err.text);
    assert_int_equal(rc, SBX_OK);
    kept = sbx_arena_strdup(w->arena, id);
    free(id);
    return kept;
}

struct ran {
    int status;
    struct sbx_buf out;
};

#define EXEC_INIT                                                                                  \
    {                                                                                              \
        .in = -1, .out = -1, .err_fd = -1, .resize_fd = -1, .signal_fd = -1                        \
    }

/* Run with what it writes to stdout and stderr gathered in a file; text in the arena. */
static inline const char *output(struct world *w, const char *id, struct sbx_exec x, int *status)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(8 << 20);
    char path[128];
    enum sbx_code rc;

    snprintf(path, sizeof(path), "%s/out", w->dir);
    x.out = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    x.err_fd = x.out;
    rc = sbx_runtime_exec(w->rt, id, &x, status, &w->err);
    close(x.out);
    if (rc)
        print_message("%s\n", w->err.text);
    assert_int_equal(rc, SBX_OK);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &text, NULL), SBX_OK);
    return sbx_arena_strdup(w->arena, text.ptr ? text.ptr : "");
}

static inline const char *sh_as(struct world *w, const char *id, const char *user,
                                const char *script, int *status)
{
    const char *argv[] = { "/bin/sh", "-c", script, NULL };
    struct sbx_exec x = EXEC_INIT;

    x.argv = argv;
    x.user = user;
    return output(w, id, x, status);
}

/* Output of a script that must succeed. */
static inline const char *sh(struct world *w, const char *id, const char *script)
{
    int status = -1;
    const char *text = sh_as(w, id, "0", script, &status);

    if (status)
        print_message("%s: %d: %s\n", script, status, text);
    assert_int_equal(status, 0);
    return text;
}

#endif
