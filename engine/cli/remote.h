/**
 * @file
 * What the verbs that fetch or send kits share: where they are cached, progress, shorter references.
 */
#ifndef SBX_CLI_REMOTE_H
#define SBX_CLI_REMOTE_H

#include "cli.h"
#include "sbx/bindings.h"
#include "sbx/resolve_remote.h"

/** Options of verbs that talk to registries. */
struct sbx_remote_opts {
    bool plain_http;
};
extern const struct sbx_opt sbx_remote_rows[];

/** How kits are fetched and sent by this command; `o` may be NULL. In the arena of `cli`. */
SBX_MUST_USE enum sbx_code sbx_cli_kit_io(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                                          const struct sbx_kit_io **ret, struct sbx_err *err);
/** Mirrors and registries without TLS, as settings.yaml has them, for all that this process fetches. */
SBX_MUST_USE enum sbx_code
sbx_cli_registries(struct sbx_cli *cli, const struct sbx_settings *settings, struct sbx_err *err);
/** The cache grew: keep it as small as settings.yaml says. In silence: the command is over. */
void sbx_cli_trim(struct sbx_cli *cli);
/** The same for the resolver; NULL: there is no place for a cache (HOME is not set). */
const struct sbx_remote *sbx_cli_remote(struct sbx_cli *cli, const struct sbx_remote_opts *o);
/**
 * A reference that may move, as what it is now: `inspect` and `resolve` take tags. Others stay as they are.
 */
SBX_MUST_USE enum sbx_code sbx_cli_pin(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                                       const char *reference, const char **ret,
                                       struct sbx_err *err);
/** A kit as the arguments of `validate` and `inspect` name it: see sbx_resolve_word(). NULL: no memory. */
const char *sbx_cli_kit_word(struct sbx_cli *cli, const char *word);

#endif
