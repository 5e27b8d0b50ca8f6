/* What the docker backend does without an Engine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "docker.h"
#include "images.h"
#include "lines.h"
#include "sbx/json.h"
#include "stream.h"
#include "tarhead.h"

/* ---- the stream ---- */

static const char answer[] = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "7\r\n{\"mess\"\r\na;x=1\r\n: \"no one\"\r\n1\r\n}\r\n0\r\n\r\n";
#define BODY "{\"mess\": \"no one\"}"

static void feed_all(struct docker_head *head, struct docker_body *body, bool *started,
                     const char *data, size_t len)
{
    size_t taken = 0;

    if (!head->done)
        assert_int_equal(docker_head_feed(head, data, len, &taken), SBX_OK);
    if (head->done && !*started) {
        docker_body_start(body, head);
        *started = true;
    }
    if (head->done)
        assert_int_equal(docker_body_feed(body, data + taken, len - taken), SBX_OK);
}

static void any_two_pieces_give_the_same_answer(void **state)
{
    size_t len = sizeof(answer) - 1;

    (void)state;
    for (size_t cut = 0; cut <= len; cut++) {
        SBX_AUTO(docker_head) head = DOCKER_HEAD_INIT;
        SBX_AUTO(docker_body) body = { 0 };
        bool started = false;

        feed_all(&head, &body, &started, answer, cut);
        feed_all(&head, &body, &started, answer + cut, len - cut);
        assert_int_equal(head.status, 404);
        assert_true(body.done);
        assert_string_equal(body.text.ptr, BODY);
    }
}

static void what_is_no_answer_is_refused(void **state)
{
    static const char *const bad[] = {
        "HTTP/2.0 200 OK\r\n\r\n----",
        "SSH-2.0-OpenSSH\r\n\r\n------",
        "HTTP/1.1 20 OK\r\n\r\n-----",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++) {
        SBX_AUTO(docker_head) head = DOCKER_HEAD_INIT;
        size_t taken;

        assert_int_equal(docker_head_feed(&head, bad[i], strlen(bad[i]), &taken), SBX_SYNTAX);
    }
}

static void a_head_without_end_meets_its_bound(void **state)
{
    SBX_AUTO(docker_head) head = DOCKER_HEAD_INIT;
    char piece[1000];
    size_t taken;
    enum sbx_code rc = SBX_OK;

    (void)state;
    memset(piece, 'a', sizeof(piece));
    for (size_t i = 0; i < DOCKER_HEAD_MAX / sizeof(piece) + 1 && !rc; i++)
        rc = docker_head_feed(&head, piece, sizeof(piece), &taken);
    assert_int_equal(rc, SBX_LIMIT);
}

static const char frames[] =
    "\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\0\2\0\0\0\0\0\0\3err\1\0\0\0\0\0\0\1!";

static void collect(struct docker_demux *d, const char *data, size_t len, char *out, char *err)
{
    struct docker_piece piece;
    size_t taken;

    do {
        assert_int_equal(docker_demux_next(d, data, len, &taken, &piece), SBX_OK);
        data += taken;
        len -= taken;
        strncat(piece.stream == 2 ? err : out, piece.data ? piece.data : "", piece.len);
    } while (piece.stream);
    assert_int_equal(len, 0);
}

static void frames_in_any_two_pieces_give_the_same_streams(void **state)
{
    size_t len = sizeof(frames) - 1;

    (void)state;
    for (size_t cut = 0; cut <= len; cut++) {
        struct docker_demux d = DOCKER_DEMUX_INIT;
        char out[32] = "", err[32] = "";

        collect(&d, frames, cut, out, err);
        collect(&d, frames + cut, len - cut, out, err);
        assert_string_equal(out, "hello!");
        assert_string_equal(err, "err");
    }
}

