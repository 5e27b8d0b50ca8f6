#include "world.h"

#include "sbx/file.h"

#include <fcntl.h>
#include <sys/stat.h>

static void on_event(void *ctx, const struct sbx_event *event)
{
    static const char *const kinds[] = { "step", "output", "done", "failed", "warning", "note" };
    struct world *w = ctx;
    size_t used = strlen(w->events);

    snprintf(w->events + used, sizeof(w->events) - used, "%s %s %s\n", kinds[event->kind],
             event->step ? event->step : "-", event->text ? event->text : "");
}

/* Remember what the batches write; answer nothing, which the engine takes from the fake. */
static int on_batch(void *ctx, const struct sbx_fake_exec *e)
{
    struct world *w = ctx;
    size_t used = strlen(w->input), n = e->in->len;

    if (n > sizeof(w->input) - used - 1)
        n = sizeof(w->input) - used - 1;
    if (n)
        memcpy(w->input + used, e->in->ptr, n);
    return n ? 0 : SBX_FAKE_PASS;
}

static void environment(struct world *w)
{
    static const char *const rows[][2] = { { "XDG_STATE_HOME", "state" },
                                           { "XDG_CONFIG_HOME", "config" },
                                           { "XDG_CACHE_HOME", "cache" },
                                           { "HOME", "home" } };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", w->dir, rows[i][1]);
        assert_int_equal(mkdir(path, 0700), 0);
        setenv(rows[i][0], path, 1);
    }
    unsetenv("SBX_FAULT");
    snprintf(w->workspace, sizeof(w->workspace), "%s/work", w->dir);
    assert_int_equal(mkdir(w->workspace, 0755), 0);
}

static void add_image(struct sbx_runtime *rt)
{
    static const char *const env[] = { "PATH=/image/bin", "IMAGE=1", "HOME=/root", NULL };
    struct sbx_image image = { .reference = "registry.example.com/agentix:1", .env = env };

    sbx_fake_image(rt, &image, true);
}

int world_up(void **state)
{
    static const char *const kits[] = { KITS "base", KITS "one", KITS "two", KITS "three", NULL };
    struct world *w = calloc(1, sizeof(*w));
    struct sbx_engine_config config = { .app = "unit", .event = on_event, .ctx = w };
    struct sbx_runtime_config rt = { .app = "unit" };
    struct sbx_err err = SBX_ERR_INIT;

    strcpy(w->dir, SBX_TEST_TMP "/unit-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    environment(w);
    assert_int_equal(pipe2(w->interrupt, O_CLOEXEC), 0);
    config.interrupt_fd = w->interrupt[0];
    if (sbx_engine_open(&config, &w->e, &err) ||
        sbx_runtime_open(SBX_RUNTIME_FAKE, &rt, &w->rt, &err))
        fail_msg("%s", err.text);
    sbx_engine_use_runtime(w->e, w->rt);
    add_image(w->rt);
    sbx_fake_on_exec(w->rt, "", on_batch, w);
    w->kit = compose(kits);
    w->arena = sbx_arena_new();
    *state = w;
    return 0;
}

int world_down(void **state)
{
    struct world *w = *state;

    sbx_engine_close(w->e);
    sbx_artifact_free(w->kit);
    sbx_arena_free(w->arena);
    close(w->interrupt[0]);
    close(w->interrupt[1]);
    (void)!sbx_dir_remove(AT_FDCWD, w->dir, NULL);
    free(w);
    return 0;
}

struct sbx_create world_create(struct world *w)
{
    static struct sbx_workspace workspace;

    workspace = (struct sbx_workspace){ w->workspace, false };
    return (struct sbx_create){ .name = "demo", .runtime = SBX_RUNTIME_FAKE, .artifact = w->kit,
                                .workspaces = &workspace, .n_workspaces = 1 };
}

enum sbx_code create_demo(struct world *w, const struct sbx_create *c, struct sbx_err *err)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    const char *name = NULL;

    assert_int_equal(sbx_diags_init(&diags), SBX_OK);
    return sbx_sandbox_create(w->e, c, &diags, w->arena, &name, err);
}

bool there(struct world *w, const char *rest)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", w->dir, rest);
    return !lstat(path, &st);
}

void nothing_is_left(struct world *w)
{
    assert_int_equal(sbx_fake_containers(w->rt), 0);
    assert_int_equal(sbx_fake_volumes(w->rt), 0);
    assert_false(there(w, "state/sbx/apps/unit/sandboxes/demo"));
}

enum sbx_status status_of(struct world *w)
{
    struct sbx_sandbox_info info;
    struct sbx_err err = SBX_ERR_INIT;

    if (sbx_sandbox_inspect(w->e, "demo", w->arena, &info, &err))
        fail_msg("%s", err.text);
    return info.status;
}

void put_file(const char *dir, const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, text, strlen(text), 0644, NULL), SBX_OK);
}
