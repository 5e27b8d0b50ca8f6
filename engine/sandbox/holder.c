/*
 * For a caller without root: a container whose only process is the helper owns the namespace, and the
 * sandbox joins it. Its image is the static helper, imported once.
 */
#include "net.h"

#include "sbx/digest.h"
#include "sbx/file.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELPER_MAX 16777216 /* bytes of the static helper; it has about 1 MB */
#define TAR_BLOCK 512
#define POLL_MS 5

/* A ustar header and the content, padded (POSIX.1-2017 pax, "ustar Interchange Format"). */
static enum sbx_code tar_add(struct sbx_buf *out, const char *name, unsigned mode, const void *data,
                             size_t len)
{
    char header[TAR_BLOCK] = { 0 };
    static const char zeros[TAR_BLOCK];
    unsigned sum = 0;
    enum sbx_code rc;

    snprintf(header, 100, "%s", name);
    snprintf(header + 100, 8, "%07o", mode);
    snprintf(header + 108, 8, "%07o", 0);
    snprintf(header + 116, 8, "%07o", 0);
    snprintf(header + 124, 12, "%011zo", len);
    snprintf(header + 136, 12, "%011o", 0);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    memcpy(header + 257, "ustar\00000", 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    rc = sbx_buf_add(out, header, sizeof(header));
    if (!rc)
        rc = sbx_buf_add(out, data, len);
    if (!rc && len % TAR_BLOCK)
        rc = sbx_buf_add(out, zeros, TAR_BLOCK - len % TAR_BLOCK);
    return rc;
}

static enum sbx_code tar_end(struct sbx_buf *out)
{
    static const char zeros[2 * TAR_BLOCK];

    return sbx_buf_add(out, zeros, sizeof(zeros));
}

/* What `docker save` would write of an image with this one layer. */
static enum sbx_code make_archive(const struct sbx_buf *helper, const char *reference,
                                  struct sbx_buf *out)
{
    SBX_AUTO(sbx_buf) layer = SBX_BUF_INIT(HELPER_MAX + 16384);
    char digest[SBX_DIGEST_TEXT_SIZE], config[512], manifest[512];
    enum sbx_code rc = tar_add(&layer, "sbx-netns", 0755, helper->ptr, helper->len);

    if (!rc)
        rc = tar_end(&layer);
    if (!rc)
        rc = sbx_digest(layer.ptr, layer.len, digest);
    if (rc)
        return rc;
    snprintf(config, sizeof(config),
             "{\"architecture\":\"%s\",\"os\":\"linux\",\"config\":{\"Entrypoint\":[\"/sbx-netns\"]},"
             "\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"%s\"]}}",
#if defined(__aarch64__)
             "arm64",
#else
             "amd64",
#endif
             digest);
    snprintf(manifest, sizeof(manifest),
             "[{\"Config\":\"config.json\",\"RepoTags\":[\"%s\"],\"Layers\":[\"layer.tar\"]}]",
             reference);
    rc = tar_add(out, "layer.tar", 0644, layer.ptr, layer.len);
    if (!rc)
        rc = tar_add(out, "config.json", 0644, config, strlen(config));
    if (!rc)
        rc = tar_add(out, "manifest.json", 0644, manifest, strlen(manifest));
    return rc ? rc : tar_end(out);
}

static enum sbx_code import(struct sbx_box *box, const struct sbx_buf *helper, const char *reference,
                            struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) archive = SBX_BUF_INIT(HELPER_MAX + 65536);
    const char *path = sbx_box_path(box, "net/holder.tar");
    const char **names;
    size_t n;
    enum sbx_code rc = make_archive(helper, reference, &archive);

    if (rc || !path)
        return sbx_out_of_memory(err);
    rc = sbx_file_write(box->dirfd, "net/holder.tar", archive.ptr, archive.len, 0600, err);
    if (!rc)
        rc = sbx_runtime_image_load(box->rt, path, box->arena, &names, &n, err);
    unlinkat(box->dirfd, "net/holder.tar", 0);
    return rc;
}

static enum sbx_code ensure_image(struct sbx_box *box, const char **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) helper = SBX_BUF_INIT(HELPER_MAX);
    char path[4096], digest[SBX_DIGEST_TEXT_SIZE];
    struct sbx_image image;
    enum sbx_code rc;

    snprintf(path, sizeof(path), "%s/sbx-netns", box->e->paths.libexec);
    rc = sbx_file_read(AT_FDCWD, path, &helper, err);
    if (!rc)
        rc = sbx_digest(helper.ptr, helper.len, digest);
    if (rc)
        return rc;
    *ret = sbx_arena_printf(box->arena, "sbx.local/netns:%.16s", digest + strlen("sha256:"));
    if (!*ret)
        return sbx_out_of_memory(err);
    if (!sbx_runtime_image_ensure(box->rt, *ret, SBX_PULL_NEVER, NULL, box->arena, &image, NULL))
        return SBX_OK;
    return import(box, &helper, *ret, err);
}

