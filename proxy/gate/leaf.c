/* Certificates for intercepted hosts. See leaf.h. All leaves share one key, made with the first: it never
 * leaves this process, and a key each would cost its making and 1 KiB more. */
#include "leaf.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "sbx/cert.h"
#include "sbx/file.h"

#define PEM_MAX 65536   /* bytes; a P-256 certificate has about 800 */
#define CN_MAX 64       /* bytes: X.520, ub-common-name */
#define DAY 86400       /* seconds */
#define LIFE_DAYS 30    /* clients reject those of many months */
#define RENEW_S (7 * DAY) /* minted anew when less than this is left */

struct leaf {
    struct sbx_list node; /* the latest used is the last */
    X509 *cert;
    time_t ends;
    char name[SBX_HOST_MAX + 3];
};

struct sbx_authority {
    X509 *cert;
    EVP_PKEY *key, *leaf_key;
    struct sbx_list leaves;
    unsigned n;
};

static enum sbx_code read_cert(int fd, X509 **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(PEM_MAX);
    enum sbx_code rc = sbx_fd_read(fd, "certificate", &text, err);
    BIO *bio;

    if (rc)
        return rc;
    bio = BIO_new_mem_buf(text.len ? text.ptr : "", (int)text.len);
    *ret = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    ERR_clear_error();
    if (!*ret || X509_check_ca(*ret) != 1)
        return sbx_err_set(err, SBX_SCHEMA, "not the certificate of an authority");
    return SBX_OK;
}

static enum sbx_code read_key(int fd, EVP_PKEY **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(PEM_MAX);
    enum sbx_code rc = sbx_fd_read(fd, "key", &text, err);
    BIO *bio;

    if (!rc) {
        bio = BIO_new_mem_buf(text.len ? text.ptr : "", (int)text.len);
        *ret = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
        BIO_free(bio);
        ERR_clear_error();
        if (!*ret)
            rc = sbx_err_set(err, SBX_SCHEMA, "not a private key");
    }
    if (text.ptr)
        explicit_bzero(text.ptr, text.cap);
    return rc;
}

enum sbx_code sbx_authority_open(int cert_fd, int key_fd, struct sbx_authority **ret,
                                 struct sbx_err *err)
{
    struct sbx_authority *a = calloc(1, sizeof(*a));
    enum sbx_code rc;

    if (!a)
        return sbx_err_set(err, SBX_NO_MEMORY, "certificate authority: out of memory");
    sbx_list_init(&a->leaves);
    rc = read_cert(cert_fd, &a->cert, err);
    if (!rc)
        rc = read_key(key_fd, &a->key, err);
    if (!rc && X509_check_private_key(a->cert, a->key) != 1)
        rc = sbx_err_set(err, SBX_SCHEMA, "the key is another one's");
    ERR_clear_error();
    if (rc) {
        sbx_authority_free(a);
        return sbx_err_wrap(err, rc, "certificate authority");
    }
    *ret = a;
    return SBX_OK;
}

static void drop(struct sbx_authority *a, struct leaf *l)
{
    sbx_list_remove(&l->node);
    X509_free(l->cert);
    free(l);
    a->n--;
}

void sbx_authority_free(struct sbx_authority *a)
{
    if (!a)
        return;
    while (!sbx_list_empty(&a->leaves))
        drop(a, sbx_container_of(a->leaves.next, struct leaf, node));
    X509_free(a->cert);
    EVP_PKEY_free(a->key);
    EVP_PKEY_free(a->leaf_key);
    free(a);
}

/* Clocks inside may be behind; nothing may outlive its issuer. */
static bool set_dates(X509 *cert, const struct sbx_authority *a, time_t now, time_t *ret_ends)
{
    const ASN1_TIME *first = X509_get0_notBefore(a->cert), *last = X509_get0_notAfter(a->cert);
    time_t from = now - DAY, to = now + LIFE_DAYS * DAY;
    struct tm tm;

    if (ASN1_TIME_cmp_time_t(first, from) > 0 && ASN1_TIME_to_tm(first, &tm))
        from = timegm(&tm);
    if (ASN1_TIME_cmp_time_t(last, to) < 0 && ASN1_TIME_to_tm(last, &tm))
        to = timegm(&tm);
    *ret_ends = to;
    return ASN1_TIME_set(X509_getm_notBefore(cert), from) &&
           ASN1_TIME_set(X509_getm_notAfter(cert), to);
}

