#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "input.h"
#include "inside.h"
#include "number.h"

static enum sbx_code write_stdin(int root, const char *path, struct sbx_owner owner, mode_t mode,
                                 bool if_missing, enum sbx_done *ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_new_file) f = SBX_NEW_FILE_INIT;
    static struct sbx_input in = { .fd = STDIN_FILENO };
    enum sbx_code rc = sbx_new_file_open(root, path, owner, mode, if_missing, &f, err);

    if (rc)
        return rc;
    *ret = f.fd < 0 ? SBX_DONE_KEPT : SBX_DONE_OK;
    if (f.fd < 0)
        return SBX_OK;
    rc = sbx_input_copy_rest(&in, f.fd, err);
    return rc ? rc : sbx_new_file_commit(&f, err);
}

int sbx_init_write(int argc, char **argv)
{
    SBX_AUTO_FD int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_done done = SBX_DONE_OK;
    uint64_t mode, uid, gid, if_missing;

    if (argc != 5 || !sbx_number(argv[1], 8, 07777, &mode) ||
        !sbx_number(argv[2], 10, SBX_ID_MAX, &uid) || !sbx_number(argv[3], 10, SBX_ID_MAX, &gid) ||
        !sbx_number(argv[4], 10, 1, &if_missing)) {
        fputs("sbx-init: usage: write PATH MODE UID GID IFMISSING\n", stderr);
        return sbx_code_exit(SBX_USAGE);
    }
    if (root < 0)
        sbx_err_errno(&err, "open /");
    else if (!write_stdin(root, argv[0], (struct sbx_owner){ (uid_t)uid, (gid_t)gid }, (mode_t)mode,
                          if_missing, &done, &err))
        return puts(done == SBX_DONE_KEPT ? "kept" : "ok") < 0;
    fprintf(stderr, "sbx-init: write %s: %s\n", argv[0], err.text);
    return sbx_code_exit(err.code);
}
