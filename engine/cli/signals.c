/*
 * Signals as readable descriptors. One handler for all; where a signal goes is one word that only the
 * main thread changes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

static int interrupt_pipe[2] = { -1, -1 };
static int signal_pipe[2] = { -1, -1 };
static int resize_pipe[2] = { -1, -1 };
static volatile sig_atomic_t forwarding, interrupted;

static void on_signal(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    int fd = number == SIGWINCH ? resize_pipe[1] : forwarding ? signal_pipe[1] : interrupt_pipe[1];

    /* Impatience: a second Ctrl-C does not wait for the clean-up. The next command does it. */
    if (!forwarding && number == SIGINT && interrupted++) {
        sbx_tty_restore();
        _exit(130);
    }
    if (fd >= 0 && write(fd, &byte, 1) < 0) {
        /* A full pipe already says what this byte would. */
    }
    errno = saved;
}

static int open_pipe(int fds[2]) { return fds[0] >= 0 ? 0 : pipe2(fds, O_CLOEXEC | O_NONBLOCK); }

static void catch (const int *numbers, size_t n)
{
    struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    struct sigaction old;

    sigfillset(&sa.sa_mask);
    for (size_t i = 0; i < n; i++) /* what the caller ignores (nohup) stays ignored */
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &sa, NULL);
}

int sbx_interrupt_fd(void)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

    if (open_pipe(interrupt_pipe))
        return -1;
    forwarding = 0;
    interrupted = 0;
    catch (numbers, SBX_ARRAY_LEN(numbers));
    return interrupt_pipe[0];
}

enum sbx_code sbx_forward_signals(int *ret_signals, int *ret_resize, struct sbx_err *err)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };

    if (open_pipe(signal_pipe) || open_pipe(resize_pipe))
        return sbx_err_errno(err, "pipe for signals");
    forwarding = 1;
    catch (numbers, SBX_ARRAY_LEN(numbers));
    *ret_signals = signal_pipe[0];
    *ret_resize = resize_pipe[0];
    return SBX_OK;
}
