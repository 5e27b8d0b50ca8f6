/** @file Small OCI image layouts for tests. */
#ifndef SBX_TEST_DOCKER_LAYOUTS_H
#define SBX_TEST_DOCKER_LAYOUTS_H

#include "parts.h"
#include "world.h"

/** A layout of one image named `name` that holds one file, below the directory `dir`. */
void make_layout(struct world *w, const char *dir, const char *name, const char *arch);
/** The same of busybox, to run containers of; false: there is no static busybox here. */
bool make_busybox_layout(struct world *w, const char *dir, const char *name, const char *arch);
/** The whole tar stream of the parts. */
void drain_parts(struct docker_parts *parts, struct sbx_buf *out);

#endif
