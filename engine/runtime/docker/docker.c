#include "docker.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* Opening: find the socket, agree on a version, learn what this Engine is. */

#define API_MIN 41      /* 1.41: Engine 20.10 */
#define PROBE_MS 20000L /* a busy Engine answers in 1 s; who hangs is not waited for */
#define API_MAX 51      /* 1.51: newest whose calls were read for this code */

static void docker_free(struct sbx_runtime *rt)
{
    struct docker *d = (struct docker *)rt;

    if (d->h)
        d->curl->easy_cleanup(d->h);
    free(d->socket);
    free(d->app);
    free(d->runtime);
    free(d->seccomp);
    free(d);
}

static bool keep(char **to, const char *text)
{
    *to = text ? strdup(text) : NULL;
    return !text || *to;
}

static int minor_of(const char *version)
{
    int major = 0, minor = 0;

    return sscanf(version, "%d.%d", &major, &minor) == 2 && major == 1 ? minor : 0;
}

static enum sbx_code agree(struct docker *d, const json_t *answer, struct sbx_err *err)
{
    int newest = minor_of(sbx_json_text_of(answer, "ApiVersion"));
    int oldest = minor_of(sbx_json_text_of(answer, "MinAPIVersion"));
    int use = newest < API_MAX ? newest : API_MAX;

    if (!newest)
        return sbx_err_set(err, SBX_UNAVAILABLE, "what answers on %s is not a container Engine",
                           d->socket);
    if (use < API_MIN)
        return sbx_err_set(
            err, SBX_UNSUPPORTED, "Engine %s speaks API %s, at least 1.%d (Engine 20.10) is needed",
            sbx_json_text_of(answer, "Version"), sbx_json_text_of(answer, "ApiVersion"), API_MIN);
    if (oldest > use)
        return sbx_err_set(err, SBX_UNSUPPORTED,
                           "Engine %s needs API 1.%d or newer, this sbx speaks up to 1.%d",
                           sbx_json_text_of(answer, "Version"), oldest, API_MAX);
    snprintf(d->api, sizeof(d->api), "/v1.%d", use);
    d->console_size = use >= 42;
    return SBX_OK;
}

/* Another kernel cannot be gated (decision C9): doors made here are invisible there. */
static enum sbx_code same_kernel(const json_t *answer, struct sbx_err *err)
{
    const char *kernel = sbx_json_text_of(answer, "KernelVersion"),
               *os = sbx_json_text_of(answer, "Os");
    struct utsname here;

    if (*os && strcmp(os, "linux") != 0)
        return sbx_err_set(err, SBX_UNSUPPORTED, "the Engine runs %s containers, not Linux", os);
    if (!*kernel || uname(&here) || strcmp(kernel, here.release) == 0)
        return SBX_OK;
    return sbx_err_set(err, SBX_UNSUPPORTED,
                       "the Engine runs on another kernel (%s, here %s): its sandboxes could not "
                       "be isolated from here",
                       kernel, here.release);
}

static bool has_gpu_hook(void)
{
    static const char *const hooks[] = { "/usr/bin/nvidia-container-runtime-hook",
                                         "/usr/local/bin/nvidia-container-runtime-hook",
                                         "/usr/bin/nvidia-container-cli" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(hooks); i++)
        if (access(hooks[i], X_OK) == 0)
            return true;
    return false;
}

static enum sbx_code probe(struct docker *d, const struct sbx_runtime_config *config,
                           struct sbx_err *err)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    const struct docker_extra extra = { .timeout_ms = PROBE_MS };
    enum sbx_code rc = docker_send(d, &c, err, "GET", NULL, &extra, "/version");
    const char *component;

    if (!rc && c.status >= 400) {
        docker_failed(&c, err);
        return sbx_err_wrap(err, SBX_UNAVAILABLE, "Engine at %s", d->socket);
    }
    if (rc)
        return rc;
    rc = agree(d, c.json, err);
    if (!rc && !config->weak_network)
        rc = same_kernel(c.json, err);
    if (rc)
        return rc;
    component = sbx_json_text_of(json_array_get(json_object_get(c.json, "Components"), 0), "Name");
    d->podman = strncmp(component, "Podman", 6) == 0;
    snprintf(d->version, sizeof(d->version), "%s%s", d->podman ? "podman " : "",
             sbx_json_text_of(c.json, "Version"));
    snprintf(d->arch, sizeof(d->arch), "%s", sbx_json_text_of(c.json, "Arch"));
    d->rt.info.version = d->version;
    d->rt.info.netns_join_container = true;
    d->rt.info.can_enter = geteuid() == 0 && same_kernel(c.json, NULL) == SBX_OK;
    d->rt.info.gpu = has_gpu_hook();
    d->rt.info.privileged = true;
    return SBX_OK;
}

static enum sbx_code docker_open(const struct sbx_runtime_config *config, struct sbx_runtime **ret,
                                 struct sbx_err *err)
{
    struct docker *d = calloc(1, sizeof(*d));
    enum sbx_code rc;

    if (!d)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    rc = docker_socket(config->docker_host, &d->socket, err);
    if (!rc && !(keep(&d->app, config->app ? config->app : "") &&
                 keep(&d->runtime, config->oci_runtime) && keep(&d->seccomp, config->seccomp)))
        rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!rc && !(d->curl = sbx_curl(err)))
        rc = SBX_UNAVAILABLE;
    if (!rc && !(d->h = d->curl->easy_init()))
        rc = sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (!rc)
        rc = probe(d, config, err);
    if (rc) {
        docker_free(&d->rt);
        return rc;
    }
    *ret = &d->rt;
    return SBX_OK;
}

const struct sbx_runtime_ops sbx_runtime_docker = {
    .name = "docker",
    .kind = SBX_RUNTIME_DOCKER,
    .open = docker_open,
    .free = docker_free,
    .image_ensure = docker_image_ensure,
    .image_load = docker_image_load,
    .image_list = docker_image_list,
    .image_remove = docker_image_remove,
    .create = docker_create,
    .start = docker_start,
    .stop = docker_stop,
    .remove = docker_remove,
    .inspect = docker_inspect,
    .list = docker_list,
    .exec = docker_exec,
    .copy_in = docker_copy_in,
    .copy_out = docker_copy_out,
    .commit = docker_commit,
    .volume_ensure = docker_volume_ensure,
    .volume_remove = docker_volume_remove,
    .volume_list = docker_volume_list,
};
