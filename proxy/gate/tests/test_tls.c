/* Interception, its pure parts: leaves and their cache, rules of injection, a broker's messages, requests
 * inside a connection, protocols of a ClientHello. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hello.h"
#include "leaf.h"
#include "sbx/cert.h"
#include "sbx/json.h"
#include "secrets.h"
#include "target.h"

#define DAY 86400
#define CA_DAYS 3650

/* ---- leaves ---- */

struct issuer {
    EVP_PKEY *key;
    X509 *cert;
    int cert_fd, key_fd;
    struct sbx_authority *authority;
};

static X509 *make_ca(EVP_PKEY *key, long days)
{
    X509 *cert = X509_new();

    assert_non_null(cert);
    assert_true(X509_set_version(cert, 2) && ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) &&
                X509_gmtime_adj(X509_getm_notBefore(cert), -3600) &&
                X509_gmtime_adj(X509_getm_notAfter(cert), days * DAY) &&
                X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                           (const unsigned char *)"ca", -1, -1, 0) &&
                X509_set_issuer_name(cert, X509_get_subject_name(cert)) &&
                X509_set_pubkey(cert, key) &&
                sbx_cert_extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                sbx_cert_extend(cert, cert, NID_key_usage, "critical,keyCertSign") &&
                sbx_cert_extend(cert, cert, NID_subject_key_identifier, "hash") &&
                X509_sign(cert, key, EVP_sha256()));
    return cert;
}

static int to_fd(BIO *bio)
{
    char *data;
    long len = BIO_get_mem_data(bio, &data);
    int fd = memfd_create("pem", 0);

    assert_int_equal(write(fd, data, (size_t)len), len);
    BIO_free(bio);
    return fd;
}

static struct issuer *issuer_new(long days)
{
    struct issuer *x = calloc(1, sizeof(*x));
    BIO *cert = BIO_new(BIO_s_mem()), *key = BIO_new(BIO_s_mem());

    assert_non_null(x);
    x->key = EVP_EC_gen("P-256");
    x->cert = make_ca(x->key, days);
    PEM_write_bio_X509(cert, x->cert);
    PEM_write_bio_PKCS8PrivateKey(key, x->key, NULL, NULL, 0, NULL, NULL);
    x->cert_fd = to_fd(cert);
    x->key_fd = to_fd(key);
    assert_int_equal(sbx_authority_open(x->cert_fd, x->key_fd, &x->authority, NULL), SBX_OK);
    return x;
}

static void issuer_free(struct issuer *x)
{
    sbx_authority_free(x->authority);
    close(x->cert_fd);
    close(x->key_fd);
    X509_free(x->cert);
    EVP_PKEY_free(x->key);
    free(x);
}

static int setup(void **state)
{
    *state = issuer_new(CA_DAYS);
    return 0;
}

static int teardown(void **state)
{
    issuer_free(*state);
    return 0;
}

static struct sbx_host host_of(const char *text)
{
    struct sbx_host h;

    assert_int_equal(sbx_host_parse(text, strlen(text), &h, NULL), SBX_OK);
    return h;
}

static int verify(struct issuer *x, X509 *leaf, const struct sbx_host *h, time_t at)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509_VERIFY_PARAM *param;
    int rc;

    X509_STORE_add_cert(store, x->cert);
    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
    X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
    X509_VERIFY_PARAM_set_time(param, at);
    if (h->kind == SBX_HOST_NAME)
        X509_VERIFY_PARAM_set1_host(param, h->text, 0);
    else
        X509_VERIFY_PARAM_set1_ip_asc(param, h->text);
    rc = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    return rc;
}

static void a_leaf_proves_its_one_name_strictly(void **state)
{
    static const char *const names[] = {
        "api.example.com", "a_b.example.com", "xn--bcher-kva.de", "203.0.113.10", "2001:db8::1", "x",
        "a-name-of-more-than.sixty-four-bytes-which-no.common-name-can-hold-any-more.example.com",
    };
    struct issuer *x = *state;
    time_t now = time(NULL);

    for (size_t i = 0; i < SBX_ARRAY_LEN(names); i++) {
        struct sbx_host h = host_of(names[i]), other = host_of("other.example.com");
        X509 *leaf = sbx_leaf_find(x->authority, &h, now);

        assert_non_null(leaf);
        assert_int_equal(verify(x, leaf, &h, now), X509_V_OK);
        assert_int_equal(verify(x, leaf, &other, now), X509_V_ERR_HOSTNAME_MISMATCH);
        assert_int_equal(X509_check_ca(leaf), 0);
    }
}

