/* Basic and Bearer: what a registry asks for with 401 (distribution's token specification, OAuth 2). */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "registry.h"

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void registry_log_out(struct sbx_registry *r)
{
    const char *scope;
    json_t *token;

    json_object_foreach(r->tokens, scope, token)
        explicit_bzero((char *)json_string_value(token), json_string_length(token));
    json_decref(r->tokens);
    r->tokens = NULL;
    sbx_login_release(&r->login);
}

static char *basic(const struct sbx_login *l)
{
    char *plain = NULL, *out = NULL;
    int len = l->user ? asprintf(&plain, "%s:%s", l->user, l->secret) : -1;

    if (len < 0)
        return NULL;
    out = malloc(6 + 4 * ((size_t)len + 2) / 3 + 8);
    if (out) {
        strcpy(out, "Basic ");
        EVP_EncodeBlock((unsigned char *)out + 6, (unsigned char *)plain, len);
    }
    wipe(plain);
    return out;
}

char *registry_authorization(struct sbx_registry *r, const char *scope)
{
    const char *token = json_string_value(json_object_get(r->tokens, scope));
    char *out = NULL;

    if (token)
        return asprintf(&out, "Bearer %s", token) < 0 ? NULL : out;
    return r->basic ? basic(&r->login) : NULL;
}

static enum sbx_code look(struct sbx_registry *r, struct sbx_err *err)
{
    enum sbx_code rc;

    if (r->looked)
        return SBX_OK;
    rc = sbx_login_find(r->host, r->arena, &r->login, &r->remark, err);
    r->looked = rc == SBX_OK;
    return rc;
}

static enum sbx_code nobody(const struct sbx_registry *r, struct sbx_err *err)
{
    return sbx_err_set(err, SBX_CONSENT, "no credentials for %s; run docker login %s%s%s%s", r->host,
                       r->host, r->remark ? " (" : "", r->remark ? r->remark : "",
                       r->remark ? ")" : "");
}

/* A secret goes to the realm that the registry names, and there only over TLS or this machine. */
static enum sbx_code check_realm(struct sbx_registry *r, const char *realm, struct sbx_err *err)
{
    if (!strncmp(realm, "https://", 8) ||
        (!strncmp(realm, "http://", 7) && (sbx_url_loopback(realm + 7) || r->plain)))
        return SBX_OK;
    return sbx_err_set(err, SBX_FAILED,
                       "%s names %.200s as its token server: no log-in is sent there without TLS",
                       r->host, realm);
}

static enum sbx_code add(struct sbx_registry *r, struct sbx_buf *out, const char *name,
                         const char *text)
{
    char *escaped = text ? r->http.curl->easy_escape(r->http.h, text, 0) : NULL;
    enum sbx_code rc = SBX_OK;

    if (!text)
        return SBX_OK;
    if (escaped)
        rc = sbx_buf_addf(out, "%s%s=%s", out->len && !strchr("?&", out->ptr[out->len - 1]) ? "&" : "",
                          name, escaped);
    if (escaped)
        explicit_bzero(escaped, strlen(escaped));
    r->http.curl->free(escaped);
    return escaped ? rc : SBX_NO_MEMORY;
}

/* One parameter a scope in a query; a form has them in one (distribution's token specification, OAuth 2). */
static enum sbx_code add_scopes(struct sbx_registry *r, struct sbx_buf *out, const char *scope)
{
    SBX_AUTO_FREE char *copy = strdup(scope);
    char *rest = NULL;
    enum sbx_code rc = copy ? SBX_OK : SBX_NO_MEMORY;

    for (char *one = copy ? strtok_r(copy, " ", &rest) : NULL; !rc && one; one = strtok_r(NULL, " ", &rest))
        rc = add(r, out, "scope", one);
    return rc;
}

