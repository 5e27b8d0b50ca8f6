#include "verbs.h"

static const struct sbx_verb
    n_add = SBX_NOT_BUILT("add", "not built yet; make the sandbox again with --kit"),
    n_builder = SBX_NOT_BUILT("builder", "building images of kits is not built"),
    n_delete = SBX_NOT_BUILT("delete", "kits in registries are not built yet"),
    n_pack = SBX_NOT_BUILT("pack", "ZIP archives of kits are not built"),
    n_provenance = SBX_NOT_BUILT("provenance", "not built yet"),
    n_pull = SBX_NOT_BUILT("pull", "kits in registries are not built yet"),
    n_push = SBX_NOT_BUILT("push", "kits in registries are not built yet"),
    n_resolve = SBX_NOT_BUILT("resolve", "kits in registries are not built yet"),
    n_sign = SBX_NOT_BUILT("sign", "signing kits is not built yet"),
    n_verify = SBX_NOT_BUILT("verify", "signing kits is not built yet");

static const struct sbx_verb *const subs[] = {
    &sbx_verb_kit_validate,
    &sbx_verb_kit_inspect,
    &sbx_verb_kit_migrate,
    &sbx_verb_kit_schema,
    &n_add,
    &n_builder,
    &n_delete,
    &n_pack,
    &n_provenance,
    &n_pull,
    &n_push,
    &n_resolve,
    &n_sign,
    &n_verify,
};

const struct sbx_verb sbx_verb_kit = {
    .name = "kit",
    .summary = "Check and show kits",
    .about = "A kit is a directory with a spec.yaml and, beside it, files/. The kits of the "
             "program itself are\n"
             "known by name: claude, codex, gemini, opencode and shell are agents; git-identity, "
             "hello,\n"
             "http-server, node and python are mixins.",
    .sub = subs,
    .n_sub = SBX_ARRAY_LEN(subs),
};
