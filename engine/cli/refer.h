/**
 * @file
 * What `kit inspect` shows of a repository besides the kit itself.
 */
#ifndef SBX_CLI_REFER_H
#define SBX_CLI_REFER_H

#include "remote.h"

/** Print what refers to the kit that the first argument names. */
SBX_MUST_USE enum sbx_code sbx_cli_referrers(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                                             struct sbx_err *err);
/** Print the annotations of its manifest; no blob is fetched. */
SBX_MUST_USE enum sbx_code sbx_cli_annotations(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                                               struct sbx_err *err);
/** Print the tags of its repository, without anchors. */
SBX_MUST_USE enum sbx_code sbx_cli_tags(struct sbx_cli *cli, const struct sbx_remote_opts *o,
                                        struct sbx_err *err);

#endif
