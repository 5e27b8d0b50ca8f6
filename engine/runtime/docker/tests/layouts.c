#include "layouts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "sbx/digest.h"
#include "sbx/file.h"

static void put_blob(const char *dir, const char *data, size_t len, char digest[72])
{
    char path[512];
    struct sbx_err err = SBX_ERR_INIT;

    assert_int_equal(sbx_digest(data, len, digest), SBX_OK);
    snprintf(path, sizeof(path), "%s/blobs/sha256/%s", dir, digest + 7);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, data, len, 0644, &err), SBX_OK);
}

void drain_parts(struct docker_parts *parts, struct sbx_buf *out)
{
    char piece[1000]; /* no multiple of a record */
    ssize_t n;

    while ((n = docker_parts_read(parts, piece, sizeof(piece), NULL)) > 0)
        assert_int_equal(sbx_buf_add(out, piece, (size_t)n), SBX_OK);
    assert_int_equal(n, 0);
}

void make_layout(struct world *w, const char *dir, const char *name, const char *arch)
{
    SBX_AUTO(sbx_buf) layer = SBX_BUF_INIT(1 << 20);
    SBX_AUTO(docker_parts) parts = DOCKER_PARTS_INIT(w->arena, -1);
    SBX_AUTO_FREE char *config = NULL;
    SBX_AUTO_FREE char *manifest = NULL;
    SBX_AUTO_FREE char *index = NULL;
    char diff[72], id[72], digest[72], path[512];

    snprintf(path, sizeof(path), "%s/blobs/sha256", dir);
    assert_int_equal(sbx_dir_make(path, 0755, &w->err), SBX_OK);
    ASSERT_OK(docker_parts_add(
        &parts, (struct docker_part){ .name = "hello", .memory = "hi\n", .size = 3 }, &w->err));
    drain_parts(&parts, &layer);
    put_blob(dir, layer.ptr, layer.len, diff);
    assert_true(asprintf(&config,
                         "{\"architecture\":\"%s\",\"os\":\"linux\",\"config\":{\"Env\":[\"A=1\"],"
                         "\"WorkingDir\":\"/w\"},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":"
                         "[\"%s\"]}}",
                         arch, diff) > 0);
    put_blob(dir, config, strlen(config), id);
    assert_true(asprintf(&manifest,
                         "{\"schemaVersion\":2,\"config\":{\"digest\":\"%s\"},\"layers\":"
                         "[{\"digest\":\"%s\"}]}",
                         id, diff) > 0);
    put_blob(dir, manifest, strlen(manifest), digest);
    assert_true(asprintf(&index,
                         "{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"%s\",\"platform\":"
                         "{\"os\":\"linux\",\"architecture\":\"%s\"},\"annotations\":"
                         "{\"org.opencontainers.image.ref.name\":\"%s\"}}]}",
                         digest, arch, name) > 0);
    snprintf(path, sizeof(path), "%s/index.json", dir);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, index, strlen(index), 0644, &w->err), SBX_OK);
}
