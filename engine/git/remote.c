/* What the worker does with a server: fetch a commit, look a name up. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "remote.h"
#include "sbx/cache.h"

static int on_transfer(const git_indexer_progress *p, void *payload)
{
    struct git_job *job = payload;

    git_alive(job);
    job->too_big = (long long)p->received_bytes > SBX_GIT_BYTES_MAX;
    return job->too_big ? GIT_EUSER : 0;
}

static int on_words(const char *text, int len, void *payload)
{
    (void)text, (void)len;
    git_alive(payload);
    return 0;
}

/* One connection's; the job is what they get. */
static git_remote_callbacks callbacks_of(struct git_job *job)
{
    return (git_remote_callbacks){ .version = GIT_REMOTE_CALLBACKS_VERSION,
                                   .credentials = git_login_acquire,
                                   .transfer_progress = on_transfer,
                                   .sideband_progress = on_words,
                                   .payload = job };
}

/* A company's certificates, as git and the registries take them. */
static void trust(const struct sbx_git2 *git)
{
    const char *file = getenv("GIT_SSL_CAINFO"), *dir = getenv("GIT_SSL_CAPATH");

    file = file ? file : getenv("SSL_CERT_FILE");
    dir = dir ? dir : getenv("SSL_CERT_DIR");
    if ((file && *file) || (dir && *dir))
        git->libgit2_opts(GIT_OPT_SET_SSL_CERT_LOCATIONS, file && *file ? file : NULL,
                          dir && *dir ? dir : NULL);
}

static enum sbx_code begin(const struct sbx_git2 *git, struct git_job *job, struct sbx_err *err)
{
    trust(git);
    return git_ssh_use(git, job, err);
}

static const char *last_words(const struct sbx_git2 *git)
{
    const git_error *last = git->error_last();

    return last && last->message ? last->message : "cannot be fetched";
}

static enum sbx_code failed(const struct sbx_git2 *git, const struct git_job *job, int code,
                            struct sbx_err *err)
{
    const char *url = job->source->url, *text = last_words(git);

    if (job->too_big)
        return sbx_err_set(err, SBX_LIMIT, "%.200s: more than %lld bytes", url, SBX_GIT_BYTES_MAX);
    if (job->ssh[0])
        return git_ssh_failed(job, err);
    if (code == GIT_EAUTH || (job->asked_helper && strstr(text, "auth")))
        return sbx_err_set(err, SBX_CONSENT,
                           "no log-in for %.200s that works; git itself must be able to fetch it "
                           "(git credential)",
                           url);
    if (strstr(text, "objectformat") || strstr(text, "REF pkt-line"))
        return sbx_err_set(
            err, SBX_UNSUPPORTED,
            "%.200s: %.200s; repositories with SHA-256 commits and shallow ones cannot be "
            "read",
            url, text);
    if (strstr(text, "redirect"))
        return sbx_err_set(err, SBX_UNAVAILABLE, "%.200s: %.300s: write the address it is at now",
                           url, text);
    if (strstr(text, "certificate") || strstr(text, "SSL"))
        return sbx_err_set(
            err, SBX_UNAVAILABLE,
            "%.200s: %.300s; to trust a certificate: put it into a file and its name into %s", url,
            text, getenv("GIT_SSL_CAINFO") ? "GIT_SSL_CAINFO" : "SSL_CERT_FILE");
    return sbx_err_set(err, code == GIT_ENOTFOUND ? SBX_NOT_FOUND : SBX_UNAVAILABLE,
                       "%.200s: %.300s", url, text);
}

