#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "store.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_of_entries_follow_the_rules(void **state)
{
    static const struct {
        const char *text;
        bool layer;
        enum sbx_code code;
        enum sbx_entry_kind kind;
        const char *path, *name;
    } rows[] = {
        { "a/b", true, SBX_OK, SBX_ENTRY_PLAIN, "a/b", "b" },
        { "./a//b/", true, SBX_OK, SBX_ENTRY_PLAIN, "a/b", "b" },
        { "./", true, SBX_OK, SBX_ENTRY_ROOT, "", "" },
        { ".", true, SBX_OK, SBX_ENTRY_ROOT, "", "" },
        { "a/.wh.b", true, SBX_OK, SBX_ENTRY_WHITEOUT, "a/.wh.b", "b" },
        { ".wh..wh..opq", true, SBX_OK, SBX_ENTRY_OPAQUE, ".wh..wh..opq", ".wh..wh..opq" },
        { "a/.wh..wh..opq", true, SBX_OK, SBX_ENTRY_OPAQUE, NULL, NULL },
        { ".wh..wh.plnk", true, SBX_OK, SBX_ENTRY_SKIP, NULL, NULL },
        { ".wh..wh.plnk/12.34", true, SBX_OK, SBX_ENTRY_SKIP, NULL, NULL },
        { "a/.wh.b", false, SBX_OK, SBX_ENTRY_PLAIN, "a/.wh.b", ".wh.b" },
        { "..x/y..", true, SBX_OK, SBX_ENTRY_PLAIN, "..x/y..", "y.." },
        { "", true, SBX_SCHEMA, 0, NULL, NULL },
        { "/etc/passwd", true, SBX_SCHEMA, 0, NULL, NULL },
        { "//x", true, SBX_SCHEMA, 0, NULL, NULL },
        { "..", true, SBX_SCHEMA, 0, NULL, NULL },
        { "a/../../b", true, SBX_SCHEMA, 0, NULL, NULL },
        { "a/..", false, SBX_SCHEMA, 0, NULL, NULL },
        { ".wh.", true, SBX_SCHEMA, 0, NULL, NULL },
        { ".wh...", true, SBX_SCHEMA, 0, NULL, NULL },
        { ".wh..", true, SBX_SCHEMA, 0, NULL, NULL },
        { ".wh.a/b", true, SBX_SCHEMA, 0, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_entry_name e;
        struct sbx_err err = SBX_ERR_INIT;

        print_message("\"%s\"\n", rows[i].text);
        assert_int_equal(sbx_entry_name(rows[i].text, rows[i].layer, &e, &err), rows[i].code);
        if (rows[i].code)
            continue;
        assert_int_equal(e.kind, rows[i].kind);
        if (rows[i].path) {
            assert_string_equal(e.path, rows[i].path);
            assert_string_equal(e.name, rows[i].name);
        }
    }
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char text[6000];
    struct sbx_entry_name e;

    (void)state;
    memset(text, 'a', sizeof(text));
    text[300] = '\0';
    assert_int_equal(sbx_entry_name(text, true, &e, NULL), SBX_SCHEMA);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 2 ? '/' : 'a';
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(sbx_entry_name(text, true, &e, NULL), SBX_SCHEMA);
}

static void references_have_one_full_form(void **state)
{
    static const char *const rows[][2] = {
        { "alpine", "docker.io/library/alpine:latest" },
        { "alpine:3", "docker.io/library/alpine:3" },
        { "docker.io/alpine", "docker.io/library/alpine:latest" },
        { "docker.io/library/alpine:3", "docker.io/library/alpine:3" },
        { "me/tool", "docker.io/me/tool:latest" },
        { "localhost/x", "localhost/x:latest" },
        { "localhost:5000/a/b:1", "localhost:5000/a/b:1" },
        { "sbx.local/base:bookworm", "sbx.local/base:bookworm" },
        { "a@sha256:" HEX64, "docker.io/library/a@sha256:" HEX64 },
        { "", NULL },
        { "A", NULL },
        { "a:", NULL },
        { ":x", NULL },
        { "a//b", NULL },
        { "a/", NULL },
        { "a b", NULL },
        { "a:b:c", NULL },
        { "a@sha256:12", NULL },
        { "../x", NULL },
        { "/x", NULL },
        { "-a", NULL },
        { "a:-x", NULL },
    };
    struct sbx_arena *a = sbx_arena_new();

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const char *full = sbx_store_full_name(a, rows[i][0]);

        print_message("\"%s\"\n", rows[i][0]);
        if (!rows[i][1])
            assert_null(full);
        else
            assert_string_equal(full, rows[i][1]);
    }
    assert_string_equal(sbx_store_familiar_name(a, "docker.io/library/alpine:3"), "alpine:3");
    assert_string_equal(sbx_store_familiar_name(a, "docker.io/me/x:3"), "me/x:3");
    assert_string_equal(sbx_store_familiar_name(a, "ghcr.io/me/x:3"), "ghcr.io/me/x:3");
    sbx_arena_free(a);
}

