/* The user's log-in as the Engine's X-Registry-Auth header takes it. */
#include <openssl/evp.h>
#include <string.h>

#include "images.h"
#include "sbx/json.h"
#include "sbx/login.h"

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

enum sbx_code docker_auth_encode(const struct sbx_login *login, const char *registry, char **ret,
                                 struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *auth = NULL;

    *ret = NULL;
    if (!login->user && !login->identity)
        return SBX_OK;
    auth = json_pack("{s:s}", "serveraddress",
                     strcmp(registry, "docker.io") == 0 ? SBX_LOGIN_HUB : registry);
    if (auth && login->identity) {
        json_object_set_new(auth, "identitytoken", json_string(login->identity));
    } else if (auth) {
        json_object_set_new(auth, "username", json_string(login->user));
        json_object_set_new(auth, "password", json_string(login->secret));
    }
    *ret = auth ? encode(auth) : NULL;
    return *ret ? SBX_OK : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
}

enum sbx_code docker_auth(const char *registry, struct sbx_arena *arena, char **ret,
                          const char **ret_remark, struct sbx_err *err)
{
    SBX_AUTO(sbx_login) login = { 0 };
    enum sbx_code rc = sbx_login_find(registry, arena, &login, ret_remark, err);

    return rc ? rc : docker_auth_encode(&login, registry, ret, err);
}
