/* A file as settings.yaml, policy.yaml and credentials.yaml. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sbx/bindings.h"
#include "sbx/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(const char *path, struct sbx_arena *arena, struct sbx_diags *diags)
{
    struct sbx_settings settings;
    struct sbx_policy_file policy;
    struct sbx_credentials credentials;
    struct sbx_err err;
    size_t errors;

    if (!sbx_settings_load(path, arena, diags, &settings, &err) && !settings.runtime)
        abort();
    if (!sbx_credentials_load(path, arena, diags, &credentials, &err))
        sbx_credentials_find(&credentials, "a");
    errors = diags->errors;
    if (sbx_policy_file_load(path, arena, diags, &policy, &err)) {
        if (!err.text[0])
            abort();
        return;
    }
    if (diags->errors != errors || !policy.preset)
        abort();
    for (size_t i = 0; i < policy.n_rules; i++) {
        struct sbx_rule rule;

        if (!policy.rules[i].id ||
            sbx_rule_init(&rule, policy.rules[i].decision, SBX_RULE_USER, policy.rules[i].resource,
                          policy.rules[i].id, "user", &err))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("bindings", MFD_CLOEXEC);
    struct sbx_arena *arena = sbx_arena_new();
    struct sbx_diags diags;
    char path[40];

    if (fd < 0 || !arena || sbx_diags_init(&diags) || sbx_write_all(fd, data, size))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    load(path, arena, &diags);
    sbx_diags_release(&diags);
    sbx_arena_free(arena);
    close(fd);
    return 0;
}
