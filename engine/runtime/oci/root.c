#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "oci.h"
#include "sbx/file.h"
#include "sbx/tree.h"

/* Runs in the child that becomes the OCI runtime, with the overlay mounted at ./rootfs. */

static int make_dirs(int root, const char *path)
{
    char part[4096];
    const char *p = path;

    while (*p) {
        int fd, parent;
        const char *slash;
        char *name;

        p += strspn(p, "/");
        p += strcspn(p, "/");
        snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
        fd = sbx_open_in_root(root, part, O_PATH | O_DIRECTORY, 0);
        if (fd >= 0) {
            close(fd);
            continue;
        }
        if (errno != ENOENT)
            return -1;
        slash = strrchr(part, '/');
        name = slash ? part + (slash - part) + 1 : part;
        if (slash)
            part[slash - part] = '\0';
        parent = sbx_open_in_root(root, slash ? part : "", O_RDONLY | O_DIRECTORY, 0);
        if (parent < 0)
            return -1;
        fd = mkdirat(parent, name, 0755) ||
             fchmodat(parent, name, 0755, 0); /* whatever the umask */
        close(parent);
        if (fd)
            return -1;
    }
    return 0;
}

/* A plain file of ours, once: later the engine and the user may change it. */
static int write_once(const struct box *b, int etc, const char *name, const char *text)
{
    char in_upper[64];
    int fd, rc;

    snprintf(in_upper, sizeof(in_upper), "upper/etc/%s", name);
    if (faccessat(b->dir, in_upper, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    if (unlinkat(etc, name, 0) && errno != ENOENT)
        return -1;
    fd = openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    rc = sbx_write_all(fd, text, strlen(text)) || fchmod(fd, 0644);
    close(fd);
    return rc ? -1 : 0;
}

static int write_names(const struct box *b, int root)
{
    const char *host = box_text(b, "hostname");
    char text[1024];
    int etc = sbx_open_in_root(root, "etc", O_RDONLY | O_DIRECTORY, 0), rc;

    if (etc < 0)
        return errno == ENOENT ? 0 : -1;
    snprintf(text, sizeof(text), "%.255s\n", host);
    rc = *host ? write_once(b, etc, "hostname", text) : 0;
    snprintf(text, sizeof(text),
             "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
             "127.0.1.1 %.255s\n",
             *host ? host : "localhost");
    if (!rc)
        rc = write_once(b, etc, "hosts", text);
    if (!rc)
        rc = write_once(b, etc, "resolv.conf", "");
    close(etc);
    return rc;
}

/* New volumes get what the image has at their place; the mark goes last. */
static int fill_volumes(struct oci *o, const struct box *b, int root, int complain)
{
    const json_t *m;
    size_t i;

    json_array_foreach(json_object_get(b->spec, "mounts"), i, m) {
        const char *target = json_string_value(json_object_get(m, "target"));
        SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
        struct sbx_err err = SBX_ERR_INIT;
        const char *full, *path;
        SBX_AUTO_FD int from = -1;

        if (strcmp(json_string_value(json_object_get(m, "kind")), "volume") != 0)
            continue;
        full = arena ? sbx_name_full(arena, o->app, json_string_value(json_object_get(m, "source")))
                     : NULL;
        path = full ? sbx_arena_printf(arena, "%s/volumes/%s", o->state, full) : NULL;
        if (!path)
            return -1;
        from = sbx_open_in_root(root, target, O_RDONLY | O_DIRECTORY, 0);
        if (oci_volume_fill(path, from, (unsigned)json_integer_value(json_object_get(m, "mode")),
                            (int)json_integer_value(json_object_get(m, "uid")), &err)) {
            dprintf(complain, "volume %s: %s", full, err.text);
            return -1;
        }
    }
    return 0;
}

/* The topmost layer that has it, as a plain file: -1 none. Whiteouts are devices. */
static int open_in_image(const struct box *b, const char *path)
{
    size_t n = json_array_size(json_object_get(b->spec, "layers"));

    for (size_t i = n; i-- > 0;) {
        SBX_AUTO_FD int layer = -1, fd = -1;
        char name[32];
        struct stat st;

        snprintf(name, sizeof(name), "l/%zu", i);
        layer = openat(b->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fd = layer < 0 ? -1 : sbx_open_in_root(layer, path, O_RDONLY | O_NONBLOCK, 0);
        if (fd >= 0)
            return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? sbx_take_fd(&fd) : -1;
    }
    return -1;
}

/* The image's file instead of what stands there now; an empty one if the image has none. */
static int restore(const struct box *b, int root, const char *name, const char *path)
{
    SBX_AUTO_FD int etc = sbx_open_in_root(root, "etc", O_RDONLY | O_DIRECTORY, 0);
    SBX_AUTO_FD int from = open_in_image(b, path), to = -1;
    char data[65536];
    ssize_t n = 0;

    if (etc < 0 || (unlinkat(etc, name, 0) && errno != ENOENT))
        return -1;
    to = openat(etc, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (to < 0 || fchmod(to, 0644))
        return -1;
    while (from >= 0 && (n = read(from, data, sizeof(data))) > 0)
        if (sbx_write_all(to, data, (size_t)n))
            return -1;
    return n < 0 ? -1 : 0;
}

/*
 * The OCI runtime opens these in the root even when the user is given by number. Root inside, or an
 * image, may have put a FIFO there, or a device, and the start would wait for it for ever.
 */
static int check_accounts(const struct box *b, int root)
{
    static const char *const names[] = { "passwd", "group" };

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        SBX_AUTO_FD int fd = -1;
        char path[32];
        struct stat st;

        snprintf(path, sizeof(path), "etc/%s", names[i]);
        fd = sbx_open_in_root(root, path, O_PATH, 0);
        if (fd < 0 || fstat(fd, &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
            continue; /* nothing there, or nothing that can be waited for */
        if (restore(b, root, names[i], path))
            return -1;
    }
    return 0;
}

int oci_root_prepare(struct oci *o, const struct box *b, int complain)
{
    /* not b->dir: that descriptor still sees what is below the mount */
    SBX_AUTO_FD int root = open("rootfs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root < 0 || make_dirs(root, box_text(b, "workdir")) || write_names(b, root) ||
        check_accounts(b, root)) {
        dprintf(complain, "prepare the root file system: %s", strerror(errno));
        return -1;
    }
    return fill_volumes(o, b, root, complain);
}
