/* Kits on their way in: pull, resolve. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "groups.h"
#include "out.h"
#include "remote.h"
#include "sbx/file.h"
#include "sbx/git.h"
#include "verbs.h"

struct pull_opts {
    struct sbx_remote_opts remote;
};
static const struct sbx_opt_group groups[] = {
    SBX_GROUP("Registry", sbx_remote_rows, struct pull_opts, remote),
};

static enum sbx_code require_free(const char *dir, struct sbx_err *err)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    bool empty = true;

    if (!d && errno == ENOENT)
        return SBX_OK;
    if (!d && errno != ENOTDIR)
        return sbx_err_errno(err, "%s", dir);
    if (!d)
        return sbx_err_set(err, SBX_EXISTS,
                           "%s: there is a file in the way; name a new or empty directory", dir);
    while (empty && (e = readdir(d)))
        empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    closedir(d);
    return empty ? SBX_OK
                 : sbx_err_set(err, SBX_EXISTS, "%s exists and is not an empty directory", dir);
}

static enum sbx_code bring(const struct sbx_kit_io *io, const struct sbx_ref *ref, bool *ret_mine,
                           char **ret_dir, struct sbx_err *err)
{
    struct sbx_git_source source = { .url = ref->url,
                                     .commit = ref->revision,
                                     .subdir = ref->subdir };
    struct sbx_place place = sbx_place_of(ref);
    enum sbx_code rc;

    if (ref->kind != SBX_REF_GIT)
        return sbx_kit_unpack(io, &place, ret_mine, ret_dir, err);
    rc = sbx_git_fetch(io->cache, &source, ret_dir, err);
    return rc ? sbx_err_wrap(err, rc, "kit %s", ref->text) : SBX_OK;
}

/* A kit that does not load is not handed out. */
static enum sbx_code fetch(struct sbx_cli *cli, const struct sbx_kit_io *io,
                           const struct sbx_ref *ref, const char *to, struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    SBX_AUTO_FREE char *dir = NULL;
    bool mine = false;
    enum sbx_code rc = bring(io, ref, &mine, &dir, err);

    if (rc)
        return rc;
    rc = sbx_kit_check(dir, &cli->diags, &a, err);
    sbx_cli_report(cli);
    if (!rc)
        return mine ? sbx_kit_move(dir, to, err) : sbx_kit_copy(dir, to, err);
    if (mine && sbx_dir_remove(AT_FDCWD, dir, NULL))
        return rc; /* "sbx cache prune" removes it */
    return rc;
}

static bool is_file(const char *text)
{
    struct stat st;

    return !stat(text, &st) && S_ISREG(st.st_mode);
}

static enum sbx_code pull(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct pull_opts *o = cli->options;
    const char *reference = cli->args.v[0], *to = cli->args.v[1];
    const struct sbx_kit_io *io = NULL;
    struct sbx_remote remote;
    struct sbx_ref ref;
    enum sbx_code rc = sbx_cli_kit_io(cli, &o->remote, &io, err);

    if (!rc && is_file(reference))
        rc = sbx_err_wrap(err, sbx_kit_not_a_directory(reference, err), "%s", reference);
    if (!rc)
        rc = sbx_ref_parse(reference, cli->arena, &ref, err);
    if (!rc && (ref.kind == SBX_REF_NAME || ref.kind == SBX_REF_DIRECTORY))
        rc = sbx_err_set(err, SBX_SCHEMA,
                         "%.200s is neither in a registry nor in git: write HOST/REPOSITORY@sha256:<digest>, "
                         "oci-layout:DIR@sha256:<digest> or git+https://HOST/REPO#ref=<40-hex commit>",
                         reference);
    if (rc)
        return rc;
    sbx_resolve_remote(io, &remote);
    rc = sbx_remote_require_immutable(&remote, &ref, cli->arena, err);
    if (!rc)
        rc = require_free(to, err);
    if (!rc)
        rc = fetch(cli, io, &ref, to, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli,
                             json_pack("{s:s,s:s,s:s}", "reference", reference,
                                       ref.kind == SBX_REF_GIT ? "commit" : "digest",
                                       ref.kind == SBX_REF_GIT ? ref.revision : ref.digest,
                                       "directory", to),
                             err);
    fprintf(cli->out, "Pulled %s into %s\n", reference, sbx_out_clean(cli->arena, to));
    return SBX_OK;
}

static enum sbx_code resolve(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct pull_opts *o = cli->options;
    const char *now = NULL;
    struct sbx_ref ref;
    enum sbx_code rc = sbx_cli_pin(cli, &o->remote, cli->args.v[0], &now, err);

    if (!rc && now == cli->args.v[0]) { /* one that cannot move, or a path */
        rc = sbx_ref_parse(now, cli->arena, &ref, err);
        if (!rc && ref.kind == SBX_REF_OCI)
            now = sbx_arena_printf(cli->arena, "oci://%s/%s@%s", ref.registry, ref.repository,
                                   ref.digest);
    }
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(
            cli, json_pack("{s:s,s:s}", "reference", cli->args.v[0], "resolved", now), err);
    fprintf(cli->out, "%s\n", now);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_kit_pull = {
    .name = "pull",
    .summary = "Fetch a kit into a directory",
    .args = "REFERENCE DIRECTORY",
    .about =
        "REFERENCE names a digest or a commit, as \"sbx kit push\" and \"sbx kit resolve\" print it: tags and\n"
        "branches can move.\n"
        "DIRECTORY must not exist or be empty. What is pulled and pushed again has the same digest.",
    .example = "sbx kit pull oci://ghcr.io/me/my-kit@sha256:0123... ./my-kit",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct pull_opts),
    .min = 2,
    .max = 2,
    .words = SBX_WORDS_DIRS,
    .run = pull,
};

const struct sbx_verb sbx_verb_kit_resolve = {
    .name = "resolve",
    .summary = "Print the immutable reference of a kit",
    .args = "REFERENCE",
    .about =
        "A tag (of git also a branch, or the first digits of a commit that is one) is looked up; printed is\n"
        "what --kit, extends and mixins take. A reference that cannot move is printed as it is, without\n"
        "asking anybody.",
    .example = "sbx run shell --kit \"$(sbx kit resolve ghcr.io/me/my-kit:1.0)\"\n"
               "sbx kit resolve 'git+https://github.com/me/kits.git#ref=v1.0&dir=my-kit'",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct pull_opts),
    .min = 1,
    .max = 1,
    .run = resolve,
};
