/*
 * The one canonical archive of a kit's files (F2), uncompressed: entries home/agent/REL and
 * workspace/REL by name, uid and gid 1000, time 0, modes 0644 and 0755, names over 100 bytes in a pax
 * record, two blocks of zeros behind the last. And the digest of a kit (S30): SHA-256 over two lines,
 * the digest of the spec's bytes and that of the archive, so that it equals the config digest and the
 * diff id of the kit's OCI artifact taken together.
 */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "sbx/digest.h"
#include "sbx/ustar.h"

#define BLOCK SBX_USTAR_BLOCK
#define OWNER 1000

struct out {
    sbx_archive_sink *sink;
    void *context;
    struct sbx_err *err;
    enum sbx_code rc; /* sticks: after a failure nothing more is written */
};

static void put(struct out *o, const void *data, size_t len)
{
    if (!o->rc && len)
        o->rc = o->sink(o->context, data, len, o->err);
}

static void add_header(struct out *o, const char *name, size_t size, unsigned mode, char type)
{
    char header[BLOCK];

    sbx_ustar_header(header, name, size, mode, OWNER, type);
    put(o, header, BLOCK);
}

static void add_padding(struct out *o, size_t size)
{
    static const char zeros[BLOCK];

    if (size % BLOCK)
        put(o, zeros, BLOCK - size % BLOCK);
}

/* Names over 100 bytes stand in a pax record before their header. */
static void add_long_name(struct out *o, const char *name)
{
    char number[24];
    size_t rest = strlen(" path=") + strlen(name) + 1, len = rest + 1;

    while (len != rest + (size_t)snprintf(number, sizeof(number), "%zu", len))
        len = rest + strlen(number);
    add_header(o, "PaxHeaders/path", len, 0644, 'x');
    put(o, number, strlen(number));
    put(o, " path=", 6);
    put(o, name, strlen(name));
    put(o, "\n", 1);
    add_padding(o, len);
}

static void add_content(struct out *o, const struct sbx_static_file *f)
{
    if (!o->rc)
        o->rc = sbx_static_file_stream(f, o->sink, o->context, o->err);
}

static void add_file(struct out *o, const struct sbx_static_file *f)
{
    SBX_AUTO_FREE char *name = NULL;

    if (asprintf(&name, "%s/%s", f->target == SBX_TARGET_HOME ? "home/agent" : "workspace",
                 f->path) < 0) {
        o->rc = sbx_err_set(o->err, SBX_NO_MEMORY, "no memory");
        return;
    }
    if (strlen(name) > SBX_USTAR_NAME)
        add_long_name(o, name);
    add_header(o, name, f->size, f->mode, '0');
    add_content(o, f);
    add_padding(o, f->size);
}

enum sbx_code sbx_kit_archive(const struct sbx_artifact *a, sbx_archive_sink *sink, void *context,
                              struct sbx_err *err)
{
    static const char end[2 * BLOCK];
    struct out o = { sink, context, err, SBX_OK };

    for (size_t i = 0; i < a->files.len && !o.rc; i++)
        add_file(&o, &a->files.v[i]);
    put(&o, end, sizeof(end));
    return o.rc;
}

static enum sbx_code hash(void *context, const void *data, size_t len, struct sbx_err *err)
{
    (void)err;
    sbx_hasher_add(context, data, len);
    return SBX_OK;
}

enum sbx_code sbx_kit_set_digest(struct sbx_artifact *a, const char *spec, size_t len,
                                 struct sbx_err *err)
{
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();
    char text[2 * SBX_DIGEST_TEXT_SIZE + 1], both[SBX_DIGEST_TEXT_SIZE];
    char spec_digest[SBX_DIGEST_TEXT_SIZE], files_digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc;

    if (!h || sbx_digest(spec, len, spec_digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    rc = sbx_kit_archive(a, hash, h, err);
    if (rc)
        return rc;
    sbx_hasher_text(h, files_digest);
    snprintf(text, sizeof(text), "%s\n%s\n", spec_digest, files_digest);
    if (sbx_digest(text, strlen(text), both))
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    a->digest = sbx_arena_strdup(a->arena, both);
    return a->digest ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "no memory");
}
