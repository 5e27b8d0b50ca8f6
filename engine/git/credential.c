/* libgit2 runs no credential helper: git's own command does. */
#include <stdio.h>
#include <string.h>

#include "remote.h"
#include "sbx/buf.h"
#include "sbx/login_ask.h"

static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

/* "https://host:port/path" as lines; a URL with control characters was refused by the grammar. */
static enum sbx_code question(const char *url, struct sbx_buf *out)
{
    const char *host = strstr(url, "://"), *slash, *at;
    int scheme = host ? (int)(host - url) : 0;

    if (!host || strpbrk(url, "\r\n"))
        return SBX_SCHEMA;
    host += 3;
    slash = host + strcspn(host, "/");
    at = memchr(host, '@', (size_t)(slash - host));
    if (at && sbx_buf_addf(out, "username=%.*s\n", (int)(at - host), host))
        return SBX_NO_MEMORY;
    host = at ? at + 1 : host;
    return sbx_buf_addf(out, "protocol=%.*s\nhost=%.*s\npath=%s\n\n", scheme, url,
                        (int)(slash - host), host, *slash ? slash + 1 : "");
}

static char *line_of(const struct sbx_buf *b, const char *key)
{
    const char *p = b->ptr;

    while (p && *p) {
        size_t len = strcspn(p, "\n");

        if (!strncmp(p, key, strlen(key)))
            return strndup(p + strlen(key), len - strlen(key));
        p += len + (p[len] == '\n');
    }
    return NULL;
}

enum sbx_code git_credential_fill(const char *url, char **ret_user, char **ret_secret,
                                  struct sbx_err *err)
{
    /* It must not ask on the terminal by itself. */
    char *const argv[] = { (char *)"env",  (char *)"GIT_TERMINAL_PROMPT=0",
                           (char *)"git",  (char *)"credential",
                           (char *)"fill", NULL };
    SBX_AUTO(sbx_buf) ask = SBX_BUF_INIT(CREDENTIAL_MAX), out = SBX_BUF_INIT(CREDENTIAL_MAX);
    struct sbx_login_asked h = { .argv = argv, .limit_ms = CREDENTIAL_MS, .quiet = true };
    int status = 0;
    enum sbx_code rc = question(url, &ask);

    if (rc)
        return sbx_err_set(err, rc, "git credential cannot be asked");
    h.question = ask.ptr;
    rc = sbx_login_ask(&h, &out, &status, err);
    if (!rc && status == 0) {
        *ret_user = line_of(&out, "username=");
        *ret_secret = line_of(&out, "password=");
    }
    if (out.ptr)
        explicit_bzero(out.ptr, out.len);
    if (rc)
        return sbx_err_wrap(err, rc, "git credential fill");
    return *ret_user && *ret_secret
               ? SBX_OK
               : sbx_err_set(err, SBX_CONSENT, "git credential has no log-in for it");
}

int git_login_acquire(git_credential **out, const char *url, const char *user, unsigned types,
                      void *payload)
{
    const struct sbx_git2 *git = sbx_git2(NULL);
    struct git_job *job = payload;
    char *name = NULL, *secret = NULL;
    int rc = GIT_EAUTH;

    (void)user;
    if (!(types & GIT_CREDENTIAL_USERPASS_PLAINTEXT) || job->asked_helper)
        return rc;
    job->asked_helper = true;
    git_waits(job, true);
    if (!git_credential_fill(url, &name, &secret, NULL))
        rc = git->credential_userpass_plaintext_new(out, name, secret);
    git_waits(job, false);
    wipe(name);
    wipe(secret);
    return rc;
}
