#include "pump.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The Engine has no call that signals an exec'd process: its pid is asked for and signalled from
 * here, or, by a caller without that right, by an exec of `kill` inside. */

static pid_t pid_of(struct docker *d, const char *exec_id)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;

    if (docker_do(d, &c, NULL, "GET", NULL, "/exec/%s/json", exec_id) ||
        !json_is_true(json_object_get(c.json, "Running")))
        return 0;
    return (pid_t)json_integer_value(json_object_get(c.json, "Pid"));
}

/* The pid inside, where the Engine's pid is one of our namespace and leads into another; else 0. */
static pid_t inner_pid(pid_t pid)
{
    char path[64], line[256];
    struct stat ours, theirs;
    pid_t inner = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
    if (stat("/proc/self/ns/pid", &ours) == 0 && stat(path, &theirs) == 0 &&
        ours.st_ino == theirs.st_ino)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;

        if (last && strchr(line, '\t') != last)
            inner = (pid_t)atoi(last + 1);
    }
    if (f)
        fclose(f);
    return inner;
}

static void kill_inside(struct docker *d, const char *container, pid_t inner, int number)
{
    SBX_AUTO(docker_call) c = DOCKER_CALL_INIT;
    SBX_AUTO_JSON json_t *create = NULL, *start = json_pack("{s:b}", "Detach", 1);
    SBX_AUTO_FREE char *script = NULL;
    SBX_AUTO_FREE char *id = NULL;

    if (asprintf(&script, "kill -%d -%d || kill -%d %d", number, (int)inner, number, (int)inner) <
        0)
        return;
    create = json_pack("{s:[s,s,s], s:s}", "Cmd", "sh", "-c", script, "User", "0");
    if (docker_do(d, &c, NULL, "POST", create, "/containers/%s/exec", container))
        return;
    id = strdup(sbx_json_text_of(c.json, "Id"));
    if (id && docker_do(d, &c, NULL, "POST", start, "/exec/%s/start", id))
        return;
}

bool docker_stopped(struct docker *d, const char *exec_id)
{
    pid_t pid = pid_of(d, exec_id);

    return pid > 1 && inner_pid(pid) > 0 && sbx_process_stopped(pid);
}

bool docker_signal(struct docker *d, const char *container, const char *exec_id, int number)
{
    pid_t pid = pid_of(d, exec_id), inner = pid > 1 ? inner_pid(pid) : 0;

    if (pid <= 1)
        return false;
    /* an exec'd process leads its own group: what it started ends with it */
    if (inner > 0 && (kill(-pid, number) == 0 || kill(pid, number) == 0))
        return true;
    if (inner > 0 && errno == EPERM)
        kill_inside(d, container, inner, number);
    return true;
}
