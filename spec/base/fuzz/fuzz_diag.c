/*
 * Findings of hostile bytes in every form: as a line, with the source line and a caret, as JSON and as
 * SARIF. Input: four texts (message, path, hint, name of the file) that end at a NUL, then the file.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sbx/diag.h"
#include "sbx/file.h"
#include "sbx/json.h"
#include "sbx/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a terminal gets: UTF-8 without control characters; `lines` newlines at most. */
static void check_safe(const struct sbx_buf *text, size_t lines)
{
    if (!sbx_utf8_valid(text->len ? text->ptr : "", text->len))
        __builtin_trap();
    for (size_t i = 0; i < text->len; i++) {
        unsigned char c = (unsigned char)text->ptr[i];

        if (c == '\n' ? !lines-- : c < ' ' || c == 0x7f)
            __builtin_trap();
    }
}

static void check_forms(const struct sbx_diags *d)
{
    SBX_AUTO_JSON json_t *json = sbx_diags_json(d);
    SBX_AUTO_JSON json_t *sarif = sbx_diags_sarif(d, "0");
    char *text = sarif ? json_dumps(sarif, JSON_COMPACT) : NULL;

    if (!json || json_array_size(json) != d->len || !text)
        __builtin_trap();
    free(text);
    for (size_t i = 0; i < d->len; i++) {
        SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(1 << 24), excerpt = SBX_BUF_INIT(1 << 20);

        if (sbx_diag_text(&d->v[i], &line) || sbx_diag_excerpt(&d->v[i], &excerpt))
            __builtin_trap();
        check_safe(&line, 0);
        check_safe(&excerpt, 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("source", MFD_CLOEXEC);
    SBX_AUTO(sbx_diags) d = { 0 };
    char *texts[4] = { NULL }, path[40];
    struct sbx_pos pos;

    if (fd < 0 || sbx_diags_init(&d))
        abort();
    for (size_t i = 0; i < 4; i++) {
        size_t len = strnlen((const char *)data, size);

        texts[i] = strndup((const char *)data, len);
        data += len < size ? len + 1 : len;
        size -= len < size ? len + 1 : len;
    }
    if (sbx_write_all(fd, data, size))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (unsigned i = 0; i < 4; i++) { /* places that the file may or may not have */
        pos = (struct sbx_pos){ i == 3 ? texts[3] : path, i, i ? (unsigned)size / i : 0, size / (i + 1),
                                size };
        sbx_diags_add(&d, (enum sbx_severity)(i % 3), i % 2 ? "unknown-field" : "code", pos, texts[1],
                      i == 1 ? NULL : texts[2], "%s", texts[0]);
    }
    sbx_diags_sort(&d);
    check_forms(&d);
    for (size_t i = 0; i < 4; i++)
        free(texts[i]);
    close(fd);
    return 0;
}
