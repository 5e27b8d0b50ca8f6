/* Certificates for intercepted hosts, and their cache. */
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

#include "leaf.h"
#include "sbx/cert.h"

#define DAY 86400
#define CA_DAYS 3650

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

#define WITH_ISSUER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ISSUER(a_leaf_proves_its_one_name_strictly),
        WITH_ISSUER(its_dates_allow_for_clocks_and_stay_within_the_authoritys),
        WITH_ISSUER(a_leaf_is_kept_and_made_anew_before_it_ends),
        WITH_ISSUER(the_cache_is_bounded_and_gives_up_the_longest_unused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
