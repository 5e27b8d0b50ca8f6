/* Time of the Engine's calls through this backend, beside the docker program. Prints medians in ms.
 * bench_docker [IMAGE [RUNS]] */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "sbx/runtime.h"

extern char **environ;

#define RUNS_MAX 200

struct series {
    const char *name;
    double ms[RUNS_MAX];
    int n;
};

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(struct series *s)
{
    qsort(s->ms, (size_t)s->n, sizeof(s->ms[0]), by_size);
    return s->ms[s->n / 2];
}

static double lap(struct series *s, double since)
{
    double now = now_ms();

    s->ms[s->n++] = now - since;
    return now;
}

static void check(enum sbx_code rc, const struct sbx_err *err)
{
    if (!rc)
        return;
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static void docker(const char *const *argv)
{
    posix_spawn_file_actions_t quiet;
    pid_t pid;
    int status = 1;

    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&pid, "docker", &quiet, NULL, (char *const *)argv, environ) == 0)
        waitpid(pid, &status, 0);
    posix_spawn_file_actions_destroy(&quiet);
    if (status)
        exit(2);
}

#define DOCKER(...) docker((const char *const[]){ "docker", __VA_ARGS__, NULL })

static struct series open_s = { .name = "open" }, create_s = { .name = "create" },
                     start_s = { .name = "start" }, exec_s = { .name = "exec true" },
                     remove_s = { .name = "remove" }, ours_s = { .name = "all of it" };
static struct series d_create = { .name = "docker create" }, d_start = { .name = "docker start" },
                     d_exec = { .name = "docker exec true" }, d_remove = { .name = "docker rm -f" },
                     d_run = { .name = "docker run --rm true" };

static void ours(const char *image)
{
    static const char *const idle[] = { "sleep", "1000", NULL }, *const yes[] = { "true", NULL };
    const struct sbx_runtime_config config = { .app = "bench", .seccomp = SBX_SECCOMP_PROFILE };
    const struct sbx_container_spec spec = { .name = "x", .image = image, .argv = idle };
    const struct sbx_exec x = {
        .argv = yes, .in = -1, .out = -1, .err_fd = -1, .resize_fd = -1, .signal_fd = -1
    };
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_runtime *rt;
    char *id;
    int status;
    double begin = now_ms(), t = begin;

    check(sbx_runtime_open(SBX_RUNTIME_DOCKER, &config, &rt, &err), &err);
    t = lap(&open_s, t);
    check(sbx_runtime_create(rt, &spec, &id, &err), &err);
    t = lap(&create_s, t);
    check(sbx_runtime_start(rt, id, &err), &err);
    t = lap(&start_s, t);
    check(sbx_runtime_exec(rt, id, &x, &status, &err), &err);
    t = lap(&exec_s, t);
    lap(&ours_s, begin);
    t = now_ms();
    check(sbx_runtime_remove(rt, id, &err), &err);
    lap(&remove_s, t);
    sbx_runtime_close(rt);
    free(id);
}

static void theirs(const char *image)
{
    double t = now_ms();

    DOCKER("create", "--network", "none", "--name", "sbx-bench", image, "sleep", "1000");
    t = lap(&d_create, t);
    DOCKER("start", "sbx-bench");
    t = lap(&d_start, t);
    DOCKER("exec", "sbx-bench", "true");
    t = lap(&d_exec, t);
    DOCKER("rm", "-f", "sbx-bench");
    t = lap(&d_remove, t);
    DOCKER("run", "--rm", "--network", "none", image, "true");
    lap(&d_run, t);
}

int main(int argc, char **argv)
{
    const char *image = argc > 1 ? argv[1] : "sbx.local/base:bookworm";
    int runs = argc > 2 ? atoi(argv[2]) : 15;
    struct series *const rows[][2] = { { &open_s, NULL },        { &create_s, &d_create },
                                       { &start_s, &d_start },   { &exec_s, &d_exec },
                                       { &remove_s, &d_remove }, { &ours_s, &d_run } };

    for (int i = 0; i < runs && i < RUNS_MAX; i++) {
        ours(image);
        theirs(image);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double a = median(rows[i][0]), b = rows[i][1] ? median(rows[i][1]) : 0;

        printf("%-10s %7.2f ms", rows[i][0]->name, a);
        if (rows[i][1])
            printf("   %-20s %7.2f ms   ratio %.2f", rows[i][1]->name, b, a / b);
        putchar('\n');
    }
    return 0;
}
