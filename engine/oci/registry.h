/* What the files of the registry client share. Public: sbx/registry.h. */
#ifndef SBX_OCI_REGISTRY_PRIVATE_H
#define SBX_OCI_REGISTRY_PRIVATE_H

#include <jansson.h>

#include "challenge.h"
#include "http.h"
#include "sbx/json.h"
#include "sbx/login.h"
#include "sbx/registry.h"

#define HUB_HOST "docker.io"
#define HUB_API "registry-1.docker.io" /* where docker.io's API is */
#define ATTEMPTS_MAX 5       /* without progress: 0.25 + 0.5 + 1 + 2 seconds of waiting */
#define WAIT_FIRST_MS 250    /* doubles with each attempt */
#define WAIT_TOLD_MS 3000    /* longer waits are told */
#define WAIT_MAX_MS 60000    /* of a Retry-After that is obeyed; past it a user would rather know */
#define PAGES_MAX 1000       /* of a list; registries put at least a hundred entries on each */
#define URL_MAX 8192         /* bytes of an address; upload locations of clouds are some KiB */
#define TOKEN_MAX 65536      /* bytes of a token; they are some KiB */

struct registry_mirror {
    struct sbx_registry *r;
    const char *prefix; /* before the name of each repository; "" or "path/" */
    bool down;          /* not asked again */
};

struct sbx_registry {
    struct sbx_http http;
    char *host;  /* as the user writes it */
    char *base;  /* "https://host" once it is known */
    bool plain, plain_too; /* never TLS; where there is none */
    bool direct;           /* no mirrors */
    bool is_mirror;        /* asked once, no second attempts: there is another to ask */
    struct registry_mirror *mirrors;
    size_t n_mirrors;
    long limit_ms;
    const struct sbx_oci_progress *progress;
    struct sbx_arena *arena; /* of the handle's own texts */
    /* how it lets us in */
    struct sbx_login login;
    bool looked; /* for a log-in */
    const char *remark; /* why a known place of log-ins gave none */
    bool basic;
    json_t *tokens; /* scope: token */
};

/* registry.c */
/* Send to `path` (a format behind the base) with this scope; again where that may help. Any HTTP status. */
enum sbx_code registry_call(struct sbx_registry *r, struct sbx_call *c, const char *scope,
                            struct sbx_err *err);
/* The same once: for transfers that go on elsewhere after a cut. */
enum sbx_code registry_call_once(struct sbx_registry *r, struct sbx_call *c, const char *scope,
                                 struct sbx_err *err);
/*
 * Wait before attempt number `n` (from 1): as Retry-After says (NULL: it does not), else longer each time.
 * false: it says a time that is too long to wait.
 */
bool registry_wait(const struct sbx_registry *r, const char *told, unsigned n);
/* Where the list of this answer goes on (Link): c->url, NULL: it is whole. Only in the registry itself: a log-in goes there. */
enum sbx_code registry_next_page(struct sbx_registry *r, struct sbx_call *c, struct sbx_err *err);
/* A line for the user. */
void registry_tell(const struct sbx_registry *r, const char *text);
/* A status that may be another one a little later. */
bool registry_passing(const struct sbx_call *c);
/* Address below /v2/REPOSITORY/, in `arena` of the call; NULL with err. */
const char *registry_url(struct sbx_registry *r, struct sbx_call *c, struct sbx_err *err,
                         const char *repository, const char *fmt, ...) SBX_PRINTF(5, 6);
const char *registry_scope(struct sbx_call *c, const char *repository, const char *actions);
/* The error of an answer that is not a good one. */
enum sbx_code registry_refused(struct sbx_registry *r, const struct sbx_call *c,
                               struct sbx_err *err);

/* mirror.c */
/* Open what the user's settings name for this host; may be none. */
enum sbx_code registry_mirrors_open(struct sbx_registry *r, struct sbx_err *err);
void registry_mirrors_close(struct sbx_registry *r);
bool registry_host_is_plain(const char *host); /* the user says so */
typedef enum sbx_code registry_ask(struct sbx_registry *r, const char *repository, void *ctx,
                                   struct sbx_err *err);
/* Read from the first mirror that has it, else from the registry itself. */
enum sbx_code registry_read(struct sbx_registry *r, const char *repository, registry_ask *ask,
                            void *ctx, struct sbx_err *err);

/* auth.c */
/* Value of Authorization for a scope, malloc'd, a secret; NULL: none is known yet (or no memory). */
char *registry_authorization(struct sbx_registry *r, const char *scope);
/* The answer was 401: get what it asks for. SBX_OK: try again. */
enum sbx_code registry_log_in(struct sbx_registry *r, const struct sbx_call *refused,
                              const char *scope, struct sbx_err *err);
void registry_log_out(struct sbx_registry *r);

/* probe.c: does this host (of this machine) answer a client's TLS with HTTP? */
bool registry_speaks_http(const char *host);

#endif
