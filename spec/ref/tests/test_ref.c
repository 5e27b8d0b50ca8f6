#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sbx/buf.h"
#include "sbx/ref.h"

#define SHA "a1b2c3d4e5f67890abcdef1234567890abcdef12"
#define HEX64 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define DIGEST "sha256:" HEX64

static int setup(void **state)
{
    *state = sbx_arena_new();
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    sbx_arena_free(*state);
    return 0;
}

static void add(struct sbx_buf *b, const char *name, const char *value)
{
    if (value)
        assert_int_equal(sbx_buf_addf(b, " %s=%s", name, value), SBX_OK);
}

/* "kind[!] name=... path=..."; "!" marks what can move. */
static const char *describe(const struct sbx_ref *r, struct sbx_buf *b)
{
    sbx_buf_clear(b);
    assert_int_equal(sbx_buf_addf(b, "%s%s", sbx_ref_kind_name(r->kind), r->immutable ? "" : "!"),
                     SBX_OK);
    add(b, "name", r->name);
    add(b, "path", r->path);
    add(b, "url", r->url);
    add(b, "revision", r->revision);
    add(b, "subdir", r->subdir);
    add(b, "registry", r->registry);
    add(b, "repository", r->repository);
    add(b, "tag", r->tag);
    add(b, "digest", r->digest);
    return b->ptr;
}

static const struct {
    const char *text, *want;
} good[] = {
    { "claude", "name name=claude" },
    { "my-tool2", "name name=my-tool2" },
    { "./my-kit/", "directory path=./my-kit/" },
    { "../k", "directory path=../k" },
    { ".", "directory path=." },
    { "..", "directory path=.." },
    { "/abs/k", "directory path=/abs/k" },
    { "~/k", "directory path=~/k" },
    { "kits/hello", "directory path=kits/hello" },
    { "hello/", "directory path=hello/" },
    { "spec.yaml", "directory path=spec.yaml" },
    { "My_Kit", "directory path=My_Kit" },
    { "./a b", "directory path=./a b" },
    { "file://./mcp-postgres", "directory path=./mcp-postgres" },
    { "file:///abs", "directory path=/abs" },
    { "git+https://github.com/org/repo.git#ref=" SHA "&dir=mcp-postgres",
      "git url=https://github.com/org/repo.git revision=" SHA " subdir=mcp-postgres" },
    { "git+https://h/r#dir=a%2Fb&ref=A1B2C3D4E5F67890ABCDEF1234567890ABCDEF12",
      "git url=https://h/r revision=" SHA " subdir=a/b" },
    { "git+ssh://git@github.com/org/repo.git#ref=" SHA,
      "git url=ssh://git@github.com/org/repo.git revision=" SHA },
    { "git+file:///srv/r.git#ref=" SHA "&dir=.", "git url=file:///srv/r.git revision=" SHA },
    { "git+https://h/r", "git! url=https://h/r" },
    { "git+https://h/r#", "git! url=https://h/r" },
    { "git+http://h:8080/r#ref=v1.2.3", "git! url=http://h:8080/r revision=v1.2.3" },
    { "git+https://h/r#ref=feature/x", "git! url=https://h/r revision=feature/x" },
    { "git+https://h/r#ref=a1b2c3d", "git! url=https://h/r revision=a1b2c3d" },
    { "git+https://h/r#dir=./a//b/../c/", "git! url=https://h/r subdir=a/c" },
    { "oci://ghcr.io/org/kit@" DIGEST, "oci registry=ghcr.io repository=org/kit digest=" DIGEST },
    { "oci://ghcr.io/org/kit:1.0@" DIGEST,
      "oci registry=ghcr.io repository=org/kit tag=1.0 digest=" DIGEST },
    { "ghcr.io/org/kit:1.0", "oci! registry=ghcr.io repository=org/kit tag=1.0" },
    { "docker.io/sbx/amp-kit:latest", "oci! registry=docker.io repository=sbx/amp-kit tag=latest" },
    { "localhost/k", "oci! registry=localhost repository=k" },
    { "oci://localhost:5000/a__b/c--d.e", "oci! registry=localhost:5000 repository=a__b/c--d.e" },
    { "oci://[::1]:5000/k@" DIGEST, "oci registry=[::1]:5000 repository=k digest=" DIGEST },
    { "oci-layout:./out:1.0", "layout! path=./out tag=1.0" },
    { "oci-layout:/a:b/out", "layout! path=/a:b/out" },
    { "oci-layout:out@" DIGEST, "layout path=out digest=" DIGEST },
    { "oci-layout:out:1.0@" DIGEST, "layout path=out tag=1.0 digest=" DIGEST },
};

