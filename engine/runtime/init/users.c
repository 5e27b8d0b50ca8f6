#include "users.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "number.h"
#include "place.h"
#include "sbx/file.h"

#define FIELDS 7 /* of a passwd line; a group line has 4 */

/* A database file as a buffer; one that is missing is empty. */
static enum sbx_code load(int root, const char *path, struct sbx_buf *out, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    enum sbx_code rc = sbx_inside_find(root, path, NULL, &spot, err);

    if (!rc)
        rc = sbx_file_read(spot.dir, spot.name, out, err);
    if (rc == SBX_NOT_FOUND)
        rc = sbx_buf_adds(out, "");
    return rc ? sbx_err_wrap(err, rc, "%s", path) : SBX_OK;
}

/* Cut the next line into fields; 0: no line left. `*at` moves on. */
static size_t next_line(char **at, char *fields[FIELDS])
{
    char *line = *at, *end = line ? line + strcspn(line, "\n") : NULL;
    size_t n = 0;

    if (!line || !*line)
        return 0;
    *at = *end ? end + 1 : end;
    *end = '\0';
    while (n < FIELDS) {
        fields[n++] = line;
        line += strcspn(line, ":");
        if (!*line)
            break;
        *line++ = '\0';
    }
    return n;
}

static bool take_passwd(char *const f[FIELDS], size_t n, struct sbx_user *ret)
{
    uint64_t uid, gid;

    if (n < 6 || !f[0][0] || strlen(f[0]) >= sizeof(ret->name) || strlen(f[5]) >= PATH_MAX ||
        !sbx_number(f[2], 10, SBX_ID_MAX, &uid) || !sbx_number(f[3], 10, SBX_ID_MAX, &gid))
        return false;
    ret->uid = (uid_t)uid;
    ret->gid = (gid_t)gid;
    strcpy(ret->name, f[0]);
    strcpy(ret->home, f[5][0] == '/' ? f[5] : "/");
    return true;
}

/* The first line with this name, or (name NULL) this uid. */
static enum sbx_code find_passwd(int root, const char *name, uid_t uid, struct sbx_user *ret,
                                 struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_DB_BYTES);
    enum sbx_code rc = load(root, "/etc/passwd", &text, err);
    char *at = text.ptr, *fields[FIELDS];
    struct sbx_user u = { 0 };
    size_t n;

    while (!rc && (n = next_line(&at, fields)))
        if (take_passwd(fields, n, &u) && (name ? !strcmp(u.name, name) : u.uid == uid)) {
            *ret = u;
            return SBX_OK;
        }
    return rc ? rc : sbx_err_set(err, SBX_NOT_FOUND, "no such user");
}

enum sbx_code sbx_user_by_uid(int root, uid_t uid, struct sbx_user *ret, struct sbx_err *err)
{
    return find_passwd(root, NULL, uid, ret, err);
}

static bool is_member(char *members, const char *name)
{
    char *rest = members, *one;

    while ((one = strsep(&rest, ",")))
        if (!strcmp(one, name))
            return true;
    return false;
}

/* The groups that list u->name, and (group not NULL) the id of that one. */
static enum sbx_code read_groups(int root, const char *group, struct sbx_user *u, bool *found,
                                 struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_DB_BYTES);
    enum sbx_code rc = load(root, "/etc/group", &text, err);
    char *at = text.ptr, *f[FIELDS];
    uint64_t gid;
    size_t n;

    while (!rc && (n = next_line(&at, f))) {
        if (n < 3 || !sbx_number(f[2], 10, SBX_ID_MAX, &gid))
            continue;
        if (group && !*found && !strcmp(f[0], group)) {
            u->gid = (gid_t)gid;
            *found = true;
        }
        if (!group && n > 3 && u->n_groups < SBX_USER_GROUPS && is_member(f[3], u->name))
            u->groups[u->n_groups++] = (gid_t)gid;
    }
    return rc;
}

static enum sbx_code find_name(int root, const char *name, struct sbx_user *u, struct sbx_err *err)
{
    enum sbx_code rc = find_passwd(root, name, 0, u, err);
    uint64_t uid;

    if (rc != SBX_NOT_FOUND || !sbx_number(name, 10, SBX_ID_MAX, &uid))
        return rc;
    rc = find_passwd(root, NULL, (uid_t)uid, u, err);
    if (rc != SBX_NOT_FOUND)
        return rc;
    u->uid = (uid_t)uid;
    strcpy(u->home, "/");
    snprintf(u->name, sizeof(u->name), "%u", u->uid);
    return SBX_OK;
}

enum sbx_code sbx_user_find(int root, const char *text, struct sbx_user *ret, struct sbx_err *err)
{
    const char *colon = strchr(text, ':');
    const char *group = colon ? colon + 1 : NULL;
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    struct sbx_user u = { 0 };
    char name[SBX_USER_NAME];
    bool found = false;
    enum sbx_code rc;
    uint64_t gid;

