/* git+https://host/path#ref=COMMIT&dir=SUBDIR (distribution, "Git references"). */
#include "ref_int.h"

#include <stdio.h>
#include <string.h>

#define UNRESERVED                                                                                 \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/" /* RFC 3986 3.5; "/" is one there */

static const char *const schemes[] = { "https://", "ssh://", "http://", "file://" };

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* RFC 3986 percent-decoding; NULL with *ret_bad: not decodable, or to a NUL or control byte. */
static char *decode(struct sbx_arena *a, const char *text, size_t len, bool *ret_bad)
{
    char *out = sbx_arena_alloc(a, len + 1);
    size_t n = 0;

    for (size_t i = 0; out && i < len; i++) {
        int c = (unsigned char)text[i];

        if (c == '%') {
            int hi = i + 1 < len ? hex_value(text[i + 1]) : -1;
            int lo = i + 2 < len ? hex_value(text[i + 2]) : -1;

            c = hi < 0 || lo < 0 ? 0 : hi << 4 | lo;
            i += 2;
        }
        if (c < 0x20 || c == 0x7f) {
            *ret_bad = true;
            return NULL;
        }
        out[n++] = (char)c;
    }
    return out;
}

static char *encode(struct sbx_arena *a, const char *text)
{
    char *out = sbx_arena_alloc(a, 3 * strlen(text) + 1), *p = out;

    for (; out && *text; text++)
        if (strchr(UNRESERVED, *text))
            *p++ = *text;
        else
            p += sprintf(p, "%%%02X", (unsigned char)*text);
    return out;
}

const char *sbx_ref_git_text(const struct sbx_ref *r, const char *commit, struct sbx_arena *arena)
{
    const char *dir = encode(arena, r->subdir ? r->subdir : "");

    return dir ? sbx_arena_printf(arena, "git+%s#ref=%s%s%s", r->url, commit, *dir ? "&dir=" : "", dir)
               : NULL;
}

static bool is_commit(const char *text)
{
    return strlen(text) == GIT_SHA_LEN &&
           strspn(text, "0123456789abcdefABCDEF") == GIT_SHA_LEN;
}

/* Branches and tags are named in hints, so they parse; what git could take for an option does not. */
static enum sbx_code set_revision(char *value, struct sbx_ref *ret, struct sbx_err *err)
{
    if (value[0] == '-' || strpbrk(value, " ~^:?*[\\") || strstr(value, "..") ||
        strstr(value, "@{"))
        return sbx_err_set(err, SBX_SCHEMA, "ref=%.80s: not a commit, branch or tag", value);
    ret->revision = value;
    ret->immutable = is_commit(value);
    for (char *p = value; ret->immutable && *p; p++)
        if (*p >= 'A' && *p <= 'F')
            *p |= 0x20;
    return SBX_OK;
}

static enum sbx_code set_subdir(char *value, struct sbx_arena *a, struct sbx_ref *ret,
                                struct sbx_err *err)
{
    bool escapes = false;
    char *clean;

    if (value[0] == '/')
        return sbx_err_set(err, SBX_SCHEMA, "dir=%.80s: write a path below the repository's root, "
                                            "without a leading \"/\"",
                           value);
    clean = sbx_ref_join(a, "", value, &escapes);
    if (escapes)
        return sbx_err_set(err, SBX_SCHEMA, "dir=%.80s leaves the repository", value);
    if (!clean)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    ret->subdir = *clean ? clean : NULL;
    return SBX_OK;
}

static enum sbx_code parse_field(const char *field, size_t len, struct sbx_arena *a,
                                 struct sbx_ref *ret, bool seen[2], struct sbx_err *err)
{
    const char *equals = memchr(field, '=', len);
    size_t key = equals ? (size_t)(equals - field) : len;
    bool is_dir = key == 3 && !memcmp(field, "dir", 3), bad = false;
    char *value;

