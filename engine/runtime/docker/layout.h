/**
 * @file
 * An OCI image layout as what every Engine loads: the layout's blobs behind a `manifest.json`.
 * (Engine 20.10 reads no layout.) OCI Image Specification 1.1, "Image Layout".
 */
#ifndef SBX_RUNTIME_DOCKER_LAYOUT_H
#define SBX_RUNTIME_DOCKER_LAYOUT_H

#include "parts.h"

#define DOCKER_LAYOUT_JSON_MAX 4194304 /* bytes of an index or manifest; registries' own bound */

/**
 * @param in   what the layout holds; its `fd` and arena serve `out` too
 * @param arch the Engine's architecture, "amd64": picks from an index of several
 * @param out  manifest.json, configurations and layers
 * @return SBX_OK, SBX_SCHEMA (what is wrong with the layout), SBX_NOT_FOUND (no image for `arch`),
 *         SBX_LIMIT, SBX_IO, SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code docker_layout(const struct docker_parts *in, const char *arch,
                                         struct docker_parts *out, struct sbx_err *err);

#endif
