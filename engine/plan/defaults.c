/* What the engine itself writes into every sandbox: names, resolver, trust, proxy. */
#include "build.h"

#include <string.h>

#define HOST_ADDRESS "198.18.0.3" /* there: the address that means the host's loopback */
/* The gate is near. musl waits for the whole timeout when a name is refused. */
#define RESOLVER_OPTIONS "options timeout:1 attempts:3\n"
#define GATE_ADDRESS "198.18.0.1" /* docs/gate-config.md: every door of the gate */
/* Made anew from the file, so that the profile says no certificate, which only the running sandbox has. Not in
 * /etc/environment: a line of it over 1 KiB is an error to pam_env. */
#define CA_AGAIN \
    "[ -n \"${PROXY_CA_CERT_B64+x}\" ] || ! command -v base64 >/dev/null || [ ! -r " SBX_CA_FILE " ] ||\n" \
    "    export PROXY_CA_CERT_B64=\"$(base64 <" SBX_CA_FILE " | tr -d '\\n')\"\n"

static struct sbx_plan_file *add(struct sbx_planner *b, struct sbx_plan_step *step,
                                 const char *path, unsigned mode, const char *text)
{
    struct sbx_plan_file *f = &step->files[step->n_files++];

    *f = (struct sbx_plan_file){ .path = path, .mode = mode };
    if (text)
        sbx_build_data(b, f, text, strlen(text));
    return f;
}

/* Names of everything that login shells and sudo must hand on. */
static enum sbx_code names(struct sbx_buf *out, const char *before, const char *after)
{
    static const char *const more[] = { "NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY",
                                        "NODE_EXTRA_CA_CERTS", NULL };
    const char *const *const lists[] = { sbx_proxy_names, more, sbx_ca_bundle_names };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < SBX_ARRAY_LEN(lists); i++)
        for (const char *const *n = lists[i]; !rc && *n; n++)
            rc = sbx_buf_addf(out, "%s%s%s", before, *n, after);
    return rc;
}

static const char *sudoers(struct sbx_planner *b)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_SCRIPT_MAX);
    enum sbx_code rc = sbx_buf_adds(&out, "Defaults env_keep += \"");

    if (!rc)
        rc = names(&out, "", " ");
    if (!rc)
        rc = sbx_buf_adds(&out, "PROXY_CA_CERT_B64\"\n");
    b->no_memory |= rc != SBX_OK;
    return rc ? NULL : sbx_build_str(b, out.ptr);
}

/* A login shell that lost them gets them back; a value that is there stays. */
static const char *profile(struct sbx_planner *b)
{
    SBX_AUTO(sbx_buf) all = SBX_BUF_INIT(SBX_SCRIPT_MAX);
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_SCRIPT_MAX);
    enum sbx_code rc = names(&all, "", "\n");

    if (!rc)
        rc = sbx_buf_adds(&out, "# Proxy and trust of the sandbox; values that are set stay.\n");
    for (char *save = NULL, *n = rc ? NULL : strtok_r(all.ptr, "\n", &save); n && !rc;
         n = strtok_r(NULL, "\n", &save)) {
        const char *value = sbx_plan_env_get(b->p, n);

        rc = sbx_buf_addf(&out, "[ -n \"${%s+x}\" ] || export %s=", n, n);
        if (!rc)
            rc = sbx_shell_quote(value ? value : "", &out);
        if (!rc)
            rc = sbx_buf_adds(&out, "\n");
    }
    if (!rc)
        rc = sbx_buf_adds(&out, CA_AGAIN);
    b->no_memory |= rc != SBX_OK;
    return rc ? NULL : sbx_build_str(b, out.ptr);
}

void sbx_build_defaults(struct sbx_planner *b, struct sbx_plan_step *step)
{
    const char *host = b->p->hostname;
    const char *hosts;

    step->description = "Names, resolver, trust and proxy of the sandbox";
    step->files = sbx_build_array(b, 9, sizeof(*step->files));
    if (!step->files || !host)
        return;
    hosts = sbx_build_fmt(b,
                          "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
                          "127.0.0.1 %s\n" GATE_ADDRESS " gateway.docker.internal\n" HOST_ADDRESS
                          " host.docker.internal\n",
                          host);
    add(b, step, "/etc/hosts", 0644, hosts)->mounted = true;
    add(b, step, "/etc/resolv.conf", 0644, "nameserver " GATE_ADDRESS "\n" RESOLVER_OPTIONS)
        ->mounted = true;
    add(b, step, "/etc/hostname", 0644, sbx_build_fmt(b, "%s\n", host))->mounted = true;
    add(b, step, SBX_CA_FILE, 0644, NULL)->generated = "ca";
    add(b, step, SBX_CA_BUNDLE, 0644, NULL)->generated = "ca-bundle";
    add(b, step, "/etc/environment", 0644, NULL)->generated = "environment";
    add(b, step, "/etc/profile.d/sbx.sh", 0644, profile(b));
    add(b, step, "/etc/sudoers.d/sbx", 0440, sudoers(b));
}
