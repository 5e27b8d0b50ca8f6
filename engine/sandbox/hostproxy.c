/*
 * The proxy that this machine itself has to use: settings.yaml, else the environment of the command that
 * starts the gate, read as curl does. It may hold a password: it goes through a descriptor, to no file
 * and no argument.
 */
#include "net.h"

#include "sbx/json.h"

#include <ctype.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/mman.h>

#define DEFAULT_PORT 1080 /* where the URL has none: curl's */
#define USERINFO_MAX 2048 /* bytes of USER:PASSWORD */
#define URL_MAX 4096
#define NO_PROXY_MAX 1024 /* entries: the gate's bound */
#define JSON_MAX 262144

struct reader {
    const struct sbx_host_proxy *settings;
    const char *(*env)(const char *name);
    void (*warn)(void *ctx, const char *text);
    void *ctx;
    struct sbx_err *err;
};

/* ---- one URL ---- */

struct url {
    char host[300];
    unsigned port;
    char userinfo[USERINFO_MAX + 1]; /* decoded; "": none */
};

static bool decode(const char *from, size_t len, char *to)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++, n++) {
        char hex[3] = { 0 };

        if (n >= USERINFO_MAX)
            return false;
        if (from[i] == '%' && i + 2 < len && isxdigit((unsigned char)from[i + 1]) &&
            isxdigit((unsigned char)from[i + 2])) {
            memcpy(hex, from + i + 1, 2);
            to[n] = (char)strtol(hex, NULL, 16);
            i += 2;
        } else {
            to[n] = from[i];
        }
        if (!to[n])
            return false;
    }
    to[n] = '\0';
    return true;
}

static bool split_host(const char *text, size_t len, struct url *ret)
{
    struct sbx_host host;
    uint16_t port;

    if (sbx_target_parse(text, len, DEFAULT_PORT, &host, &port, NULL))
        return false;
    strcpy(ret->host, host.text); /* at most SBX_HOST_MAX + 2 bytes */
    ret->port = port;
    return true;
}

/* NULL: taken; else what is wrong with it, without its text. */
static const char *parse_url(const char *text, struct url *ret)
{
    const char *scheme = strstr(text, "://"), *at;
    size_t len;

    memset(ret, 0, sizeof(*ret));
    if (strlen(text) > URL_MAX)
        return "the URL is too long";
    if (scheme) {
        if (scheme - text != 4 || strncasecmp(text, "http", 4))
            return "only http:// proxies can be used";
        text = scheme + 3;
    }
    len = strcspn(text, "/?#");
    at = memrchr(text, '@', len);
    if (at) {
        if (!decode(text, (size_t)(at - text), ret->userinfo))
            return "user and password cannot be read";
        len -= (size_t)(at + 1 - text);
        text = at + 1;
    }
    return split_host(text, len, ret) ? NULL : "want http://HOST:PORT";
}

/* ---- credentials ---- */

static enum sbx_code read_credentials(struct reader *r, char *ret)
{
    const char *path = r->settings->credentials_file, *home = r->env("HOME");
    char full[4096];
    struct stat st;
    SBX_AUTO_FD int fd = -1;
    ssize_t n;

    snprintf(full, sizeof(full), "%s%s", strncmp(path, "~/", 2) ? "" : home ? home : "",
             strncmp(path, "~/", 2) ? path : path + 1);
    fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st))
        return sbx_err_errno(r->err, "network.proxy.credentialsFile %s", full);
    if (!S_ISREG(st.st_mode) || st.st_mode & 077)
        return sbx_err_set(r->err, SBX_SCHEMA,
                           "network.proxy.credentialsFile %s: must be a file that only you can read "
                           "(chmod 600)", full);
    n = read(fd, ret, USERINFO_MAX);
    if (n < 0)
        return sbx_err_errno(r->err, "network.proxy.credentialsFile %s", full);
    ret[n] = '\0';
    ret[strcspn(ret, "\r\n")] = '\0';
    if (!strchr(ret, ':') || n == USERINFO_MAX)
        return sbx_err_set(r->err, SBX_SCHEMA,
                           "network.proxy.credentialsFile %s: want one line, USER:PASSWORD", full);
    return SBX_OK;
}

/* "Basic ..." of RFC 7617; a user alone has an empty password. */
static json_t *authorization(const char *userinfo)
{
    unsigned char plain[USERINFO_MAX + 2], text[4 * (USERINFO_MAX + 2) / 3 + 8];
    int n = snprintf((char *)plain, sizeof(plain), "%s%s", userinfo, strchr(userinfo, ':') ? "" : ":");
    json_t *ret;

    EVP_EncodeBlock(text, plain, n);
    ret = json_sprintf("Basic %s", (char *)text);
    explicit_bzero(plain, sizeof(plain));
    explicit_bzero(text, sizeof(text));
    return ret;
}

/* ---- which one ---- */

