/*
 * Kits of schemaVersion "1". Their grammar is read into this struct by tables of its own
 * (v1_grammar.c); v1_fold.c and v1_credentials.c then move what it says to where version 2 says it.
 */
#ifndef SBX_KIT_V1_H
#define SBX_KIT_V1_H

#include "decode.h"

struct sbx_v1_entrypoint {
    bool set;
    struct sbx_strs run, args, tty_args;
    const char *pipe_mode;
};

/** `sandbox:`, or `agent:` as it was called first. */
struct sbx_v1_sandbox {
    bool set;
    struct sbx_origin at;
    const char *image, *ai_filename, *persistence;
    struct sbx_v1_entrypoint entrypoint;
    struct sbx_build build;
    struct sbx_resources resources;
};

/** Where the value of a service's credential was looked for. */
struct sbx_v1_source {
    struct sbx_origin at;
    const char *name;
    struct sbx_strs env;
    bool file_set;
    const char *file_path, *file_parser;
    const char *priority;
    bool required;
};

struct sbx_v1_auth {
    struct sbx_origin at;
    const char *name, *header, *format;
};

struct sbx_v1_oauth {
    struct sbx_oauth oauth;
    const char *service;
};

struct sbx_v1 {
    struct sbx_artifact a; /* first: what both versions say in the same place */
    bool caps_given, settings_given;
    struct sbx_v1_sandbox sandbox, agent;
    SBX_LIST(sbx_v1_source) sources;
    struct sbx_strs secrets; /* each is a required source */
    struct sbx_pairs egress; /* domain to service */
    struct sbx_pairs service_domains;
    SBX_LIST(sbx_v1_auth) service_auth;
    struct sbx_strs allowed, denied, proxy_managed;
    SBX_LIST(sbx_port) network_ports;
    struct sbx_v1_oauth oauth;
    const char *memory, *persistence, *kit_dir;
    struct sbx_pairs tmpfs, volumes; /* path to size */
    struct { bool sources, auth, domains; } used; /* by the fold of the credentials */
    struct { bool resources, build, memory; } lost; /* given, but another place counts */
};

/* Fields of more than one shape (v1_custom.c). */
sbx_custom_fn sbx_v1_custom_credentials, sbx_v1_custom_volumes, sbx_v1_custom_memory,
    sbx_v1_custom_anything, sbx_v1_custom_flat;
extern const struct sbx_block sbx_v1_credential_block, sbx_v1_sources_block, sbx_v1_volume_block;

/* Fold the credential surfaces into v->a.credentials, sorted by service behind those of a list. */
void sbx_v1_fold_credentials(struct sbx_decoder *d, struct sbx_v1 *v);
/* The service that a variable's name means: GH_TOKEN is github, FOO_API_KEY is foo. */
const char *sbx_v1_service_of(struct sbx_decoder *d, const char *variable);

#endif
