/** @file Headers of tar archives: POSIX ustar, with GNU long names and sizes when read. */
#ifndef SBX_RUNTIME_DOCKER_TARHEAD_H
#define SBX_RUNTIME_DOCKER_TARHEAD_H

#include <stdbool.h>
#include <sys/types.h>

#define DOCKER_TAR_NAME_MAX 256 /* bytes with NUL: 155 of prefix, a slash, 100 of name */

/** Write a header of 512 bytes; -1: the name does not fit. */
int docker_tar_head(char out[512], const char *name, bool directory, off_t size);
/** Read one: its checksum decides whether it is one. False: it is none (or the archive's end). */
bool docker_tar_parse(const char head[512], char name[DOCKER_TAR_NAME_MAX], char *ret_type,
                      off_t *ret_size);

#endif