static void its_dates_allow_for_clocks_and_stay_within_the_authoritys(void **state)
{
    struct issuer *x = *state, *brief = issuer_new(10);
    struct sbx_host h = host_of("api.example.com");
    time_t now = time(NULL);
    X509 *leaf = sbx_leaf_find(x->authority, &h, now);

    assert_int_equal(verify(x, leaf, &h, now + 29 * DAY), X509_V_OK);
    assert_int_equal(verify(x, leaf, &h, now + 31 * DAY), X509_V_ERR_CERT_HAS_EXPIRED);
    assert_int_equal(X509_cmp_time(X509_get0_notBefore(leaf), &now), -1);
    leaf = sbx_leaf_find(brief->authority, &h, now);
    assert_int_equal(ASN1_TIME_compare(X509_get0_notBefore(leaf), X509_get0_notBefore(brief->cert)), 0);
    assert_int_equal(ASN1_TIME_compare(X509_get0_notAfter(leaf), X509_get0_notAfter(brief->cert)), 0);
    issuer_free(brief);
}

static void a_leaf_is_kept_and_made_anew_before_it_ends(void **state)
{
    struct issuer *x = *state;
    struct sbx_host h = host_of("api.example.com");
    time_t now = time(NULL);
    X509 *first = sbx_leaf_find(x->authority, &h, now);

    assert_ptr_equal(sbx_leaf_find(x->authority, &h, now + 20 * DAY), first);
    assert_int_equal(sbx_leaf_count(x->authority), 1);
    first = sbx_leaf_find(x->authority, &h, now + 25 * DAY);
    assert_int_equal(verify(x, first, &h, now + 50 * DAY), X509_V_OK);
    assert_int_equal(sbx_leaf_count(x->authority), 1);
}

static void the_cache_is_bounded_and_gives_up_the_longest_unused(void **state)
{
    struct issuer *x = *state;
    struct sbx_host kept = host_of("kept.example.com"), gone = host_of("n0.example.com");
    time_t now = time(NULL);
    X509 *leaf = sbx_leaf_find(x->authority, &kept, now), *old;
    char name[64];

    X509_up_ref(leaf);
    old = sbx_leaf_find(x->authority, &gone, now);
    X509_up_ref(old);
    for (unsigned i = 1; i < SBX_GATE_LEAVES; i++) {
        struct sbx_host h;

        snprintf(name, sizeof(name), "n%u.example.com", i);
        h = host_of(name);
        assert_non_null(sbx_leaf_find(x->authority, &h, now));
        assert_ptr_equal(sbx_leaf_find(x->authority, &kept, now), leaf);
    }
    assert_int_equal(sbx_leaf_count(x->authority), SBX_GATE_LEAVES);
    assert_ptr_not_equal(sbx_leaf_find(x->authority, &gone, now), old);
    X509_free(leaf);
    X509_free(old);
}

/* ---- rules ---- */

static void fields_that_a_rule_replaces(void **state)
{
    static const struct {
        const char *name;
        bool struck;
    } rows[] = {
        { "x-api-key", true },   { "X-Api-Key", true },  { "X_API_KEY", true }, { "x.api.key", true },
        { "x-api_key", true },   { "x-api-keys", false }, { "x-api-ke", false }, { "xapikey", false },
        { "", false },           { "x-api-key-", false },
    };
    SBX_AUTO_JSON json_t *list = json_loads("[{\"to\":\"a.example:443\",\"header\":\"X-Api-Key\","
                                            "\"secret\":\"k\"}]", 0, NULL);
    struct sbx_injects rules;

    (void)state;
    assert_int_equal(sbx_injects_parse(list, &rules, NULL), SBX_OK);
    assert_string_equal(rules.v[0].lower, "x-api-key");
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_slice name = { rows[i].name, strlen(rows[i].name) };

        assert_int_equal(sbx_inject_strikes(rules.v, rules.len, name), rows[i].struck);
    }
    sbx_injects_release(&rules);
}

