/* A program of someone else: loads one kit from memory and prints its name. */
#include <sbx/kit.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    static const char text[] = "schemaVersion: \"2\"\nkind: mixin\nname: outside\n";
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    if (sbx_diags_init(&diags) ||
        sbx_kit_load_bytes("spec.yaml", text, strlen(text), &diags, &a, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return strcmp(a->name, "outside") ? 1 : 0;
}
