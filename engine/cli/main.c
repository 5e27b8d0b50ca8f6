#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli.h"

/* A program started with closed standard streams must not write errors into its own files. */
static void open_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd ? O_WRONLY : O_RDONLY) < 0)
            _exit(125);
}

int main(int argc, char **argv)
{
    open_standard_streams();
    setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of the write */
    return sbx_cli_main(argc, argv, stdout, stderr);
}
