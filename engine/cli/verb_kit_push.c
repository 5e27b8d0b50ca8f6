/* Kits on their way out: push, pack, delete. */
#include <string.h>

#include "groups.h"
#include "out.h"
#include "remote.h"
#include "verbs.h"

static const char *const anchors[] = { "auto", "copy", "none", NULL };

struct push_opts {
    struct sbx_remote_opts remote;
    const char *anchor;
};
static const struct sbx_opt push_rows[] = {
    SBX_TEXT(struct push_opts, anchor, "anchor", 0, "HOW",
             "Keep the image with the kit: auto (within one registry), copy or none",
             .choices = anchors),
    SBX_REFUSED("sign", 0, SBX_OPT_SWITCH, NULL, "signing kits is not built"), SBX_OPT_END
};
static const struct sbx_opt_group push_groups[] = {
    { .v = push_rows },
    SBX_GROUP("Registry", sbx_remote_rows, struct push_opts, remote),
};

struct pack_opts {
    const char *file, *tag;
};
static const struct sbx_opt pack_rows[] = {
    SBX_TEXT(struct pack_opts, file, "file", 'o', "FILE", "Write the archive here (required)"),
    SBX_TEXT(struct pack_opts, tag, "tag", 't', "TAG", "Name of the kit in it (default: latest)"),
    SBX_OPT_END
};
static const struct sbx_opt_group pack_groups[] = { { .v = pack_rows } };

struct delete_opts {
    struct sbx_remote_opts remote;
    bool force;
};
static const struct sbx_opt delete_rows[] = {
    SBX_SWITCH(struct delete_opts, force, "force", 'f',
               "Delete other tags of the same kit too, where the registry deletes by digest"),
    SBX_OPT_END
};
static const struct sbx_opt_group delete_groups[] = {
    { .v = delete_rows },
    SBX_GROUP("Registry", sbx_remote_rows, struct delete_opts, remote),
};

/* `key`: what `where` is, "reference" or "file". */
static enum sbx_code tell(struct sbx_cli *cli, const struct sbx_pushed *p, const char *key,
                          const char *where, struct sbx_err *err)
{
    return sbx_out_value(cli,
                         json_pack("{s:s,s:s,s:s?,s:s?}", key, where, "digest", p->digest, "image",
                                   p->image, "anchor", p->anchor),
                         err);
}

static enum sbx_code push(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct push_opts *o = cli->options;
    const struct sbx_kit_io *io;
    struct sbx_pushed pushed;
    struct sbx_place place;
    const char *reference;
    enum sbx_anchor anchor = SBX_ANCHOR_AUTO;
    enum sbx_code rc = sbx_cli_kit_io(cli, &o->remote, &io, err);

    if (o->anchor && strcmp(o->anchor, "auto") != 0)
        anchor = strcmp(o->anchor, "copy") ? SBX_ANCHOR_NONE : SBX_ANCHOR_COPY;
    if (!rc)
        rc = sbx_place_parse(cli->args.v[1], cli->arena, &place, err);
    if (!rc)
        rc = sbx_kit_push(io, cli->args.v[0], &place, anchor, &cli->diags, cli->arena, &pushed,
                          err);
    sbx_cli_report(cli);
    if (rc)
        return rc;
    reference = sbx_place_pinned(cli->arena, &place, pushed.digest);
    if (!reference)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (pushed.note)
        sbx_cli_note(cli, "note: %s", pushed.note);
    if (cli->format != SBX_FORMAT_TABLE)
        return tell(cli, &pushed, "reference", reference, err);
    if (pushed.image && pushed.anchor) /* what was pushed is not what is on the disk */
        sbx_cli_note(cli, "note: its image is %s, kept by the tag %s", pushed.image, pushed.anchor);
    fprintf(cli->out, "Pushed %s\n", reference);
    return SBX_OK;
}

static enum sbx_code pack(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct pack_opts *o = cli->options;
    const struct sbx_kit_io *io;
    struct sbx_pushed packed;
    enum sbx_code rc;

    if (!o->file)
        return sbx_err_set(err, SBX_USAGE, "where to? Add -o FILE");
    rc = sbx_cli_kit_io(cli, NULL, &io, err);
    if (!rc)
        rc = sbx_kit_pack(io, cli->args.v[0], o->file, o->tag, &cli->diags, cli->arena, &packed,
                          err);
    sbx_cli_report(cli);
    if (rc)
        return rc;
    if (packed.note)
        sbx_cli_note(cli, "note: %s", packed.note);
    if (cli->format != SBX_FORMAT_TABLE)
        return tell(cli, &packed, "file", o->file, err);
    fprintf(cli->out, "Packed oci-layout:%s@%s\n", sbx_out_clean(cli->arena, o->file), packed.digest);
    return SBX_OK;
}

