/* Names that json.c writes and parse.c reads. */
#ifndef SBX_PLAN_KEYS_H
#define SBX_PLAN_KEYS_H

static const char *const sbx_when_names[] = { "create", "start", "add" }; /* by bit */
static const char *const sbx_mount_names[] = { "workspace", "volume", "tmpfs" };

#endif
