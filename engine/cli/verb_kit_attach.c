/* What refers to a kit: listed, and attached. */
#include <string.h>

#include "groups.h"
#include "out.h"
#include "refer.h"
#include "verbs.h"

struct attach_opts {
    struct sbx_remote_opts remote;
    const char *type, *media_type;
};
static const struct sbx_opt rows[] = {
    SBX_TEXT(
        struct attach_opts, type, "type", 0, "TYPE",
        "What the file is, as an artifact type such as application/vnd.example.sbom (required)"),
    SBX_TEXT(struct attach_opts, media_type, "media-type", 0, "TYPE",
             "Media type of the file (default: application/octet-stream)"),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = {
    { .v = rows },
    SBX_GROUP("Registry", sbx_remote_rows, struct attach_opts, remote),
};

static enum sbx_code attach(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct attach_opts *o = cli->options;
    struct sbx_attach what = { cli->args.v[1], o->type, o->media_type };
    char digest[SBX_DIGEST_TEXT_SIZE];
    const struct sbx_kit_io *io;
    struct sbx_place place;
    enum sbx_code rc;

    if (!o->type)
        return sbx_err_set(err, SBX_USAGE,
                           "what is it? Add --type TYPE, such as "
                           "application/vnd.example.sbom");
    rc = sbx_cli_kit_io(cli, &o->remote, &io, err);
    if (!rc)
        rc = sbx_place_parse(cli->args.v[0], cli->arena, &place, err);
    if (!rc)
        rc = sbx_kit_attach(io, &place, &what, digest, err);
    if (rc)
        return rc;
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(
            cli, json_pack("{s:s,s:s}", "reference", cli->args.v[0], "digest", digest), err);
    fprintf(cli->out, "Attached %s\n", sbx_place_pinned(cli->arena, &place, digest));
    return SBX_OK;
}

const struct sbx_verb sbx_verb_kit_attach = {
    .name = "attach",
    .summary = "Publish a file that refers to a kit",
    .args = "REFERENCE FILE",
    .about =
        "The file becomes an artifact of its own in the kit's repository, with the kit as its subject; the kit\n"
        "and its digest do not change. \"sbx kit inspect REFERENCE --referrers\" lists what is attached.",
    .example = "sbx kit attach ghcr.io/me/my-kit:1.0 sbom.json --type application/spdx+json",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct attach_opts),
    .min = 2,
    .max = 2,
    .run = attach,
};

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static enum sbx_code print(struct sbx_cli *cli, const json_t *list, struct sbx_err *err)
{
    static const char *const head[] = { "TYPE", "DIGEST", "SIZE", "CREATED" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };
    const json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry) {
        const char *cells[] = {
            text_of(entry, "artifactType"),
            text_of(entry, "digest"),
            sbx_out_size(cli->arena, json_integer_value(json_object_get(entry, "size"))),
            text_of(json_object_get(entry, "annotations"), "org.opencontainers.image.created"),
        };
        enum sbx_code rc = sbx_columns_add(&c, cells, err);

        if (rc)
            return rc;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

enum sbx_code sbx_cli_referrers(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                                struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *index = NULL;
    char digest[SBX_DIGEST_TEXT_SIZE];
    const struct sbx_kit_io *io;
    struct sbx_place place;
    struct sbx_oci_doc doc;
    json_t *list;
    enum sbx_code rc = sbx_cli_kit_io(cli, o, &io, err);

    if (!rc)
        rc = sbx_place_parse(cli->args.v[0], cli->arena, &place, err);
    if (!rc)
        rc = sbx_kit_referrers(io, &place, digest, cli->arena, &doc, err);
    if (rc)
        return rc;
    index = json_loadb(doc.text, doc.len, JSON_REJECT_DUPLICATES, NULL);
    list = json_object_get(index, "manifests");
    if (!json_is_array(list))
        return sbx_err_set(err, SBX_SCHEMA, "the list of referrers is no index");
    if (cli->format == SBX_FORMAT_TABLE)
        return print(cli, list, err);
    return sbx_out_value(cli,
                         json_pack("{s:s,s:s,s:O}", "reference", cli->args.v[0], "digest", digest,
                                   "referrers", list),
                         err);
}

static enum sbx_code print_annotations(struct sbx_cli *cli, json_t *notes, struct sbx_err *err)
{
    static const char *const head[] = { "ANNOTATION", "VALUE" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };
    const char *key;
    json_t *value;

    json_object_foreach(notes, key, value) {
        const char *cells[] = { key, json_string_value(value) };
        enum sbx_code rc = sbx_columns_add(&c, cells, err);

        if (rc)
            return rc;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

enum sbx_code sbx_cli_annotations(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                                  struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *root = NULL, *none = json_object();
    const struct sbx_kit_io *io;
    struct sbx_place place;
    struct sbx_oci_doc doc;
    json_t *notes;
    enum sbx_code rc = sbx_cli_kit_io(cli, o, &io, err);

    if (!rc)
        rc = sbx_place_parse(cli->args.v[0], cli->arena, &place, err);
    if (!rc)
        rc = sbx_kit_manifest(io, &place, cli->arena, &doc, err);
    if (rc)
        return rc;
    root = json_loadb(doc.text, doc.len, JSON_REJECT_DUPLICATES, NULL);
    notes = json_object_get(root, "annotations");
    if (!notes)
        notes = none;
    if (!json_is_object(notes))
        return sbx_err_set(err, SBX_SCHEMA, "%s: its annotations are no object", cli->args.v[0]);
    if (cli->format == SBX_FORMAT_TABLE)
        return print_annotations(cli, notes, err);
    return sbx_out_value(cli,
                         json_pack("{s:s,s:s,s:O}", "reference", cli->args.v[0], "digest",
                                   doc.digest, "annotations", notes),
                         err);
}

enum sbx_code sbx_cli_tags(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                           struct sbx_err *err)
{
    const char *const *tags = NULL;
    const struct sbx_kit_io *io;
    struct sbx_place place;
    json_t *list;
    size_t n = 0;
    enum sbx_code rc = sbx_cli_kit_io(cli, o, &io, err);

    if (!rc)
        rc = sbx_place_parse(cli->args.v[0], cli->arena, &place, err);
    if (!rc)
        rc = sbx_kit_tags(io, &place, cli->arena, &tags, &n, err);
    if (rc)
        return rc;
    list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (!strncmp(tags[i], "_kit_", 5) || !strncmp(tags[i], "sha256-", 7))
            continue; /* an anchor of an image; a list of referrers */
        if (cli->format == SBX_FORMAT_TABLE)
            fprintf(cli->out, "%s\n", sbx_out_clean(cli->arena, tags[i]));
        json_array_append_new(list, json_string(tags[i]));
    }
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:s,s:o}", "reference", cli->args.v[0], "tags", list),
                             err);
    json_decref(list);
    return SBX_OK;
}