/* An annotated tag has an id too, which looks like a commit's. */
static enum sbx_code be_commit(const struct sbx_git2 *git, const struct git_job *job,
                               const git_object *o, struct sbx_err *err)
{
    const char *kind = git->object_type2string(git->object_type(o));
    git_object *commit = NULL;
    char text[41] = "<its commit>";

    if (git->object_type(o) == GIT_OBJECT_COMMIT)
        return SBX_OK;
    if (!git->object_peel(&commit, o, GIT_OBJECT_COMMIT))
        git->oid_tostr(text, sizeof(text), git->object_id(commit));
    git->object_free(commit);
    return sbx_err_set(err, SBX_SCHEMA, "%.200s: %s is a %s, not a commit; write #ref=%s",
                       job->source->url, job->source->commit, kind, text);
}

/*
 * The environment's and git's own. Not for http without TLS: libgit2 1.5 connects to the server then and asks it as if it
 * were the proxy, which servers refuse.
 */
static git_proxy_options proxy_of(const struct git_job *job)
{
    bool tls = !strncmp(job->source->url, "https:", 6);

    return (git_proxy_options){ .version = GIT_PROXY_OPTIONS_VERSION,
                                .type = tls ? GIT_PROXY_AUTO : GIT_PROXY_NONE };
}

/* The commit alone, where the server gives it by its id; else what has a name, the usual names first. */
static enum sbx_code fetch(const struct sbx_git2 *git, git_repository *repo, struct git_job *job,
                           const git_oid *id, struct sbx_err *err)
{
    git_fetch_options opts = {
        .version = GIT_FETCH_OPTIONS_VERSION,
        .callbacks = callbacks_of(job),
        .download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE,
        .proxy_opts = proxy_of(job),
        .follow_redirects = GIT_REMOTE_REDIRECT_NONE, /* else it sends log-ins to where they lead */
    };
    char one[128];
    char *by_id[] = { one };
    char *usual[] = { (char *)"+refs/heads/*:refs/sbx/heads/*",
                      (char *)"+refs/tags/*:refs/sbx/tags/*" };
    char *all[] = { (char *)"+refs/*:refs/sbx/all/*" };
    const git_strarray specs[] = { { by_id, 1 }, { usual, 2 }, { all, 1 } };
    git_remote *remote = NULL;
    git_object *found = NULL;
    enum sbx_code rc;
    int code;

    snprintf(one, sizeof(one), "+%.40s:refs/sbx/pinned", job->source->commit);
    code = git->remote_create_anonymous(&remote, repo, job->source->url);
    for (size_t i = 0; !found && !job->too_big && i < SBX_ARRAY_LEN(specs); i++) {
        if (code == GIT_EAUTH || code == GIT_ECERTIFICATE || job->ssh[0])
            break;
        job->asked_helper = false;
        code = git->remote_fetch(remote, &specs[i], &opts, NULL);
        if (!code) /* not asked after a failure: it would hide its words */
            git->object_lookup(&found, repo, id, GIT_OBJECT_ANY);
    }
    git->remote_free(remote);
    if (found)
        rc = be_commit(git, job, found, err);
    else
        rc = code ? failed(git, job, code, err)
                  : sbx_err_set(err, SBX_NOT_FOUND, "%.200s has no commit %s", job->source->url,
                                job->source->commit);
    git->object_free(found);
    return rc;
}

enum sbx_code git_bring(struct git_job *job, struct sbx_err *err)
{
    const struct sbx_git2 *git = sbx_git2(err);
    SBX_AUTO_FREE char *path = NULL, *out = NULL;
    SBX_AUTO_FD int dir = -1;
    git_repository *repo = NULL;
    git_oid id;
    enum sbx_code rc = begin(git, job, err);