    if (!is_dir && !(key == 3 && !memcmp(field, "ref", 3)))
        return sbx_err_set(err, SBX_SCHEMA, "unknown \"%.*s\" behind \"#\"; known are ref=<40-hex "
                                            "commit> and dir=<subdirectory>, joined by \"&\"",
                           (int)(key < 80 ? key : 80), field);
    if (seen[is_dir])
        return sbx_err_set(err, SBX_SCHEMA, "\"%s\" is given twice", is_dir ? "dir" : "ref");
    seen[is_dir] = true;
    if (!equals || key + 1 == len)
        return sbx_err_set(err, SBX_SCHEMA, "\"%s\" has no value", is_dir ? "dir" : "ref");
    value = decode(a, equals + 1, len - key - 1, &bad);
    if (bad)
        return sbx_err_set(err, SBX_SCHEMA, "\"%s\": a percent sign without two hexadecimal digits, "
                                            "or a control character",
                           is_dir ? "dir" : "ref");
    if (!value)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    return is_dir ? set_subdir(value, a, ret, err) : set_revision(value, ret, err);
}

static enum sbx_code parse_fragment(const char *text, struct sbx_arena *a, struct sbx_ref *ret,
                                    struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;
    bool seen[2] = { false, false };

    while (!rc) {
        size_t len = strcspn(text, "&");

        rc = parse_field(text, len, a, ret, seen, err);
        if (!text[len])
            break;
        text += len + 1;
    }
    return rc;
}

/* Host and user are handed to git and ssh: neither may look like an option. */
static enum sbx_code check_authority(const char *authority, size_t len, struct sbx_err *err)
{
    const char *at = memrchr(authority, '@', len);
    const char *host = at ? at + 1 : authority;

    if (at && memchr(authority, ':', (size_t)(at - authority)))
        return sbx_err_set(err, SBX_SCHEMA, "a password in a reference ends up in logs and records; "
                                            "leave it out and use git's credential helper");
    if (host == authority + len)
        return sbx_err_set(err, SBX_SCHEMA, "no host");
    if (authority[0] == '-' || host[0] == '-' || host[0] == ':')
        return sbx_err_set(err, SBX_SCHEMA, "not a host: \"%.*s\"", (int)(len < 80 ? len : 80),
                           authority);
    return SBX_OK;
}

static enum sbx_code check_url(const char *scheme, const char *rest, struct sbx_err *err)
{
    size_t authority = strcspn(rest, "/");
    enum sbx_code rc;

    if (strpbrk(rest, " \"<>\\^`{|}"))
        return sbx_err_set(err, SBX_SCHEMA, "a character that a URL cannot hold; encode it as %%XX");
    if (!strcmp(scheme, "file://")) {
        if (rest[0] != '/' || !rest[1])
            return sbx_err_set(err, SBX_SCHEMA, "write an absolute path: git+file:///path/to/repo");
        return SBX_OK;
    }
    rc = check_authority(rest, authority, err);
    if (!rc && !rest[authority + (rest[authority] == '/')])
        rc = sbx_err_set(err, SBX_SCHEMA, "no path of a repository behind the host");
    return rc;
}

enum sbx_code sbx_ref_git(const char *text, struct sbx_arena *a, struct sbx_ref *ret,
                          struct sbx_err *err)
{
    const char *url = text + 4, *hash = strchr(url, '#');
    const char *scheme = NULL;
    char *copy = sbx_arena_memdup(a, url, hash ? (size_t)(hash - url) : strlen(url));
    enum sbx_code rc;

    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    for (size_t i = 0; i < SBX_ARRAY_LEN(schemes) && !scheme; i++)
        if (!strncmp(copy, schemes[i], strlen(schemes[i])))
            scheme = schemes[i];
    if (!scheme)
        return sbx_err_set(err, SBX_SCHEMA, "write git+https://, git+ssh://, git+http:// or "
                                            "git+file://");
    rc = check_url(scheme, copy + strlen(scheme), err);
    ret->kind = SBX_REF_GIT;
    ret->url = copy;
    if (!rc && hash && hash[1])
        rc = parse_fragment(hash + 1, a, ret, err);
    return rc;
}
