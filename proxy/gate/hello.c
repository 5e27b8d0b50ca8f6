/* The server name and the protocols of a ClientHello. See hello.h. */
#include "hello.h"

#include <stdint.h>
#include <string.h>

enum {
    RECORD_HEADER = 5, HANDSHAKE = 22, RECORD_MAX = 16384, /* RFC 8446, 5.1 */
    MESSAGE_HEADER = 4, CLIENT_HELLO = 1,
    EXT_SERVER_NAME = 0, EXT_ALPN = 16, EXT_ECH = 0xfe0d, NAME_HOST = 0,
};

/* A cursor; `bad` once something did not fit. */
struct bytes {
    const uint8_t *p;
    size_t len;
    bool bad;
};

static unsigned number(struct bytes *b, size_t size)
{
    unsigned v = 0;

    if (b->len < size) {
        b->bad = true;
        b->len = 0;
        return 0;
    }
    for (size_t i = 0; i < size; i++)
        v = v << 8 | b->p[i];
    b->p += size;
    b->len -= size;
    return v;
}

static struct bytes piece(struct bytes *b, size_t len)
{
    struct bytes out = { b->p, len, false };

    if (b->len < len) {
        b->bad = true;
        b->len = 0;
        return (struct bytes){ b->p, 0, true };
    }
    b->p += len;
    b->len -= len;
    return out;
}

/* One name; more, or another kind, is something that readers could take in different ways. */
static bool read_server_name(struct sbx_hello *h, struct bytes ext)
{
    size_t total = number(&ext, 2);
    struct bytes list = piece(&ext, total), name;
    unsigned kind = number(&list, 1);
    size_t len = number(&list, 2);

    name = piece(&list, len);
    if (ext.bad || ext.len || list.bad || list.len || name.bad || kind != NAME_HOST || !name.len ||
        name.len >= sizeof(h->name) || h->named)
        return false;
    memcpy(h->name, name.p, name.len);
    h->name[name.len] = '\0';
    h->name_len = name.len;
    h->named = true;
    return true;
}

/* Which of the protocols that the gate knows are offered. */
static bool read_protocols(struct sbx_hello *h, struct bytes ext)
{
    size_t total = number(&ext, 2);
    struct bytes list = piece(&ext, total);

    if (ext.bad || ext.len || list.bad || !list.len || h->alpn)
        return false;
    h->alpn = true;
    while (list.len) {
        size_t len = number(&list, 1);
        struct bytes name = piece(&list, len);

        if (list.bad || !name.len)
            return false;
        h->offers_h1 |= name.len == 8 && memcmp(name.p, "http/1.1", 8) == 0;
        h->offers_h2 |= name.len == 2 && memcmp(name.p, "h2", 2) == 0;
    }
    return true;
}

static bool read_extensions(struct sbx_hello *h, struct bytes b)
{
    while (b.len && !b.bad) {
        unsigned kind = number(&b, 2);
        size_t len = number(&b, 2);
        struct bytes ext = piece(&b, len);

        if (b.bad)
            break;
        if (kind == EXT_SERVER_NAME && !read_server_name(h, ext))
            return false;
        if (kind == EXT_ALPN && !read_protocols(h, ext))
            return false;
        if (kind == EXT_ECH)
            h->ech = true;
    }
    return !b.bad;
}

static bool read_message(struct sbx_hello *h)
{
    struct bytes b = { (const uint8_t *)h->msg.ptr + MESSAGE_HEADER, h->msg.len - MESSAGE_HEADER,
                       false };
    struct bytes extensions;

    piece(&b, 2 + 32);         /* version, random */
    piece(&b, number(&b, 1));  /* session */
    piece(&b, number(&b, 2));  /* cipher suites */
    piece(&b, number(&b, 1));  /* compression */
    if (b.bad)
        return false;
    if (!b.len)
        return true; /* a hello of old: no extensions, so no name */
    extensions = piece(&b, number(&b, 2));
    return !b.bad && !b.len && read_extensions(h, extensions);
}

/* Length of the message with its header, 0: not known yet. */
static size_t message_len(const struct sbx_hello *h)
{
    const uint8_t *p = (const uint8_t *)h->msg.ptr;

    if (h->msg.len < MESSAGE_HEADER)
        return 0;
    return MESSAGE_HEADER + ((size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]);
}

/* Take whole records in. MORE: there is another one to take. */
static enum sbx_hello_state take_record(struct sbx_hello *h, const uint8_t *p, size_t len)
{
    size_t want, size;

    if (p[0] != HANDSHAKE || p[1] != 3)
        return SBX_HELLO_BAD;
    size = (size_t)p[3] << 8 | p[4];
    if (!size || size > RECORD_MAX)
        return SBX_HELLO_BAD;
    if (len < RECORD_HEADER + size)
        return SBX_HELLO_DONE;
    if (sbx_buf_add(&h->msg, p + RECORD_HEADER, size))
        return SBX_HELLO_BAD;
    h->at += RECORD_HEADER + size;
    if (h->msg.ptr[0] != CLIENT_HELLO)
        return SBX_HELLO_BAD;
    want = message_len(h);
    return want > SBX_GATE_HELLO_MAX ? SBX_HELLO_BAD : SBX_HELLO_MORE;
}

enum sbx_hello_state sbx_hello_read(struct sbx_hello *h, const char *buf, size_t len)
{
    const uint8_t *p = (const uint8_t *)buf;
    enum sbx_hello_state state = SBX_HELLO_MORE;
    size_t want;

    if (!len || (len == 1 && p[0] == HANDSHAKE))
        return SBX_HELLO_MORE;
    if (p[0] != HANDSHAKE || p[1] != 3)
        return SBX_HELLO_NOT_TLS;
    for (;;) {
        want = message_len(h);
        if (want && h->msg.len >= want)
            break;
        if (len - h->at < RECORD_HEADER)
            return SBX_HELLO_MORE;
        state = take_record(h, p + h->at, len - h->at);
        if (state == SBX_HELLO_BAD)
            return state;
        if (state == SBX_HELLO_DONE)
            return SBX_HELLO_MORE; /* the record is not all there */
    }
    /* Another message behind it in the same record would be sent before the server has answered. */
    if (h->msg.len > want || !read_message(h))
        return SBX_HELLO_BAD;
    return SBX_HELLO_DONE;
}

void sbx_hello_release(struct sbx_hello *h)
{
    sbx_buf_release(&h->msg);
}
