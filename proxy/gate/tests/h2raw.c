/* Raw frames to the relay and from it. See h2lab.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "h2lab.h"

void raw_frame(struct sbx_buf *b, uint8_t type, uint8_t flags, uint32_t id, const void *payload,
               size_t len)
{
    const uint8_t head[9] = { (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len, type, flags,
                              (uint8_t)(id >> 24), (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id };

    assert_int_equal(sbx_buf_add(b, head, sizeof(head)), SBX_OK);
    if (len)
        assert_int_equal(sbx_buf_add(b, payload, len), SBX_OK);
}

void raw_hello(struct sbx_buf *b)
{
    assert_int_equal(sbx_buf_adds(b, NGHTTP2_CLIENT_MAGIC), SBX_OK);
    raw_frame(b, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
}

int raw_input(struct lab *l, const struct sbx_buf *b)
{
    sbx_h2_tick(l->h, l->now_ms);
    return sbx_h2_input(l->h, SBX_HTTP_CLIENT, b->ptr, b->len);
}

static uint32_t word(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void note(struct raw_answer *a, const uint8_t *frame)
{
    switch (frame[3]) {
    case NGHTTP2_GOAWAY:
        a->goaway = true;
        a->goaway_code = word(frame + 13);
        break;
    case NGHTTP2_RST_STREAM:
        a->resets++;
        a->reset_code = word(frame + 9);
        break;
    case NGHTTP2_HEADERS:
        a->heads++;
        break;
    case NGHTTP2_SETTINGS:
        a->acks += frame[4] & NGHTTP2_FLAG_ACK;
        break;
    case NGHTTP2_PING:
        a->pongs += frame[4] & NGHTTP2_FLAG_ACK;
        break;
    default:
        break;
    }
}

void raw_read(struct lab *l, struct raw_answer *ret)
{
    SBX_AUTO(sbx_buf) all = SBX_BUF_INIT(64 * LAB_TEXT);
    const uint8_t *p;
    char buf[1000];
    size_t n;

    memset(ret, 0, sizeof(*ret));
    while ((n = sbx_h2_output(l->h, SBX_HTTP_CLIENT, buf, sizeof(buf))))
        assert_int_equal(sbx_buf_add(&all, buf, n), SBX_OK);
    for (p = (const uint8_t *)all.ptr; p && p < (const uint8_t *)all.ptr + all.len;) {
        size_t len = 9 + ((size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2]);

        assert_true(p + len <= (const uint8_t *)all.ptr + all.len);
        note(ret, p);
        p += len;
    }
}
