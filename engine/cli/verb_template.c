#include "out.h"
#include "session.h"
#include "verbs.h"

#include <string.h>
#include <time.h>

#define OWN_IMAGES "sbx.local/netns"

struct template_opts {
    struct sbx_runtime_opts runtime;
};

static const struct sbx_opt_group groups[] = {
    SBX_GROUP(NULL, sbx_runtime_rows, struct template_opts, runtime),
};

static enum sbx_code open_runtime(struct sbx_cli *cli, struct sbx_session *s,
                                  struct sbx_runtime **ret, struct sbx_err *err)
{
    const struct template_opts *o = cli->options;
    enum sbx_code rc = sbx_session_open(s, cli, &o->runtime, err);

    return rc ? rc : sbx_engine_runtime(s->engine, sbx_session_runtime(s, &o->runtime), ret, err);
}

static enum sbx_code load(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = false };
    struct sbx_runtime *rt = NULL;
    const char **names = NULL;
    size_t n = 0;
    json_t *list;
    enum sbx_code rc = open_runtime(cli, &s, &rt, err);

    if (!rc)
        rc = sbx_runtime_image_load(rt, cli->args.v[0], cli->arena, &names, &n, err);
    if (rc)
        return rc;
    list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(list, json_string(names[i]));
        if (cli->format == SBX_FORMAT_TABLE)
            fprintf(cli->out, "Loaded image: %s\n", sbx_out_clean(cli->arena, names[i]));
    }
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:o}", "images", list), err);
    json_decref(list);
    return SBX_OK;
}

/* "repository:tag": the tag is behind the last colon that no slash follows. */
static void split(struct sbx_arena *arena, const char *reference, const char **repository,
                  const char **tag)
{
    const char *colon = strrchr(reference, ':'), *at = strchr(reference, '@');

    *repository = reference;
    *tag = "";
    if (at || !colon || strchr(colon, '/'))
        return;
    *repository = sbx_arena_memdup(arena, reference, (size_t)(colon - reference));
    *tag = colon + 1;
}

static const char *short_id(struct sbx_arena *arena, const char *id)
{
    const char *hex = !strncmp(id, "sha256:", 7) ? id + 7 : id;

    return sbx_arena_memdup(arena, hex, strnlen(hex, 12));
}

/* Reproducible builds say 1970 or the year 1, which means: nobody knows. */
static bool is_dated(const struct sbx_image *i) { return i->created > 0; }

/* The helper image of a sandbox's network is nothing to make one from. */
static size_t drop_own(struct sbx_image *v, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (strncmp(v[i].reference, OWN_IMAGES, strlen(OWN_IMAGES)))
            v[kept++] = v[i];
    return kept;
}

static json_t *image_json(struct sbx_arena *a, const struct sbx_image *i)
{
    const char *repository, *tag;
    char created[32] = "";
    time_t when = (time_t)i->created;
    struct tm tm;

    split(a, i->reference, &repository, &tag);
    if (is_dated(i) && gmtime_r(&when, &tm))
        strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_pack("{s:s,s:s,s:s,s:s,s:s?,s:I}", "id", short_id(a, i->id), "digest", i->id,
                     "repository", repository, "tag", tag, "created_at", *created ? created : NULL,
                     "size", (json_int_t)i->size);
}

static enum sbx_code ls(struct sbx_cli *cli, struct sbx_err *err)
{
    static const char *const head[] = { "REPOSITORY", "TAG", "IMAGE ID", "CREATED", "SIZE" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };
    SBX_AUTO(sbx_session) s = { .quiet = true };
    struct sbx_runtime *rt = NULL;
    struct sbx_image *v = NULL;
    size_t n = 0;
    json_t *list;
    enum sbx_code rc = open_runtime(cli, &s, &rt, err);

    if (!rc)
        rc = sbx_runtime_image_list(rt, cli->arena, &v, &n, err);
    if (rc)
        return rc;
    n = drop_own(v, n);
    if (cli->format != SBX_FORMAT_TABLE) {
        list = json_array();
        for (size_t i = 0; i < n; i++)
            json_array_append_new(list, image_json(cli->arena, &v[i]));
        return sbx_out_value(cli, json_pack("{s:o}", "images", list), err);
    }
    for (size_t i = 0; i < n; i++) {
        const char *cells[5] = { NULL };

        split(cli->arena, v[i].reference, &cells[0], &cells[1]);
        cells[2] = short_id(cli->arena, v[i].id);
        cells[3] = is_dated(&v[i]) ? sbx_out_ago(cli->arena, v[i].created, time(NULL)) : "-";
        cells[4] = sbx_out_size(cli->arena, v[i].size);
        if (sbx_columns_add(&c, cells, err))
            return SBX_NO_MEMORY;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

static enum sbx_code rm(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = true };
    struct sbx_runtime *rt = NULL;
    SBX_AUTO_JSON json_t *removed = json_array();
    enum sbx_code rc = open_runtime(cli, &s, &rt, err);

    for (size_t i = 0; !rc && i < cli->args.n; i++) {
        rc = sbx_runtime_image_remove(rt, cli->args.v[i], err);
        if (rc)
            return sbx_err_wrap(err, rc, "remove %s", cli->args.v[i]);
        if (cli->format == SBX_FORMAT_TABLE)
            fprintf(cli->out, "%s\n", cli->args.v[i]);
        else
            json_array_append_new(removed, json_string(cli->args.v[i]));
    }
    if (!rc && cli->format != SBX_FORMAT_TABLE)
        rc = sbx_out_value(cli, json_pack("{s:O}", "removed", removed), err);
    return rc;
}

static const struct sbx_verb v_load = {
    .name = "load",
    .summary = "Import an image from an archive or an OCI layout",
    .args = "FILE|DIRECTORY",
    .about =
        "FILE is what \"docker save\" writes, or an OCI image layout as a tar file; DIRECTORY is an OCI image\n"
        "layout. Where the image goes depends on --runtime.",
    .example = "docker save my-image:1 -o my-image.tar && sbx template load my-image.tar\n"
               "sbx template load --runtime oci ./layout",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct template_opts),
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_FILES,
    .run = load,
};
static const struct sbx_verb v_ls = {
    .name = "ls",
    .summary = "List images",
    .example = "sbx template ls",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct template_opts),
    .run = ls,
};
static const struct sbx_verb v_rm = {
    .name = "rm",
    .summary = "Remove images",
    .args = "IMAGE|ID...",
    .example = "sbx template rm my-image:1",
    .groups = groups,
    .n_groups = SBX_ARRAY_LEN(groups),
    .size = sizeof(struct template_opts),
    .min = 1,
    .max = 1000,
    .run = rm,
};
static const struct sbx_verb n_save = SBX_NOT_BUILT("save", "not built yet");
static const struct sbx_verb *const subs[] = { &v_load, &v_ls, &v_rm, &n_save };

const struct sbx_verb sbx_verb_template = {
    .name = "template",
    .summary = "Manage images that sandboxes are made from",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
