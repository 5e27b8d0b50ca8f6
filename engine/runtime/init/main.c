/*
 * sbx-init: PID 1 of every sandbox, and the small commands that the engine runs inside through
 * exec. docs/gate-config.md section 5. Static: it needs nothing of the image.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "sbx/err.h"

static const char usage[] =
    "usage: init                                     as PID 1 of a sandbox\n"
    "       init wait                                until the startup list has ended\n"
    "       init write PATH MODE UID GID IFMISSING   stdin to a file\n"
    "       init batch                               records from stdin\n"
    "       init probe                               facts as JSON\n"
    "The inside part of sbx; docs/gate-config.md describes it.\n";

static int batch(void)
{
    SBX_AUTO_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (root < 0) {
        perror("sbx-init: open /");
        return 1;
    }
    return sbx_init_batch(root, STDIN_FILENO, STDOUT_FILENO);
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (argc == 1 && getpid() == 1)
        return sbx_init_pid1();
    if (argc == 2 && !strcmp(verb, "wait"))
        return sbx_init_wait();
    if (argc > 1 && !strcmp(verb, "write"))
        return sbx_init_write(argc - 2, argv + 2);
    if (argc == 2 && !strcmp(verb, "batch"))
        return batch();
    if (argc == 2 && !strcmp(verb, "probe"))
        return sbx_init_probe(STDOUT_FILENO);
    if (argc == 2 && !strcmp(verb, "--help"))
        return fputs(usage, stdout) < 0;
    fputs(usage, stderr);
    return sbx_code_exit(SBX_USAGE);
}
