/**
 * @file
 * The Engine API over its unix socket: the handle, and one request with its answer.
 * Docker Engine API 1.41 (Engine 20.10) and newer; Podman answers the same calls.
 */
#ifndef SBX_RUNTIME_DOCKER_H
#define SBX_RUNTIME_DOCKER_H

#include "../backend.h"
#include "../patience.h"
#include "sbx/buf.h"
#include "sbx/json.h"
#include "sbx/late_curl.h"

#define SBX_DOCKER_ANSWER_MAX (16 << 20) /* bytes of JSON; a list of 1,000 images is 1 MB */
#define SBX_DOCKER_PATH_MAX 4096 /* bytes of a request's path with its query */

/* An Engine that accepts and never answers must not hold a user for ever. Milliseconds. */
#define SBX_DOCKER_ASK_MS 60000     /* GET: a busy Engine answers in 1 s, one that swaps in 20 s */
#define SBX_DOCKER_CHANGE_MS 300000 /* the rest: create, start, remove; a slow disk needs minutes */
#define SBX_DOCKER_LONG_MS 3600000  /* commit: the Engine is silent while it writes layers */
#define SBX_DOCKER_IDLE_S 1800      /* seconds without a byte of a pull or an archive */

struct docker {
    struct sbx_runtime rt;
    const struct sbx_curl *curl;
    CURL *h;       /**< keeps one connection alive from call to call */
    char *socket;  /**< path of the Engine's socket */
    char *app;     /**< "" is the default app */
    char *runtime; /**< name of an OCI runtime the Engine knows; NULL: its default */
    char *seccomp; /**< path of the profile; NULL: the Engine's own */
    char version[64], api[16], arch[32];
    bool podman;
    bool console_size; /**< exec takes the terminal's first size (API 1.42) */
};

/** One request with its answer; released by its scope. */
struct docker_call {
    struct sbx_arena *arena; /**< of escaped texts */
    long status;             /**< HTTP */
    struct sbx_buf body;     /**< of the answer, unless it went to a sink */
    json_t *json;            /**< the same, parsed, if it was JSON */
};
#define DOCKER_CALL_INIT { NULL, 0, SBX_BUF_INIT(SBX_DOCKER_ANSWER_MAX), NULL }
void docker_call_release(struct docker_call *c);
SBX_DEFINE_AUTO(docker_call, docker_call_release);

/** More than method, path and JSON; zeroed is none. */
struct docker_extra {
    bool upload; /**< the request's body is a tar: from `source`, else read from `fd` */
    int fd;
    ssize_t (*source)(void *ctx, char *room, size_t len, struct sbx_err *err); /**< 0: end; -1 */
    void *source_ctx;
    const char *auth; /**< value of X-Registry-Auth */
    long timeout_ms;  /**< of the whole call; 0: by its method, SBX_DOCKER_ASK_MS ... */
    bool stream;      /**< no bound of the whole, only of the time without a byte */
    /** Takes a good answer's body as it comes; not SBX_OK ends the call with that code. */
    enum sbx_code (*sink)(void *ctx, const char *data, size_t len, struct sbx_err *err);
    void *ctx;
};

/**
 * Send a request and read the whole answer. `path_fmt` begins with a slash, without the version.
 * @return SBX_OK for every HTTP answer (see c->status), else why there was none
 */
SBX_MUST_USE enum sbx_code docker_send(struct docker *d, struct docker_call *c, struct sbx_err *err,
                                       const char *method, const json_t *json,
                                       const struct docker_extra *extra, const char *path_fmt, ...)
    SBX_PRINTF(7, 8);
/** The same, and any status of 400 and above is an error with the Engine's words. */
SBX_MUST_USE enum sbx_code docker_do(struct docker *d, struct docker_call *c, struct sbx_err *err,
                                     const char *method, const json_t *json, const char *path_fmt,
                                     ...) SBX_PRINTF(6, 7);