static void references_of_every_kind(void **state)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(good); i++) {
        SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(10000);
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_ref r;

        if (sbx_ref_parse(good[i].text, *state, &r, &err))
            fail_msg("%s", err.text);
        assert_string_equal(describe(&r, &b), good[i].want);
        assert_string_equal(r.text, good[i].text);
    }
}

static const struct {
    const char *text, *want; /* a part of the message */
} bad[] = {
    { "", "write a kit's name" },
    { "oci-layout:", "no directory; write oci-layout:DIRECTORY:TAG" },
    { "oci-layout::1.0", "no directory" },
    { "oci-layout:out:", "tag \"\"" },
    { "oci-layout:out@sha256:abc", "sha256:abc" },
    { "-x", "write ./-x for a path" },
    { "a\nb", "a control character (byte 0x0a)" },
    { "file://", "file:// without a path" },
    { "https://github.com/org/repo", "write git+https://github.com/org/repo#ref=<40-hex commit>" },
    { "ssh://git@h/r", "write git+ssh://git@h/r#ref=" },
    { "git://h/r.git#ref=main", "write git+https://h/r.git#ref=<40-hex commit>" },
    { "https://h/kit.zip", "ZIP archives are of version 1" },
    { "http://h/r", "write git+http://h/r#ref=" },
    { "git@github.com:org/repo.git", "write git+ssh://git@github.com/org/repo.git#ref=" },
    { "docker://ghcr.io/x", "write oci://ghcr.io/x" },
    { "s3://bucket/x", "unknown scheme \"s3://\"" },
    { "oci:lay:1.0", "oci-layout:DIRECTORY:TAG" },
    { "oci-archive:kit.tar:1.0", "an archive is written oci-layout:FILE:TAG" },
    { "docker-archive:x.tar", "an image, not a kit" },
    { "docker-daemon:x:1", "kits are not in a Docker Engine" },
    { "github.com/org/repo", "write git+https://github.com/org/repo#ref=<40-hex commit>" },
    { "gitlab.com/org/repo#ref=main", "write git+https://gitlab.com/org/repo#ref=<40-hex commit>" },
    { "git.example.com/org/repo.git", "write git+https://git.example.com/org/repo.git#ref=" },
    { "me/kit:1.0", "docker.io/me/kit:1.0" },
    { "me/kit@" DIGEST, "docker.io/me/kit@" DIGEST },
    { "nginx:latest", "write oci://HOST/REPOSITORY@sha256:<digest>" },
    { "a@b", "write oci://HOST/REPOSITORY@sha256:<digest>" },
    /* git */
    { "git+ftp://h/r", "write git+https://" },
    { "git+https://", "no host" },
    { "git+https:///r", "no host" },
    { "git+https://h", "no path of a repository" },
    { "git+https://h/", "no path of a repository" },
    { "git+https://u:p@h/r", "a password in a reference ends up in logs" },
    { "git+ssh://-oProxyCommand=x/r", "not a host" },
    { "git+ssh://git@-oProxyCommand=x/r", "not a host" },
    { "git+https://h/a b", "a URL cannot hold" },
    { "git+file://rel/r", "write an absolute path" },
    { "git+file:///", "write an absolute path" },
    { "git+https://h/r#branch=x", "unknown \"branch\"" },
    { "git+https://h/r#main", "unknown \"main\"" },
    { "git+https://h/r#ref=", "\"ref\" has no value" },
    { "git+https://h/r#ref", "\"ref\" has no value" },
    { "git+https://h/r#ref=" SHA "&", "unknown \"\"" },
    { "git+https://h/r#ref=" SHA "&ref=" SHA, "\"ref\" is given twice" },
    { "git+https://h/r#dir=.&dir=b", "\"dir\" is given twice" },
    { "git+https://h/r#ref=--upload-pack=x", "not a commit, branch or tag" },
    { "git+https://h/r#ref=a..b", "not a commit, branch or tag" },
    { "git+https://h/r#dir=..", "leaves the repository" },
    { "git+https://h/r#dir=a%2F..%2F..", "leaves the repository" },
    { "git+https://h/r#dir=/a", "without a leading \"/\"" },
    { "git+https://h/r#dir=%2Fa", "without a leading \"/\"" },
    { "git+https://h/r#dir=a%00b", "or a control character" },
    { "git+https://h/r#dir=a%4", "a percent sign without two" },
    { "git+https://h/r#dir=a%zz", "a percent sign without two" },
    /* registries */
    { "oci://", "name the registry too" },
    { "oci://org/kit", "oci://docker.io/org/kit@sha256:<digest>" },
    { "oci://ghcr.io", "name the registry too" },
    { "oci://ghcr.io/", "no repository" },
    { "oci://ghcr.io/Org/kit", "in lower case" },
    { "oci://ghcr.io/a//b", "write parts of letters" },
    { "oci://ghcr.io/a/", "write parts of letters" },
    { "oci://ghcr.io/a..b", "write parts of letters" },
    { "oci://ghcr.io/a___b", "write parts of letters" },
    { "oci://ghcr.io/../b", "write parts of letters" },
    { "oci://ghcr.io/a/b?x", "write parts of letters" },
    { "oci://ghcr.io/a:", "tag \"\"" },
    { "oci://ghcr.io/a:b:c", "tag \"b:c\"" },
    { "oci://ghcr.io/a:.b", "tag \".b\"" },
    { "oci://ghcr.io/a@sha256:abc", "64 lower-case hexadecimal digits" },
    { "oci://ghcr.io/a@SHA256:" HEX64, "64 lower-case hexadecimal digits" },
    { "oci://ghcr.io/a@" DIGEST "@" DIGEST, "64 lower-case hexadecimal digits" },
    { "oci://ghcr.io:0/a", "not a registry" },
    { "oci://ghcr.io:99999/a", "not a registry" },
    { "oci://-ghcr.io/a", "not a registry" },
    { "oci://user@ghcr.io/a", "not a registry" },
};

