/* Archives made by hand: what a hostile one holds no honest program writes. */
#ifndef SBX_TEST_TAR_H
#define SBX_TEST_TAR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sbx/buf.h"
#include "sbx/digest.h"

struct member {
    const char *name;
    char type; /* '0' file, '1' hard link, '2' symlink, '3' char, '4' block, '5' dir, '6' FIFO */
    unsigned mode;
    unsigned uid, gid;
    const char *link;
    const char *data;
    size_t len;      /* 0: strlen(data) */
    const char *pax; /* "KEY=value" of an extended header before it, NULL: none */
    unsigned major, minor;
    unsigned long claim; /* size in the header when it is to lie */
};

static inline void tar_header(struct sbx_buf *out, const struct member *m, char type, size_t size)
{
    char h[512] = { 0 };
    unsigned sum = 0;

    snprintf(h, 100, "%s", m->name);
    snprintf(h + 100, 8, "%07o", m->mode);
    snprintf(h + 108, 8, "%07o", m->uid);
    snprintf(h + 116, 8, "%07o", m->gid);
    snprintf(h + 124, 12, "%011lo", (unsigned long)size);
    snprintf(h + 136, 12, "%011o", 1000000000);
    h[156] = type;
    if (m->link)
        snprintf(h + 157, 100, "%s", m->link);
    memcpy(h + 257, "ustar\00000", 8);
    snprintf(h + 329, 8, "%07o", m->major);
    snprintf(h + 337, 8, "%07o", m->minor);
    memset(h + 148, ' ', 8);
    for (size_t i = 0; i < sizeof(h); i++)
        sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
    assert_int_equal(sbx_buf_add(out, h, sizeof(h)), SBX_OK);
}

static inline void tar_data(struct sbx_buf *out, const void *data, size_t len)
{
    static const char zeros[512];

    assert_int_equal(sbx_buf_add(out, data, len), SBX_OK);
    if (len % 512)
        assert_int_equal(sbx_buf_add(out, zeros, 512 - len % 512), SBX_OK);
}

static inline void tar_pax(struct sbx_buf *out, const char *pair)
{
    struct member m = { .name = "pax", .mode = 0644 };
    char record[4096];
    size_t len = strlen(pair) + 4; /* one or two digits, blank, newline */

    len = (size_t)snprintf(record, sizeof(record), "%zu %s\n", len + (len > 99), pair);
    snprintf(record, sizeof(record), "%zu %s\n", len, pair);
    tar_header(out, &m, 'x', len);
    tar_data(out, record, len);
}

static inline void tar_add(struct sbx_buf *out, const struct member *m)
{
    size_t len = m->len ? m->len : m->data ? strlen(m->data) : 0;

    if (m->pax)
        tar_pax(out, m->pax);
    tar_header(out, m, m->type ? m->type : '0', m->claim ? m->claim : len);
    if (len)
        tar_data(out, m->data, len);
}

static inline void tar_end(struct sbx_buf *out)
{
    static const char zeros[1024];

    assert_int_equal(sbx_buf_add(out, zeros, sizeof(zeros)), SBX_OK);
}

static inline void tar_of(struct sbx_buf *out, const struct member *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tar_add(out, &v[i]);
    tar_end(out);
}

#endif
