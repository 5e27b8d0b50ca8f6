/** @file Descriptors that come with messages of local sockets. */
#ifndef SBX_GATE_FDS_H
#define SBX_GATE_FDS_H

#include <stddef.h>
#include <sys/types.h>

#define SBX_FDS_MAX 8 /* of one message: the doors are the most */

/**
 * recvmsg() without waiting; bytes and descriptors (close-on-exec). Those beyond `max` are closed.
 * @return as recv()
 */
ssize_t sbx_fds_receive(int fd, void *buf, size_t size, int *fds, unsigned max, unsigned *ret_n);
int sbx_set_nonblocking(int fd); /**< 0, or -1 with errno */

#endif
