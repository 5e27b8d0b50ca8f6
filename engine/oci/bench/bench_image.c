/* Pull an image into an empty store, for scripts/soak/bench-oci.sh: bench_image REFERENCE DIRECTORY */
#include <stdio.h>

#include "sbx/image_pull.h"

int main(int argc, char **argv)
{
    SBX_AUTO_PTR(sbx_store) store = NULL;
    SBX_AUTO_FREE char *state = NULL, *cache = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc;

    if (argc != 3 || asprintf(&state, "%s/state", argv[2]) < 0 ||
        asprintf(&cache, "%s/cache", argv[2]) < 0)
        return 2;
    rc = sbx_store_open(state, cache, &store, &err);
    if (!rc)
        rc = sbx_image_pull(store, argv[1], NULL, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc != SBX_OK;
}