static unsigned long long own_cookie(void)
{
    SBX_AUTO_FD int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    unsigned long long cookie = 0;
    socklen_t len = sizeof(cookie);

    return fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) ? cookie : 0;
}

static enum sbx_code make(struct sbx_box *box, const char *image, struct sbx_err *err)
{
    static const char *const add[] = { "NET_ADMIN", NULL }, *const drop[] = { "ALL", NULL };
    /* the last two only where the host's kernel has them: see proxy/netns/normal.c */
    bool bridges = access("/proc/sys/net/bridge/bridge-nf-call-iptables", F_OK) == 0;
    const char *const sysctls[] = {
        "net.ipv6.conf.all.disable_ipv6=0",    "net.ipv6.conf.default.disable_ipv6=0",
        "net.ipv6.conf.lo.disable_ipv6=0",     "net.ipv4.ip_unprivileged_port_start=0",
        "net.ipv4.ping_group_range=0 2147483647", "net.ipv4.tcp_tw_reuse=1",
        bridges ? "net.bridge.bridge-nf-call-iptables=0" : NULL,
        bridges ? "net.bridge.bridge-nf-call-ip6tables=0" : NULL, NULL,
    };
    const char *cookie = sbx_arena_printf(box->arena, "%llu", own_cookie());
    const char *argv[] = { "/sbx-netns", "--mode", "holder", "--socket", "/net/netns.sock",
                           "--host-cookie", cookie, NULL };
    const char *labels[] = { "sbx.role=holder", sbx_container_label(box), NULL };
    struct sbx_mount mount = { .kind = SBX_MOUNT_BIND, .target = "/net",
                               .source = sbx_box_path(box, "net/holder") };
    struct sbx_container_spec spec = {
        .name = sbx_arena_printf(box->arena, "%s_holder", box->name), .image = image, .argv = argv,
        .hostname = box->plan->hostname, .labels = labels, .mounts = &mount, .n_mounts = 1,
        .netns = SBX_NETNS_NONE, .sysctls = sysctls, .cap_add = add, .cap_drop = drop,
        .read_only_root = true,
    };

    if (!cookie || !mount.source || !spec.name || !labels[1])
        return sbx_out_of_memory(err);
    return sbx_container_ask(box, &spec, &box->record.holder, err);
}

static enum sbx_code wait_ready(struct sbx_box *box, unsigned long long *ret, struct sbx_err *err)
{
    int64_t until = sbx_now_ms() + SBX_READY_TIMEOUT_MS;

    for (;;) {
        SBX_AUTO_FD int sock = -1;
        char answer[256];
        struct sbx_container c;

        if (!sbx_helper_connect(box, &sock, err) &&
            !sbx_helper_ask(sock, "cookie", -1, answer, sizeof(answer), err) &&
            sscanf(answer, "ok %llu", ret) == 1)
            return SBX_OK;
        if (sbx_now_ms() > until)
            return sbx_err_wrap(err, SBX_TIMEOUT, "the holder container does not answer");
        if (!sbx_runtime_inspect(box->rt, box->record.holder, box->arena, &c, NULL) && !c.running)
            return sbx_err_set(err, SBX_FAILED,
                               "the holder container ended with status %d; \"docker logs %s_holder\" "
                               "may say why",
                               c.exit_code, box->name);
        poll(NULL, 0, POLL_MS);
    }
}

enum sbx_code sbx_holder_start(struct sbx_box *box, unsigned long long *ret_cookie,
                               struct sbx_err *err)
{
    const char *image = NULL;
    enum sbx_code rc = SBX_OK;

    if ((mkdirat(box->dirfd, "net", 0700) && errno != EEXIST) ||
        (mkdirat(box->dirfd, "net/holder", 0777) && errno != EEXIST) ||
        fchmodat(box->dirfd, "net/holder", 0777, 0)) /* written by the holder's root, who has no capability */
        return sbx_err_errno(err, "%s/net/holder", box->dir);
    unlinkat(box->dirfd, "net/holder/netns.sock", 0);
    if (!box->record.holder) {
        rc = ensure_image(box, &image, err);
        if (!rc)
            rc = make(box, image, err);
    }
    if (!rc)
        rc = sbx_runtime_start(box->rt, box->record.holder, err);
    if (!rc)
        rc = wait_ready(box, ret_cookie, err);
    return rc ? sbx_err_wrap(err, rc, "holder of sandbox %s", box->name) : SBX_OK;
}
