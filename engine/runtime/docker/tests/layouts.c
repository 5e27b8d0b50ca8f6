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

static void put_index(struct world *w, const char *dir, const char *name, const char *arch,
                      const char *layer, size_t len)
{
    SBX_AUTO_FREE char *config = NULL;
    SBX_AUTO_FREE char *manifest = NULL;
    SBX_AUTO_FREE char *index = NULL;
    char diff[72], id[72], digest[72], path[512];

    snprintf(path, sizeof(path), "%s/blobs/sha256", dir);
    assert_int_equal(sbx_dir_make(path, 0755, &w->err), SBX_OK);
    put_blob(dir, layer, len, diff);
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

void make_layout(struct world *w, const char *dir, const char *name, const char *arch)
{
    SBX_AUTO(sbx_buf) layer = SBX_BUF_INIT(1 << 20);
    SBX_AUTO(docker_parts) parts = DOCKER_PARTS_INIT(w->arena, -1);

    ASSERT_OK(docker_parts_add(
        &parts, (struct docker_part){ .name = "hello", .memory = "hi\n", .size = 3 }, &w->err));
    drain_parts(&parts, &layer);
    put_index(w, dir, name, arch, layer.ptr, layer.len);
}

/* busybox as every program it can be, users root and agent. */
bool make_busybox_layout(struct world *w, const char *dir, const char *name, const char *arch)
{
    static const char script[] =
        "set -e; cd '%s'; test -x /bin/busybox; ! ldd /bin/busybox >/dev/null 2>&1;"
        "mkdir -p r/bin r/etc r/tmp r/root r/home/agent; cp /bin/busybox r/bin/;"
        "for p in $(r/bin/busybox --list); do test $p = busybox || ln -s busybox r/bin/$p; done;"
        "printf 'root:x:0:0::/root:/bin/sh\\nagent:x:1000:1000::/home/agent:/bin/sh\\n' "
        ">r/etc/passwd; printf 'root:x:0:\\nagent:x:1000:\\n' >r/etc/group; chmod 1777 r/tmp;"
        "tar -C r --owner 0 --group 0 --numeric-owner -cf layer.tar .; rm -rf r";
    SBX_AUTO(sbx_buf) layer = SBX_BUF_INIT(64 << 20);
    SBX_AUTO_FREE char *command = NULL;
    char path[512];

    assert_true(asprintf(&command, script, dir) > 0);
    if (system(command) != 0)
        return false;
    snprintf(path, sizeof(path), "%s/layer.tar", dir);
    ASSERT_OK(sbx_file_read(AT_FDCWD, path, &layer, &w->err));
    assert_int_equal(unlink(path), 0);
    put_index(w, dir, name, arch, layer.ptr, layer.len);
    return true;
}