enum what { DOCKER, OCI, INDEX, CONFIG, LAYOUT };

static enum sbx_code parse(enum what what, const char *text, struct sbx_arena *a,
                           struct sbx_err *err)
{
    struct sbx_store_platform p = { "linux", "amd64", 1 };
    struct sbx_manifest m, *list;
    struct sbx_index index;
    struct sbx_config c;
    size_t n, len = strlen(text);

    switch (what) {
    case DOCKER:
        return sbx_manifest_docker(text, len, a, &list, &n, err);
    case OCI:
        return sbx_manifest_oci(text, len, a, &m, err);
    case INDEX:
        return sbx_manifest_index(text, len, &p, a, &index, err);
    case CONFIG:
        return sbx_config_parse(text, len, a, &c, err);
    default:
        return sbx_layout_check(text, len, err);
    }
}

#define DESC "{\"digest\":\"sha256:" HEX64 "\",\"size\":3}"

static void broken_json_is_refused_with_a_reason(void **state)
{
    static const struct {
        enum what what;
        const char *text;
        enum sbx_code code;
        const char *says;
    } rows[] = {
        { DOCKER, "", SBX_SYNTAX, "line" },
        { DOCKER, "{}", SBX_SCHEMA, "not a list" },
        { DOCKER, "[]", SBX_SCHEMA, "not a list" },
        { DOCKER, "[1]", SBX_SCHEMA, "not an object" },
        { DOCKER, "[{}]", SBX_SCHEMA, "Config is missing" },
        { DOCKER, "[{\"Config\":1}]", SBX_SCHEMA, "Config is not a string" },
        { DOCKER, "[{\"Config\":\"a\",\"Layers\":{}}]", SBX_SCHEMA, "Layers is not a list" },
        { DOCKER, "[{\"Config\":\"a\",\"Layers\":[1]}]", SBX_SCHEMA, "Layers[0]" },
        { DOCKER, "[{\"Config\":\"a\",\"RepoTags\":[\"A B\"]}]", SBX_SCHEMA, "not a reference" },
        { DOCKER, "[{\"Config\":\"a\",\"Config\":\"b\"}]", SBX_SYNTAX, "duplicate" },
        { DOCKER, "[{\"Config\":\"a\",\"Layers\":null,\"RepoTags\":null}]", SBX_OK, NULL },
        { OCI, "{}", SBX_SCHEMA, "schema version 2" },
        { OCI, "{\"schemaVersion\":2}", SBX_SCHEMA, "config is not an object" },
        { OCI, "{\"schemaVersion\":2,\"config\":{\"digest\":\"md5:1\",\"size\":1}}", SBX_SCHEMA,
          "sha256:<64" },
        { OCI, "{\"schemaVersion\":2,\"config\":{\"digest\":\"sha256:" HEX64 "\",\"size\":-1}}",
          SBX_SCHEMA, "size" },
        { OCI, "{\"schemaVersion\":2,\"config\":" DESC "}", SBX_SCHEMA, "layers is not a list" },
        { OCI, "{\"schemaVersion\":2,\"config\":" DESC ",\"layers\":[],\"manifests\":[]}",
          SBX_SCHEMA, "both" },
        { OCI, "{\"schemaVersion\":2,\"config\":" DESC ",\"layers\":[" DESC "]}", SBX_OK, NULL },
        { INDEX, "[]", SBX_SCHEMA, "not an image index" },
        { INDEX, "{\"schemaVersion\":2,\"manifests\":[3]}", SBX_SCHEMA, "not an object" },
        { INDEX, "{\"schemaVersion\":2,\"manifests\":[]}", SBX_OK, NULL },
        { CONFIG, "3", SBX_SYNTAX, "line" },
        { CONFIG, "[]", SBX_SCHEMA, "not an object" },
        { CONFIG, "{}", SBX_SCHEMA, "rootfs is missing" },
        { CONFIG, "{\"rootfs\":{\"diff_ids\":[\"x\"]}}", SBX_SCHEMA, "diff_ids[0]" },
        { CONFIG, "{\"rootfs\":{\"diff_ids\":[]},\"config\":{\"Env\":\"x\"}}", SBX_SCHEMA, "Env" },
        { CONFIG, "{\"rootfs\":{\"diff_ids\":[]},\"config\":{\"Labels\":[]}}", SBX_SCHEMA,
          "Labels" },
        { CONFIG, "{\"rootfs\":{\"diff_ids\":[]},\"config\":null}", SBX_OK, NULL },
        { LAYOUT, "{}", SBX_UNSUPPORTED, "missing" },
        { LAYOUT, "{\"imageLayoutVersion\":\"2.0.0\"}", SBX_UNSUPPORTED, "2.0.0" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_arena *a = sbx_arena_new();
        struct sbx_err err = SBX_ERR_INIT;

        print_message("%s\n", rows[i].text);
        assert_int_equal(parse(rows[i].what, rows[i].text, a, &err), rows[i].code);
        if (rows[i].says)
            assert_non_null(strstr(err.text, rows[i].says));
        sbx_arena_free(a);
    }
}

static void more_layers_than_the_bound_are_refused(void **state)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(1 << 20);
    struct sbx_arena *a = sbx_arena_new();
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    assert_int_equal(sbx_buf_adds(&text, "[{\"Config\":\"c\",\"Layers\":[\"a\""), SBX_OK);
    for (int i = 0; i < SBX_STORE_LAYERS_MAX; i++)
        assert_int_equal(sbx_buf_adds(&text, ",\"a\""), SBX_OK);
    assert_int_equal(sbx_buf_adds(&text, "]}]"), SBX_OK);
    assert_int_equal(parse(DOCKER, text.ptr, a, &err), SBX_LIMIT);
    sbx_arena_free(a);
}

