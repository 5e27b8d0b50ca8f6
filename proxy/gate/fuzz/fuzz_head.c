/* Request and reply heads, with what follows from them. First byte: which, and where to cut. */
#include <stdlib.h>
#include <string.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inside an intercepted connection: nothing but its own host comes out, whatever goes in. */
static void check_inner(const struct sbx_head *h, const struct sbx_body *b)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_HEAD_MAX + SBX_GATE_TARGET_MAX + 256);
    static const struct sbx_host own = { .kind = SBX_HOST_NAME, .text = "a.example" };
    static const char line[] = "\r\nHost: a.example\r\n";
    struct sbx_target t;
    struct sbx_fault f;
    struct sbx_scan s = { 0 };

    if (sbx_target_read_inner(h, &own, 443, &t, &f))
        return;
    if (sbx_rewrite_request(h, &t, b, &out) ||
        sbx_head_scan(&s, out.ptr, out.len, true, &f) != (ssize_t)out.len ||
        !memmem(out.ptr, out.len, line, sizeof(line) - 1))
        abort();
}

static void check_request(const char *text, size_t len)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_HEAD_MAX + SBX_GATE_TARGET_MAX + 256);
    struct sbx_head h;
    struct sbx_target t;
    struct sbx_body b;
    struct sbx_fault f;
    struct sbx_scan s = { 0 };

    if (sbx_head_parse_request(text, len, &h, &f) || sbx_frame_request(&h, &b, &f))
        return;
    check_inner(&h, &b);
    if (sbx_target_read(&h, &t, &f) || t.connect)
        return;
    if (sbx_rewrite_request(&h, &t, &b, &out))
        abort(); /* what was accepted must fit */
    /* The rewritten head is one strict head too: nothing was smuggled into it. */
    if (sbx_head_scan(&s, out.ptr, out.len, true, &f) != (ssize_t)out.len)
        abort();
}

static void check_reply(const char *text, size_t len)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_REPLY_HEAD_MAX + 1024);
    const struct sbx_reply_plan plan = { .close = true };
    struct sbx_head h;
    struct sbx_body b;
    struct sbx_fault f;

    if (sbx_head_parse_reply(text, len, &h, &f) || sbx_frame_reply(&h, false, &b, &f))
        return;
    if (sbx_rewrite_reply(&h, &b, &plan, &out))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;
    struct sbx_scan once = { 0 }, twice = { 0 };
    struct sbx_fault f;
    bool reply;
    size_t cut;
    ssize_t a, b;

    if (!size)
        return 0;
    reply = data[0] & 1;
    size--;
    cut = size * (data[0] >> 1) / 127;
    a = sbx_head_scan(&once, text, size, reply, &f);
    b = cut ? sbx_head_scan(&twice, text, cut, reply, &f) : 0;
    if (!b)
        b = sbx_head_scan(&twice, text, size, reply, &f);
    if (a != b)
        abort(); /* pieces must not matter */
    if (a > 0)
        reply ? check_reply(text, (size_t)a) : check_request(text, (size_t)a);
    return 0;
}
