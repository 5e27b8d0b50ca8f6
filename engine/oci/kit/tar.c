#include "tar.h"

#include <stdio.h>
#include <string.h>

#include "sbx/buf.h"
#include "sbx/ustar.h"

#define BLOCK SBX_USTAR_BLOCK

/* What records before an entry say about it. */
struct said {
    char *name; /* malloc'd; NULL: the header has it */
    int64_t size; /* -1: the header has it */
};

static enum sbx_code cut_off(struct sbx_err *err)
{
    return sbx_err_set(err, SBX_SYNTAX, "the archive is cut off");
}

static enum sbx_code read_whole(struct tar_in *t, void *to, size_t len, struct sbx_err *err)
{
    size_t n = 0;
    enum sbx_code rc = t->read(t->ctx, to, len, &n, err);

    return rc || n == len ? rc : cut_off(err);
}

static enum sbx_code skip(struct tar_in *t, struct sbx_err *err)
{
    char data[16384];
    enum sbx_code rc = SBX_OK;

    t->left += t->padding;
    t->padding = 0;
    while (!rc && t->left) {
        size_t step = t->left < (int64_t)sizeof(data) ? (size_t)t->left : sizeof(data);

        rc = read_whole(t, data, step, err);
        t->left -= (int64_t)step;
    }
    return rc;
}

/* Octal digits, or with the first bit set a large number in binary (GNU). */
static bool number(const char *field, size_t size, int64_t *ret)
{
    size_t i = 0;
    int64_t value = 0;

    if ((unsigned char)field[0] == 0x80) {
        for (i = 1; i < size; i++) {
            if (value >> 54)
                return false;
            value = value << 8 | (unsigned char)field[i];
        }
        *ret = value;
        return true;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
        if (value >> 59)
            return false;
        value = value << 3 | (field[i] - '0');
    }
    *ret = value;
    return i == size || field[i] == '\0' || field[i] == ' ';
}

static bool checksum_holds(const char *block)
{
    long with = 8 * ' ', signs = 8 * ' ';
    int64_t want;

    for (size_t i = 0; i < BLOCK; i++) {
        if (i >= 148 && i < 156)
            continue;
        with += (unsigned char)block[i];
        signs += (signed char)block[i]; /* some old writers */
    }
    return number(block + 148, 8, &want) && (want == with || want == signs);
}

static bool is_zero(const char *block)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

/* "27 path=home/agent/x\n": the length counts the whole record. */
static enum sbx_code one_record(const char *p, size_t left, size_t *ret_len, struct said *s,
                                bool global, struct sbx_err *err)
{
    size_t len = 0, digits = 0;
    const char *key, *value;

    while (digits < left && digits < 8 && p[digits] >= '0' && p[digits] <= '9')
        len = len * 10 + (size_t)(p[digits++] - '0');
    if (!digits || len > left || len < digits + 3 || p[digits] != ' ' || p[len - 1] != '\n')
        return sbx_err_set(err, SBX_SYNTAX, "a broken pax record");
    *ret_len = len;
    key = p + digits + 1;
    value = memchr(key, '=', (size_t)(p + len - 1 - key));
    if (!value)
        return sbx_err_set(err, SBX_SYNTAX, "a pax record without a value");
    len = (size_t)(p + len - 1 - ++value); /* of the value */
    if (!strncmp(key, "GNU.sparse.", 11))
        return sbx_err_set(err, SBX_SCHEMA, "a sparse file");
    if (strncmp(key, "path=", 5) != 0 && strncmp(key, "size=", 5) != 0)
        return SBX_OK;
    if (global)
        return sbx_err_set(err, SBX_SCHEMA, "a name or a size for all entries");
    if (key[0] == 's') {
        if (!len || len > 18 || strspn(value, "0123456789") != len)
            return sbx_err_set(err, SBX_SYNTAX, "a size that is no number");
        s->size = atoll(value);
        return SBX_OK;
    }
    free(s->name);
    s->name = memchr(value, '\0', len) ? NULL : strndup(value, len);
    return s->name ? SBX_OK : sbx_err_set(err, SBX_SYNTAX, "a name with a NUL in it");
}

/* Content of a special entry: records, or a long name. */
static enum sbx_code special(struct tar_in *t, char type, int64_t size, struct said *s,
                             struct sbx_err *err)
{
    SBX_AUTO_FREE char *data = NULL;
    enum sbx_code rc;

