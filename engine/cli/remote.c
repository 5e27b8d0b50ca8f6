#include "remote.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "out.h"
#include "sbx/sandbox.h"

#define TOLD_MIN 1000000 /* bytes; smaller blobs are over before a line is read */
#define REDRAW_MS 100    /* between two states of a bar */

const struct sbx_opt sbx_remote_rows[] = {
    SBX_SWITCH(struct sbx_remote_opts, plain_http, "plain-http", 0,
               "Speak HTTP without TLS to the registry (one on this machine needs no flag)"),
    SBX_OPT_END
};

struct io {
    struct sbx_kit_io io;
    struct sbx_oci_progress progress;
    struct sbx_cli *cli;
    struct sbx_paths paths;
    bool terminal;
    long drawn_ms, began_ms;
    char digest[SBX_DIGEST_TEXT_SIZE]; /* of the blob on its way */
};

static long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void draw(struct io *io, int64_t done, int64_t total, long now)
{
    double seconds = (double)(now - io->began_ms) / 1000;
    double rate = seconds > 0.2 ? (double)done / seconds : 0;

    io->drawn_ms = now;
    fprintf(io->cli->err, "\r\033[K%.19s  %s of %s", io->digest,
            sbx_out_size(io->cli->arena, done), sbx_out_size(io->cli->arena, total));
    if (rate > 0 && done < total)
        fprintf(io->cli->err, "  %s/s  %.0f s left",
                sbx_out_size(io->cli->arena, (long long)rate), (double)(total - done) / rate);
    if (done >= total)
        fprintf(io->cli->err, "\n");
    fflush(io->cli->err);
}

static void on_bytes(void *ctx, const char *digest, int64_t done, int64_t total)
{
    struct io *io = ctx;
    long now = now_ms();

    if (strcmp(io->digest, digest) != 0) {
        snprintf(io->digest, sizeof(io->digest), "%s", digest);
        io->began_ms = now;
        io->drawn_ms = 0;
    }
    if (total < TOLD_MIN)
        return;
    if (io->cli->format == SBX_FORMAT_JSON) {
        if (done >= total || now - io->drawn_ms >= 10 * REDRAW_MS)
            fprintf(io->cli->err, "{\"event\":\"blob\",\"digest\":\"%s\",\"done\":%lld,\"total\":%lld}\n",
                    digest, (long long)done, (long long)total);
        if (now - io->drawn_ms >= 10 * REDRAW_MS)
            io->drawn_ms = now;
    } else if (io->terminal && (done >= total || now - io->drawn_ms >= REDRAW_MS)) {
        draw(io, done, total, now);
    } else if (!io->terminal && done >= total) {
        fprintf(io->cli->err, "%.19s  %s\n", digest, sbx_out_size(io->cli->arena, total));
    }
}

static void release(void *p) { sbx_paths_release(p); }

enum sbx_code sbx_cli_kit_io(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                             const struct sbx_kit_io **ret, struct sbx_err *err)
{
    struct io *io = sbx_arena_alloc(cli->arena, sizeof(*io));
    enum sbx_code rc;

    if (!io)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_paths_init(cli->global.app, &io->paths, err);
    if (rc)
        return rc;
    if (sbx_arena_defer(cli->arena, release, &io->paths)) {
        sbx_paths_release(&io->paths);
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    io->cli = cli;
    io->terminal = isatty(STDERR_FILENO) && cli->format == SBX_FORMAT_TABLE;
    io->progress = (struct sbx_oci_progress){ .bytes = on_bytes, .ctx = io };
    io->io = (struct sbx_kit_io){ .cache = io->paths.cache,
                                  .plain_http = o && o->plain_http,
                                  .progress = &io->progress };
    *ret = &io->io;
    return SBX_OK;
}

const struct sbx_remote *sbx_cli_remote(struct sbx_cli *cli, const struct sbx_remote_opts *o)
{
    struct sbx_remote *remote = sbx_arena_alloc(cli->arena, sizeof(*remote));
    const struct sbx_kit_io *io;

    if (!remote || sbx_cli_kit_io(cli, o, &io, NULL))
        return NULL;
    sbx_resolve_remote(io, remote);
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
