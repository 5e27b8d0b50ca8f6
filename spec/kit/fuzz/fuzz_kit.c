/*
 * Any bytes give an artifact that can be printed, or a refusal with at least one finding. What was taken
 * and is written as YAML is the same kit when it is read again.
 */
#include <stdint.h>
#include <string.h>

#include "load.h"
#include "sbx/migrate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *json_of(const struct sbx_artifact *a)
{
    json_t *o = sbx_artifact_json(a);

    if (!o)
        __builtin_trap(); /* text that is not UTF-8 must not come this far */
    json_object_del(o, "warnings");
    return o;
}

static void check_rewritten(const struct sbx_artifact *a)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) b = NULL;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_MIGRATED_MAX);
    json_t *x, *y;

    if (sbx_artifact_yaml(a, &text, NULL) || sbx_diags_init(&diags) || text.len > SBX_SPEC_MAX)
        return;
    if (strcmp(a->schema_version, "2")) { /* version 2 refuses some of it, but never its shape */
        if (sbx_kit_load_bytes("again.yaml", text.ptr, text.len, &diags, &b, NULL) == SBX_SYNTAX)
            __builtin_trap();
        return;
    }
    if (sbx_kit_load_bytes("again.yaml", text.ptr, text.len, &diags, &b, NULL))
        __builtin_trap();
    x = json_of(a);
    y = json_of(b);
    if (!json_equal(x, y))
        __builtin_trap();
    json_decref(x);
    json_decref(y);
}

/* As written, with references to arguments for values: no more is refused than without. */
static void check_open(const char *text, size_t size, bool taken)
{
    static const struct sbx_kit_options open = { .open_args = true };
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;

    if (sbx_diags_init(&diags))
        return;
    if (sbx_kit_decode("spec.yaml", text, size, &open, &diags, &a, NULL)) {
        if (taken || !diags.errors)
            __builtin_trap();
    } else {
        json_decref(json_of(a));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO(sbx_diags) diags = { 0 };
    SBX_AUTO_PTR(sbx_artifact) a = NULL;
    json_t *json;

    if (size > SBX_SPEC_MAX || sbx_diags_init(&diags))
        return 0;
    if (sbx_kit_load_bytes("spec.yaml", (const char *)data, size, &diags, &a, NULL) != SBX_OK) {
        if (!diags.errors)
            __builtin_trap();
    } else {
        json_decref(json_of(a));
        check_rewritten(a);
    }
    check_open((const char *)data, size, a != NULL);
    json = sbx_diags_json(&diags);
    if (!json)
        __builtin_trap();
    json_decref(json);
    return 0;
}