    if (!len || len >= sizeof(name) || (group && !*group))
        return sbx_err_set(err, SBX_NOT_FOUND, "user \"%s\": not a name or number", text);
    memcpy(name, text, len);
    name[len] = '\0';
    rc = find_name(root, name, &u, err);
    if (!rc)
        rc = read_groups(root, group, &u, &found, err);
    if (!rc && group && !found) {
        if (!sbx_number(group, 10, SBX_ID_MAX, &gid))
            rc = sbx_err_set(err, SBX_NOT_FOUND, "no such group");
        else
            u.gid = (gid_t)gid;
    }
    if (rc)
        return sbx_err_wrap(err, rc, "user \"%s\"", text);
    *ret = u;
    return SBX_OK;
}

static bool good_name(const char *name)
{
    size_t len = strlen(name);

    return len && len < 33 && name[0] != '-' && /* 32: what useradd allows */
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

/* Add a line to a database, keeping owner and mode; `only_existing` leaves a missing one alone. */
static enum sbx_code append(int root, const char *path, const char *line, bool only_existing,
                            mode_t mode, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_DB_BYTES);
    SBX_AUTO(sbx_new_file) f = SBX_NEW_FILE_INIT;
    struct sbx_owner owner = { 0, 0 };
    struct stat st;
    enum sbx_code rc = sbx_inside_find(root, path, &owner, &spot, err);
    bool there = !rc && fstatat(spot.dir, spot.name, &st, 0) == 0;

    if (rc || (!there && only_existing))
        return rc;
    if (there) {
        owner = (struct sbx_owner){ st.st_uid, st.st_gid };
        mode = st.st_mode;
        rc = load(root, path, &text, err);
    }
    if (!rc && text.len && text.ptr[text.len - 1] != '\n')
        rc = sbx_buf_adds(&text, "\n");
    if (!rc)
        rc = sbx_buf_adds(&text, line);
    if (!rc)
        rc = sbx_new_file_open(root, path, owner, mode, false, &f, err);
    if (!rc && sbx_write_all(f.fd, text.ptr, text.len))
        rc = sbx_err_errno(err, "write");
    return rc ? sbx_err_wrap(err, rc, "%s", path) : sbx_new_file_commit(&f, err);
}

/* Is there a group with this id, or one that has the name already? */
static enum sbx_code group_taken(int root, const char *name, gid_t gid, bool *ret,
                                 struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_DB_BYTES);
    enum sbx_code rc = load(root, "/etc/group", &text, err);
    char *at = text.ptr, *f[FIELDS];
    uint64_t id;
    size_t n;

    *ret = false;
    while (!rc && (n = next_line(&at, f)))
        *ret |= !strcmp(f[0], name) ||
                (n > 2 && sbx_number(f[2], 10, SBX_ID_MAX, &id) && id == gid);
    return rc;
}

static enum sbx_code add_lines(int root, const char *name, struct sbx_owner owner, const char *home,
                               struct sbx_err *err)
{
    char line[PATH_MAX + 3 * SBX_USER_NAME];
    enum sbx_code rc;
    bool taken;

    rc = group_taken(root, name, owner.gid, &taken, err);
    snprintf(line, sizeof(line), "%s:x:%u:\n", name, owner.gid);
    if (!rc && !taken)
        rc = append(root, "/etc/group", line, false, 0644, err);
    /* No password, but sudo wants a line. */
    snprintf(line, sizeof(line), "%s:*:19000:0:99999:7:::\n", name);
    if (!rc)
        rc = append(root, "/etc/shadow", line, true, 0640, err);
    snprintf(line, sizeof(line), "%s:x:%u:%u::%s:/bin/sh\n", name, owner.uid, owner.gid, home);
    return rc ? rc : append(root, "/etc/passwd", line, false, 0644, err);
}

enum sbx_code sbx_user_make(int root, const char *name, struct sbx_owner owner, const char *home,
                            enum sbx_done *ret, struct sbx_err *err)
{
    struct sbx_user u;
    enum sbx_done made = SBX_DONE_OK;
    enum sbx_code rc;

    if (!good_name(name) || home[0] != '/' || strpbrk(home, ":\n"))
        return sbx_err_set(err, SBX_USAGE, "not a user and home: %s:%s", name, home);
    rc = find_passwd(root, NULL, owner.uid, &u, err);
    *ret = rc ? SBX_DONE_OK : SBX_DONE_KEPT;
    if (rc == SBX_NOT_FOUND && !find_passwd(root, name, 0, &u, err))
        return sbx_err_set(err, SBX_EXISTS, "user %s exists with uid %u", name, u.uid);
    if (rc == SBX_NOT_FOUND)
        rc = add_lines(root, name, owner, home, err);
    else if (!rc)
        home = u.home;
    if (!rc && strcmp(home, "/"))
        rc = sbx_inside_mkdir(root, home, owner, 0755, true, &made, err);
    return rc;
}
