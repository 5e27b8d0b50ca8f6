/* Pulls by the Engine from a registry with log-in, which this test runs on loopback. */
#include "world.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "docker.h"
#include "layouts.h"
#include "sbx/file.h"

static struct {
    pid_t pid;
    FILE *log;
    char dir[64], host[64], reference[128];
} registry;

/* bcrypt of "s3cret" */
#define HTPASSWD "hugo:$2y$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK\n"
#define AUTH "aHVnbzpzM2NyZXQ=" /* base64 of hugo:s3cret */

static void put(const char *name, const char *text)
{
    struct sbx_err err = SBX_ERR_INIT;
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", registry.dir, name);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, text, strlen(text), 0600, &err), SBX_OK);
}

static void serve(int log)
{
    char path[128];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(path, sizeof(path), "%s/registry.yml", registry.dir);
    dup2(log, 2);
    dup2(log, 1);
    execlp("docker-registry", "docker-registry", "serve", path, (char *)NULL);
    _exit(127);
}

/* Its log says the port that the kernel chose. */
static bool start_registry(void)
{
    SBX_AUTO_FREE char *config = NULL;
    char line[1024];
    const char *at = NULL;
    int p[2];

    assert_true(asprintf(&config,
                         "version: 0.1\nstorage:\n  filesystem: {rootdirectory: %s/data}\n"
                         "http: {addr: \"127.0.0.1:0\"}\n"
                         "auth:\n  htpasswd: {realm: test, path: %s/htpasswd}\n",
                         registry.dir, registry.dir) > 0);
    put("registry.yml", config);
    put("htpasswd", HTPASSWD);
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    registry.pid = fork();
    if (registry.pid == 0)
        serve(p[1]);
    close(p[1]);
    registry.log = fdopen(p[0], "re");
    while (!at && fgets(line, sizeof(line), registry.log))
        at = strstr(line, "listening on ");
    if (!at)
        return false;
    sscanf(at + strlen("listening on "), "%63[0-9.:]", registry.host);
    snprintf(registry.reference, sizeof(registry.reference), "%s/sbx-test/%s:1", registry.host,
             app);
    return true;
}

/* The log is read on, so that the registry never waits for us. */
static void *read_log(void *arg)
{
    char line[4096];

    while (fgets(line, sizeof(line), arg))
        ;
    return NULL;
}

static bool push_image(struct world *w)
{
    SBX_AUTO_FREE char *command = NULL;
    char dir[128];

    snprintf(dir, sizeof(dir), "%s/layout", registry.dir);
    make_layout(w, dir, "x:1", ((struct docker *)w->rt)->arch);
    assert_true(asprintf(&command,
                         "skopeo copy -q --insecure-policy --dest-tls-verify=false "
                         "--dest-creds hugo:s3cret oci:%s docker://%s",
                         dir, registry.reference) > 0);
    return system(command) == 0;
}

/* ---- tests: one after another, the registry ends in the last ---- */

static enum sbx_code ensure(struct world *w, const char *reference, enum sbx_pull pull,
                            const struct sbx_progress *progress)
{
    struct sbx_image i;

    return sbx_runtime_image_ensure(w->rt, reference, pull, progress, w->arena, &i, &w->err);
}

static void a_pull_without_the_log_in_is_denied(void **state)
{
    struct world *w = *state;

    put("config.json", "{}");
    assert_int_equal(ensure(w, registry.reference, SBX_PULL_NEVER, NULL), SBX_NOT_FOUND);
    assert_int_equal(ensure(w, registry.reference, SBX_PULL_MISSING, NULL), SBX_CONSENT);
    put("config.json", "{\"auths\":");
    assert_int_equal(ensure(w, registry.reference, SBX_PULL_MISSING, NULL), SBX_CONSENT);
    assert_non_null(strstr(w->err.text, "no log-in was used"));
}

static void note(void *ctx, const char *text)
{
    *(int *)ctx += strstr(text, "Pull complete") != NULL;
}

static void a_pull_uses_the_log_in_and_says_what_it_does(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *config = NULL;
    int layers = 0;
    const struct sbx_progress progress = { .line = note, .ctx = &layers };

    assert_true(asprintf(&config, "{\"auths\":{\"%s\":{\"auth\":\"" AUTH "\"}}}", registry.host) >
                0);
    put("config.json", config);
    ASSERT_OK(ensure(w, registry.reference, SBX_PULL_MISSING, &progress));
    assert_int_equal(layers, 1);
    ASSERT_OK(sbx_runtime_image_remove(w->rt, registry.reference, &w->err));
}

static void a_pull_asks_the_credential_helper(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *config = NULL;

    assert_true(asprintf(&config, "{\"credHelpers\":{\"%s\":\"sbxtest\"}}", registry.host) > 0);
    put("config.json", config);
    ASSERT_OK(ensure(w, registry.reference, SBX_PULL_MISSING, NULL));
}

static void an_unknown_tag_is_not_found(void **state)
{
    struct world *w = *state;
    SBX_AUTO_FREE char *reference = NULL;

    assert_true(asprintf(&reference, "%s/sbx-test/%s:none", registry.host, app) > 0);
    assert_int_equal(ensure(w, reference, SBX_PULL_MISSING, NULL), SBX_NOT_FOUND);
}

static void a_local_image_needs_no_network_unless_always(void **state)
{
    struct world *w = *state;

    kill(registry.pid, SIGKILL);
    waitpid(registry.pid, NULL, 0);
    registry.pid = 0;
    ASSERT_OK(ensure(w, registry.reference, SBX_PULL_MISSING, NULL));
    assert_int_equal(ensure(w, registry.reference, SBX_PULL_ALWAYS, NULL), SBX_UNAVAILABLE);
    ASSERT_OK(sbx_runtime_image_remove(w->rt, registry.reference, &w->err));
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(a_pull_without_the_log_in_is_denied),
        PLAIN(a_pull_uses_the_log_in_and_says_what_it_does),
        PLAIN(a_pull_asks_the_credential_helper),
        PLAIN(an_unknown_tag_is_not_found),
        PLAIN(a_local_image_needs_no_network_unless_always),
    };
    struct world *w = NULL;
    pthread_t thread;
    char path[4096];
    int rc = 77;

    snprintf(path, sizeof(path), "%s/bin:%s", SBX_TEST_DIR, getenv("PATH"));
    setenv("PATH", path, 1);
    setenv("DOCKER_CONFIG", registry.dir, 1);
    setup((void **)&w);
    if (!start_registry())
        fprintf(stderr, "SKIPPED: docker-registry does not run: install docker-registry\n");
    else if (pthread_create(&thread, NULL, read_log, registry.log))
        fprintf(stderr, "SKIPPED: no thread\n");
    else if (!push_image(w))
        fprintf(stderr, "SKIPPED: skopeo cannot push: install skopeo\n");
    else
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    if (registry.pid > 0)
        kill(registry.pid, SIGKILL);
    teardown((void **)&w);
    return rc;
}

int main(void)
{
    struct sbx_err err = SBX_ERR_INIT;
    int rc = find_image();

    if (rc)
        return rc;
    snprintf(registry.dir, sizeof(registry.dir), SBX_TEST_TMP "/registry-XXXXXX");
    assert_non_null(mkdtemp(registry.dir));
    rc = run_all();
    if (sbx_dir_remove(AT_FDCWD, registry.dir, &err))
        fprintf(stderr, "%s\n", err.text);
    return rc;
}
