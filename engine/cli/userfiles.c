#include "userfiles.h"

enum sbx_code sbx_user_files_read(struct sbx_cli *cli, const struct sbx_paths *paths,
                                  struct sbx_user_files *ret, struct sbx_err *err)
{
    (void)cli;
    (void)paths;
    (void)ret;
    (void)err;
    return SBX_OK;
}

enum sbx_code sbx_user_preset_write(const struct sbx_paths *paths, const char *preset,
                                    struct sbx_err *err)
{
    (void)paths;
    (void)preset;
    return sbx_err_set(err, SBX_UNSUPPORTED, "writing policy.yaml is not built yet");
}
