/* run/: what PID 1 sees as /run/sbx, its own program and the marks it waits for (section 5). */
#include "net.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

static enum sbx_code copy_file(int from, int to, const char *what, struct sbx_err *err)
{
    struct stat st;
    off_t left;

    if (fstat(from, &st))
        return sbx_err_errno(err, "%s", what);
    for (left = st.st_size; left > 0;) {
        ssize_t n = sendfile(to, from, NULL, (size_t)left);

        if (n <= 0)
            return sbx_err_errno(err, "copy %s", what);
        left -= n;
    }
    return SBX_OK;
}

/* A copy, not a link: an update of sbx must not change the PID 1 of a sandbox, nor the other way. */
static enum sbx_code copy_init(struct sbx_box *box, int dir, struct sbx_err *err)
{
    char path[4096];
    SBX_AUTO_FD int from = -1;
    SBX_AUTO_FD int to = -1;
    enum sbx_code rc;

    snprintf(path, sizeof(path), "%s/sbx-init", box->e->paths.libexec);
    from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return sbx_err_errno(err, "%s", path);
    unlinkat(dir, "init.new", 0);
    to = openat(dir, "init.new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (to < 0)
        return sbx_err_errno(err, "%s/run/init", box->dir);
    rc = copy_file(from, to, path, err);
    if (!rc && (fchmod(to, 0755) || renameat(dir, "init.new", dir, "init")))
        rc = sbx_err_errno(err, "%s/run/init", box->dir);
    return rc;
}

enum sbx_code sbx_marks_init(struct sbx_box *box, struct sbx_err *err)
{
    SBX_AUTO_FD int dir = -1;
    enum sbx_code rc;

    if ((mkdirat(box->dirfd, "run", 0755) && errno != EEXIST) ||
        fchmodat(box->dirfd, "run", 0755, 0))
        return sbx_err_errno(err, "%s/run", box->dir);
    dir = openat(box->dirfd, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return sbx_err_errno(err, "%s/run", box->dir);
    if (box->info->kind == SBX_RUNTIME_FAKE)
        return SBX_OK;
    rc = copy_init(box, dir, err);
    return rc ? rc : sbx_serve_open(box, err);
}

static enum sbx_code put(struct sbx_box *box, const char *name, const char *text,
                         struct sbx_err *err)
{
    char path[200];

    snprintf(path, sizeof(path), "run/%s", name);
    return sbx_put(box, path, text, strlen(text), 0644, err);
}

enum sbx_code sbx_mark_gate(struct sbx_box *box, unsigned long long cookie, struct sbx_err *err)
{
    char name[80];

    snprintf(name, sizeof(name), "gate-%llu", cookie);
    return put(box, name, "", err);
}

enum sbx_code sbx_mark_done(struct sbx_box *box, unsigned long long cookie, struct sbx_err *err)
{
    char name[80], text[80];
    enum sbx_code rc;

    snprintf(name, sizeof(name), "done-%llu-%u", cookie, box->record.starts);
    snprintf(text, sizeof(text), "%llu %u\n", cookie, box->record.starts);
    rc = put(box, name, "", err);
    return rc ? rc : put(box, "start", text, err);
}

enum sbx_code sbx_marks_begin(struct sbx_box *box, struct sbx_err *err)
{
    int fd = openat(box->dirfd, "run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    for (struct dirent *d; dir && (d = readdir(dir));)
        if (!strncmp(d->d_name, "gate-", 5) || !strncmp(d->d_name, "done-", 5) ||
            !strcmp(d->d_name, "start"))
            unlinkat(fd, d->d_name, 0);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return sbx_serve_again(box, err);
}