static void wrong_references_say_what_to_write(void **state)
{
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_ref r;

        if (sbx_ref_parse(bad[i].text, *state, &r, &err) != SBX_SCHEMA)
            fail_msg("accepted: %s", bad[i].text);
        if (!strstr(err.text, bad[i].want))
            fail_msg("%s", err.text);
    }
}

static void a_reference_has_a_longest_length(void **state)
{
    char text[SBX_REF_MAX + 3];
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_ref r;

    memset(text, 'a', sizeof(text));
    text[0] = '/';
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(sbx_ref_parse(text, *state, &r, &err), SBX_SCHEMA);
    assert_non_null(strstr(err.text, "longer than 4096 bytes"));
    text[SBX_REF_MAX] = '\0';
    assert_int_equal(sbx_ref_parse(text, *state, &r, &err), SBX_OK);
}

static void only_what_cannot_move_is_consumed(void **state)
{
    static const struct {
        const char *text, *want; /* NULL: fine */
    } rows[] = {
        { "claude", NULL },
        { "./k", NULL },
        { "git+https://h/r#ref=" SHA, NULL },
        { "oci://ghcr.io/o/k@" DIGEST, NULL },
        { "oci-layout:out@" DIGEST, NULL },
        { "oci-layout:./out:1.0", "kit reference \"oci-layout:./out:1.0\": a kit in a layout is named by its "
                                  "digest; write oci-layout:./out@sha256:<digest>" },
        { "oci://ghcr.io/o/k:1.0", "kit reference \"oci://ghcr.io/o/k:1.0\": a registry reference "
                                   "must name a digest, since tags can move; write "
                                   "oci://ghcr.io/o/k@sha256:<digest>" },
        { "ghcr.io/o/k", "kit reference \"ghcr.io/o/k\": a registry reference must name a digest; "
                         "write oci://ghcr.io/o/k@sha256:<digest>" },
        { "git+https://h/r#dir=a", "kit reference \"git+https://h/r#dir=a\": a git reference must "
                                   "name a full commit; write git+https://h/r#ref=<40-hex commit>"
                                   "&dir=a" },
        { "git+https://h/r#dir=a%26b%20c", "kit reference \"git+https://h/r#dir=a%26b%20c\": a git "
                                           "reference must name a full commit; write "
                                           "git+https://h/r#ref=<40-hex commit>&dir=a%26b%20c" },
        { "git+https://h/r#ref=v1.2.3", "kit reference \"git+https://h/r#ref=v1.2.3\": \"v1.2.3\" "
                                        "is not a full commit, and branches and tags can move; "
                                        "write git+https://h/r#ref=<40-hex commit>" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_ref r;

        assert_int_equal(sbx_ref_parse(rows[i].text, *state, &r, &err), SBX_OK);
        assert_int_equal(sbx_ref_require_immutable(&r, &err), rows[i].want ? SBX_SCHEMA : SBX_OK);
        if (rows[i].want)
            assert_string_equal(err.text, rows[i].want);
    }
}

static void references_in_a_kit_stay_in_its_tree(void **state)
{
    static const struct {
        const char *kit, *text, *want; /* want begins with "error" for a refusal with that part */
    } rows[] = {
        { "/k/base", "./m", "directory path=/k/base/m" },
        { "./base", "m/../n/", "directory path=./base/n" },
        { "./base", ".", "directory path=./base" },
        { "./base", "../m", "error leaves the directory" },
        { "./base", "m/../../x", "error leaves the directory" },
        { "./base", "/etc", "error a kit cannot name a path of this machine" },
        { "./base", "~/m", "error a kit cannot name a path of this machine" },
        { "./base", "file:///etc", "error a kit cannot name a path of this machine" },
        { "./base", "claude", "name name=claude" },
        { "git+https://h/r#ref=" SHA "&dir=kits/base", "../m",
          "git url=https://h/r revision=" SHA " subdir=kits/m" },
        { "git+https://h/r#ref=" SHA "&dir=kits", "..", "git url=https://h/r revision=" SHA },
        { "git+https://h/r#ref=" SHA, "../m", "error leaves the repository" },
        { "oci://ghcr.io/o/k@" DIGEST, "./m", "error a registry kit has no directory" },
        { "claude", "./m", "error a built-in kit has no directory" },
        { "oci://ghcr.io/o/k@" DIGEST, "oci://ghcr.io/o/m@" DIGEST,
          "oci registry=ghcr.io repository=o/m digest=" DIGEST },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(10000);
        struct sbx_err err = SBX_ERR_INIT;
        struct sbx_ref kit, r;
        enum sbx_code rc;

        assert_int_equal(sbx_ref_parse(rows[i].kit, *state, &kit, &err), SBX_OK);
        rc = sbx_ref_parse_in(&kit, rows[i].text, *state, &r, &err);
        if (!strncmp(rows[i].want, "error ", 6)) {
            assert_int_equal(rc, SBX_SCHEMA);
            if (!strstr(err.text, rows[i].want + 6))
                fail_msg("%s", err.text);
            continue;
        }
        if (rc)
            fail_msg("%s", err.text);
        assert_string_equal(describe(&r, &b), rows[i].want);
        assert_string_equal(r.text, rows[i].text);
    }
}

#define REF_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REF_TEST(references_of_every_kind),
        REF_TEST(wrong_references_say_what_to_write),
        REF_TEST(a_reference_has_a_longest_length),
        REF_TEST(only_what_cannot_move_is_consumed),
        REF_TEST(references_in_a_kit_stay_in_its_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
