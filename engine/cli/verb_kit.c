#include "verbs.h"

static const struct sbx_verb n_add = SBX_NOT_BUILT(
                                 "add", "not built yet; make the sandbox again with --kit"),
                             n_builder = SBX_NOT_BUILT("builder",
                                                       "building images of kits is not built"),
                             n_init = SBX_NOT_BUILT(
                                 "init", "not built; begin with DIRECTORY/spec.yaml from "
                                         "\"sbx kit inspect python --output yaml\" and another name in it"),
                             n_provenance = SBX_NOT_BUILT("provenance", "not built yet"),
                             n_sign = SBX_NOT_BUILT("sign", "signing kits is not built yet"),
                             n_verify = SBX_NOT_BUILT("verify", "signing kits is not built yet");

static const struct sbx_verb *const subs[] = {
    &sbx_verb_kit_validate,
    &sbx_verb_kit_inspect,
    &sbx_verb_kit_push,
    &sbx_verb_kit_pull,
    &sbx_verb_kit_resolve,
    &sbx_verb_kit_pack,
    &sbx_verb_kit_delete,
    &sbx_verb_kit_attach,
    &sbx_verb_kit_migrate,
    &sbx_verb_kit_schema,
    &n_add,
    &n_builder,
    &n_init,
    &n_provenance,
    &n_sign,
    &n_verify,
};

const struct sbx_verb sbx_verb_kit = {
    .name = "kit",
    .summary = "Check, show, publish and fetch kits",
    .about =
        "A kit is a directory with a spec.yaml and, beside it, files/. The kits of the program itself are\n"
        "known by name: claude, codex, gemini, opencode and shell are agents; git-identity, hello,\n"
        "http-server, node and python are mixins.",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
