#include "helper.h"

#include <stdio.h>
#include <string.h>

#include "sbx/login_ask.h"

enum sbx_code sbx_login_helper_get(const char *name, const char *server, struct sbx_buf *out,
                                   int *ret_status, struct sbx_err *err)
{
    static char get[] = "get";
    SBX_AUTO_FREE char *program = NULL;
    char *argv[] = { NULL, get, NULL };
    const struct sbx_login_asked h = { .argv = argv, .question = server,
                                  .limit_ms = SBX_LOGIN_HELPER_MS };
    enum sbx_code rc;

    if (!*name || strchr(name, '/'))
        return sbx_err_set(err, SBX_SCHEMA, "\"%s\" is not the name of a helper", name);
    if (asprintf(&program, "docker-credential-%s", name) < 0) {
        program = NULL;
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    }
    argv[0] = program;
    rc = sbx_login_ask(&h, out, ret_status, err);
    if (rc != SBX_NOT_FOUND)
        return rc;
    *ret_status = 127;
    return SBX_OK;
}