static void rules_are_found_by_host_and_port(void **state)
{
    SBX_AUTO_JSON json_t *list = json_loads(
        "[{\"to\":\"b.example:443\",\"header\":\"X\",\"secret\":\"k\"},"
        "{\"to\":\"a.example:8443\",\"header\":\"X\",\"secret\":\"k\"},"
        "{\"to\":\"A.Example.:443\",\"header\":\"Y\",\"secret\":\"k\"},"
        "{\"to\":\"a.example:443\",\"header\":\"X\",\"secret\":\"k\"},"
        "{\"to\":\"[2001:db8::1]:443\",\"header\":\"X\",\"secret\":\"k\"}]", 0, NULL);
    static const struct {
        const char *host;
        uint16_t port;
        size_t n;
    } rows[] = { { "a.example", 443, 2 }, { "a.example", 8443, 1 }, { "a.example", 80, 0 },
                 { "b.example", 443, 1 }, { "c.example", 443, 0 },  { "2001:db8::1", 443, 1 },
                 { "", 443, 0 } };
    struct sbx_injects rules;

    (void)state;
    assert_int_equal(sbx_injects_parse(list, &rules, NULL), SBX_OK);
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        size_t n = 99;
        const struct sbx_inject *r = sbx_injects_find(&rules, rows[i].host, rows[i].port, &n);

        assert_int_equal(n, rows[i].n);
        assert_int_equal(r != NULL, rows[i].n > 0);
    }
    sbx_injects_release(&rules);
}

/* ---- messages of a broker ---- */

static void a_brokers_messages_are_read_strictly(void **state)
{
    static const struct {
        const char *msg;
        size_t len;
        int rc;
    } rows[] = {
        { "value k\nv", 9, 0 },    { "value k\na b\tc", 13, 0 }, { "gone k\n", 7, 0 },
        { "", 0, -1 },             { "value k", 7, -1 },         { "value k\n", 8, -1 },
        { "value \nv", 8, -1 },    { "value .k\nv", 10, -1 },    { "value k/\nv", 10, -1 },
        { "value k\nv\n", 10, -1 }, { "value k\nv\0w", 11, -1 },  { "value k\n v", 10, -1 },
        { "value k\nv\r", 10, -1 }, { "gone k\nv", 8, -1 },       { "gone \n", 6, -1 },
        { "values k\nv", 10, -1 }, { "want k\n", 7, -1 },        { "value k\n\x7f", 9, -1 },
    };
    struct sbx_slice name, value;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        assert_int_equal(sbx_secret_read(rows[i].msg, rows[i].len, &name, &value), rows[i].rc);
    assert_int_equal(sbx_secret_read("value key\nBearer x", 18, &name, &value), 0);
    assert_true(sbx_slice_is(name, "key") && sbx_slice_is(value, "Bearer x"));
}

/* ---- requests inside ---- */

static unsigned status_of(const char *text)
{
    struct sbx_host own = host_of("api.example.com");
    struct sbx_fault f = { 0 };
    struct sbx_target t;
    struct sbx_head h;

    if (sbx_head_parse_request(text, strlen(text), &h, &f) ||
        sbx_target_read_inner(&h, &own, 8443, &t, &f))
        return f.status;
    assert_string_equal(t.host.text, "api.example.com");
    assert_int_equal(t.port, 8443);
    return 0;
}