static void what_is_no_frame_is_refused(void **state)
{
    static const char *const bad[] = { "\3\0\0\0\0\0\0\1x", "\1\1\0\0\0\0\0\1x",
                                       "\1\0\0\0\377\0\0\0x", "OCI runt" };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++) {
        struct docker_demux d = DOCKER_DEMUX_INIT;
        struct docker_piece piece;
        size_t taken;

        assert_int_equal(docker_demux_next(&d, bad[i], 8, &taken, &piece), SBX_SYNTAX);
    }
}

static enum sbx_code count(void *ctx, const json_t *value, struct sbx_err *err)
{
    (void)err;
    *(json_int_t *)ctx += json_integer_value(json_object_get(value, "n"));
    return SBX_OK;
}

static void progress_lines_come_in_any_pieces(void **state)
{
    static const char text[] = "{\"n\":1}\r\n\r\n{\"n\":20}\n{\"n\":300}";

    (void)state;
    for (size_t cut = 0; cut < sizeof(text); cut++) {
        json_int_t sum = 0;
        SBX_AUTO(docker_lines) l = DOCKER_LINES_INIT(count, &sum);

        assert_int_equal(docker_lines_feed(&l, text, cut, NULL), SBX_OK);
        assert_int_equal(docker_lines_feed(&l, text + cut, sizeof(text) - 1 - cut, NULL), SBX_OK);
        assert_int_equal(docker_lines_end(&l, NULL), SBX_OK);
        assert_int_equal(sum, 321);
    }
}

/* ---- names and log-ins ---- */

static void a_reference_has_repository_tag_and_registry(void **state)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    static const char *const rows[][4] = {
        { "debian", "debian", "latest", "docker.io" },
        { "a/b:1", "a/b", "1", "docker.io" },
        { "ghcr.io/a/b", "ghcr.io/a/b", "latest", "ghcr.io" },
        { "localhost:5000/b", "localhost:5000/b", "latest", "localhost:5000" },
        { "localhost/b:x", "localhost/b", "x", "localhost" },
        { "a/b:1@sha256:0f", "a/b", "sha256:0f", "docker.io" },
        { "r.io:80/a@sha256:0f", "r.io:80/a", "sha256:0f", "r.io:80" },
    };
    static const char *const bad[] = { "", "a:", "/a", "a b", "a?x", "a@", "-a", ":1" };
    struct docker_name name;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        assert_int_equal(docker_name_parse(rows[i][0], arena, &name, NULL), SBX_OK);
        assert_string_equal(name.repository, rows[i][1]);
        assert_string_equal(name.tag, rows[i][2]);
        assert_string_equal(name.registry, rows[i][3]);
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++)
        assert_int_equal(docker_name_parse(bad[i], arena, &name, NULL), SBX_SCHEMA);
}

/* hugo:pa:ss, and "?>" whose base64 has a character that URLs do not */
#define CONFIG                                                                                     \
    "{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"aHVnbzpwYTpzcw==\"},"                 \
    "\"https://old.example.com/v2/\":{\"auth\":\"aHVnbzpwYTpzcw==\"},"                             \
    "\"id.example.com\":{\"identitytoken\":\"tok\"},\"bad.example.com\":{\"auth\":\"@@@\"},"       \
    "\"plain.example.com\":{\"username\":\"u\",\"password\":\"p?>~\"}},"                           \
    "\"credHelpers\":{\"token.example.com\":\"sbxtest\",\"good.example.com\":\"sbxtest\","         \
    "\"broken.example.com\":\"sbxtest\",\"none.example.com\":\"sbxtest\","                         \
    "\"gone.example.com\":\"sbx-no-such\",\"evil.example.com\":\"../evil\"}}"

