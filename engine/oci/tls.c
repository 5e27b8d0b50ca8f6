/* certs.d: trust and certificates for one registry, as docker, podman and skopeo keep them. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "http.h"
#include "sbx/file.h"

#define CA_MAX (4 << 20) /* bytes of *.crt of one host; the system's whole bundle is 220 KiB */

void sbx_tls_release(struct sbx_tls *t)
{
    free(t->ca);
    free(t->cert);
    free(t->key);
    *t = (struct sbx_tls){ 0 };
}

static bool ends(const char *name, const char *with)
{
    size_t len = strlen(name), n = strlen(with);

    return len > n && !strcmp(name + len - n, with);
}

/* NAME.cert goes with NAME.key. */
static enum sbx_code take_pair(const char *dir, const char *name, struct sbx_tls *t,
                               struct sbx_err *err)
{
    if (t->cert)
        return SBX_OK;
    if (asprintf(&t->cert, "%s/%s", dir, name) < 0 ||
        asprintf(&t->key, "%s/%.*s.key", dir, (int)(strlen(name) - strlen(".cert")), name) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (access(t->key, R_OK))
        return sbx_err_errno(err, "%s: the key of %s", t->key, name);
    return SBX_OK;
}

static enum sbx_code read_dir(const char *dir, struct sbx_buf *ca, struct sbx_tls *t,
                              struct sbx_err *err)
{
    DIR *d = opendir(dir);
    enum sbx_code rc = SBX_OK;
    struct dirent *e;

    if (!d)
        return SBX_OK;
    while (!rc && (e = readdir(d))) {
        if (ends(e->d_name, ".crt")) {
            rc = sbx_file_read(dirfd(d), e->d_name, ca, err);
            if (!rc)
                rc = sbx_buf_adds(ca, "\n");
        } else if (ends(e->d_name, ".cert")) {
            rc = take_pair(dir, e->d_name, t, err);
        }
    }
    closedir(d);
    return rc ? sbx_err_wrap(err, rc, "certificates in %s", dir) : SBX_OK;
}

void sbx_tls_user_dir(const char *tool, const char *host, char *out, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && config[0] == '/')
        snprintf(out, size, "%.3000s/%s/certs.d/%.255s", config, tool, host);
    else
        snprintf(out, size, "%.3000s/.config/%s/certs.d/%.255s", home ? home : "", tool, host);
}

enum sbx_code sbx_tls_read(const char *host, struct sbx_tls *ret, struct sbx_err *err)
{
    static const char *const places[] = { "docker", "containers" };
    SBX_AUTO(sbx_buf) ca = SBX_BUF_INIT(CA_MAX);
    enum sbx_code rc = SBX_OK;
    char dir[4096];

    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(places); i++) {
        snprintf(dir, sizeof(dir), "/etc/%s/certs.d/%.255s", places[i], host);
        rc = read_dir(dir, &ca, ret, err);
        if (rc)
            break;
        sbx_tls_user_dir(places[i], host, dir, sizeof(dir));
        rc = read_dir(dir, &ca, ret, err);
    }
    if (!rc && ca.len) {
        ret->ca_len = ca.len;
        ret->ca = sbx_buf_take(&ca);
    }
    return rc;
}