static void of_an_index_our_platform_is_taken(void **state)
{
    static const char text[] =
        "{\"schemaVersion\":2,\"manifests\":["
        "{\"digest\":\"sha256:" HEX64
        "\",\"size\":1,\"platform\":{\"os\":\"linux\",\"architecture\":\"s390x\"}},"
        "{\"digest\":\"sha256:" HEX64
        "\",\"size\":2,\"platform\":{\"os\":\"linux\",\"architecture\":\"amd64\"},"
        "\"annotations\":{\"org.opencontainers.image.ref.name\":\"me/x:1\"}},"
        "{\"digest\":\"sha256:" HEX64
        "\",\"size\":3,\"platform\":{\"os\":\"unknown\",\"architecture\":\"unknown\"}}]}";
    struct sbx_store_platform p = { "linux", "amd64", 1 };
    struct sbx_arena *a = sbx_arena_new();
    struct sbx_index index;

    (void)state;
    assert_int_equal(sbx_manifest_index(text, strlen(text), &p, a, &index, NULL), SBX_OK);
    assert_int_equal(index.n, 1);
    assert_int_equal(index.v[0].size, 2);
    assert_string_equal(index.names[0], "docker.io/me/x:1");
    sbx_arena_free(a);
}

static void of_several_variants_the_best_for_our_processor_is_meant(void **state)
{
    static const struct {
        struct sbx_store_platform ours;
        const char *entries; /* "ARCHITECTURE/VARIANT ..." */
        size_t best;         /* which of them; SIZE_MAX: none fits */
    } rows[] = {
        { { "linux", "arm", 7 }, "arm/v5 arm/v7 arm/v6", 1 },
        { { "linux", "arm", 6 }, "arm/v7 arm/v6 arm/v5", 1 },
        { { "linux", "arm", 7 }, "arm/v8 arm/v6", 1 },
        { { "linux", "arm", 7 }, "arm64/v8 arm/", 1 },
        { { "linux", "arm", 6 }, "arm/", SIZE_MAX }, /* v7, as Docker has it */
        { { "linux", "arm", 5 }, "arm/v6 arm64/v8", SIZE_MAX },
        { { "linux", "arm64", 8 }, "arm/v7 arm64/v9 arm64/", 2 },
        { { "linux", "arm64", 8 }, "arm64/v8 arm64/", 0 },
        { { "linux", "amd64", 1 }, "amd64/v3 amd64/", 1 },
        { { "linux", "amd64", 1 }, "amd64/v2", SIZE_MAX },
        { { "linux", "riscv64", 0 }, "amd64/ riscv64/rva20u64", 1 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        char copy[100], *rest = NULL, *one;
        size_t best = SIZE_MAX, n = 0;
        int rank = 0;

        print_message("%s %d of %s\n", rows[i].ours.architecture, rows[i].ours.variant, rows[i].entries);
        strcpy(copy, rows[i].entries);
        for (one = strtok_r(copy, " ", &rest); one; one = strtok_r(NULL, " ", &rest), n++) {
            char *variant = strchr(one, '/');
            json_t *p;
            int r;

            *variant++ = '\0';
            p = json_pack("{s:s,s:s}", "os", "linux", "architecture", one);
            if (*variant)
                json_object_set_new(p, "variant", json_string(variant));
            r = sbx_store_platform_rank(p, &rows[i].ours);
            json_decref(p);
            if (r <= rank)
                continue;
            rank = r;
            best = n;
        }
        assert_int_equal(best, rows[i].best);
    }
    assert_int_equal(sbx_store_platform_rank(NULL, &rows[0].ours), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_entries_follow_the_rules),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(references_have_one_full_form),
        cmocka_unit_test(broken_json_is_refused_with_a_reason),
        cmocka_unit_test(more_layers_than_the_bound_are_refused),
        cmocka_unit_test(of_an_index_our_platform_is_taken),
        cmocka_unit_test(of_several_variants_the_best_for_our_processor_is_meant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
