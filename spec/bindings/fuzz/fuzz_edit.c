/*
 * Any file as a user's credentials.yaml that is changed: a change that is said to be made is made, and
 * no other binding or remembered choice is another afterwards; one that failed left every byte alone.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bindings_int.h"
#include "sbx/bindings.h"
#include "sbx/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[64], path[96];

static void clean_up(void)
{
    char lock[128];

    snprintf(lock, sizeof(lock), "%s.lock", path);
    unlink(lock);
    unlink(path);
    rmdir(dir);
}

static void make_place(void)
{
    const char *base = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm"; /* it is written for each input */

    snprintf(dir, sizeof(dir), "%s/sbx-fuzz-edit.XXXXXX", base);
    if (!mkdtemp(dir))
        abort();
    snprintf(path, sizeof(path), "%s/credentials.yaml", dir);
    atexit(clean_up);
}

static void put(const void *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || sbx_write_all(fd, text, len))
        abort();
    close(fd);
}

/* What a binding says, as text: its own canonical lines. */
static void say(const struct sbx_binding *b, struct sbx_buf *out)
{
    if (sbx_credentials_write_one(b, 0, out))
        __builtin_trap();
}

static void check_bindings(const struct sbx_credentials *old, const struct sbx_credentials *now,
                           const struct sbx_credentials_change *k)
{
    const char *id = k->set ? k->set->id : k->remove;

    if (k->set && !sbx_credentials_find(now, id))
        __builtin_trap();
    for (size_t i = 0; i < old->bindings.len; i++) {
        SBX_AUTO(sbx_buf) a = SBX_BUF_INIT(1 << 24), b = SBX_BUF_INIT(1 << 24);
        const struct sbx_binding *same = sbx_credentials_find(now, old->bindings.v[i].id);

        if (id && !strcmp(id, old->bindings.v[i].id)) {
            if (k->remove && same)
                __builtin_trap();
            continue;
        }
        if (!same)
            __builtin_trap();
        say(&old->bindings.v[i], &a);
        say(same, &b);
        if (a.len != b.len || memcmp(a.ptr, b.ptr, a.len))
            __builtin_trap();
    }
}

static void check_remembered(const struct sbx_credentials *old, const struct sbx_credentials *now,
                             const struct sbx_credentials_change *k)
{
    for (size_t i = 0; i < old->n_remembered; i++) {
        const struct sbx_remembered *m = &old->remembered[i];
        const char *got = sbx_credentials_remembered(now, m->workspace, m->service);

        if (k->workspace && !strcmp(m->workspace, k->workspace) && !strcmp(m->service, k->service))
            continue;
        if (!got || strcmp(got, sbx_credentials_remembered(old, m->workspace, m->service)))
            __builtin_trap();
    }
}

static void change(const uint8_t *data, size_t size, const struct sbx_credentials_change *k)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO(sbx_buf) after = SBX_BUF_INIT(1 << 24);
    struct sbx_credentials old = { 0 }, now = { 0 };
    struct sbx_err err;
    bool was_valid;

    if (!arena || sbx_diags_init(&diags))
        abort();
    put(size ? (const char *)data : "", size);
    was_valid = !sbx_credentials_load(path, arena, &diags, &old, &err);
    if (sbx_credentials_edit(path, k, &diags, &err)) {
        if (sbx_file_read(AT_FDCWD, path, &after, &err) || after.len != size ||
            (size && memcmp(after.ptr, data, size)))
            __builtin_trap();
        return;
    }
    if (!was_valid || sbx_credentials_load(path, arena, &diags, &now, &err))
        __builtin_trap();
    check_bindings(&old, &now, k);
    check_remembered(&old, &now, k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const hosts[] = { "api.github.com", "*.github.com" };
    static struct sbx_origin places[2];
    struct sbx_binding binding = { .id = "github", .service = "github",
                                   .api_key_domains = { (const char **)hosts, places, 2, true },
                                   .oauth_domains = { (const char **)hosts, places, 2, true } };
    const struct sbx_credentials_change changes[] = {
        { .set = &binding },
        { .remove = "github" },
        { .workspace = "/w", .service = "github", .binding = "github" },
        { .workspace = "/w", .service = "github" },
        { .set = &binding, .workspace = "/w", .service = "github", .binding = "github" },
    };

    if (!*dir)
        make_place();
    for (size_t i = 0; i < SBX_ARRAY_LEN(changes); i++)
        change(data, size, &changes[i]);
    return 0;
}