    if (size > TAR_RECORDS_MAX)
        return sbx_err_set(err, SBX_LIMIT, "%lld bytes of records before an entry",
                           (long long)size);
    data = calloc(1, (size_t)size + 1);
    if (!data)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = read_whole(t, data, (size_t)size, err);
    t->left = 0;
    if (!rc)
        rc = skip(t, err); /* the padding */
    if (!rc && type == 'L') {
        free(s->name);
        s->name = strdup(data);
        return s->name ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    for (size_t at = 0, len = 0; !rc && type != 'K' && at < (size_t)size; at += len)
        rc = one_record(data + at, (size_t)size - at, &len, s, type == 'g', err);
    return rc;
}

static enum sbx_code name_of(const char *block, const struct said *s, struct tar_entry *e,
                             struct sbx_err *err)
{
    bool posix = !memcmp(block + 257, "ustar", 6); /* GNU writes "ustar  " and has no prefix */
    int prefix = posix ? (int)strnlen(block + 345, 155) : 0;
    int len;

    if (s->name)
        len = snprintf(e->name, sizeof(e->name), "%s", s->name);
    else
        len = snprintf(e->name, sizeof(e->name), "%.*s%s%.100s", prefix, block + 345,
                       prefix ? "/" : "", block);
    if (len >= (int)sizeof(e->name))
        return sbx_err_set(err, SBX_LIMIT, "a name of more than %d bytes", TAR_NAME_MAX - 1);
    return len ? SBX_OK : sbx_err_set(err, SBX_SCHEMA, "an entry without a name");
}

/* A header that is an entry of its own. */
static enum sbx_code take_entry(struct tar_in *t, const char *block, const struct said *s,
                                struct tar_entry *e, struct sbx_err *err)
{
    int64_t mode = 0;
    size_t len;
    enum sbx_code rc = name_of(block, s, e, err);

    if (rc)
        return rc;
    if (!number(block + 100, 8, &mode))
        return sbx_err_set(err, SBX_SYNTAX, "a mode that is no number");
    e->mode = (unsigned)(mode & 07777);
    e->type = block[156] == '7' || !block[156] ? '0' : block[156];
    len = strlen(e->name);
    if (!block[156] && e->name[len - 1] == '/')
        e->type = '5'; /* before there was a type for them */
    if (s->size >= 0 && e->type == '0') {
        t->left = s->size;
        t->padding = (unsigned)(-s->size & (BLOCK - 1));
    }
    e->size = e->type == '0' ? t->left : 0;
    if (e->type == '5' && t->left)
        return sbx_err_set(err, SBX_SCHEMA, "a directory with content");
    return SBX_OK;
}

static enum sbx_code read_header(struct tar_in *t, char block[BLOCK], bool *ret_more,
                                 struct sbx_err *err)
{
    size_t n = 0;
    enum sbx_code rc = t->read(t->ctx, block, BLOCK, &n, err);

    *ret_more = !rc && n == BLOCK && !is_zero(block);
    if (rc || !n || (n == BLOCK && !*ret_more))
        return rc;
    if (n < BLOCK)
        return cut_off(err);
    if (!checksum_holds(block) || !number(block + 124, 12, &t->left) || t->left < 0)
        return sbx_err_set(err, SBX_SYNTAX, "no header of tar where one should be");
    t->padding = (unsigned)(-t->left & (BLOCK - 1));
    return SBX_OK;
}

enum sbx_code tar_next(struct tar_in *t, struct tar_entry *e, bool *ret_more, struct sbx_err *err)
{
    struct said said = { NULL, -1 };
    enum sbx_code rc = skip(t, err);
    bool found = false;

    while (!rc && !found) {
        char block[BLOCK];

        rc = read_header(t, block, ret_more, err);
        if (rc || !*ret_more)
            break;
        found = !strchr("xgXLK", block[156]) || !block[156];
        rc = found ? take_entry(t, block, &said, e, err)
                   : special(t, block[156], t->left, &said, err);
    }
    free(said.name);
    return rc;
}

enum sbx_code tar_data(struct tar_in *t, void *to, size_t len, size_t *ret_n, struct sbx_err *err)
{
    if ((int64_t)len > t->left)
        len = (size_t)t->left;
    *ret_n = len;
    t->left -= (int64_t)len;
    return len ? read_whole(t, to, len, err) : SBX_OK;
}
