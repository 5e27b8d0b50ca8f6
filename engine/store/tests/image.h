/* Images made by hand: a `docker save` archive around layers that are tar archives in memory. */
#ifndef SBX_TEST_IMAGE_H
#define SBX_TEST_IMAGE_H

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sbx/file.h"
#include "store.h"
#include "tar.h"

#define TEST_LAYERS 200

struct test_image {
    struct sbx_buf layer[TEST_LAYERS];
    size_t n;
    const char *tag;    /* "test:1" */
    const char *config; /* inner "config" object as JSON; NULL: {} */
    /* lies */
    const char *diff_id;  /* of layer 0 */
    const char *manifest; /* whole manifest.json */
    const char *architecture;
    size_t cut; /* bytes that the archive ends early */
};

static inline void image_layer(struct test_image *im, const struct member *v, size_t n)
{
    im->layer[im->n] = (struct sbx_buf)SBX_BUF_INIT(64 << 20);
    tar_of(&im->layer[im->n++], v, n);
}

static inline json_t *image_config(const struct test_image *im)
{
    json_t *ids = json_array();
    char digest[SBX_DIGEST_TEXT_SIZE];

    for (size_t i = 0; i < im->n; i++) {
        assert_int_equal(sbx_digest(im->layer[i].ptr, im->layer[i].len, digest), SBX_OK);
        json_array_append_new(ids, json_string(i == 0 && im->diff_id ? im->diff_id : digest));
    }
    return json_pack("{s:s, s:s, s:o, s:{s:s, s:o}}", "os", "linux", "architecture",
                     im->architecture ? im->architecture : sbx_store_platform().architecture,
                     "config", json_loads(im->config ? im->config : "{}", 0, NULL), "rootfs",
                     "type", "layers", "diff_ids", ids);
}

static inline void image_write(const char *path, const struct sbx_buf *b, size_t len)
{
    assert_int_equal(sbx_file_write(AT_FDCWD, path, b->ptr, len, 0600, NULL), SBX_OK);
}

/* The archive as a file; frees the layers. */
static inline void image_save(struct test_image *im, const char *path)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(256 << 20);
    json_t *config = image_config(im), *layers = json_array(), *manifest;
    char *text = json_dumps(config, 0), *list, name[64];

    tar_add(&out, &(struct member){ .name = "config.json", .mode = 0644, .data = text });
    for (size_t i = 0; i < im->n; i++) {
        snprintf(name, sizeof(name), "%zu/layer.tar", i);
        json_array_append_new(layers, json_string(name));
        tar_add(&out, &(struct member){ .name = name,
                                        .mode = 0644,
                                        .data = im->layer[i].ptr,
                                        .len = im->layer[i].len });
        sbx_buf_release(&im->layer[i]);
    }
    manifest = json_pack("[{s:s, s:[s], s:o}]", "Config", "config.json", "RepoTags",
                         im->tag ? im->tag : "test:1", "Layers", layers);
    list = json_dumps(manifest, 0);
    tar_add(&out, &(struct member){ .name = "manifest.json",
                                    .mode = 0644,
                                    .data = im->manifest ? im->manifest : list });
    tar_end(&out);
    image_write(path, &out, out.len - im->cut);
    free(text);
    free(list);
    json_decref(manifest);
    json_decref(config);
    im->n = 0;
}

#endif
