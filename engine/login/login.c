#include "sbx/login.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>

#include "helper.h"
#include "sbx/text.h"
#include "sbx/file.h"
#include "sbx/json.h"

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void sbx_login_release(struct sbx_login *l)
{
    wipe(l->user);
    wipe(l->secret);
    wipe(l->identity);
    *l = (struct sbx_login){ 0 };
}

static bool is_hub(const char *registry) { return strcmp(registry, "docker.io") == 0; }

/* Host of a key of `auths`: with or without scheme and path. */
static bool key_is(const char *key, const char *registry)
{
    const char *start = strstr(key, "://");
    size_t len;

    start = start ? start + 3 : key;
    len = strcspn(start, "/");
    if (is_hub(registry))
        return len == 15 && strncmp(start, "index.docker.io", len) == 0;
    return len == strlen(registry) && strncmp(start, registry, len) == 0;
}

static enum sbx_code give(const char *user, const char *secret, const char *identity,
                          struct sbx_login *ret, struct sbx_err *err)
{
    if (identity && *identity) {
        ret->identity = strdup(identity);
        if (ret->identity)
            return SBX_OK;
    } else {
        ret->user = strdup(user);
        ret->secret = strdup(secret);
        if (ret->user && ret->secret)
            return SBX_OK;
    }
    sbx_login_release(ret);
    return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

/* `auth` is base64 of user:password. */
static enum sbx_code from_entry(const json_t *entry, struct sbx_login *ret, const char **ret_remark,
                                struct sbx_err *err)
{
    const char *text = sbx_json_text_of(entry, "auth"),
               *identity = sbx_json_text_of(entry, "identitytoken");
    size_t len = strlen(text), room = len / 4 * 3 + 4;
    char *plain = NULL, *colon;
    enum sbx_code rc = SBX_OK;
    int n;

    if (*identity || (!*text && *sbx_json_text_of(entry, "username")))
        return give(sbx_json_text_of(entry, "username"), sbx_json_text_of(entry, "password"),
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
        rc = give(plain, colon + 1, NULL, ret, err);
    } else {
        *ret_remark = "the log-in in Docker's config.json is damaged: log in again";
    }
    explicit_bzero(plain, room);
    free(plain);
    return rc;
}

/* Why a helper gave nothing; one that failed says so on its stdout, in a line without secrets. */
static const char *remark(const char *helper, int status, const char *said, struct sbx_arena *arena)
{
    SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(512);
    size_t len = strcspn(said, "\r\n");

    if (status == 127)
        said = "no such program";
    else if (!status || !len || sbx_text_escape(&line, said, len < 100 ? len : 100))
        said = "gave no log-in";
    else
        said = line.ptr;
    return sbx_arena_printf(arena, "docker-credential-%s: %s", helper, said);
}

static enum sbx_code from_helper(const char *helper, const char *registry, struct sbx_arena *arena,
                                 struct sbx_login *ret, const char **ret_remark,
                                 struct sbx_err *err)
{
    const char *server = is_hub(registry) ? SBX_LOGIN_HUB : registry;
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_LOGIN_HELPER_MAX);
    SBX_AUTO_JSON json_t *answer = NULL;
    struct sbx_err why = SBX_ERR_INIT;
    int status = 0;
    enum sbx_code rc = sbx_login_helper_get(helper, server, &out, &status, &why);

    if (rc) {
        *ret_remark = sbx_arena_printf(arena, "docker-credential-%s: %s", helper, why.text);
        return SBX_OK;
    }
    answer = status == 0 ? json_loadb(out.ptr ? out.ptr : "", out.len, 0, NULL) : NULL;
    if (answer && strcmp(sbx_json_text_of(answer, "Username"), "<token>") == 0)
        rc = give("", "", sbx_json_text_of(answer, "Secret"), ret, err);
    else if (answer)
        rc = give(sbx_json_text_of(answer, "Username"), sbx_json_text_of(answer, "Secret"), NULL,
                  ret, err);
    else if (!out.len || !strstr(out.ptr, "credentials not found"))
        *ret_remark = remark(helper, status, out.ptr ? out.ptr : "", arena);
    if (out.ptr)
        explicit_bzero(out.ptr, out.len);
    return rc;
}

enum sbx_code sbx_login_from(const json_t *config, const char *registry, struct sbx_arena *arena,
                             struct sbx_login *ret, const char **ret_remark, struct sbx_err *err)
{
    const char *key, *helper = sbx_json_text_of(config, "credsStore");
    json_t *value;

    *ret_remark = NULL;
    json_object_foreach(json_object_get(config, "credHelpers"), key, value)
        if (key_is(key, registry) || strcmp(key, registry) == 0)
            helper = json_string_value(value);
    if (helper && *helper) {
        enum sbx_code rc = from_helper(helper, registry, arena, ret, ret_remark, err);

        if (rc || ret->user || ret->identity)
            return rc;
    }
    json_object_foreach(json_object_get(config, "auths"), key, value)
        if (key_is(key, registry))
            return from_entry(value, ret, ret_remark, err);
    return SBX_OK;
}

enum sbx_code sbx_login_find(const char *registry, struct sbx_arena *arena, struct sbx_login *ret,
                             const char **ret_remark, struct sbx_err *err)
{
    const char *dir = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_LOGIN_CONFIG_MAX);
    SBX_AUTO_JSON json_t *config = NULL;
    const char *path;
    enum sbx_code rc;

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
        return sbx_login_from(config, registry, arena, ret, ret_remark, err);
    *ret_remark = sbx_arena_printf(arena, "%s cannot be %s: no log-in was used", path,
                                   rc ? "read" : "understood");
    return SBX_OK;
}