    if (rc)
        return rc;
    if (asprintf(&path, "%s/repo", job->dir) < 0 || asprintf(&out, "%s/out", job->dir) < 0)
        return sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (mkdir(out, 0755) || (dir = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return sbx_err_errno(err, "make %s", out);
    if (git->oid_fromstr(&id, job->source->commit) || git->repository_init(&repo, path, 1))
        return sbx_err_set(err, SBX_IO, "make a repository in %s: %.300s", job->dir, last_words(git));
    rc = fetch(git, repo, job, &id, err);
    if (!rc)
        rc = git_export(git, repo, &id, dir, job, err);
    if (!rc && sbx_cache_sync_tree(dir))
        rc = sbx_err_errno(err, "write %s", out);
    git->repository_free(repo);
    return rc;
}

/* Branch before tag, as git; an annotated tag stands for its commit. */
static const git_oid *pick(const git_remote_head **heads, size_t n, const char *name)
{
    static const char *const forms[][2] = {
        { "", "" }, { "refs/heads/", "" }, { "refs/tags/", "^{}" }, { "refs/tags/", "" }
    };
    char full[1024];

    for (size_t f = 0; f < SBX_ARRAY_LEN(forms); f++) {
        snprintf(full, sizeof(full), "%s%.900s%s", forms[f][0], name ? name : "HEAD", forms[f][1]);
        for (size_t i = 0; i < n; i++)
            if (!strcmp(heads[i]->name, full))
                return &heads[i]->oid;
    }
    return NULL;
}

/* What a name is: of an annotated tag its commit, which follows. */
static const git_oid *commit_of(const git_remote_head **heads, size_t n, size_t i)
{
    size_t len = strlen(heads[i]->name);
    bool tag = i + 1 < n && !strncmp(heads[i + 1]->name, heads[i]->name, len) &&
               !strcmp(heads[i + 1]->name + len, "^{}");

    return &heads[tag ? i + 1 : i]->oid;
}

/* A beginning of a commit, where it is a branch or tag; two commits with it: none. */
static const git_oid *complete(const struct sbx_git2 *git, const git_remote_head **heads, size_t n,
                               const char *name)
{
    size_t len = name ? strlen(name) : 0;
    const git_oid *found = NULL, *id;
    char text[41];

    if (len < 7 || strspn(name, "0123456789abcdefABCDEF") != len)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        id = commit_of(heads, n, i);
        git->oid_tostr(text, sizeof(text), &heads[i]->oid);
        if (strncasecmp(text, name, len) || (found && git->oid_equal(found, id)))
            continue;
        if (found)
            return NULL;
        found = id;
    }
    return found;
}

static enum sbx_code no_such(const struct git_job *job, struct sbx_err *err)
{
    const char *name = job->source->commit;

    if (!name)
        return sbx_err_set(err, SBX_NOT_FOUND, "%.200s has no commits", job->source->url);
    return sbx_err_set(err, SBX_NOT_FOUND, "%.200s has no branch or tag %.100s%s", job->source->url,
                       name,
                       strspn(name, "0123456789abcdefABCDEF") == strlen(name)
                           ? "; a commit is written with all of its 40 digits (git rev-parse)"
                           : "");
}

enum sbx_code git_look(struct git_job *job, struct sbx_err *err)
{
    const struct sbx_git2 *git = sbx_git2(err);
    git_remote_connect_options opts = {
        .version = GIT_REMOTE_CONNECT_OPTIONS_VERSION,
        .callbacks = callbacks_of(job),
        .proxy_opts = proxy_of(job),
        .follow_redirects = GIT_REMOTE_REDIRECT_NONE,
    };
    const git_remote_head **heads = NULL;
    git_remote *remote = NULL;
    const git_oid *id = NULL;
    enum sbx_code rc = begin(git, job, err);
    size_t n = 0;
    int code;

    if (rc)
        return rc;
    code = git->remote_create_detached(&remote, job->source->url);
    if (!code)
        code = git->remote_connect_ext(remote, GIT_DIRECTION_FETCH, &opts);
    if (!code)
        code = git->remote_ls(&heads, &n, remote);
    if (code)
        rc = failed(git, job, code, err);
    else if (!(id = pick(heads, n, job->source->commit)) &&
             !(id = complete(git, heads, n, job->source->commit)))
        rc = no_such(job, err);
    else
        git->oid_tostr(job->commit, sizeof(job->commit), id);
    git->remote_free(remote);
    return rc;
}
