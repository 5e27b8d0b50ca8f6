/* TLS on a side. See tls.h. */
#include "tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct sbx_tls {
    SSL *ssl;
    struct sbx_buf early; /* of the peer, read before TLS began */
    bool told;            /* close_notify is out */
    unsigned long error;  /* of OpenSSL, of the handshake */
};

static struct sbx_side *side_of(BIO *b)
{
    return BIO_get_data(b);
}

static int bio_read(BIO *b, char *buf, int len)
{
    struct sbx_side *s = side_of(b);
    struct sbx_buf *early = &s->tls->early;
    ssize_t n = len;

    BIO_clear_retry_flags(b);
    if (early->len) {
        if ((size_t)n > early->len)
            n = (ssize_t)early->len;
        memcpy(buf, early->ptr, (size_t)n);
        sbx_buf_drop(early, (size_t)n);
        if (!early->len)
            sbx_buf_release(early);
        return (int)n;
    }
    n = sbx_side_receive(s, buf, (size_t)len);
    if (n == -1)
        BIO_set_retry_read(b);
    return n < 0 ? -1 : (int)n;
}

static int bio_write(BIO *b, const char *buf, int len)
{
    struct sbx_side *s = side_of(b);
    ssize_t n;

    BIO_clear_retry_flags(b);
    if (!s->writable) {
        BIO_set_retry_write(b);
        return -1;
    }
    do
        n = send(s->source.fd, buf, (size_t)len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        s->writable = false;
        BIO_set_retry_write(b);
    }
    return (int)n;
}

static long bio_ctrl(BIO *b, int cmd, long number, void *pointer)
{
    (void)b;
    (void)number;
    (void)pointer;
    return cmd == BIO_CTRL_FLUSH; /* nothing is kept here */
}

/* One for the whole program: it is made once and lives as long. */
static const BIO_METHOD *side_method(void)
{
    static BIO_METHOD *method;

    if (method)
        return method;
    method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "side of a connection");
    if (method) {
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
    return method;
}

int sbx_tls_begin(struct sbx_side *s, SSL *ssl, struct sbx_buf *early)
{
    struct sbx_tls *t = calloc(1, sizeof(*t));
    BIO *bio = side_method() ? BIO_new(side_method()) : NULL;

    if (!t || !bio) {
        free(t);
        BIO_free(bio);
        SSL_free(ssl);
        return -1;
    }
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    t->ssl = ssl;
    if (early) {
        t->early = *early;
        *early = (struct sbx_buf)SBX_BUF_INIT(early->max);
    }
    s->tls = t;
    return 0;
}

int sbx_tls_shake(struct sbx_side *s)
{
    int rc;

    ERR_clear_error();
    rc = SSL_do_handshake(s->tls->ssl);
    if (rc == 1)
        return 1;
    rc = SSL_get_error(s->tls->ssl, rc);
    if (rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE)
        return 0;
    s->tls->error = ERR_peek_last_error();
    s->failed = s->ended = true;
    return -1;
}

bool sbx_tls_distrusts(const struct sbx_side *s)
{
    return SSL_get_verify_result(s->tls->ssl) != X509_V_OK;
}

const char *sbx_tls_fault(const struct sbx_side *s)
{
    const char *text = ERR_reason_error_string(s->tls->error);

    if (sbx_tls_distrusts(s))
        return X509_verify_cert_error_string(SSL_get_verify_result(s->tls->ssl));
    return text ? text : "the connection was closed in the middle of it";
}

bool sbx_tls_distrusted(const struct sbx_side *s)
{
    switch (s->tls ? ERR_GET_REASON(s->tls->error) : 0) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return true;
    default:
        return false;
    }
}

bool sbx_tls_is_h2(const struct sbx_side *s)
{
    const unsigned char *name = NULL;
    unsigned len = 0;

    SSL_get0_alpn_selected(s->tls->ssl, &name, &len);
    return len == 2 && memcmp(name, "h2", 2) == 0;
}

/* 1: read on later, 0: the end as announced, -1: failed. */
static int judge_read(struct sbx_side *s)
{
    switch (SSL_get_error(s->tls->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: /* an answer of the protocol itself has to wait */
        return 1;
    case SSL_ERROR_ZERO_RETURN:
        s->ended = true;
        return 0;
    default:
        s->failed = s->ended = true;
        return -1;
    }
}

ssize_t sbx_tls_read(struct sbx_side *s, char *buf, size_t len)
{
    size_t got = 0, n = 0;
    int rc;

    if (s->ended)
        return s->failed ? -2 : 0;
    while (got < len) {
        ERR_clear_error();
        if (SSL_read_ex(s->tls->ssl, buf + got, len - got, &n) == 1) {
            got += n;
            continue;
        }
        rc = judge_read(s);
        if (got)
            break;
        return rc > 0 ? -1 : rc == 0 ? 0 : -2;
    }
    return (ssize_t)got;
}

ssize_t sbx_tls_write(struct sbx_side *s, const char *buf, size_t len)
{
    size_t n = 0;
    int rc;

    if (s->failed)
        return -1;
    ERR_clear_error();
    if (SSL_write_ex(s->tls->ssl, buf, len, &n) == 1)
        return (ssize_t)n;
    rc = SSL_get_error(s->tls->ssl, 0);
    if (rc == SSL_ERROR_WANT_READ || rc == SSL_ERROR_WANT_WRITE)
        return 0;
    s->failed = true;
    return -1;
}

void sbx_tls_shut(struct sbx_side *s)
{
    struct sbx_tls *t = s->tls;

    if (t->told || s->failed || !SSL_is_init_finished(t->ssl))
        return;
    t->told = true;
    ERR_clear_error();
    if (SSL_shutdown(t->ssl) < 0)
        ERR_clear_error(); /* the peer learns from the closed connection */
}

void sbx_tls_free(struct sbx_side *s)
{
    if (!s->tls)
        return;
    SSL_free(s->tls->ssl);
    sbx_buf_release(&s->tls->early);
    free(s->tls);
    s->tls = NULL;
}