static void log_ins_are_found_as_docker_finds_them(void **state)
{
    static const struct {
        const char *registry, *user, *password, *identity, *remark;
    } rows[] = {
        { "docker.io", "hugo", "pa:ss", NULL, NULL },
        { "old.example.com", "hugo", "pa:ss", NULL, NULL },
        { "id.example.com", NULL, NULL, "tok", NULL },
        { "plain.example.com", "u", "p?>~", NULL, NULL },
        { "token.example.com", NULL, NULL, "refresh", NULL },
        { "good.example.com", "hu:go", "s3cret", NULL, NULL },
        { "unknown.example.com", NULL, NULL, NULL, NULL },
        { "none.example.com", NULL, NULL, NULL, NULL },
        { "bad.example.com", NULL, NULL, NULL, "damaged" },
        { "broken.example.com", NULL, NULL, NULL, "gave no log-in" },
        { "gone.example.com", NULL, NULL, NULL, "no such program" },
        { "evil.example.com", NULL, NULL, NULL, "not the name of a helper" },
    };
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    SBX_AUTO_JSON json_t *config = json_loads(CONFIG, 0, NULL);
    char path[4096];

    (void)state;
    snprintf(path, sizeof(path), "%s/bin:%s", SBX_TEST_DIR, getenv("PATH"));
    setenv("PATH", path, 1);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_login) login = { 0 };
        SBX_AUTO_FREE char *text = NULL;
        SBX_AUTO_JSON json_t *auth = NULL;
        unsigned char plain[1024] = "";
        const char *remark = NULL;

        assert_int_equal(sbx_login_from(config, rows[i].registry, arena, &login, &remark, NULL),
                         SBX_OK);
        assert_int_equal(docker_auth_encode(&login, rows[i].registry, &text, NULL), SBX_OK);
        assert_int_equal(remark != NULL, rows[i].remark != NULL);
        if (remark)
            assert_non_null(strstr(remark, rows[i].remark));
        assert_int_equal(text != NULL, rows[i].user || rows[i].identity);
        if (!text)
            continue;
        assert_null(strpbrk(text, "+/"));
        for (char *p = text; *p; p++)
            *p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
        assert_true(EVP_DecodeBlock(plain, (unsigned char *)text, (int)strlen(text)) > 0);
        auth = json_loads((char *)plain, 0, NULL);
        assert_string_equal(sbx_json_text_of(auth, "username"), rows[i].user ? rows[i].user : "");
        assert_string_equal(sbx_json_text_of(auth, "password"),
                            rows[i].password ? rows[i].password : "");
        assert_string_equal(sbx_json_text_of(auth, "identitytoken"),
                            rows[i].identity ? rows[i].identity : "");
    }
}

static void only_a_socket_of_this_machine_is_taken(void **state)
{
    static const char *const refused[] = { "tcp://10.0.0.1:2375",  "ssh://me@there",
                                           "npipe:////x",          "unix://relative",
                                           "/var/run/docker.sock", "x" };
    struct sbx_err err = SBX_ERR_INIT;
    char *path = NULL;

    (void)state;
    assert_int_equal(docker_socket("unix:///a/b.sock", &path, &err), SBX_OK);
    assert_string_equal(path, "/a/b.sock");
    free(path);
    for (size_t i = 0; i < SBX_ARRAY_LEN(refused); i++) {
        assert_int_equal(docker_socket(refused[i], &path, &err), SBX_UNSUPPORTED);
        assert_non_null(strstr(err.text, refused[i]));
    }
}

/* ---- the create request ---- */

static json_t *at(json_t *object, const char *a, const char *b)
{
    json_t *v = json_object_get(object, a);

    return b ? json_object_get(v, b) : v;
}

