/* oci://host[:port]/repository[:tag][@digest] (OCI Distribution Specification 1.1, "Pulling"). */
#include "ref_int.h"

#include <string.h>

#include "sbx/digest.h"

#define TAG_MAX 128        /* bytes; the distribution specification's */
#define REPOSITORY_MAX 255 /* bytes of host and name together, as registries and clients bound it */

static bool lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool alnum(char c)
{
    return lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool sbx_ref_has_registry(const char *text)
{
    size_t len = strcspn(text, "/");

    return text[len] == '/' && (memchr(text, '.', len) || memchr(text, ':', len) ||
                                (len == 9 && !memcmp(text, "localhost", 9)));
}

static bool valid_port(const char *text, size_t len)
{
    unsigned long port = 0;

    if (!len || len > 5 || text[0] == '0')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned long)(text[i] - '0');
    }
    return port <= 65535;
}

static bool valid_domain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool edge = i == 0 || i + 1 == len || text[i - 1] == '.' || text[i + 1] == '.';

        if (!alnum(text[i]) && (edge || (text[i] != '-' && text[i] != '.')))
            return false;
    }
    return len > 0;
}

static bool valid_registry(const char *text, size_t len)
{
    const char *colon;
    size_t host = len;

    if (len && text[0] == '[') {
        const char *end = memchr(text, ']', len);

        if (!end || strspn(text + 1, "0123456789abcdefABCDEF:.") != (size_t)(end - text - 1) ||
            end == text + 1)
            return false;
        host = (size_t)(end - text) + 1;
        return host == len || (text[host] == ':' && valid_port(end + 2, len - host - 1));
    }
    colon = memchr(text, ':', len);
    if (colon)
        host = (size_t)(colon - text);
    return valid_domain(text, host) && (!colon || valid_port(colon + 1, len - host - 1));
}

/* alphanumerics, joined by one ".", one or two "_", or any number of "-" */
static bool valid_component(const char *text, size_t len)
{
    size_t i = 0;

    if (!len || !lower_alnum(text[0]) || !lower_alnum(text[len - 1]))
        return false;
    while (i < len) {
        size_t n = 0;

        if (lower_alnum(text[i])) {
            i++;
            continue;
        }
        while (text[i + n] == text[i])
            n++;
        if (!(text[i] == '-' || (text[i] == '.' && n == 1) || (text[i] == '_' && n <= 2)) ||
            !lower_alnum(text[i + n]))
            return false;
        i += n;
    }
    return true;
}

static enum sbx_code check_repository(const char *text, struct sbx_err *err)
{
    if (!*text)
        return sbx_err_set(err, SBX_SCHEMA, "no repository behind the registry");
    if (strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        return sbx_err_set(err, SBX_SCHEMA, "repository \"%.200s\": names of repositories are in "
                                            "lower case",
                           text);
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, "/");

        if (!valid_component(p, len))
            return sbx_err_set(err, SBX_SCHEMA,
                               "repository \"%.200s\": write parts of letters and digits, joined "
                               "inside by \".\", \"_\" or \"-\"",
                               text);
        p += len;
        if (!*p)
            return SBX_OK;
    }
}

static enum sbx_code check_tag(const char *tag, struct sbx_err *err)
{
    size_t n = strlen(tag), i;

    for (i = 0; i < n && (alnum(tag[i]) || tag[i] == '_' || (i && strchr(".-", tag[i]))); i++)
        ;
    if (!n || i < n || n > TAG_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "tag \"%.140s\": write 1 to %d letters, digits, \".\", "
                                            "\"_\" or \"-\"",
                           tag, TAG_MAX);
    return SBX_OK;
}

static enum sbx_code bad_digest(const char *text, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_SCHEMA,
                       "digest \"%.100s\": write sha256: and 64 lower-case hexadecimal digits", text);
}

/* Cut "repo:tag@digest" in place. */
static enum sbx_code cut(char *rest, struct sbx_ref *ret, struct sbx_err *err)
{
    char *at = strchr(rest, '@'), *colon;
    enum sbx_code rc = SBX_OK;

    if (at) {
        *at = '\0';
        ret->digest = at + 1;
        if (!sbx_digest_valid(ret->digest))
            return bad_digest(ret->digest, err);
    }
    colon = strchr(rest, ':');
    if (colon) {
        *colon = '\0';
        ret->tag = colon + 1;
        rc = check_tag(ret->tag, err);
    }
    ret->repository = rest;
    return rc ? rc : check_repository(rest, err);
}

enum sbx_code sbx_ref_oci(const char *rest, struct sbx_arena *a, struct sbx_ref *ret,
                          struct sbx_err *err)
{
    size_t len = strcspn(rest, "/");
    char *copy = sbx_arena_strdup(a, rest);
    enum sbx_code rc;

    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    if (!sbx_ref_has_registry(rest))
        return sbx_err_set(err, SBX_SCHEMA, "name the registry too: oci://docker.io/%.200s%s", rest,
                           strchr(rest, '@') ? "" : "@sha256:<digest>");
    if (!valid_registry(rest, len))
        return sbx_err_set(err, SBX_SCHEMA, "not a registry: \"%.*s\"; write a host or host:port",
                           (int)(len < 200 ? len : 200), rest);
    copy[len] = '\0';
    ret->kind = SBX_REF_OCI;
    ret->registry = copy;
    rc = cut(copy + len + 1, ret, err);
    if (rc)
        return rc;
    if (len + strlen(ret->repository) > REPOSITORY_MAX)
        return sbx_err_set(err, SBX_SCHEMA, "registry and repository are longer than %d bytes",
                           REPOSITORY_MAX);
    ret->immutable = ret->digest != NULL;
    return SBX_OK;
}

/* A directory may hold colons: the tag is behind the last one that no slash follows. */
enum sbx_code sbx_ref_layout(const char *rest, struct sbx_arena *a, struct sbx_ref *ret,
                             struct sbx_err *err)
{
    char *copy = sbx_arena_strdup(a, rest), *at, *colon;
    enum sbx_code rc = SBX_OK;

    if (!copy)
        return sbx_err_set(err, SBX_NO_MEMORY, "no memory");
    at = strstr(copy, "@sha256:");
    if (at) {
        *at = '\0';
        ret->digest = at + 1;
        if (!sbx_digest_valid(ret->digest))
            return bad_digest(ret->digest, err);
    }
    colon = strrchr(copy, ':');
    if (colon && !strchr(colon, '/')) {
        *colon = '\0';
        ret->tag = colon + 1;
        rc = check_tag(ret->tag, err);
    }
    if (!*copy)
        return sbx_err_set(err, SBX_SCHEMA, "no directory; write oci-layout:DIRECTORY:TAG");
    ret->kind = SBX_REF_LAYOUT;
    ret->path = copy;
    ret->immutable = ret->digest != NULL;
    return rc;
}
