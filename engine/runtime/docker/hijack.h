/**
 * @file
 * A connection of its own that stops being HTTP after the Engine's answer: attached streams.
 */
#ifndef SBX_RUNTIME_DOCKER_HIJACK_H
#define SBX_RUNTIME_DOCKER_HIJACK_H

#include "docker.h"

#define DOCKER_WIRE_SIZE 65536 /* bytes of one read; the Engine writes frames of up to 32 KiB */

struct docker_wire {
    const struct sbx_curl *curl;
    CURL *h;
    int fd; /**< owned by `h` */
    char rx[DOCKER_WIRE_SIZE];
    struct sbx_patience patience; /**< with the Engine's answer, before the stream */
    size_t at, len;               /**< bytes that were read and not taken: rx[at..len) */
};

/**
 * Connect, POST `json` and read the head of the answer; what came behind it stays in `rx`.
 * @return SBX_OK with a stream open in both directions, else the Engine's error
 */
SBX_MUST_USE enum sbx_code docker_hijack(struct docker *d, const char *path, const json_t *json,
                                         struct docker_wire *w, struct sbx_err *err);
void docker_wire_release(struct docker_wire *w);
SBX_DEFINE_AUTO(docker_wire, docker_wire_release);
/** Close, and free the memory that holds it; NULL is fine. */
void docker_wire_free(struct docker_wire *w);
SBX_DEFINE_AUTO_PTR(docker_wire, docker_wire_free);

#endif
