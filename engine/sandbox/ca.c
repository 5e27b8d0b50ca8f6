/* The sandbox's own certificate authority (decision N15). Its key never leaves the state. */
#include "net.h"

#include "sbx/cert.h"
#include "sbx/file.h"

#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>

#define CA_DAYS 3650    /* longer than a sandbox lives */
#define CA_SKEW_S 86400 /* valid since a day before: clocks inside may be behind */
#define PEM_MAX 65536   /* bytes */

static X509 *make_cert(EVP_PKEY *key, const char *name)
{
    X509 *cert = X509_new();
    X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
    char cn[SBX_SANDBOX_NAME_MAX + 1];

    snprintf(cn, sizeof(cn), "%s", name);
    if (subject && X509_set_version(cert, 2) && sbx_cert_number(cert) &&
        X509_gmtime_adj(X509_getm_notBefore(cert), -CA_SKEW_S) &&
        X509_gmtime_adj(X509_getm_notAfter(cert), (long)CA_DAYS * 86400) &&
        X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8,
                                   (const unsigned char *)"sbx sandbox CA", -1, -1, 0) &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)cn, -1, -1,
                                   0) &&
        X509_set_issuer_name(cert, subject) && X509_set_pubkey(cert, key) &&
        sbx_cert_extend(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
        sbx_cert_extend(cert, cert, NID_key_usage, "critical,keyCertSign") &&
        sbx_cert_extend(cert, cert, NID_ext_key_usage, "serverAuth") &&
        sbx_cert_extend(cert, cert, NID_subject_key_identifier, "hash") &&
        sbx_cert_extend(cert, cert, NID_authority_key_identifier, "keyid:always") &&
        X509_sign(cert, key, EVP_sha256()))
        return cert;
    X509_free(cert);
    return NULL;
}

static enum sbx_code save(struct sbx_box *box, const char *path, BIO *bio, struct sbx_err *err)
{
    char *data = NULL;
    long len = BIO_get_mem_data(bio, &data);

    return sbx_put(box, path, data, (size_t)len, 0600, err);
}

static enum sbx_code make(struct sbx_box *box, struct sbx_err *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = key ? make_cert(key, box->name) : NULL;
    BIO *key_pem = BIO_new(BIO_s_secmem()), *cert_pem = BIO_new(BIO_s_mem());
    enum sbx_code rc;

    if (!cert || !key_pem || !cert_pem ||
        !PEM_write_bio_PKCS8PrivateKey(key_pem, key, NULL, NULL, 0, NULL, NULL) ||
        !PEM_write_bio_X509(cert_pem, cert))
        rc = sbx_err_set(err, SBX_FAILED, "OpenSSL cannot make it");
    else
        rc = save(box, "ca/key.pem", key_pem, err);
    if (!rc)
        rc = save(box, "ca/cert.pem", cert_pem, err);
    BIO_free(key_pem);
    BIO_free(cert_pem);
    X509_free(cert);
    EVP_PKEY_free(key);
    return rc;
}

enum sbx_code sbx_ca_make(struct sbx_box *box, struct sbx_err *err)
{
    enum sbx_code rc;

    if (mkdirat(box->dirfd, "ca", 0700))
        return sbx_err_errno(err, "%s/ca", box->dir);
    rc = make(box, err);
    return rc ? sbx_err_wrap(err, rc, "certificate authority of sandbox %s", box->name) : SBX_OK;
}

enum sbx_code sbx_ca_cert(struct sbx_box *box, struct sbx_buf *pem, struct sbx_err *err)
{
    enum sbx_code rc = sbx_file_read(box->dirfd, "ca/cert.pem", pem, err);

    return rc ? sbx_err_wrap(err, rc, "certificate of sandbox %s", box->name) : SBX_OK;
}
