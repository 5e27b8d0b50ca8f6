/* Where an app keeps its things (decision C8; XDG Base Directory Specification). */
#include "sbx/sandbox.h"

#include <stdio.h>
#include <string.h>

static bool app_ok(const char *app)
{
    size_t len = strlen(app);

    if (!len || len > SBX_APP_NAME_MAX || app[0] == '-' || app[0] == '.')
        return false;
    return strspn(app, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == len;
}

static char *join(const char *base, const char *rest, const char *app)
{
    char *text = NULL;
    bool plain = !app || !strcmp(app, SBX_APP_DEFAULT);

    if (asprintf(&text, "%s%s/sbx%s%s", base, rest, plain ? "" : "/apps/", plain ? "" : app) < 0)
        return NULL;
    return text;
}

/* $VAR if it is absolute (else the specification says to ignore it), or $HOME and the default. */
static char *xdg(const char *var, const char *fallback, const char *app)
{
    const char *dir = getenv(var), *home = getenv("HOME");

    if (dir && dir[0] == '/')
        return join(dir, "", app);
    return home && home[0] == '/' ? join(home, fallback, app) : NULL;
}

/* A directory of ours beside bin/, in the built and the installed tree. */
static char *beside(const char *var, const char *rest)
{
    const char *given = getenv(var);
    char self[4096], *text = NULL, *slash = NULL;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (given && given[0] == '/')
        return strdup(given);
    if (n > 0) {
        self[n] = '\0';
        slash = strrchr(self, '/');
    }
    if (slash)
        *slash = '\0';
    slash = n > 0 ? strrchr(self, '/') : NULL;
    if (slash)
        *slash = '\0';
    if (asprintf(&text, "%s/%s", n > 0 ? self : "/usr", rest) < 0)
        return NULL;
    return text;
}

enum sbx_code sbx_paths_init(const char *app, struct sbx_paths *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_paths) p = { 0 };

    if (!app)
        app = SBX_APP_DEFAULT;
    if (!app_ok(app))
        return sbx_err_set(err, SBX_USAGE,
                           "--app-name \"%.80s\": 1 to %d letters, digits, \"-\", \"_\" and \".\", "
                           "the first a letter or digit",
                           app, SBX_APP_NAME_MAX);
    p.app = strdup(app);
    p.state = xdg("XDG_STATE_HOME", "/.local/state", app);
    p.config = xdg("XDG_CONFIG_HOME", "/.config", app);
    p.cache = xdg("XDG_CACHE_HOME", "/.cache", NULL);
    p.libexec = beside("SBX_LIBEXEC", "libexec/sbx");
    p.share = beside("SBX_SHARE", "share/sbx");
    if (!p.state || !p.config || !p.cache)
        return sbx_err_set(err, SBX_FAILED,
                           "HOME is not set: set it, or XDG_STATE_HOME, XDG_CONFIG_HOME and "
                           "XDG_CACHE_HOME");
    if (!p.app || !p.libexec || !p.share)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    *ret = p;
    p = (struct sbx_paths){ 0 };
    return SBX_OK;
}

void sbx_paths_release(struct sbx_paths *p)
{
    free(p->app);
    free(p->state);
    free(p->config);
    free(p->cache);
    free(p->libexec);
    free(p->share);
    *p = (struct sbx_paths){ 0 };
}
