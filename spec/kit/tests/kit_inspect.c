/* The loader behind the shape of `sbx kit inspect --output json|yaml FILE`. */
#include <stdio.h>
#include <string.h>

#include "sbx/kit.h"

static int print_yaml(const struct sbx_artifact *a)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(16 * SBX_SPEC_MAX);

    if (sbx_artifact_yaml(a, &text, NULL))
        return 3;
    fwrite(text.ptr, 1, text.len, stdout);
    return 0;
}

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
    if (!rc && argc > 3 && !strcmp(argv[argc - 2], "yaml"))
        return print_yaml(a);
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
