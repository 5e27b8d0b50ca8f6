#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "commands.h"
#include "place.h"
#include "sbx/file.h"

#define STATUS_BYTES 4194304 /* bytes; a list of SBX_LIST_BYTES with a last line each is below */

static bool complete(const struct sbx_buf *b)
{
    return b->len >= 4 && !memcmp(b->ptr + b->len - 4, "end\n", 4) &&
           (b->len == 4 || b->ptr[b->len - 5] == '\n');
}

int sbx_init_wait(void)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(STATUS_BYTES);
    SBX_AUTO_FD int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int timeout = SBX_POLL_MS;

    if (changes >= 0 && inotify_add_watch(changes, SBX_STATUS_DIR, IN_CREATE | IN_MODIFY) >= 0)
        timeout = SBX_RECHECK_MS;
    for (;;) {
        struct sbx_err err = SBX_ERR_INIT;
        struct pollfd p = { changes, POLLIN, 0 };
        char events[4096];
        enum sbx_code rc;

        sbx_buf_clear(&text);
        rc = sbx_file_read(AT_FDCWD, SBX_STATUS_FILE, &text, &err);
        if (rc && rc != SBX_NOT_FOUND) {
            fprintf(stderr, "sbx-init: wait: %s\n", err.text);
            return sbx_code_exit(rc);
        }
        if (!rc && complete(&text))
            return sbx_write_all(STDOUT_FILENO, text.ptr, text.len) ? 1 : 0;
        poll(&p, 1, timeout);
        while (changes >= 0 && read(changes, events, sizeof(events)) > 0)
            ;
    }
}
