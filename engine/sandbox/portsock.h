/** @file Sockets of the host for published ports. */
#ifndef SBX_SANDBOX_PORTSOCK_H
#define SBX_SANDBOX_PORTSOCK_H

#include "box.h"

/**
 * Open one port (TCP: listening); a host port of 0 is chosen by the kernel and written back.
 * @return SBX_OK; SBX_BUSY (in use), SBX_UNAVAILABLE (no such address here), SBX_FAILED
 */
SBX_MUST_USE enum sbx_code sbx_port_listen(struct sbx_published *p, int *ret, struct sbx_err *err);

#endif
