/* What one side may ask for without any use: frames that cost the gate work and carry nothing, and
 * streams that are cut as fast as they begin (CVE-2023-44487 and its kin). See h2part.h. */
#include "h2part.h"

static bool take(struct sbx_h2_bucket *b, uint64_t now_ms, uint32_t max, uint32_t per_second)
{
    uint64_t back = (now_ms - b->at_ms) * per_second / 1000;

    if (back) {
        b->left = back >= max - b->left ? max : b->left + (uint32_t)back;
        b->at_ms = now_ms;
    }
    if (!b->left)
        return false;
    b->left--;
    return true;
}

static void give(struct sbx_h2_bucket *b, uint32_t n, uint32_t max)
{
    b->left = n >= max - b->left ? max : b->left + n;
}

void sbx_h2_guard_init(struct sbx_h2_end *e)
{
    e->resets = (struct sbx_h2_bucket){ SBX_GATE_H2_RESETS, e->h->now_ms };
    e->control = (struct sbx_h2_bucket){ SBX_GATE_H2_CONTROL, e->h->now_ms };
}

bool sbx_h2_guard_cut(struct sbx_h2_end *e)
{
    if (take(&e->resets, e->h->now_ms, SBX_GATE_H2_RESETS, SBX_GATE_H2_RESETS_PER_SECOND))
        return true;
    e->why = (struct sbx_h2_why){ "h2-resets", NGHTTP2_ENHANCE_YOUR_CALM };
    return false;
}

static bool has_use(const nghttp2_frame_hd *hd)
{
    switch (hd->type) {
    case NGHTTP2_DATA:
        return hd->length || (hd->flags & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION: /* counted above, and by the size of the list */
        return true;
    case NGHTTP2_SETTINGS:
        return hd->flags & NGHTTP2_FLAG_ACK; /* one that nobody waits for is an error of its own */
    default:
        return false;
    }
}

bool sbx_h2_guard_frame(struct sbx_h2_end *e, const nghttp2_frame_hd *hd)
{
    if (hd->type == NGHTTP2_RST_STREAM && e->which == SBX_HTTP_CLIENT)
        return sbx_h2_guard_cut(e);
    if (hd->type == NGHTTP2_PUSH_PROMISE) { /* it was told before the first request that none is taken */
        e->why = (struct sbx_h2_why){ "h2-protocol", NGHTTP2_PROTOCOL_ERROR };
        return false;
    }
    if (hd->type == NGHTTP2_CONTINUATION && ++e->continuations > SBX_GATE_H2_CONTINUATIONS) {
        e->why = (struct sbx_h2_why){ "h2-flood", NGHTTP2_ENHANCE_YOUR_CALM };
        return false;
    }
    if (has_use(hd)) {
        if (hd->type == NGHTTP2_DATA || hd->type == NGHTTP2_HEADERS)
            sbx_h2_guard_use(e);
        return true;
    }
    if (take(&e->control, e->h->now_ms, SBX_GATE_H2_CONTROL, SBX_GATE_H2_CONTROL_PER_SECOND))
        return true;
    e->why = (struct sbx_h2_why){ "h2-flood", NGHTTP2_ENHANCE_YOUR_CALM };
    return false;
}

void sbx_h2_guard_use(struct sbx_h2_end *e)
{
    give(&e->control, SBX_GATE_H2_CONTROL_EARNED, SBX_GATE_H2_CONTROL);
}

void sbx_h2_guard_well(struct sbx_h2_end *e)
{
    give(&e->resets, 1, SBX_GATE_H2_RESETS);
}
