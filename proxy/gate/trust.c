/* Versions, protocols and roots of both TLS sides. See trust.h. */
#include "trust.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sbx/file.h"

#define BUNDLE_MAX (8 << 20) /* bytes; that of Debian has 220 KiB */

/* Where distributions keep all roots in one file. */
static const char *const bundles[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
};

struct sbx_trust {
    int bundle;   /* -1: the host has none */
    SSL_CTX *out; /* NULL: not needed yet, or the roots have changed */
    SSL_CTX *in;
    char *extra;  /* the roots that `out` was made with, besides the host's */
};

struct sbx_trust *sbx_trust_new(void)
{
    struct sbx_trust *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->bundle = -1;
    for (size_t i = 0; i < SBX_ARRAY_LEN(bundles) && t->bundle < 0; i++)
        t->bundle = open(bundles[i], O_RDONLY | O_CLOEXEC);
    return t;
}

void sbx_trust_free(struct sbx_trust *t)
{
    if (!t)
        return;
    if (t->bundle >= 0)
        close(t->bundle);
    SSL_CTX_free(t->out);
    SSL_CTX_free(t->in);
    free(t->extra);
    free(t);
}

/* Add every certificate of a text. How many, or -1: something in it is none. */
static int add_roots(X509_STORE *store, const char *pem, size_t len)
{
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    X509 *cert;
    int n = 0;

    ERR_clear_error();
    while (bio && (cert = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL))) {
        if (store && X509_STORE_add_cert(store, cert) != 1)
            ERR_clear_error();
        X509_free(cert);
        n++;
    }
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        n = -1;
    ERR_clear_error();
    BIO_free(bio);
    return n;
}

enum sbx_code sbx_trust_check(const char *pem, size_t len, struct sbx_err *err)
{
    if (len > SBX_GATE_UPSTREAM_CA_MAX)
        return sbx_err_set(err, SBX_LIMIT, "over %d bytes", SBX_GATE_UPSTREAM_CA_MAX);
    if (memmem(pem, len, "PRIVATE KEY", 11)) /* it would be told to whoever asks for the policy */
        return sbx_err_set(err, SBX_SCHEMA, "a private key does not belong here");
    if (add_roots(NULL, pem, len) < 1)
        return sbx_err_set(err, SBX_SCHEMA, "PEM certificates are needed");
    return SBX_OK;
}

static void add_bundle(X509_STORE *store, int fd)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(BUNDLE_MAX);
    struct sbx_err err;

    if (!sbx_fd_read(fd, "roots", &text, &err) && text.len)
        add_roots(store, text.ptr, text.len);
}

static SSL_CTX *make(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);

    if (!ctx || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION)) {
        SSL_CTX_free(ctx);
        return NULL;
    }
    /* Tickets would let a client come back to a certificate and a verdict of before (GC C13). */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);
    return ctx;
}

static SSL_CTX *make_outward(struct sbx_trust *t, const char *extra)
{
    SSL_CTX *ctx = make(TLS_client_method());
    X509_STORE *store = ctx ? SSL_CTX_get_cert_store(ctx) : NULL;

    if (!store)
        return NULL;
    if (t->bundle >= 0)
        add_bundle(store, t->bundle);
    if (extra)
        add_roots(store, extra, strlen(extra));
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    /* A root that the user names may be an intermediate, or the server's own certificate. */
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_PARTIAL_CHAIN);
    return ctx;
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static SSL_CTX *outward(struct sbx_trust *t, const char *extra)
{
    char *copy;

    if (t->out && same(t->extra, extra))
        return t->out;
    copy = extra ? strdup(extra) : NULL;
    if (extra && !copy)
        return NULL;
    SSL_CTX_free(t->out);
    free(t->extra);
    t->extra = copy;
    t->out = make_outward(t, extra);
    return t->out;
}

static bool set_peer(SSL *ssl, const struct sbx_host *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    if (host->kind != SBX_HOST_NAME)
        return X509_VERIFY_PARAM_set1_ip_asc(param, host->text) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    return SSL_set1_host(ssl, host->text) == 1 && SSL_set_tlsext_host_name(ssl, host->text) == 1;
}

static bool set_offer(SSL *ssl, struct sbx_offer offer)
{
    static const unsigned char h2[] = "\2h2", h1[] = "\10http/1.1";
    unsigned char list[sizeof(h2) + sizeof(h1)];
    unsigned len = 0;

    if (!offer.alpn)
        return true;
    if (offer.h2) {
        memcpy(list, h2, sizeof(h2) - 1);
        len = sizeof(h2) - 1;
    }
    if (offer.h1) {
        memcpy(list + len, h1, sizeof(h1) - 1);
        len += sizeof(h1) - 1;
    }
    return SSL_set_alpn_protos(ssl, list, len) == 0; /* this one call says 0 for success */
}

SSL *sbx_trust_outward(struct sbx_trust *t, const char *extra, const struct sbx_host *host,
                       struct sbx_offer offer)
{
    SSL_CTX *ctx = outward(t, extra);
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;

    if (ssl && set_peer(ssl, host) && set_offer(ssl, offer)) {
        SSL_set_connect_state(ssl);
        return ssl;
    }
    SSL_free(ssl);
    return NULL;
}

/* The server has chosen already: the client gets that, or no connection. */
static int choose(SSL *ssl, const unsigned char **out, unsigned char *outlen,
                  const unsigned char *in, unsigned inlen, void *arg)
{
    const char *spoken = SSL_get_app_data(ssl);
    size_t len = spoken ? strlen(spoken) : 0;

    (void)arg;
    if (!spoken)
        return SSL_TLSEXT_ERR_NOACK;
    for (unsigned at = 0; at < inlen; at += 1u + in[at])
        if (in[at] == len && at + len < inlen && memcmp(in + at + 1, spoken, len) == 0) {
            *out = in + at + 1;
            *outlen = in[at];
            return SSL_TLSEXT_ERR_OK;
        }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

SSL *sbx_trust_inward(struct sbx_trust *t, struct sbx_authority *a, const struct sbx_host *host,
                      const char *spoken)
{
    X509 *leaf = sbx_leaf_find(a, host, time(NULL));
    SSL *ssl;

    if (!t->in) {
        t->in = make(TLS_server_method());
        if (t->in)
            SSL_CTX_set_alpn_select_cb(t->in, choose, NULL);
    }
    ssl = leaf && t->in ? SSL_new(t->in) : NULL;
    if (ssl && SSL_use_certificate(ssl, leaf) == 1 && SSL_use_PrivateKey(ssl, sbx_leaf_key(a)) == 1) {
        SSL_set_app_data(ssl, (char *)spoken);
        SSL_set_accept_state(ssl);
        return ssl;
    }
    SSL_free(ssl);
    return NULL;
}
