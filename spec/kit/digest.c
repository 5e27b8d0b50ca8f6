/*
 * The digest of a kit (decisions S30, F2): SHA-256 over two lines, the digest of the spec's bytes and
 * the digest of its files as an uncompressed pax archive. The archive is never made, only hashed:
 * entries home/agent/REL and workspace/REL by name, uid and gid 1000, time 0, modes 0644 and 0755.
 * So it equals the config digest and the diff id of the kit's OCI artifact taken together.
 */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "sbx/digest.h"

#define BLOCK 512 /* bytes; tar(5) */
#define OWNER 1000

static void put_octal(char *field, size_t size, unsigned long long value)
{
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static void put_checksum(char header[BLOCK])
{
    unsigned sum = 0;

    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    put_octal(header + 148, 7, sum);
    header[154] = '\0';
}

static void add_header(struct sbx_hasher *h, const char *name, size_t size, unsigned mode, char type)
{
    char header[BLOCK] = { 0 };

    memcpy(header, name, strnlen(name, 100));
    put_octal(header + 100, 8, mode);
    put_octal(header + 108, 8, OWNER);
    put_octal(header + 116, 8, OWNER);
    put_octal(header + 124, 12, size);
    put_octal(header + 136, 12, 0);
    header[156] = type;
    memcpy(header + 257, "ustar\0" "00", 8);
    put_checksum(header);
    sbx_hasher_add(h, header, BLOCK);
}

static void add_padding(struct sbx_hasher *h, size_t size)
{
    static const char zeros[BLOCK];

    if (size % BLOCK)
        sbx_hasher_add(h, zeros, BLOCK - size % BLOCK);
}

/* Names over 100 bytes stand in a pax record before their header. */
static void add_long_name(struct sbx_hasher *h, const char *name)
{
    char number[24];
    size_t rest = strlen(" path=") + strlen(name) + 1, len = rest + 1;

    while (len != rest + (size_t)snprintf(number, sizeof(number), "%zu", len))
        len = rest + strlen(number);
    add_header(h, "PaxHeaders/path", len, 0644, 'x');
    sbx_hasher_add(h, number, strlen(number));
    sbx_hasher_add(h, " path=", 6);
    sbx_hasher_add(h, name, strlen(name));
    sbx_hasher_add(h, "\n", 1);
    add_padding(h, len);
}

static enum sbx_code add_content(struct sbx_hasher *h, const struct sbx_static_file *f,
                                 struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) content = SBX_BUF_INIT(SBX_KIT_FILE_MAX);
    enum sbx_code rc;

    if (f->data || !f->size) {
        sbx_hasher_add(h, f->data, f->size);
        return SBX_OK;
    }
    rc = sbx_static_file_read(f, &content, err);
    if (rc)
        return rc;
    if (content.len != f->size)
        return sbx_err_set(err, SBX_IO, "%s: it changed while it was read", f->source);
    sbx_hasher_add(h, content.ptr, content.len);
    return SBX_OK;
}

static enum sbx_code add_file(struct sbx_hasher *h, const struct sbx_static_file *f,
                              struct sbx_err *err)
{
    SBX_AUTO_FREE char *name = NULL;
    enum sbx_code rc;

    if (asprintf(&name, "%s/%s", f->target == SBX_TARGET_HOME ? "home/agent" : "workspace",
                 f->path) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    if (strlen(name) > 100)
        add_long_name(h, name);
    add_header(h, name, f->size, f->mode, '0');
    rc = add_content(h, f, err);
    if (!rc)
        add_padding(h, f->size);
    return rc;
}

enum sbx_code sbx_kit_set_digest(struct sbx_artifact *a, const char *spec, size_t len,
                                 struct sbx_err *err)
{
    static const char end[2 * BLOCK];
    SBX_AUTO_PTR(sbx_hasher) h = sbx_hasher_new();
    char text[2 * SBX_DIGEST_TEXT_SIZE + 1], both[SBX_DIGEST_TEXT_SIZE];
    char spec_digest[SBX_DIGEST_TEXT_SIZE], files_digest[SBX_DIGEST_TEXT_SIZE];
    enum sbx_code rc = SBX_OK;

    if (!h || sbx_digest(spec, len, spec_digest))
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    for (size_t i = 0; i < a->files.len && !rc; i++)
        rc = add_file(h, &a->files.v[i], err);
    if (rc)
        return rc;
    sbx_hasher_add(h, end, sizeof(end));
    sbx_hasher_text(h, files_digest);
    snprintf(text, sizeof(text), "%s\n%s\n", spec_digest, files_digest);
    if (sbx_digest(text, strlen(text), both))
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    a->digest = sbx_arena_strdup(a->arena, both);
    return a->digest ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "no memory");
}
