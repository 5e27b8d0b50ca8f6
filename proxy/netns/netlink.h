/**
 * @file
 * Netlink requests written by hand: messages into one buffer, one send, one answer a message.
 */
#ifndef SBX_NETNS_NETLINK_H
#define SBX_NETNS_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sbx/err.h"

struct nlmsghdr;

#define SBX_NL_BYTES 16384 /* bytes; all rules of a namespace take about 6 KiB */
#define SBX_NL_MESSAGES 48 /* messages in one buffer; the rules are about 25 */

/** Messages to send together. `what[i]` says in words what message i asks for (borrowed). */
struct sbx_nl {
    size_t len;   /* bytes used */
    size_t start; /* offset of the message being built */
    size_t n;
    size_t acks; /* messages that ask for an answer */
    bool full;   /* something did not fit: send refuses */
    const char *what[SBX_NL_MESSAGES];
    _Alignas(8) unsigned char data[SBX_NL_BYTES];
};

void sbx_nl_init(struct sbx_nl *nl);
/** Begin a message; `head` is its family header (ifinfomsg ...). NLM_F_REQUEST is added. */
void sbx_nl_begin(struct sbx_nl *nl, const char *what, uint16_t type, uint16_t flags,
                  const void *head, size_t head_len);
void sbx_nl_end(struct sbx_nl *nl);

void sbx_nl_attr(struct sbx_nl *nl, uint16_t type, const void *data, size_t len);
void sbx_nl_u8(struct sbx_nl *nl, uint16_t type, uint8_t v);
void sbx_nl_u32(struct sbx_nl *nl, uint16_t type, uint32_t v);
void sbx_nl_be32(struct sbx_nl *nl, uint16_t type, uint32_t v);
void sbx_nl_str(struct sbx_nl *nl, uint16_t type, const char *s); /* with its NUL */
size_t sbx_nl_nest(struct sbx_nl *nl, uint16_t type);
void sbx_nl_nest_end(struct sbx_nl *nl, size_t nest);

/** A netlink socket of `protocol` in the current namespace, or -1 with err set. */
int sbx_nl_open(int protocol, struct sbx_err *err);

/**
 * Send all and read the answers.
 * @param exists_ok an answer EEXIST counts as done (what is asked for is there)
 * @return SBX_OK; SBX_LIMIT (did not fit); SBX_UNSUPPORTED (the kernel lacks a part); SBX_IO
 */
SBX_MUST_USE enum sbx_code sbx_nl_send(int fd, struct sbx_nl *nl, bool exists_ok,
                                       struct sbx_err *err);

/** One message of a dump; not SBX_OK ends the dump with that code. */
typedef enum sbx_code sbx_nl_each(const struct nlmsghdr *h, void *ctx, struct sbx_err *err);

/** Dump objects of `type`; `head` is the family header. */
SBX_MUST_USE enum sbx_code sbx_nl_dump(int fd, uint16_t type, const void *head, size_t head_len,
                                       sbx_nl_each *each, void *ctx, struct sbx_err *err);

/** Attribute `type` of a message whose family header has `head_len` bytes; NULL: not there. */
const void *sbx_nl_find(const struct nlmsghdr *h, size_t head_len, uint16_t type, size_t *ret_len);

#endif
