#include "build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *sbx_build_str(struct sbx_planner *b, const char *text)
{
    const char *copy = sbx_arena_strdup(b->arena, text);

    if (text && !copy)
        b->no_memory = true;
    return copy;
}

const char *sbx_build_fmt(struct sbx_planner *b, const char *fmt, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, fmt);
    len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = len < 0 ? NULL : sbx_arena_alloc(b->arena, (size_t)len + 1);
    if (!text) {
        b->no_memory = true;
        return NULL;
    }
    va_start(args, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, args);
    va_end(args);
    return text;
}

void *sbx_build_array(struct sbx_planner *b, size_t n, size_t size)
{
    void *v = sbx_arena_array(b->arena, n ? n : 1, size);

    if (!v)
        b->no_memory = true;
    return v;
}

const char *const *sbx_build_strs(struct sbx_planner *b, const char *const *v, size_t n)
{
    const char **copy = sbx_build_array(b, n + 1, sizeof(*copy));

    for (size_t i = 0; copy && i < n; i++)
        copy[i] = sbx_build_str(b, v[i]);
    return copy;
}

const char *sbx_build_at(struct sbx_planner *b, const struct sbx_origin *at)
{
    const char *file = at->pos.file;
    const char *last = file ? strrchr(file, '/') : NULL;

    if (!at->kit || !file)
        return NULL;
    if (!at->pos.line)
        return sbx_build_fmt(b, "%s/%s", at->kit, file);
    return sbx_build_fmt(b, "%s/%s:%u:%u", at->kit, last ? last + 1 : file, at->pos.line,
                         at->pos.column);
}

const char *sbx_build_kit(struct sbx_planner *b, const struct sbx_origin *at)
{
    return sbx_build_str(b, at->kit ? at->kit : b->a->name);
}

const char *sbx_build_workdir(struct sbx_planner *b, const char *text)
{
    static const char mark[] = "${WORKDIR}";
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_SCRIPT_MAX * 16);
    const char *next;
    enum sbx_code rc = SBX_OK;

    if (!text || !strstr(text, mark))
        return sbx_build_str(b, text);
    for (; !rc && (next = strstr(text, mark)); text = next + strlen(mark)) {
        rc = sbx_buf_add(&out, text, (size_t)(next - text));
        if (!rc)
            rc = sbx_buf_adds(&out, b->p->workdir);
    }
    if (!rc)
        rc = sbx_buf_adds(&out, text);
    if (rc) {
        b->no_memory = true;
        return NULL;
    }
    return sbx_build_str(b, out.ptr);
}

bool sbx_build_is_mixin(const struct sbx_planner *b, const char *kit)
{
    for (size_t i = 0; kit && i < b->a->kits.len; i++)
        if (!strcmp(b->a->kits.v[i].name, kit))
            return !strcmp(b->a->kits.v[i].kind, "mixin");
    return false;
}

void sbx_build_data(struct sbx_planner *b, struct sbx_plan_file *f, const char *text, size_t len)
{
    char digest[SBX_DIGEST_TEXT_SIZE];

    if (!text || sbx_digest(text, len, digest)) {
        b->no_memory = true;
        return;
    }
    f->data = len ? text : NULL;
    f->size = len;
    f->digest = sbx_build_str(b, digest);
}

enum sbx_code sbx_shell_quote(const char *text, struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_adds(out, "'");

    for (const char *quote; !rc && (quote = strchr(text, '\'')); text = quote + 1) {
        rc = sbx_buf_add(out, text, (size_t)(quote - text));
        if (!rc)
            rc = sbx_buf_adds(out, "'\\''");
    }
    if (!rc)
        rc = sbx_buf_adds(out, text);
    return rc ? rc : sbx_buf_adds(out, "'");
}
