/* Digests of kits and the archive that they are taken of. */
#include "place.h"

static enum sbx_code take(void *context, const void *data, size_t len, struct sbx_err *err)
{
    (void)err;
    return sbx_buf_add(context, data, len);
}

static void a_file_that_changed_is_not_read(void **state)
{
    struct place *p = *state;
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(100);

    put(p, "spec.yaml", SPEC, 0644);
    put(p, "files/home/x", "hello", 0644);
    assert_int_equal(load(p), SBX_OK);
    put(p, "files/home/x", "hello there", 0644);
    assert_int_equal(sbx_static_file_read(&p->a->files.v[0], &text, &p->err), SBX_IO);
    assert_int_equal(text.len, 0);
    assert_non_null(strstr(p->err.text, "changed"));
    assert_int_equal(sbx_static_file_stream(&p->a->files.v[0], take, &text, &p->err), SBX_IO);
    assert_non_null(strstr(p->err.text, "changed"));
    put(p, "files/home/x", "hell", 0644);
    assert_int_equal(sbx_static_file_stream(&p->a->files.v[0], take, &text, &p->err), SBX_IO);
    put(p, "files/home/x", "again", 0644);
    sbx_buf_clear(&text);
    assert_int_equal(sbx_static_file_stream(&p->a->files.v[0], take, &text, &p->err), SBX_OK);
    assert_string_equal(text.ptr, "again");
}

static void fill(const struct place *p, const char *kit)
{
    char name[300], deep[200];

    memset(deep, 'd', sizeof(deep));
    deep[120] = '\0';
    snprintf(name, sizeof(name), "%s/spec.yaml", kit);
    put(p, name, SPEC, 0644);
    snprintf(name, sizeof(name), "%s/files/home/run", kit);
    put(p, name, "#!/bin/sh\n", 0755);
    snprintf(name, sizeof(name), "%s/files/workspace/%s", kit, deep);
    put(p, name, "deep", 0600);
}

static const char *digest_of(struct place *p, const char *kit)
{
    static char digests[8][100];
    static unsigned next;
    struct sbx_artifact *a = NULL;
    char *out = digests[next++ % 8];

    assert_int_equal(sbx_kit_load(path_in(p, kit), &p->diags, &a, &p->err), SBX_OK);
    snprintf(out, sizeof(digests[0]), "%s", a->digest);
    sbx_artifact_free(a);
    return out;
}

static void equal_kits_have_equal_digests(void **state)
{
    struct place *p = *state;
    const char *first;

    fill(p, "one");
    fill(p, "two");
    first = digest_of(p, "one");
    assert_string_equal(first, digest_of(p, "two"));
    /* found independently: SHA-256 of the two digests' lines, the archive made by another tar */
    assert_string_equal(first, "sha256:b2010c8a5fa28d70c3ff7db4b01bd235b2b2986749c0e60ac58f116550866234");
    assert_int_equal(chmod(path_in(p, "two/files/home/run"), 0600), 0);
    assert_string_not_equal(first, digest_of(p, "two"));
    assert_int_equal(chmod(path_in(p, "two/files/home/run"), 0711), 0);
    assert_string_equal(first, digest_of(p, "two"));
    put(p, "two/spec.yaml", SPEC "\n", 0644);
    assert_string_not_equal(first, digest_of(p, "two"));
}

static void an_embedded_kit_equals_its_directory(void **state)
{
    struct place *p = *state;
    char deep[200] = "files/workspace/";
    struct sbx_embedded_file files[] = {
        { "spec.yaml", (const unsigned char *)SPEC, strlen(SPEC), 0644 },
        { deep, (const unsigned char *)"deep", 4, 0600 },
        { "files/home/run", (const unsigned char *)"#!/bin/sh\n", 10, 0755 },
    };
    const struct sbx_embedded_kit kit = { "a", false, files, SBX_ARRAY_LEN(files) };

    memset(deep + strlen(deep), 'd', 120);
    fill(p, "one");
    assert_int_equal(sbx_kit_load_embedded(&kit, &p->diags, &p->a, &p->err), SBX_OK);
    assert_true(p->a->embedded);
    assert_string_equal(p->a->digest, digest_of(p, "one"));
    want_file(p, 0, "run", 0755, 10);
    assert_string_equal(p->a->at.pos.file, "kits/mixins/a/spec.yaml");
}

static enum sbx_code append(void *context, const void *data, size_t len, struct sbx_err *err)
{
    (void)err;
    return sbx_buf_add(context, data, len);
}

static void the_archive_is_one_that_tar_reads(void **state)
{
    struct place *p = *state;
    SBX_AUTO(sbx_buf) archive = SBX_BUF_INIT(1 << 20);
    char command[300], got[600];
    FILE *f;
    size_t n;

    fill(p, "one");
    assert_int_equal(sbx_kit_load(path_in(p, "one"), &p->diags, &p->a, &p->err), SBX_OK);
    assert_int_equal(sbx_kit_archive(p->a, append, &archive, &p->err), SBX_OK);
    assert_int_equal(archive.len % 512, 0);
    assert_int_equal(sbx_file_write(AT_FDCWD, path_in(p, "a.tar"), archive.ptr, archive.len, 0644, NULL),
                     SBX_OK);
    snprintf(command, sizeof(command), "TZ=UTC tar --numeric-owner -tvf %s/a.tar 2>&1", p->dir);
    f = popen(command, "r");
    assert_non_null(f);
    n = fread(got, 1, sizeof(got) - 1, f);
    got[n] = '\0';
    assert_int_equal(pclose(f), 0);
    assert_non_null(strstr(got, "-rwxr-xr-x 1000/1000        10 1970-01-01 00:00 home/agent/run\n"));
    assert_non_null(strstr(got, "-rw-r--r-- 1000/1000         4 1970-01-01 00:00 workspace/dddd"));
}

static void checking_leaves_the_digest_out(void **state)
{
    struct place *p = *state;

    put(p, "spec.yaml", SPEC, 0644);
    assert_int_equal(sbx_kit_check(p->dir, &p->diags, &p->a, &p->err), SBX_OK);
    assert_null(p->a->digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_changed_is_not_read),
        TEST(equal_kits_have_equal_digests),
        TEST(an_embedded_kit_equals_its_directory),
        TEST(the_archive_is_one_that_tar_reads),
        TEST(checking_leaves_the_digest_out),
    };

    return cmocka_run_group_tests_name("kit loading", tests, NULL, NULL);
}
