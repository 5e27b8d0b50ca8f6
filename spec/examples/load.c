/* Load a kit, say what is wrong with it or what it may reach: cc load.c $(pkg-config --cflags --libs sbx-spec) */
#include <stdio.h>

#include <sbx/kit.h>

int main(int argc, char **argv)
{
    struct sbx_diags diags;
    struct sbx_artifact *kit = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc;

    if (argc != 2 || sbx_diags_init(&diags)) {
        fprintf(stderr, "usage: load KIT\n");
        return 2;
    }
    rc = sbx_kit_load(argv[1], &diags, &kit, &err);
    sbx_diags_print(&diags, stderr);
    if (rc) {
        fprintf(stderr, "load: %s\n", err.text);
    } else {
        printf("%s (%s)\n", kit->name, kit->kind);
        for (size_t i = 0; i < kit->allow.len; i++)
            printf("  may reach %s (line %u)\n", kit->allow.v[i], kit->allow.at[i].pos.line);
    }
    sbx_artifact_free(kit);
    sbx_diags_release(&diags);
    return rc ? 1 : 0;
}
