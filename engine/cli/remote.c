#include "remote.h"

#include <string.h>
#include <sys/stat.h>

#include "blobs.h"
#include "sbx/builtin.h"
#include "sbx/resolve.h"
#include "sbx/sandbox.h"
#include "userfiles.h"

const struct sbx_opt sbx_remote_rows[] = {
    SBX_SWITCH(struct sbx_remote_opts, plain_http, "plain-http", 0,
               "Speak HTTP without TLS to the registry (one on this machine needs no flag)"),
    SBX_OPT_END
};

struct io {
    struct sbx_kit_io io;
    struct sbx_cli *cli;
    struct sbx_paths paths;
    struct sbx_remote inner; /* what sbx_cli_remote() wraps */
};

static void release(void *p) { sbx_paths_release(p); }

static enum sbx_code new_io(struct sbx_cli *cli, const struct sbx_remote_opts *o, struct io **ret,
                            struct sbx_err *err)
{
    struct io *io = sbx_arena_alloc(cli->arena, sizeof(*io));
    struct sbx_blobs *blobs = sbx_blobs_of(cli);
    enum sbx_code rc;

    if (!io || !blobs)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_paths_init(cli->global.app, &io->paths, err);
    if (rc)
        return rc;
    if (sbx_arena_defer(cli->arena, release, &io->paths)) {
        sbx_paths_release(&io->paths);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    io->cli = cli;
    io->io = (struct sbx_kit_io){ .cache = io->paths.cache,
                                  .plain_http = o && o->plain_http,
                                  .progress = &blobs->progress };
    *ret = io;
    return SBX_OK;
}

enum sbx_code sbx_cli_registries(struct sbx_cli *cli, const struct sbx_settings *settings,
                                 struct sbx_err *err)
{
    struct sbx_registry_host *v = sbx_arena_array(cli->arena, settings->n_registries + 1,
                                                  sizeof(*v));

    if (!v)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < settings->n_registries; i++) {
        const struct sbx_settings_registry *r = &settings->registries[i];

        v[i] = (struct sbx_registry_host){ r->host, r->mirrors, r->plain_http };
    }
    sbx_registry_hosts(v, settings->n_registries);
    return SBX_OK;
}

/* What settings.yaml says of registries. */
static enum sbx_code read_settings(struct io *io, struct sbx_err *err)
{
    struct sbx_user_files files = { .policy = { .preset = NULL } };
    enum sbx_code rc = sbx_user_files_read(io->cli, &io->paths, &files, err);

    return rc ? rc : sbx_cli_registries(io->cli, &files.settings, err);
}

enum sbx_code sbx_cli_kit_io(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                             const struct sbx_kit_io **ret, struct sbx_err *err)
{
    struct io *io = NULL;
    enum sbx_code rc = new_io(cli, o, &io, err);

    if (!rc)
        rc = read_settings(io, err);
    if (!rc)
        *ret = &io->io;
    return rc;
}

void sbx_cli_trim(struct sbx_cli *cli)
{
    struct sbx_user_files files = { .policy = { .preset = NULL } };
    SBX_AUTO_PTR(sbx_cache) cache = NULL;
    SBX_AUTO(sbx_paths) paths = { 0 };
    int64_t unused;

    if (sbx_paths_init(cli->global.app, &paths, NULL) ||
        sbx_user_files_read(cli, &paths, &files, NULL) ||
        sbx_cache_open(paths.cache, &cache, NULL) ||
        sbx_cache_trim(cache, files.settings.cache_max, cli->began, &unused, NULL))
        return; /* another time */
}

/* A command that fetches nothing does not read settings for it. */
static enum sbx_code load(void *data, const struct sbx_ref *ref,
                          const struct sbx_kit_options *options, struct sbx_diags *diags,
                          struct sbx_artifact **ret, struct sbx_err *err)
{
    struct io *io = data;
    enum sbx_code rc = read_settings(io, err);

    return rc ? rc : io->inner.load(io->inner.data, ref, options, diags, ret, err);
}

static enum sbx_code look(void *data, const struct sbx_ref *ref, bool hurry,
                          struct sbx_arena *arena, const char **ret, struct sbx_err *err)
{
    struct io *io = data;
    enum sbx_code rc = read_settings(io, err);

    return rc ? rc : io->inner.look(io->inner.data, ref, hurry, arena, ret, err);
}

const struct sbx_remote *sbx_cli_remote(struct sbx_cli *cli, const struct sbx_remote_opts *o)
{
    struct sbx_remote *remote = sbx_arena_alloc(cli->arena, sizeof(*remote));
    struct io *io = NULL;

    if (!remote || new_io(cli, NULL, &io, NULL))
        return NULL;
    io->io.plain_too = o && o->plain_http;
    sbx_resolve_remote(&io->io, &io->inner);
    *remote = (struct sbx_remote){ .data = io, .load = load, .look = look };
    return remote;
}

enum sbx_code sbx_cli_pin(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                          const char *reference, const char **ret, struct sbx_err *err)
{
    const struct sbx_remote *remote = sbx_cli_remote(cli, o);
    struct sbx_ref ref;
    struct stat st;
    enum sbx_code rc;

    *ret = reference;
    if (!strcmp(reference, "-") || !stat(reference, &st))
        return SBX_OK;
    rc = sbx_ref_parse(reference, cli->arena, &ref, err);
    if (rc || ref.immutable || !remote)
        return rc;
    return remote->look(remote->data, &ref, false, cli->arena, ret, err);
}

const char *sbx_cli_kit_word(struct sbx_cli *cli, const char *word)
{
    const char *kit = sbx_resolve_word(word, cli->arena);

    if (kit && kit != word && sbx_builtin_kit(word))
        sbx_cli_note(cli, "note: this is the directory %s, not the built-in kit \"%s\"", kit, word);
    return kit;
}
