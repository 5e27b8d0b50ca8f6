/** @file Listening sockets of the host for published ports. */
#ifndef SBX_SANDBOX_PORTSOCK_H
#define SBX_SANDBOX_PORTSOCK_H

#include "box.h"

/**
 * Listen for one port; a host port of 0 is chosen by the kernel and written back.
 * @return SBX_OK; SBX_BUSY (in use), SBX_UNAVAILABLE (no such address here), SBX_FAILED
 */
SBX_MUST_USE enum sbx_code sbx_port_listen(struct sbx_published *p, int *ret, struct sbx_err *err);

#endif
