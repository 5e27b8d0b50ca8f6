#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "session.h"

static struct termios saved;
static volatile sig_atomic_t raw;

/* Called from signal handlers too: tcsetattr is safe there. */
void sbx_tty_restore(void)
{
    if (!raw)
        return;
    raw = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
}

static void on_crash(int number)
{
    sbx_tty_restore();
    signal(number, SIG_DFL);
    raise(number);
}

enum sbx_code sbx_tty_raw(struct sbx_err *err)
{
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
    static bool prepared;
    struct termios t;

    if (tcgetattr(STDIN_FILENO, &saved))
        return sbx_err_errno(err, "read the terminal's mode");
    if (!prepared) {
        prepared = true;
        atexit(sbx_tty_restore);
        for (size_t i = 0; i < SBX_ARRAY_LEN(crashes); i++)
            signal(crashes[i], on_crash);
    }
    t = saved;
    cfmakeraw(&t);
    raw = 1;
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &t)) {
        raw = 0;
        return sbx_err_errno(err, "set the terminal's mode");
    }
    return SBX_OK;
}

bool sbx_tty_draws(void)
{
    const char *term = getenv("TERM");

    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

struct sbx_winsize sbx_tty_size(void *ctx)
{
    struct winsize w = { 0 };

    (void)ctx;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && ioctl(STDIN_FILENO, TIOCGWINSZ, &w))
        w = (struct winsize){ .ws_row = 24, .ws_col = 80 };
    return (struct sbx_winsize){ .rows = w.ws_row, .cols = w.ws_col };
}

enum sbx_code sbx_attach(struct sbx_streams *ret, bool tty, bool input, struct sbx_err *err)
{
    enum sbx_code rc;

    *ret = (struct sbx_streams)SBX_STREAMS_NONE;
    ret->tty = tty;
    ret->in = input ? STDIN_FILENO : -1;
    ret->out = STDOUT_FILENO;
    ret->err_fd = STDERR_FILENO;
    rc = sbx_forward_signals(&ret->signal_fd, &ret->resize_fd, err);
    if (rc || !tty)
        return rc;
    ret->winsize = sbx_tty_size;
    return isatty(STDIN_FILENO) && input ? sbx_tty_raw(err) : SBX_OK;
}
