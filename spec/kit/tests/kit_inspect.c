/* The loader behind the shape of `sbx kit inspect --output json FILE`. */
#include <stdio.h>
#include <string.h>

#include "sbx/kit.h"

int main(int argc, char **argv)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    json_t *out;
    enum sbx_code rc;

    if (argc < 2 || sbx_diags_init(&diags))
        return 2;
    rc = sbx_kit_check(argv[argc - 1], &diags, &a, &err);
    out = rc ? json_pack("{s:o}", "diagnostics", sbx_diags_json(&diags)) : sbx_artifact_json(a);
    if (!out)
        return 3;
    json_dumpf(out, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
    putchar('\n');
    json_decref(out);
    sbx_diags_print(&diags, stderr);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return rc ? 1 : 0;
}