static enum sbx_code delete_kit(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct delete_opts *o = cli->options;
    const struct sbx_kit_io *io;
    struct sbx_removed gone = { .digest = NULL };
    struct sbx_place place;
    enum sbx_code rc = sbx_cli_kit_io(cli, &o->remote, &io, err);

    if (!rc)
        rc = sbx_place_parse(cli->args.v[0], cli->arena, &place, err);
    if (!rc)
        rc = sbx_kit_remove(io, &place, o->force, cli->arena, &gone, err);
    if (rc)
        return rc;
    if (gone.note)
        sbx_cli_note(cli, "note: %s", gone.note);
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli,
                             json_pack("{s:s,s:s,s:o,s:s?}", "reference", cli->args.v[0], "digest",
                                       gone.digest, "also", sbx_json_strings(gone.others), "anchor",
                                       gone.anchor),
                             err);
    fprintf(cli->out, "Deleted %s@%s\n", cli->args.v[0], gone.digest);
    for (const char *const *t = gone.others; t && *t; t++)
        fprintf(cli->out, "Deleted tag %s\n", sbx_out_clean(cli->arena, *t));
    return SBX_OK;
}

const struct sbx_verb sbx_verb_kit_push = {
    .name = "push",
    .summary = "Publish a kit to a registry",
    .args = "DIRECTORY|REFERENCE HOST/REPOSITORY:TAG",
    .about =
        "The kit is validated and pushed in its distribution form: sandbox.image is pinned to the digest it\n"
        "has now, sandbox.build is left out; the files in DIRECTORY are not changed. The image gets the tag\n"
        "_kit_TAG beside the kit, so that the registry keeps it as long as the kit. Log-ins are those of\n"
        "\"docker login\". Equal kits get equal digests. Instead of a registry, oci-layout:DIR:TAG is a\n"
        "directory of this machine. A kit that was pushed before is copied from its REFERENCE as it is, with its\n"
        "digest. Printed is the reference for --kit.",
    .example = "sbx kit push ./my-kit ghcr.io/me/my-kit:1.0\n"
               "sbx kit push ./my-kit oci-layout:./kits:1.0\n"
               "sbx kit push oci-layout:./kits:1.0 ghcr.io/me/my-kit:1.0",
    .groups = push_groups,
    .n_groups = SBX_ARRAY_LEN(push_groups),
    .size = sizeof(struct push_opts),
    .min = 2,
    .max = 2,
    .words = SBX_WORDS_DIRS,
    .run = push,
};

const struct sbx_verb sbx_verb_kit_pack = {
    .name = "pack",
    .summary = "Write a kit into one file, an OCI archive",
    .args = "DIRECTORY",
    .about =
        "The archive is an OCI image layout in a tar file, as skopeo and oras read it: the same artifact that\n"
        "\"sbx kit push\" makes, without a registry. Printed is the reference for --kit; with a tag it is\n"
        "oci-layout:FILE:TAG.",
    .example = "sbx kit pack ./my-kit -o my-kit.tar -t 1.0\n"
               "sbx kit push oci-layout:my-kit.tar:1.0 ghcr.io/me/my-kit:1.0\n"
               "skopeo copy oci-archive:my-kit.tar docker://ghcr.io/me/my-kit:1.0",
    .groups = pack_groups,
    .n_groups = SBX_ARRAY_LEN(pack_groups),
    .size = sizeof(struct pack_opts),
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_DIRS,
    .run = pack,
};

const struct sbx_verb sbx_verb_kit_delete = {
    .name = "delete",
    .summary = "Delete a tag of a published kit, and its image's anchor",
    .args = "HOST/REPOSITORY:TAG",
    .about =
        "Whoever uses the kit by its digest can no longer fetch it. Registries that delete only by digest\n"
        "take every tag of the same kit along: that needs --force. Many registries delete nothing at all.",
    .example = "sbx kit delete ghcr.io/me/my-kit:1.0",
    .groups = delete_groups,
    .n_groups = SBX_ARRAY_LEN(delete_groups),
    .size = sizeof(struct delete_opts),
    .min = 1,
    .max = 1,
    .run = delete_kit,
};
