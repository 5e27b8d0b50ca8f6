#include <string.h>

#include "store.h"

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"
#define BOOK_KEEPING ".wh..wh." /* names that aufs kept for itself */

/* Copy the components of `text`, refusing what could lead elsewhere. */
static enum sbx_code clean(const char *text, struct sbx_entry_name *ret, struct sbx_err *err)
{
    size_t len = 0;

    while (*text) {
        size_t n = strcspn(text, "/");

        if (n == 2 && text[0] == '.' && text[1] == '.')
            return sbx_err_set(err, SBX_SCHEMA, "a component of the path is \"..\"");
        if (n && !(n == 1 && text[0] == '.')) {
            if (n > 255)
                return sbx_err_set(err, SBX_SCHEMA, "a component is longer than 255 bytes");
            if (len + 1 + n >= sizeof(ret->path))
                return sbx_err_set(err, SBX_SCHEMA, "the path is longer than %zu bytes",
                                   sizeof(ret->path) - 1);
            ret->parent_len = len;
            if (len)
                ret->path[len++] = '/';
            memcpy(ret->path + len, text, n);
            ret->name = ret->path + len;
            len += n;
        }
        text += n + (text[n] == '/');
    }
    ret->path[len] = '\0';
    return SBX_OK;
}

/* A whiteout may only be a last component: a directory of that name cannot be in a layer. */
static bool whiteout_in_parent(const struct sbx_entry_name *e)
{
    const char *p = e->path;

    while (p < e->name) {
        if (strncmp(p, WHITEOUT, strlen(WHITEOUT)) == 0)
            return true;
        p = strchr(p, '/') + 1;
    }
    return false;
}

static enum sbx_code whiteout(struct sbx_entry_name *e, struct sbx_err *err)
{
    if (whiteout_in_parent(e)) {
        /* aufs' own directories (.wh..wh.plnk/...) are skipped whole */
        if (strncmp(e->path, BOOK_KEEPING, strlen(BOOK_KEEPING)) == 0) {
            e->kind = SBX_ENTRY_SKIP;
            return SBX_OK;
        }
        return sbx_err_set(err, SBX_SCHEMA, "a whiteout is used as a directory");
    }
    if (strncmp(e->name, WHITEOUT, strlen(WHITEOUT)) != 0)
        return SBX_OK;
    if (strcmp(e->name, OPAQUE) == 0) {
        e->kind = SBX_ENTRY_OPAQUE;
        return SBX_OK;
    }
    if (strncmp(e->name, BOOK_KEEPING, strlen(BOOK_KEEPING)) == 0) {
        e->kind = SBX_ENTRY_SKIP;
        return SBX_OK;
    }
    e->name += strlen(WHITEOUT);
    if (!*e->name || strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
        return sbx_err_set(err, SBX_SCHEMA, "a whiteout of nothing");
    e->kind = SBX_ENTRY_WHITEOUT;
    return SBX_OK;
}

enum sbx_code sbx_entry_name(const char *text, bool layer, struct sbx_entry_name *ret,
                             struct sbx_err *err)
{
    enum sbx_code rc;

    *ret = (struct sbx_entry_name){ .kind = SBX_ENTRY_PLAIN };
    ret->name = ret->path;
    if (!*text)
        return sbx_err_set(err, SBX_SCHEMA, "the path is empty");
    if (*text == '/')
        return sbx_err_set(err, SBX_SCHEMA, "the path is absolute");
    rc = clean(text, ret, err);
    if (rc)
        return rc;
    if (!ret->path[0]) {
        ret->kind = SBX_ENTRY_ROOT;
        return SBX_OK;
    }
    return layer ? whiteout(ret, err) : SBX_OK;
}