static void a_request_inside_names_its_connection(void **state)
{
#define HOST "Host: api.example.com:8443\r\n\r\n"
    static const struct {
        const char *text;
        unsigned status;
    } rows[] = {
        { "GET / HTTP/1.1\r\n" HOST, 0 },
        { "GET /a?b HTTP/1.0\r\n" HOST, 0 },
        { "OPTIONS * HTTP/1.1\r\n" HOST, 0 },
        { "GET https://api.example.com:8443/x HTTP/1.1\r\n" HOST, 0 },
        { "GET * HTTP/1.1\r\n" HOST, 400 },
        { "GET x HTTP/1.1\r\n" HOST, 400 },
        { "GET /#x HTTP/1.1\r\n" HOST, 400 },
        { "GET http://api.example.com:8443/ HTTP/1.1\r\n" HOST, 400 },
        { "GET https://u@api.example.com:8443/ HTTP/1.1\r\n" HOST, 400 },
        { "GET https:/// HTTP/1.1\r\n" HOST, 400 },
        { "GET https://api.example.com/ HTTP/1.1\r\n" HOST, 421 },
        { "GET https://other.example.com:8443/ HTTP/1.1\r\n" HOST, 421 },
        { "GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", 421 },
        { "GET / HTTP/1.1\r\nHost: other.example.com:8443\r\n\r\n", 421 },
        { "GET / HTTP/1.1\r\nHost: api.example.com:8443\r\n" HOST, 400 },
        { "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400 },
        { "GET / HTTP/1.1\r\n\r\n", 400 },
        { "GET / HTTP/1.0\r\n\r\n", 400 },
        { "TRACE / HTTP/1.1\r\n" HOST, 405 },
        { "CONNECT api.example.com:8443 HTTP/1.1\r\n" HOST, 405 },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++)
        assert_int_equal(status_of(rows[i].text), rows[i].status);
}

/* ---- a hello's protocols ---- */

static enum sbx_hello_state offer(const char *alpn, size_t len, struct sbx_hello *h)
{
    unsigned char msg[256] = { 22, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3 };
    size_t at = 11 + 32;

    msg[at++] = 0; /* session */
    memcpy(msg + at, "\0\2\x13\1\1\0", 6); /* one cipher suite, no compression */
    at += 6;
    msg[at++] = 0;
    msg[at++] = (unsigned char)(len + 6);
    memcpy(msg + at, "\0\x10", 2);
    msg[at + 2] = 0;
    msg[at + 3] = (unsigned char)(len + 2);
    msg[at + 4] = 0;
    msg[at + 5] = (unsigned char)len;
    memcpy(msg + at + 6, alpn, len);
    at += 6 + len;
    msg[4] = (unsigned char)(at - 5);
    msg[8] = (unsigned char)(at - 9);
    *h = (struct sbx_hello)SBX_HELLO_INIT;
    return sbx_hello_read(h, (const char *)msg, at);
}

static void the_protocols_of_a_hello_are_read_strictly(void **state)
{
    static const struct {
        const char *alpn;
        size_t len;
        bool good, h1, h2;
    } rows[] = {
        { "\2h2", 3, true, false, true },
        { "\10http/1.1", 9, true, true, false },
        { "\2h2\10http/1.1", 12, true, true, true },
        { "\6spdy/3\2h3", 10, true, false, false },
        { "\3h2x", 4, true, false, false },
        { "", 0, false, false, false },
        { "\0", 1, false, false, false },
        { "\5h2", 3, false, false, false },
        { "\2h2\0", 4, false, false, true },
    };
    struct sbx_hello h;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        enum sbx_hello_state s = offer(rows[i].alpn, rows[i].len, &h);

        assert_int_equal(s, rows[i].good ? SBX_HELLO_DONE : SBX_HELLO_BAD);
        if (rows[i].good) {
            assert_true(h.alpn);
            assert_int_equal(h.offers_h1, rows[i].h1);
            assert_int_equal(h.offers_h2, rows[i].h2);
        }
        sbx_hello_release(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_leaf_proves_its_one_name_strictly, setup, teardown),
        cmocka_unit_test_setup_teardown(its_dates_allow_for_clocks_and_stay_within_the_authoritys,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_leaf_is_kept_and_made_anew_before_it_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(the_cache_is_bounded_and_gives_up_the_longest_unused, setup,
                                        teardown),
        cmocka_unit_test(fields_that_a_rule_replaces),
        cmocka_unit_test(rules_are_found_by_host_and_port),
        cmocka_unit_test(a_brokers_messages_are_read_strictly),
        cmocka_unit_test(a_request_inside_names_its_connection),
        cmocka_unit_test(the_protocols_of_a_hello_are_read_strictly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
