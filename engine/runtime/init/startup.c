#include "startup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inside.h"
#include "place.h"
#include "sbx/file.h"
#include "spawn.h"

/* One line of the status file in one write, so that a reader sees whole lines. */
static void note(struct sbx_startup *s, const char *kit, const char *index, const char *exit,
                 const char *last)
{
    char line[1024 + SBX_LAST_LINE];
    int n = snprintf(line, sizeof(line), "%.255s\t%.63s\t%s\t%.511s\n", kit, index, exit, last);

    s->status_bytes += (size_t)n;
    if (s->status_bytes <= SBX_STATUS_BYTES && s->status >= 0 &&
        write(s->status, line, (size_t)n) < 0)
        fprintf(stderr, "sbx-init: status file: %s\n", strerror(errno));
}

static void note_failure(struct sbx_startup *s, const char *kit, const char *index, const char *why)
{
    fprintf(stderr, "sbx-init: startup %s %s: %s\n", kit, index, why);
    note(s, kit, index, "126", why);
}

static int open_status(int root, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    const struct sbx_owner owner = { 0, 0 };
    int fd;

    if (sbx_inside_find(root, SBX_STATUS_FILE, &owner, &spot, err))
        return -1;
    /* A tmpfs is 1777 by default; only we shall write here. */
    if (fchmodat(spot.dir, ".", 0755, 0))
        fprintf(stderr, "sbx-init: " SBX_STATUS_DIR ": %s\n", strerror(errno));
    unlinkat(spot.dir, spot.name, 0);
    fd = openat(spot.dir, spot.name,
                O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        sbx_err_errno(err, "make it");
    return fd;
}

static enum sbx_code read_list(struct sbx_startup *s, struct sbx_err *err)
{
    SBX_AUTO(sbx_spot) spot = SBX_SPOT_INIT;
    enum sbx_code rc = sbx_inside_find(s->root, SBX_LIST_FILE, NULL, &spot, err);

    if (!rc)
        rc = sbx_file_read(spot.dir, spot.name, &s->text, err);
    return rc == SBX_NOT_FOUND ? SBX_OK : rc;
}

void sbx_startup_begin(struct sbx_startup *s, int root)
{
    static char none[] = "";
    struct sbx_err err = SBX_ERR_INIT;

    *s = (struct sbx_startup){ .root = root, .log = -1, .text = SBX_BUF_INIT(SBX_LIST_BYTES) };
    s->status = open_status(root, &err);
    if (s->status < 0)
        fprintf(stderr, "sbx-init: " SBX_STATUS_FILE ": %s\n", err.text);
    if (read_list(s, &err))
        note_failure(s, "-", "0", err.text);
    s->at = s->text.ptr ? s->text.ptr : none;
}

static void begin_command(struct sbx_startup *s, const struct sbx_command *c)
{
    struct sbx_err err = SBX_ERR_INIT;
    int log;

    if (sbx_spawn(s->root, c, &s->pid, &log, &err)) {
        s->pid = 0;
        note_failure(s, c->kit, c->index, err.text);
    }
    if (s->pid && !c->background) {
        s->now = *c;
        s->log = log;
        return;
    }
    if (s->pid)
        note(s, c->kit, c->index, "-", "started in the background");
    s->pid = 0;
    sbx_auto_fd_(&log);
}

static void end(struct sbx_startup *s)
{
    if (s->status_bytes > SBX_STATUS_BYTES) {
        s->status_bytes = 0; /* for this one line there is room */
        note_failure(s, "list", "0", "the results of some commands did not fit");
    }
    if (s->status >= 0 && write(s->status, "end\n", 4) != 4)
        fprintf(stderr, "sbx-init: status file: %s\n", strerror(errno));
    sbx_auto_fd_(&s->status);
    s->status = -1;
    sbx_buf_release(&s->text);
}

bool sbx_startup_step(struct sbx_startup *s)
{
    while (!s->pid && *s->at) {
        char *line = strsep(&s->at, "\n"), number[16];
        struct sbx_command c;
        const char *wrong;

        s->line++;
        if (!s->at)
            s->at = line + strlen(line);
        if (!*line)
            continue;
        wrong = sbx_list_parse(line, &c);
        snprintf(number, sizeof(number), "%u", s->line);
        if (wrong)
            note_failure(s, "list", number, wrong);
        else
            begin_command(s, &c);
    }
    if (s->pid)
        return false;
    end(s);
    return true;
}

void sbx_startup_reaped(struct sbx_startup *s, pid_t pid, int wait_status)
{
    char last[SBX_LAST_LINE], exit[16];

    if (!s->pid || pid != s->pid)
        return;
    snprintf(exit, sizeof(exit), "%d",
             WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
    sbx_spawn_last_line(s->log, last, sizeof(last));
    note(s, s->now.kit, s->now.index, exit, last);
    sbx_auto_fd_(&s->log);
    s->log = -1;
    s->pid = 0;
}