/** The error of an answer of 400 and above: NOT_FOUND, CONFLICT (409), DENIED ... */
enum sbx_code docker_failed(const struct docker_call *c, struct sbx_err *err);
/** Percent-encode all but letters, digits, "-._~" and the bytes of `keep`; NULL: no memory. */
const char *docker_escape(struct docker_call *c, const char *text, const char *keep);
/** The Engine's name of a container: an id as it is, a name with the app's prefix, escaped. */
const char *docker_container(struct docker *d, struct docker_call *c, const char *id);
/** `{"label":["sbx.app=APP"]}` escaped. */
const char *docker_app_filter(struct docker *d, struct docker_call *c);
/** Why a call got no answer, from libcurl's code and the last errno. */
enum sbx_code docker_unreachable(const struct docker *d, CURLcode code, int number,
                                 struct sbx_err *err);

/* ---- JSON of answers ---- */

/** A list of texts as a NULL-terminated array in arena (empty for null); NULL: no memory. */
const char *const *docker_texts(const json_t *list, struct sbx_arena *arena);
/** An object of texts as "K=V" lines. */
const char *const *docker_pairs(const json_t *object, struct sbx_arena *arena);
/** The other way; NULL: no memory. */
json_t *docker_pairs_json(const char *const *pairs);

/** Find the socket that `docker_host` (NULL: the default) means; SBX_UNSUPPORTED for tcp and ssh. */
SBX_MUST_USE enum sbx_code docker_socket(const char *docker_host, char **ret, struct sbx_err *err);

/* ---- slots by file ---- */

/* create.c */
enum sbx_code docker_create(struct sbx_runtime *, const struct sbx_container_spec *, char **,
                            struct sbx_err *);
/** The body of the create request, also for tests; the profile's text may be NULL. */
json_t *docker_create_body(const struct docker *d, const struct sbx_container_spec *spec,
                           const char *seccomp);
/* containers.c */
enum sbx_code docker_start(struct sbx_runtime *, const char *, struct sbx_err *);
enum sbx_code docker_stop(struct sbx_runtime *, const char *, int, struct sbx_err *);
enum sbx_code docker_remove(struct sbx_runtime *, const char *, struct sbx_err *);
enum sbx_code docker_inspect(struct sbx_runtime *, const char *, struct sbx_arena *,
                             struct sbx_container *, struct sbx_err *);
enum sbx_code docker_list(struct sbx_runtime *, struct sbx_arena *, struct sbx_container **,
                          size_t *, struct sbx_err *);
/* exec.c */
enum sbx_code docker_exec(struct sbx_runtime *, const char *, const struct sbx_exec *, int *,
                          struct sbx_err *);
/* images.c */
enum sbx_code docker_image_ensure(struct sbx_runtime *, const char *, enum sbx_pull,
                                  const struct sbx_progress *, struct sbx_arena *,
                                  struct sbx_image *, struct sbx_err *);
enum sbx_code docker_image_list(struct sbx_runtime *, struct sbx_arena *, struct sbx_image **,
                                size_t *, struct sbx_err *);
enum sbx_code docker_image_remove(struct sbx_runtime *, const char *, struct sbx_err *);
enum sbx_code docker_commit(struct sbx_runtime *, const char *, const char *, struct sbx_err *);
/* load.c */
enum sbx_code docker_image_load(struct sbx_runtime *, const char *, struct sbx_arena *,
                                const char ***, size_t *, struct sbx_err *);
/* archive.c */
enum sbx_code docker_copy_in(struct sbx_runtime *, const char *, const char *, int,
                             struct sbx_err *);
enum sbx_code docker_copy_out(struct sbx_runtime *, const char *, const char *, int,
                              struct sbx_err *);
/* volumes.c */
enum sbx_code docker_volume_ensure(struct sbx_runtime *, const char *, int64_t, bool *, bool *,
                                   struct sbx_err *);
enum sbx_code docker_volume_remove(struct sbx_runtime *, const char *, struct sbx_err *);
enum sbx_code docker_volume_list(struct sbx_runtime *, struct sbx_arena *, const char ***, size_t *,
                                 struct sbx_err *);

#endif
