#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "oci.h"

#define PARENT "sbx"       /* cgroup that holds those of all containers */
#define HIERARCHIES_MAX 32 /* mounts of cgroup file systems */
#define REMOVE_TRIES 400   /* waits of 5 ms: processes that were killed need time to go */
#define PATH_SIZE 4096

struct hierarchy {
    char path[512];    /* where it is mounted */
    char options[264]; /* v1: the controllers, "rw,memory" */
    bool v2;
};

/* mountinfo: "… MOUNTPOINT OPTIONS … - TYPE SOURCE SUPEROPTIONS" */
static bool parse_line(char *line, struct hierarchy *h)
{
    char *dash = strstr(line, " - "), point[512], type[32], super[256];

    if (!dash || sscanf(line, "%*s %*s %*s %*s %511s", point) != 1 ||
        sscanf(dash + 3, "%31s %*s %255s", type, super) != 2)
        return false;
    if (strcmp(type, "cgroup") != 0 && strcmp(type, "cgroup2") != 0)
        return false;
    snprintf(h->path, sizeof(h->path), "%s", point);
    snprintf(h->options, sizeof(h->options), ",%.255s,", super);
    h->v2 = strcmp(type, "cgroup2") == 0;
    return true;
}

static size_t hierarchies(struct hierarchy *v)
{
    FILE *f = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t n = 0, size = 0;

    while (f && n < HIERARCHIES_MAX && getline(&line, &size, f) > 0)
        n += parse_line(line, &v[n]);
    free(line);
    if (f)
        fclose(f);
    return n;
}

static bool listed(const char *path, const char *word)
{
    char text[1024] = " ", *end;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text + 1, sizeof(text) - 3);
    char pattern[64];

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return false;
    text[n + 1] = '\0';
    for (end = text; *end; end++)
        if (*end == '\n')
            *end = ' ';
    snprintf(pattern, sizeof(pattern), " %s ", word);
    return strstr(text, pattern);
}

static const struct hierarchy *of_controller(const struct hierarchy *v, size_t n,
                                             const char *controller)
{
    char word[64], path[PATH_SIZE];

    snprintf(word, sizeof(word), ",%s,", controller);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/cgroup.controllers", v[i].path);
        if (v[i].v2 ? listed(path, controller) : strstr(v[i].options, word) != NULL)
            return &v[i];
    }
    return NULL;
}

bool oci_cgroup_has(const char *controller)
{
    struct hierarchy v[HIERARCHIES_MAX];
    const struct hierarchy *h = of_controller(v, hierarchies(v), controller);

    return h && access(h->path, W_OK) == 0;
}

bool oci_cgroup_file(const char *controller, const char *file)
{
    struct hierarchy v[HIERARCHIES_MAX];
    const struct hierarchy *h = of_controller(v, hierarchies(v), controller);
    char path[PATH_SIZE];

    if (!h)
        return false;
    if (h->v2)
        return true;
    snprintf(path, sizeof(path), "%s/%s", h->path, file);
    return access(path, F_OK) == 0;
}

static void kill_listed(const char *procs)
{
    FILE *f = fopen(procs, "re");
    int pid;

    while (f && fscanf(f, "%d", &pid) == 1)
        if (pid > 1)
            kill(pid, SIGKILL);
    if (f)
        fclose(f);
}

static int write_text(const char *path, const char *text)
{
    SBX_AUTO_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

int oci_cgroup_freeze(const char *id, bool frozen)
{
    struct hierarchy v[HIERARCHIES_MAX];
    size_t n = hierarchies(v);
    char path[PATH_SIZE];
    int bad = 0;

    for (size_t i = 0; i < n; i++) {
        if (v[i].v2) {
            snprintf(path, sizeof(path), "%.511s/" PARENT "/%.511s/cgroup.freeze", v[i].path, id);
            bad |= write_text(path, frozen ? "1" : "0");
        } else if (strstr(v[i].options, ",freezer,")) {
            snprintf(path, sizeof(path), "%.511s/" PARENT "/%.511s/freezer.state", v[i].path, id);
            bad |= write_text(path, frozen ? "FROZEN" : "THAWED");
        }
    }
    return bad;
}

void oci_cgroup_kill(const char *id)
{
    struct hierarchy v[HIERARCHIES_MAX];
    size_t n = hierarchies(v);
    char path[PATH_SIZE];

    oci_cgroup_freeze(id, false);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%.511s/" PARENT "/%.511s/cgroup.procs", v[i].path, id);
        kill_listed(path);
    }
}

/* rmdir of a cgroup and those that a process inside made below it. */
static int remove_tree(int at, const char *name, int depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;

    if (!d) {
        if (fd >= 0)
            close(fd);
        return errno == ENOENT ? 0 : -1;
    }
    while (depth < 32 && (e = readdir(d)))
        if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            remove_tree(fd, e->d_name, depth + 1);
    closedir(d);
    return unlinkat(at, name, AT_REMOVEDIR) && errno != ENOENT ? -1 : 0;
}

static int remove_one(const struct hierarchy *h, const char *id)
{
    char parent[PATH_SIZE];
    SBX_AUTO_FD int fd = -1;

    snprintf(parent, sizeof(parent), "%s/" PARENT, h->path);
    fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || faccessat(fd, id, F_OK, 0))
        return 0;
    for (int i = 0; i < REMOVE_TRIES; i++) {
        char procs[PATH_SIZE];

        if (remove_tree(fd, id, 0) == 0)
            return 0;
        if (errno != EBUSY)
            return -1;
        snprintf(procs, sizeof(procs), "%.1000s/%.511s/cgroup.procs", parent, id);
        kill_listed(procs);
        poll(NULL, 0, 5);
    }
    errno = EBUSY;
    return -1;
}

enum sbx_code oci_cgroup_remove(const char *id, struct sbx_err *err)
{
    struct hierarchy v[HIERARCHIES_MAX];
    size_t n = hierarchies(v);

    for (size_t i = 0; i < n; i++)
        if (remove_one(&v[i], id))
            return sbx_err_errno(err, "remove cgroup %s/" PARENT "/%s", v[i].path, id);
    return SBX_OK;
}

/* Lines of /proc/PID/cgroup: "4:memory:/sbx/x", v2 "0::/sbx/x", named "9:name=systemd:/x". */
static int join_line(const struct hierarchy *v, size_t n, char *line)
{
    char *controllers = strchr(line, ':'),
         *path = controllers ? strchr(controllers + 1, ':') : NULL;
    char word[64], file[PATH_SIZE];

    if (!path)
        return 0;
    *path++ = '\0';
    controllers++;
    path[strcspn(path, "\n")] = '\0';
    snprintf(word, sizeof(word), ",%s,", controllers);
    for (size_t i = 0; i < n; i++) {
        if (v[i].v2 ? *controllers != '\0' : !*controllers || !strstr(v[i].options, word))
            continue;
        snprintf(file, sizeof(file), "%.511s%.2000s/cgroup.procs", v[i].path, path);
        if (write_text(file, "0"))
            return -1;
    }
    return 0;
}

int oci_cgroup_join(pid_t of)
{
    struct hierarchy v[HIERARCHIES_MAX];
    size_t n = hierarchies(v), size = 0;
    char path[64], *line = NULL;
    int bad = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)of);
    f = fopen(path, "re");
    while (f && !bad && getline(&line, &size, f) > 0)
        bad = join_line(v, n, line);
    free(line);
    if (f)
        fclose(f);
    return f ? bad : -1;
}
