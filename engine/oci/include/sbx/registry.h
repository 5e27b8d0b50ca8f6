/**
 * @file
 * A client of one registry: blobs, manifests, tags, referrers. OCI Distribution Specification 1.1; log-ins
 * are Docker's (sbx/login.h). What comes is verified by digest before it is handed on.
 *
 *     struct sbx_registry_opts opts = { .host = "localhost:5000" };
 *     rc = sbx_registry_open(&opts, &r, err);              connects to nothing
 *     rc = sbx_registry_manifest(r, "team/kit", "1.0", arena, &doc, err);
 *
 * HTTPS with the system's trust and Docker's `certs.d`; plain HTTP for loopback hosts that speak no TLS,
 * or when told. Mirrors of the user are asked first. Cut connections and refusals that pass are tried again; downloads go on where they were.
 */
#ifndef SBX_REGISTRY_H
#define SBX_REGISTRY_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sbx/arena.h"
#include "sbx/cache.h"
#include "sbx/err.h"

#define SBX_REGISTRY_MANIFEST_MAX 4194304 /* bytes; the distribution specification asks for at least 4 MB */
#define SBX_REGISTRY_TAGS_MAX 100000      /* tags of a repository; the largest public ones have some 10,000 */

struct sbx_registry; /* opaque; not for several threads at once */

/** What happens to blobs; every slot may be NULL. */
struct sbx_oci_progress {
    void (*line)(void *ctx, const char *text);
    /** Bytes of a blob that are over; often called, by several threads. `total` is known. */
    void (*bytes)(void *ctx, const char *digest, int64_t done, int64_t total);
    void *ctx;
};

struct sbx_registry_opts {
    const char *host; /**< "docker.io", "localhost:5000", "[::1]:5000" */
    bool plain_http;  /**< never TLS */
    bool plain_too;   /**< where it speaks no TLS, as loopback hosts always */
    bool direct;      /**< no mirrors: for what is changed there */
    bool mirror;      /**< of another: asked once, has no mirrors itself */
    long limit_ms;    /**< of one call as a whole, without a second attempt; 0: patient */
    const struct sbx_oci_progress *progress; /**< borrowed; NULL: nobody listens */
};

/** What the user says of a registry (settings.yaml, `registries`). */
struct sbx_registry_host {
    const char *host;           /**< "docker.io", "registry.lan:5000" */
    const char *const *mirrors; /**< "https://mirror.lan/prefix": asked first when reading; NULL-terminated */
    bool plain_http;            /**< it has no TLS */
};
/** For every handle that this process opens from now on. Borrowed for its rest; not while threads run. */
void sbx_registry_hosts(const struct sbx_registry_host *v, size_t n);

SBX_MUST_USE enum sbx_code sbx_registry_open(const struct sbx_registry_opts *opts,
                                             struct sbx_registry **ret, struct sbx_err *err);
/** Another handle of the same registry, for another thread. */
SBX_MUST_USE enum sbx_code sbx_registry_twin(const struct sbx_registry *r,
                                             struct sbx_registry **ret, struct sbx_err *err);
void sbx_registry_close(struct sbx_registry *r); /**< NULL is fine */
SBX_DEFINE_AUTO_PTR(sbx_registry, sbx_registry_close);
const char *sbx_registry_host(const struct sbx_registry *r);
/** Uploads of this handle end with SBX_CANCELED once it is true. Borrowed; NULL: nobody ends them. */
void sbx_registry_stop_by(struct sbx_registry *r, const atomic_bool *stop);

/** A manifest or an index. */
struct sbx_oci_doc {
    const char *text; /**< exact bytes, in the arena; NULL after a look-up */
    size_t len;
    char digest[SBX_DIGEST_TEXT_SIZE];
    const char *media_type; /**< as the registry says */
};

/*
 * All calls: SBX_OK; SBX_NOT_FOUND; SBX_CONSENT (no log-in is known, or it is refused); SBX_UNAVAILABLE (cannot be
 * reached, refuses for now); SBX_UNSUPPORTED; SBX_TIMEOUT; SBX_SCHEMA (what came is not what was asked
 * for); SBX_LIMIT; SBX_IO; SBX_FAILED (what else is refused). `err` has the registry's own code and message.
 */

/** Fetch by tag or digest. Of a digest the content is verified. */
SBX_MUST_USE enum sbx_code sbx_registry_manifest(struct sbx_registry *r, const char *repository,
                                                 const char *reference, struct sbx_arena *arena,
                                                 struct sbx_oci_doc *ret, struct sbx_err *err);
/** Only its digest and type. */
SBX_MUST_USE enum sbx_code sbx_registry_look(struct sbx_registry *r, const char *repository,
                                             const char *reference, struct sbx_arena *arena,
                                             struct sbx_oci_doc *ret, struct sbx_err *err);
/**
 * Push under a tag, or under its digest (`tag` NULL). A manifest with `subject` is entered in the
 * list of its referrers where the registry does not keep one.
 */
SBX_MUST_USE enum sbx_code sbx_registry_push_manifest(struct sbx_registry *r,
                                                      const char *repository, const char *tag,
                                                      const char *media_type, const char *text,
                                                      size_t len, struct sbx_err *err);
/** By tag (only that tag goes) or by digest (with all its tags). SBX_UNSUPPORTED: it deletes none. */
SBX_MUST_USE enum sbx_code sbx_registry_delete(struct sbx_registry *r, const char *repository,
                                               const char *reference, struct sbx_err *err);
/** All tags, in the registry's order; in arena. */
SBX_MUST_USE enum sbx_code sbx_registry_tags(struct sbx_registry *r, const char *repository,
                                             struct sbx_arena *arena, const char *const **ret,
                                             size_t *ret_n, struct sbx_err *err);
/** The index of what refers to `digest`: by the API, else by the tag scheme; none: an empty index. */
SBX_MUST_USE enum sbx_code sbx_registry_referrers(struct sbx_registry *r, const char *repository,
                                                  const char *digest, struct sbx_arena *arena,
                                                  struct sbx_oci_doc *ret, struct sbx_err *err);

/** The kind and the annotations of a referrer from its manifest `m` into its entry of such an index. */
void sbx_oci_referrer_fill(json_t *entry, const json_t *m);

/** Is it there? */
SBX_MUST_USE enum sbx_code sbx_registry_has_blob(struct sbx_registry *r, const char *repository,
                                                 const char *digest, bool *ret,
                                                 struct sbx_err *err);
/** Bring a blob of this size into the cache, unless it is there; what is half here goes on. */
SBX_MUST_USE enum sbx_code sbx_registry_pull_blob(struct sbx_registry *r, const char *repository,
                                                  const char *digest, int64_t size,
                                                  struct sbx_cache *cache, struct sbx_err *err);
/**
 * Upload, unless it is there.
 * @param fd   read from its start, `size` bytes
 * @param from a repository of this registry that may have the blob, to mount it from; NULL: none
 */
SBX_MUST_USE enum sbx_code sbx_registry_push_blob(struct sbx_registry *r, const char *repository,
                                                  const char *digest, int64_t size, int fd,
                                                  const char *from, struct sbx_err *err);
/** Mount it from another repository of this registry; *ret: it is in `repository` now. */
SBX_MUST_USE enum sbx_code sbx_registry_mount_blob(struct sbx_registry *r, const char *repository,
                                                   const char *digest, const char *from, bool *ret,
                                                   struct sbx_err *err);

#endif
