/* Two TLS connections of OpenSSL alone, set up as the gate's (trust.c), in the state of an intercepted connection
 * that has had an answer: one towards a server whose certificate was verified, one towards a client. What a pair
 * takes is the floor for what the gate can take.
 *
 *     bench_tls_floor CERTIFICATE KEY ROOT HOST      prints KiB a pair */
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM 10   /* pairs that fill what is made once */
#define PAIRS 500

static long private_kib(void)
{
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long sum = 0, n;

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "Private_", 8) == 0 && sscanf(line, "%*s %ld", &n) == 1)
            sum += n;
    if (f)
        fclose(f);
    return sum;
}

static SSL_CTX *make(const SSL_METHOD *method)
{
    SSL_CTX *ctx = SSL_CTX_new(method);

    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(ctx, 1);
    return ctx;
}

static void carry(SSL *from, SSL *to)
{
    char buf[65536];
    int n;

    while ((n = BIO_read(SSL_get_wbio(from), buf, sizeof(buf))) > 0)
        BIO_write(SSL_get_rbio(to), buf, n);
}

static int say(SSL *from, SSL *to)
{
    char buf[16];

    if (SSL_write(from, "hello", 5) != 5)
        return -1;
    carry(from, to);
    return SSL_read(to, buf, sizeof(buf)) == 5 && SSL_read(to, buf, sizeof(buf)) < 0 ? 0 : -1;
}

static int pair(SSL_CTX *client, SSL_CTX *server, const char *host)
{
    SSL *a = SSL_new(client), *b = SSL_new(server);
    int done_a = 0, done_b = 0;

    SSL_set_bio(a, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_bio(b, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(a);
    SSL_set_accept_state(b);
    SSL_set_tlsext_host_name(a, host);
    SSL_set1_host(a, host);
    for (int i = 0; i < 8 && (done_a != 1 || done_b != 1); i++) {
        done_a = SSL_do_handshake(a);
        carry(a, b);
        done_b = SSL_do_handshake(b);
        carry(b, a);
    }
    if (done_a != 1 || done_b != 1 || say(a, b) || say(b, a))
        return -1;
    SSL_set_bio(a, BIO_new(BIO_s_null()), NULL); /* what carried the bytes does not count */
    SSL_set_bio(b, BIO_new(BIO_s_null()), NULL);
    return 0;
}

int main(int argc, char **argv)
{
    SSL_CTX *client = make(TLS_client_method()), *server = make(TLS_server_method());
    long before = 0;

    if (argc != 5 || SSL_CTX_use_certificate_chain_file(server, argv[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(server, argv[2], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_load_verify_file(client, argv[3]) != 1) {
        fprintf(stderr, "usage: bench_tls_floor CERTIFICATE KEY ROOT HOST\n");
        return 2;
    }
    SSL_CTX_set_verify(client, SSL_VERIFY_PEER, NULL);
    for (int i = 0; i < WARM + PAIRS; i++) {
        if (i == WARM)
            before = private_kib();
        if (pair(client, server, argv[4])) {
            fprintf(stderr, "bench_tls_floor: the handshake failed\n");
            return 1;
        }
    }
    printf("%.1f\n", (double)(private_kib() - before) / PAIRS);
    return 0;
}