/* With an identity token it is a form, else a query with Basic. */
static enum sbx_code ask(struct sbx_registry *r, const struct sbx_challenge *ch, const char *scope,
                         struct sbx_call *c, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) query = SBX_BUF_INIT(TOKEN_MAX), url = SBX_BUF_INIT(URL_MAX);
    char *secret = NULL;
    enum sbx_code rc = add(r, &query, "service", ch->service);

    if (!rc)
        rc = r->login.identity ? add(r, &query, "scope", scope) : add_scopes(r, &query, scope);
    if (!rc && r->login.identity) {
        rc = add(r, &query, "grant_type", "refresh_token");
        if (!rc)
            rc = add(r, &query, "client_id", "sbx");
        if (!rc)
            rc = add(r, &query, "refresh_token", r->login.identity);
        c->method = "POST";
        c->body = query.ptr;
        c->body_len = (int64_t)query.len;
        c->body_is_login = true;
        c->content_type = "application/x-www-form-urlencoded";
    } else if (!rc) {
        rc = add(r, &query, "account", r->login.user);
        secret = basic(&r->login);
    }
    if (!rc)
        rc = sbx_buf_addf(&url, "%s%s%s", ch->realm,
                          c->body ? "" : strchr(ch->realm, '?') ? "&" : "?",
                          c->body || !query.ptr ? "" : query.ptr);
    if (rc)
        return sbx_err_set(err, rc, "the request for a token is too long");
    c->url = url.ptr;
    c->authorization = secret;
    rc = sbx_http_send(&r->http, c, err);
    c->authorization = c->url = c->body = NULL;
    wipe(secret);
    if (query.ptr)
        explicit_bzero(query.ptr, query.len);
    return rc;
}

static enum sbx_code take(struct sbx_registry *r, struct sbx_call *c, const char *wanted,
                          struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *answer = json_loadb(c->text.ptr ? c->text.ptr : "", c->text.len, 0, NULL);
    const json_t *token = json_object_get(answer, "token");

    if (!json_is_string(token))
        token = json_object_get(answer, "access_token");
    if (c->text.ptr)
        explicit_bzero(c->text.ptr, c->text.len);
    if (!json_is_string(token) || strpbrk(json_string_value(token), "\r\n"))
        return sbx_err_set(err, SBX_SCHEMA, "the token server's answer has no token");
    if (!r->tokens)
        r->tokens = json_object();
    if (!r->tokens || json_object_set_new(r->tokens, wanted, json_copy((json_t *)token)))
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    return SBX_OK;
}

static enum sbx_code bearer(struct sbx_registry *r, const struct sbx_challenge *ch,
                            const char *scope, struct sbx_err *err)
{
    SBX_AUTO(sbx_call) c = SBX_CALL_INIT;
    bool known = r->login.user || r->login.identity;
    enum sbx_code rc;

    if (!ch->realm)
        return sbx_err_set(err, SBX_SCHEMA, "%s asks for a token and names no server for it",
                           r->host);
    rc = known ? check_realm(r, ch->realm, err) : SBX_OK;
    if (rc)
        return rc;
    c.method = "GET";
    c.max = TOKEN_MAX;
    c.limit_ms = r->limit_ms;
    /* What the registry asks for, and what we will need: a mount reads another repository. */
    rc = ask(r, ch, ch->scope && strlen(ch->scope) > strlen(scope) ? ch->scope : scope, &c, err);
    if (rc)
        return sbx_err_wrap(err, rc, "token for %s", r->host);
    if (c.status == 200)
        return take(r, &c, scope, err);
    if (!known && (c.status == 401 || c.status == 403))
        return nobody(r, err);
    rc = registry_refused(r, &c, err);
    return sbx_err_wrap(err, rc, "token for %s", r->host);
}

enum sbx_code registry_log_in(struct sbx_registry *r, const struct sbx_call *refused,
                              const char *scope, struct sbx_err *err)
{
    struct sbx_challenge list[CHALLENGES_MAX];
    const struct sbx_challenge *wanted = NULL;
    size_t n = 0;
    enum sbx_code rc = look(r, err);

    for (size_t i = 0; !rc && i < refused->n_challenges; i++)
        if (refused->challenges[i] &&
            sbx_challenge_parse(refused->challenges[i], r->arena, list, &n))
            rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(list[i].scheme, "bearer"))
            return bearer(r, &list[i], scope, err);
        if (!strcmp(list[i].scheme, "basic"))
            wanted = &list[i];
    }
    if (!wanted)
        return registry_refused(r, refused, err);
    if (!r->login.user)
        return nobody(r, err);
    r->basic = true;
    return SBX_OK;
}
