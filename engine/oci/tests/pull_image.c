/*
 * A command for tests: pull an image into a store, as the oci runtime does.
 * usage: pull_image STATE CACHE REFERENCE    exit 0, or 1 with the error on stderr
 */
#include <stdio.h>

#include "sbx/image_pull.h"

int main(int argc, char **argv)
{
    SBX_AUTO_PTR(sbx_store) store = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc;

    if (argc != 4)
        return 2;
    rc = sbx_store_open(argv[1], argv[2], &store, &err);
    if (!rc)
        rc = sbx_image_pull(store, argv[3], NULL, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc ? 1 : 0;
}
