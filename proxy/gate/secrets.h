/**
 * @file
 * The values that the gate injects. They come from the broker (docs/gate-config.md, 6) over a socket that
 * the engine hands over, stand in locked memory that is left out of dumps, and are wiped when they
 * change or the broker goes. Nothing here has a way to print one.
 */
#ifndef SBX_GATE_SECRETS_H
#define SBX_GATE_SECRETS_H

#include "inject.h"
#include "loop.h"

struct sbx_secrets;

/** No broker yet. NULL: no memory. `ended_fd`: where the end of a broker is told; borrowed. */
struct sbx_secrets *sbx_secrets_new(struct sbx_loop *loop, int ended_fd);
void sbx_secrets_free(struct sbx_secrets *s); /**< Wipes; NULL is fine. */
/** Take a broker's connection (SEQPACKET) in place of the one before. 0, or -1: the descriptor is closed. */
int sbx_secrets_connect(struct sbx_secrets *s, int fd);
/** Tell the broker which values are wanted: those of the rules. The others are wiped. */
void sbx_secrets_want(struct sbx_secrets *s, const struct sbx_injects *rules);
/** The value of a name; false: not there (yet). Borrowed until the loop goes round. */
bool sbx_secrets_find(const struct sbx_secrets *s, const char *name, struct sbx_slice *ret);
bool sbx_secrets_connected(const struct sbx_secrets *s);

/**
 * A message of the broker: "value NAME\n" + the value, or "gone NAME\n". Pure.
 * @param ret_name, ret_value slices of `msg`; ret_value->ptr is NULL for "gone"
 * @return 0, or -1: not such a message, or a value that no header field can carry (GC F8)
 */
int sbx_secret_read(const char *msg, size_t len, struct sbx_slice *ret_name,
                    struct sbx_slice *ret_value);

#endif
