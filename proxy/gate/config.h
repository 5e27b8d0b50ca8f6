/**
 * @file
 * gate.json (docs/gate-config.md, 2): parsed into one immutable object that requests hold on to, and
 * the watch that notices a new file.
 */
#ifndef SBX_GATE_CONFIG_H
#define SBX_GATE_CONFIG_H

#include <sys/stat.h>

#include "inject.h"
#include "loop.h"
#include "resolve.h"
#include "sbx/policy.h"

struct sbx_config_host {
    char *name; /**< canonical */
    struct sbx_addresses addresses;
};

struct sbx_config {
    unsigned refs;
    char *sandbox;
    uint64_t generation;
    struct sbx_policy *policy;
    struct sbx_config_host *hosts; /**< sorted by name */
    size_t nhosts;
    unsigned tunnels, tunnels_per_host;
    bool learn; /**< N13: public names that no rule allows pass, and are told as such */
    struct sbx_injects injects;
    char *upstream_ca; /**< PEM of more roots for intercepted servers; NULL: none */
    char *text; /**< the file itself, for `GET /v0/policy` */
    size_t text_len;
};

/**
 * Parse the text of gate.json; strict.
 * @param ret the caller's: sbx_config_unref()
 * @return SBX_OK, SBX_SYNTAX, SBX_SCHEMA, SBX_LIMIT or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_config_parse(const char *text, size_t len, struct sbx_config **ret,
                                            struct sbx_err *err);
struct sbx_config *sbx_config_ref(struct sbx_config *c);
void sbx_config_unref(struct sbx_config *c); /**< NULL is fine */
SBX_DEFINE_AUTO_PTR(sbx_config, sbx_config_unref);

/** Addresses that `hosts` gives a name; NULL: none. */
const struct sbx_addresses *sbx_config_find(const struct sbx_config *c, const char *name);
/** By name and port: the rules, and what a learning sandbox may do beyond them. */
struct sbx_verdict sbx_config_judge(const struct sbx_config *c, const struct sbx_host *host,
                                    uint16_t port);
/** Could the name be allowed on some port? */
bool sbx_config_could_allow(const struct sbx_config *c, const struct sbx_host *host);
/** The file as it was read last. */
struct sbx_watch {
    int dirfd;
    struct stat seen;
};

/** Does the directory hold another gate.json than the one read last? */
bool sbx_watch_changed(const struct sbx_watch *w);
/** Read and parse it; the watch remembers what was read, even if it was bad. */
SBX_MUST_USE enum sbx_code sbx_watch_read(struct sbx_watch *w, struct sbx_config **ret,
                                          struct sbx_err *err);

#endif