static void a_spec_becomes_the_engines_settings(void **state)
{
    static const struct sbx_mount mounts[] = {
        { .kind = SBX_MOUNT_TMPFS,
          .target = "/t",
          .size = 4096,
          .mode = 0750,
          .uid = 1000,
          .noexec = true },
        { .kind = SBX_MOUNT_TMPFS, .target = "/u" },
        { .kind = SBX_MOUNT_VOLUME, .source = "v", .target = "/v" },
    };
    const struct sbx_container_spec spec = {
        .name = "demo",
        .image = "i",
        .argv = (const char *const[]){ "/init", "x", NULL },
        .hostname = "h",
        .mounts = mounts,
        .n_mounts = 3,
        .cpus = 1.5,
        .memory = 1 << 30,
        .cap_add = (const char *const[]){ "NET_RAW", NULL },
        .cap_drop = (const char *const[]){ "CHOWN", NULL },
        .gpus = "2",
    };
    struct docker d = { .app = (char *)"acme" };
    SBX_AUTO_JSON json_t *body = docker_create_body(&d, &spec, "{}");
    SBX_AUTO_JSON json_t *want = json_pack("[s,s,s]", "CHOWN", "MKNOD", "AUDIT_WRITE");
    json_t *host = at(body, "HostConfig", NULL);

    (void)state;
    assert_non_null(body);
    assert_string_equal(json_string_value(at(host, "NetworkMode", NULL)), "none");
    assert_int_equal(json_integer_value(at(host, "NanoCpus", NULL)), 1500000000);
    assert_int_equal(json_integer_value(at(host, "PidsLimit", NULL)), SBX_PIDS_DEFAULT);
    assert_true(json_equal(at(host, "CapDrop", NULL), want));
    assert_string_equal(json_string_value(at(host, "Tmpfs", "/t")),
                        "rw,nosuid,nodev,noexec,mode=750,size=4096,uid=1000,gid=1000");
    assert_string_equal(json_string_value(at(host, "Tmpfs", "/u")),
                        "rw,nosuid,nodev,exec,mode=1777");
    assert_string_equal(
        json_string_value(at(json_array_get(at(host, "Mounts", NULL), 0), "Source", NULL)),
        "sbx.acme-v");
    assert_string_equal(json_string_value(at(body, "Labels", "sbx.app")), "acme");
    assert_string_equal(json_string_value(at(body, "Labels", "sbx.sandbox")), "demo");
    assert_string_equal(json_string_value(json_array_get(at(host, "SecurityOpt", NULL), 0)),
                        "seccomp={}");
    assert_int_equal(
        json_integer_value(at(json_array_get(at(host, "DeviceRequests", NULL), 0), "Count", NULL)),
        2);
    assert_int_equal(json_array_size(at(body, "Cmd", NULL)), 0);
}

/* ---- tar headers ---- */

static void a_tar_header_reads_as_it_was_written(void **state)
{
    char head[512], name[DOCKER_TAR_NAME_MAX], type, longer[256];
    off_t size;

    (void)state;
    memset(longer, 'a', sizeof(longer) - 1);
    longer[255] = '\0';
    assert_int_equal(docker_tar_head(head, longer, false, 0), -1);
    longer[155] = '/';
    assert_int_equal(docker_tar_head(head, longer, false, 7), 0);
    assert_true(docker_tar_parse(head, name, &type, &size));
    assert_string_equal(name, longer);
    assert_int_equal(docker_tar_head(head, "blobs", true, 0), 0);
    assert_true(docker_tar_parse(head, name, &type, &size));
    assert_int_equal(type, '5');
    assert_int_equal(docker_tar_head(head, "big", false, (off_t)9 << 30), 0);
    assert_true(docker_tar_parse(head, name, &type, &size));
    assert_true(size == (off_t)9 << 30);
    head[0] ^= 1;
    assert_false(docker_tar_parse(head, name, &type, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_two_pieces_give_the_same_answer),
        cmocka_unit_test(what_is_no_answer_is_refused),
        cmocka_unit_test(a_head_without_end_meets_its_bound),
        cmocka_unit_test(frames_in_any_two_pieces_give_the_same_streams),
        cmocka_unit_test(what_is_no_frame_is_refused),
        cmocka_unit_test(progress_lines_come_in_any_pieces),
        cmocka_unit_test(a_reference_has_repository_tag_and_registry),
        cmocka_unit_test(log_ins_are_found_as_docker_finds_them),
        cmocka_unit_test(only_a_socket_of_this_machine_is_taken),
        cmocka_unit_test(a_spec_becomes_the_engines_settings),
        cmocka_unit_test(a_tar_header_reads_as_it_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
