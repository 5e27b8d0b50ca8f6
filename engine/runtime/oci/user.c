#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "oci.h"
#include "sbx/file.h"
#include "sbx/tree.h"

#define ACCOUNTS_MAX (1 << 20) /* bytes of a passwd or group file that are looked at */

enum sbx_code oci_root_open(const struct box *b, int *ret, int *ret_pidfd, struct sbx_err *err)
{
    SBX_AUTO_FD int pidfd = (int)syscall(SYS_pidfd_open, b->pid, 0), fd = -1;
    struct box again = *b;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/root", (int)b->pid);
    fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    box_look(&again); /* the pid still was that container's when we opened */
    if (pidfd < 0 || fd < 0 || again.pid != b->pid)
        return sbx_err_set(err, SBX_UNAVAILABLE, "the container is not running");
    *ret = sbx_take_fd(&fd);
    if (ret_pidfd)
        *ret_pidfd = sbx_take_fd(&pidfd);
    return SBX_OK;
}

static bool number(const char *text, unsigned long *ret)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *ret = strtoul(text, &end, 10);
    return !*end && !errno && *ret < UINT32_MAX;
}

/* Split one line of colon-separated fields; returns how many. */
static size_t fields(char *line, char **v, size_t max)
{
    size_t n = 0;
    char *rest = line, *field;

    while (n < max && (field = strsep(&rest, ":")))
        v[n++] = field;
    return n;
}

/* passwd: name:x:uid:gid:gecos:home:shell. By name first: a name may be a number. */
static bool find_passwd(const char *text, const char *user, struct user *ret)
{
    SBX_AUTO_FREE char *copy = strdup(text);
    char *rest = copy, *line, *v[7], home[sizeof(ret->home)] = "";
    unsigned long wanted, uid, gid;
    bool by_id = number(user, &wanted), found = false;

    while (rest && (line = strsep(&rest, "\n"))) {
        if (fields(line, v, 7) < 6 || !number(v[2], &uid) || !number(v[3], &gid))
            continue;
        if (strcmp(v[0], user) != 0 && !(by_id && uid == wanted && !found))
            continue;
        ret->uid = (uid_t)uid;
        ret->gid = (gid_t)gid;
        snprintf(home, sizeof(home), "%s", v[5]);
        found = true;
        if (strcmp(v[0], user) == 0)
            break;
    }
    if (found)
        memcpy(ret->home, home, sizeof(home));
    return found;
}

static bool member(char *list, const char *user)
{
    char *name;

    while ((name = strsep(&list, ",")))
        if (*name && strcmp(name, user) == 0)
            return true;
    return false;
}

/* group: name:x:gid:member,member */
static void find_groups(const char *text, const char *user, struct user *ret)
{
    SBX_AUTO_FREE char *copy = strdup(text);
    char *rest = copy, *line, *v[4];
    unsigned long gid;

    while (rest && ret->n_groups < OCI_GROUPS_MAX && (line = strsep(&rest, "\n")))
        if (fields(line, v, 4) == 4 && number(v[2], &gid) && member(v[3], user))
            ret->groups[ret->n_groups++] = (gid_t)gid;
}

static bool find_group(const char *text, const char *group, gid_t *ret)
{
    SBX_AUTO_FREE char *copy = strdup(text);
    char *rest = copy, *line, *v[4];
    unsigned long gid;

    while (rest && (line = strsep(&rest, "\n"))) {
        if (fields(line, v, 4) < 3 || !number(v[2], &gid) || strcmp(v[0], group) != 0)
            continue;
        *ret = (gid_t)gid;
        return true;
    }
    if (!number(group, &gid))
        return false;
    *ret = (gid_t)gid;
    return true;
}

/* Name of a uid, for the member lists of groups. */
static void name_of(const char *passwd, uid_t uid, char *to, size_t size)
{
    SBX_AUTO_FREE char *copy = strdup(passwd);
    char *rest = copy, *line, *v[7];
    unsigned long id;

    while (rest && (line = strsep(&rest, "\n")))
        if (fields(line, v, 7) >= 4 && number(v[2], &id) && id == uid) {
            snprintf(to, size, "%s", v[0]);
            return;
        }
}

enum sbx_code oci_user_parse(const char *passwd, const char *group, const char *text,
                             struct user *ret, struct sbx_err *err)
{
    const char *colon = strchr(text, ':');
    char user[256], name[256];
    unsigned long id;

    *ret = (struct user){ .home = "/" };
    if (snprintf(user, sizeof(user), "%.*s", colon ? (int)(colon - text) : (int)strlen(text),
                 text) >= (int)sizeof(user))
        return sbx_err_set(err, SBX_NOT_FOUND, "a user name of more than 255 bytes");
    if (!user[0])
        snprintf(user, sizeof(user), "0");
    if (!find_passwd(passwd, user, ret)) {
        if (!number(user, &id))
            return sbx_err_set(err, SBX_NOT_FOUND, "no user %s in the sandbox", user);
        ret->uid = (uid_t)id;
    }
    if (colon && !find_group(group, colon + 1, &ret->gid))
        return sbx_err_set(err, SBX_NOT_FOUND, "no group %.200s in the sandbox", colon + 1);
    snprintf(name, sizeof(name), "%s", user);
    name_of(passwd, ret->uid, name, sizeof(name));
    if (!colon) /* a group that is named stands alone, as with the Engine */
        find_groups(group, name, ret);
    return SBX_OK;
}

/* A file of the sandbox's, or "" if it is missing, no file, or too large. */
static void read_accounts(int root, const char *path, struct sbx_buf *out)
{
    SBX_AUTO_FD int fd = sbx_open_in_root(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    char self[64];

    snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    if (fd < 0 || sbx_file_read(AT_FDCWD, self, out, NULL))
        sbx_buf_clear(out);
}

enum sbx_code oci_user(int root, const char *text, struct user *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) passwd = SBX_BUF_INIT(ACCOUNTS_MAX);
    SBX_AUTO(sbx_buf) group = SBX_BUF_INIT(ACCOUNTS_MAX);

    read_accounts(root, "etc/passwd", &passwd);
    read_accounts(root, "etc/group", &group);
    return oci_user_parse(passwd.ptr ? passwd.ptr : "", group.ptr ? group.ptr : "", text, ret, err);
}
