#include "sbx/cert.h"

#include <openssl/rand.h>
#include <openssl/x509v3.h>

bool sbx_cert_extend(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *ext;
    bool ok;

    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ok = ext && X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
    return ok;
}

/* 63 bits: none comes twice, and a number is positive and short enough for every client. */
bool sbx_cert_number(X509 *cert)
{
    uint64_t n;

    return RAND_bytes((unsigned char *)&n, sizeof(n)) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), n >> 1 | 1);
}
