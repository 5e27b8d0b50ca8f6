#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "helper.h"
#include "images.h"
#include "sbx/file.h"
#include "sbx/json.h"

#define CONFIG_MAX (1 << 20)                  /* bytes of config.json; usually below 4 KiB */
#define HUB_KEY "https://index.docker.io/v1/" /* how log-ins of docker.io have always been stored */

/* Host of a key of `auths`: with or without scheme and path. */
static bool key_is(const char *key, const char *registry)
{
    const char *start = strstr(key, "://");
    size_t len;

    start = start ? start + 3 : key;
    len = strcspn(start, "/");
    if (strcmp(registry, "docker.io") == 0)
        return strncmp(start, "index.docker.io", len) == 0 && len == 15;
    return len == strlen(registry) && strncmp(start, registry, len) == 0;
}

/* The Engine reads URL-safe base64 with padding. */
static char *encode(const json_t *auth)
{
    char *text = json_dumps(auth, JSON_COMPACT), *out = NULL;
    size_t len = text ? strlen(text) : 0;

    if (text)
        out = malloc(4 * (len + 2) / 3 + 4);
    if (out) {
        EVP_EncodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
        for (char *p = out; *p; p++)
            *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    }
    if (text)
        explicit_bzero(text, len);
    free(text);
    return out;
}

static enum sbx_code give(const char *registry, const char *user, const char *secret,
                          const char *identity, char **ret, struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *auth = json_pack("{s:s}", "serveraddress",
                                           strcmp(registry, "docker.io") == 0 ? HUB_KEY : registry);

    if (auth && identity && *identity) {
        json_object_set_new(auth, "identitytoken", json_string(identity));
    } else if (auth) {
        json_object_set_new(auth, "username", json_string(user));
        json_object_set_new(auth, "password", json_string(secret));
    }
    *ret = auth ? encode(auth) : NULL;
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* `auth` is base64 of user:password. */
static enum sbx_code from_entry(const json_t *entry, const char *registry, char **ret,
                                const char **ret_remark, struct sbx_err *err)
{
    const char *text = docker_text(entry, "auth"), *identity = docker_text(entry, "identitytoken");
    size_t len = strlen(text), room = len / 4 * 3 + 4;
    char *plain = NULL, *colon;
    enum sbx_code rc = SBX_OK;
    int n;

    if (*identity || (!*text && *docker_text(entry, "username")))
        return give(registry, docker_text(entry, "username"), docker_text(entry, "password"),
                    identity, ret, err);
    if (!*text)
        return SBX_OK;
    plain = calloc(1, room + 1);
    if (!plain)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    n = len % 4 ? -1
                : EVP_DecodeBlock((unsigned char *)plain, (const unsigned char *)text, (int)len);
    colon = n > 0 ? strchr(plain, ':') : NULL;
    if (colon) {
        *colon = '\0';
        rc = give(registry, plain, colon + 1, NULL, ret, err);
    } else {
        *ret_remark = "the log-in in Docker's config.json is damaged: log in again";
    }
    explicit_bzero(plain, room);
    free(plain);
    return rc;
}

static enum sbx_code from_helper(const char *helper, const char *registry, struct sbx_arena *arena,
                                 char **ret, const char **ret_remark, struct sbx_err *err)
{
    const char *server = strcmp(registry, "docker.io") == 0 ? HUB_KEY : registry;
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(DOCKER_HELPER_MAX);
    SBX_AUTO_JSON json_t *answer = NULL;
    struct sbx_err why = SBX_ERR_INIT;
    int status = 0;
    enum sbx_code rc = docker_helper_get(helper, server, &out, &status, &why);

    if (rc) {
        *ret_remark = sbx_arena_printf(arena, "docker-credential-%s: %s", helper, why.text);
        return SBX_OK;
    }
    answer = status == 0 ? json_loadb(out.ptr ? out.ptr : "", out.len, 0, NULL) : NULL;
    if (answer && strcmp(docker_text(answer, "Username"), "<token>") == 0)
        rc = give(registry, "", "", docker_text(answer, "Secret"), ret, err);
    else if (answer)
        rc = give(registry, docker_text(answer, "Username"), docker_text(answer, "Secret"), NULL,
                  ret, err);
    else if (!out.len || !strstr(out.ptr, "credentials not found"))
        *ret_remark = sbx_arena_printf(arena, "docker-credential-%s: %s", helper,
                                       status == 127 ? "no such program" : "gave no log-in");
    if (out.ptr)
        explicit_bzero(out.ptr, out.len);
    return rc;
}

enum sbx_code docker_auth_from(const json_t *config, const char *registry, struct sbx_arena *arena,
                               char **ret, const char **ret_remark, struct sbx_err *err)
{
    const char *key, *helper = docker_text(config, "credsStore");
    json_t *value;

    *ret = NULL;
    *ret_remark = NULL;
    json_object_foreach(json_object_get(config, "credHelpers"), key, value)
        if (key_is(key, registry) || strcmp(key, registry) == 0)
            helper = json_string_value(value);
    if (helper && *helper) {
        enum sbx_code rc = from_helper(helper, registry, arena, ret, ret_remark, err);

        if (rc || *ret)
            return rc;
    }
    json_object_foreach(json_object_get(config, "auths"), key, value)
        if (key_is(key, registry))
            return from_entry(value, registry, ret, ret_remark, err);
    return SBX_OK;
}

enum sbx_code docker_auth(const char *registry, struct sbx_arena *arena, char **ret,
                          const char **ret_remark, struct sbx_err *err)
{
    const char *dir = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(CONFIG_MAX);
    SBX_AUTO_JSON json_t *config = NULL;
    const char *path;
    enum sbx_code rc;

    *ret = NULL;
    *ret_remark = NULL;
    if (dir && *dir)
        path = sbx_arena_printf(arena, "%s/config.json", dir);
    else if (home && *home)
        path = sbx_arena_printf(arena, "%s/.docker/config.json", home);
    else
        return SBX_OK;
    if (!path)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = sbx_file_read(AT_FDCWD, path, &text, NULL);
    if (rc == SBX_NOT_FOUND)
        return SBX_OK;
    if (!rc)
        config = json_loadb(text.ptr ? text.ptr : "", text.len, 0, NULL);
    if (text.ptr)
        explicit_bzero(text.ptr, text.len);
    if (config)
        return docker_auth_from(config, registry, arena, ret, ret_remark, err);
    *ret_remark = sbx_arena_printf(arena, "%s cannot be %s: no log-in was used", path,
                                   rc ? "read" : "understood");
    return SBX_OK;
}
