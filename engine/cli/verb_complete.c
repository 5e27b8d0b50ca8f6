/* Hidden: what the completion scripts ask. */
#include <dirent.h>

#include "complete.h"
#include "sbx/sandbox.h"
#include "verbs.h"

/* Names from the state directory: no lock, no runtime, so that TAB is quick. */
static void names(const char *app, void (*name)(void *ctx, const char *text), void *ctx)
{
    SBX_AUTO(sbx_paths) paths = { 0 };
    SBX_AUTO_FREE char *dir = NULL;
    struct sbx_err err;
    struct dirent *e;
    DIR *d;

    if (sbx_paths_init(app, &paths, &err) || asprintf(&dir, "%s/sandboxes", paths.state) < 0)
        return;
    d = opendir(dir);
    while (d && (e = readdir(d)))
        if (!sbx_name_check(e->d_name, NULL)) /* what is none would be typed into a shell */
            name(ctx, e->d_name);
    if (d)
        closedir(d);
}

static enum sbx_code complete(struct sbx_cli *cli, struct sbx_err *err)
{
    (void)err;
    sbx_complete(cli->args.v, cli->args.n, names, cli->out);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_complete = {
    .name = "__complete",
    .summary = "Candidates for an unfinished command line",
    .args = "-- WORD...",
    .max = 100000,
    .hidden = true,
    .run = complete,
};