/* By hand: the text form would take commas and colons of a name apart. */
static bool set_names(X509 *cert, const struct sbx_host *host)
{
    GENERAL_NAMES *names = GENERAL_NAMES_new();
    GENERAL_NAME *name = names ? GENERAL_NAME_new() : NULL;
    bool is_name = host->kind == SBX_HOST_NAME;
    ASN1_STRING *text = is_name ? ASN1_IA5STRING_new() : ASN1_OCTET_STRING_new();
    bool v4 = host->kind == SBX_HOST_IPV4, ok;

    if (!name || !text || !sk_GENERAL_NAME_push(names, name)) {
        GENERAL_NAME_free(name);
        GENERAL_NAMES_free(names);
        ASN1_STRING_free(text);
        return false;
    }
    GENERAL_NAME_set0_value(name, is_name ? GEN_DNS : GEN_IPADD, text);
    ok = is_name ? ASN1_STRING_set(text, host->text, -1)
                 : ASN1_STRING_set(text, host->address.s6_addr + (v4 ? 12 : 0), v4 ? 4 : 16);
    ok = ok && X509_add1_ext_i2d(cert, NID_subject_alt_name, names, 0, 0) == 1;
    GENERAL_NAMES_free(names);
    return ok;
}

static bool set_subject(X509 *cert, const char *name)
{
    X509_NAME *subject = X509_get_subject_name(cert);

    return X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_ASC,
                                      (const unsigned char *)"sbx sandbox", -1, -1, 0) &&
           (strlen(name) > CN_MAX ||
            X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
                                       -1, 0));
}

EVP_PKEY *sbx_leaf_key(struct sbx_authority *a)
{
    if (!a->leaf_key) /* 1 ms that most gates never need */
        a->leaf_key = EVP_EC_gen("P-256");
    return a->leaf_key;
}

static X509 *mint(struct sbx_authority *a, const struct sbx_host *host, time_t now,
                  time_t *ret_ends)
{
    X509 *cert = sbx_leaf_key(a) ? X509_new() : NULL;

    if (cert && X509_set_version(cert, 2) && sbx_cert_number(cert) && set_dates(cert, a, now, ret_ends) &&
        set_subject(cert, host->text) &&
        X509_set_issuer_name(cert, X509_get_subject_name(a->cert)) &&
        X509_set_pubkey(cert, a->leaf_key) &&
        sbx_cert_extend(cert, a->cert, NID_basic_constraints, "critical,CA:FALSE") &&
        sbx_cert_extend(cert, a->cert, NID_key_usage, "critical,digitalSignature") &&
        sbx_cert_extend(cert, a->cert, NID_ext_key_usage, "serverAuth") &&
        sbx_cert_extend(cert, a->cert, NID_subject_key_identifier, "hash") &&
        sbx_cert_extend(cert, a->cert, NID_authority_key_identifier, "keyid:always") &&
        set_names(cert, host) && X509_sign(cert, a->key, EVP_sha256()))
        return cert;
    ERR_clear_error();
    X509_free(cert);
    return NULL;
}

static struct leaf *find(struct sbx_authority *a, const char *name)
{
    for (struct sbx_list *n = a->leaves.next; n != &a->leaves; n = n->next) {
        struct leaf *l = sbx_container_of(n, struct leaf, node);

        if (strcmp(l->name, name) == 0)
            return l;
    }
    return NULL;
}

X509 *sbx_leaf_find(struct sbx_authority *a, const struct sbx_host *host, time_t now)
{
    struct leaf *l = find(a, host->text);

    if (l && l->ends - now < RENEW_S && ASN1_TIME_cmp_time_t(X509_get0_notAfter(a->cert), l->ends)) {
        drop(a, l);
        l = NULL;
    }
    if (l) {
        sbx_list_remove(&l->node);
        sbx_list_append(&a->leaves, &l->node);
        return l->cert;
    }
    l = calloc(1, sizeof(*l));
    if (!l || !(l->cert = mint(a, host, now, &l->ends))) {
        free(l);
        return NULL;
    }
    snprintf(l->name, sizeof(l->name), "%s", host->text);
    if (a->n == SBX_GATE_LEAVES)
        drop(a, sbx_container_of(a->leaves.next, struct leaf, node));
    sbx_list_append(&a->leaves, &l->node);
    a->n++;
    return l->cert;
}

unsigned sbx_leaf_count(const struct sbx_authority *a)
{
    return a->n;
}
