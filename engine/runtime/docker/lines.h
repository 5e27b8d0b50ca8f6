/** @file The Engine's streams of JSON values (pull, load), cut into values as they come. */
#ifndef SBX_RUNTIME_DOCKER_LINES_H
#define SBX_RUNTIME_DOCKER_LINES_H

#include <jansson.h>

#include "sbx/buf.h"

#define DOCKER_LINE_MAX (1 << 20) /* bytes of one value; the Engine's are below 1 KiB */

struct docker_lines {
    struct sbx_buf part; /**< of a line whose end did not come yet */
    /** One value; not SBX_OK ends the stream. */
    enum sbx_code (*value)(void *ctx, const json_t *value, struct sbx_err *err);
    void *ctx;
};
#define DOCKER_LINES_INIT(value, ctx)                                                              \
    {                                                                                              \
        SBX_BUF_INIT(DOCKER_LINE_MAX), (value), (ctx)                                              \
    }
/** A `sink` of docker_send(); the ctx is the struct. */
enum sbx_code docker_lines_feed(void *ctx, const char *data, size_t len, struct sbx_err *err);
/** The last line may lack its end. */
SBX_MUST_USE enum sbx_code docker_lines_end(struct docker_lines *l, struct sbx_err *err);
void docker_lines_release(struct docker_lines *l);
SBX_DEFINE_AUTO(docker_lines, docker_lines_release);

#endif