/* As curl: the lower case first. HTTP_PROXY is no proxy in a CGI program: there the client writes it. */
static const char *from_env(struct reader *r, const char *lower, const char *upper,
                            const char **ret_name)
{
    const char *names[] = { lower, upper, "all_proxy", "ALL_PROXY" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        const char *value = names[i] ? r->env(names[i]) : NULL;

        if (!value || !*value)
            continue;
        *ret_name = names[i];
        return value;
    }
    return NULL;
}

static enum sbx_code take(struct reader *r, const char *set, const char *key, const char *lower,
                          const char *upper, json_t **ret)
{
    const char *name = key, *text = set ? set : from_env(r, lower, upper, &name), *wrong;
    struct url url;
    enum sbx_code rc = SBX_OK;

    *ret = json_null();
    if (!text || (set && !strcmp(set, "direct")))
        return SBX_OK;
    wrong = parse_url(text, &url);
    if (wrong && set)
        return sbx_err_set(r->err, SBX_SCHEMA, "settings.yaml: %s: %s", name, wrong);
    if (wrong) {
        char line[200];

        snprintf(line, sizeof(line), "%s of the environment is not used: %s", name, wrong);
        r->warn(r->ctx, line);
        return SBX_OK;
    }
    if (!*url.userinfo && r->settings->credentials_file)
        rc = read_credentials(r, url.userinfo);
    if (!rc)
        *ret = json_pack("{s:s, s:i, s:o}", "host", url.host, "port", (int)url.port, "authorization",
                         *url.userinfo ? authorization(url.userinfo) : json_null());
    explicit_bzero(&url, sizeof(url));
    return rc ? rc : *ret ? SBX_OK : sbx_out_of_memory(r->err);
}

/* "a, b c" */
static void add_words(json_t *list, const char *text)
{
    while (text && *text && json_array_size(list) < NO_PROXY_MAX) {
        size_t len = strcspn(text, ", \t");

        if (len && len <= SBX_PATTERN_MAX)
            json_array_append_new(list, json_stringn(text, len));
        text += len + strspn(text + len, ", \t");
    }
}

static json_t *exceptions(struct reader *r)
{
    const char *const *v = r->settings->no_proxy, *text = r->env("no_proxy");
    json_t *list = json_array();

    if (!v)
        add_words(list, text && *text ? text : r->env("NO_PROXY"));
    for (; v && *v; v++)
        add_words(list, *v);
    return list;
}

enum sbx_code sbx_host_proxy_json(const struct sbx_host_proxy *settings,
                                  const char *(*env)(const char *name),
                                  void (*warn)(void *ctx, const char *text), void *ctx,
                                  struct sbx_buf *out, struct sbx_err *err)
{
    struct reader r = { settings, env, warn, ctx, err };
    bool cgi = env("REQUEST_METHOD") != NULL;
    json_t *http = NULL, *https = NULL;
    enum sbx_code rc = take(&r, settings->http, "network.proxy.http", "http_proxy",
                            cgi ? NULL : "HTTP_PROXY", &http);
    SBX_AUTO_JSON json_t *all = NULL;

    if (!rc)
        rc = take(&r, settings->https, "network.proxy.https", "https_proxy", "HTTPS_PROXY", &https);
    if (rc || (json_is_null(http) && json_is_null(https))) {
        json_decref(http);
        json_decref(https);
        return rc;
    }
    all = json_pack("{s:o, s:o, s:o}", "http", http, "https", https, "noProxy", exceptions(&r));
    return all ? sbx_json_canonical(all, out) : sbx_out_of_memory(err);
}

static const char *real_env(const char *name)
{
    return getenv(name);
}

static void tell(void *ctx, const char *text)
{
    const struct sbx_box *box = ctx;

    sbx_event_send(box->e, SBX_EVENT_WARNING, NULL, "%s", text);
}

static enum sbx_code settings_now(struct sbx_box *box, struct sbx_host_proxy *ret,
                                  struct sbx_err *err)
{
    const struct sbx_engine_config *config = &box->e->config;
    struct sbx_user_policy now = { .preset = NULL };
    enum sbx_code rc = SBX_OK;

    if (config->policy_read)
        rc = config->policy_read(config->ctx, box->arena, &now, err);
    else if (config->policy)
        now = *config->policy;
    *ret = now.proxy;
    return rc;
}

enum sbx_code sbx_host_proxy_open(struct sbx_box *box, int *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(JSON_MAX);
    struct sbx_host_proxy settings;
    enum sbx_code rc = settings_now(box, &settings, err);
    int fd;

    if (!rc)
        rc = sbx_host_proxy_json(&settings, real_env, tell, box, &text, err);
    if (rc)
        return sbx_err_wrap(err, rc, "proxy of this machine");
    if (!text.len)
        return SBX_OK;
    fd = memfd_create("sbx-upstream", MFD_CLOEXEC);
    if (fd < 0 || sbx_write_all(fd, text.ptr, text.len) || lseek(fd, 0, SEEK_SET)) {
        rc = sbx_err_errno(err, "proxy of this machine");
        if (fd >= 0)
            close(fd);
    }
    explicit_bzero(text.ptr, text.len);
    if (!rc)
        *ret = fd;
    return rc;
}
