/*
 * What a command uses, for scripts/soak: used COMMAND... prints "MILLISECONDS KIB CPU_SECONDS" on descriptor 3 and
 * exits as the command does. The most memory of a process counts from before its exec(): a large parent, such
 * as Python, would be counted as the command's. This one has 1 MiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

int main(int argc, char **argv)
{
    double began = now_ms();
    struct rusage u;
    pid_t child;
    int status;

    if (argc < 2)
        return 2;
    child = fork();
    if (!child) {
        close(3);
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &u) != child)
        return 126;
    dprintf(3, "%.3f %ld %.3f\n", now_ms() - began, u.ru_maxrss,
            seconds(u.ru_utime) + seconds(u.ru_stime));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
