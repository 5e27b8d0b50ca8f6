#include "sbx/digest.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define SHA256_BYTES 32
#define PREFIX "sha256:"

struct sbx_hasher {
    EVP_MD_CTX *ctx;
    bool broken; /* OpenSSL refused; the text is then no valid digest */
};

static void restart(struct sbx_hasher *h)
{
    ERR_set_mark(); /* the caller's queue of errors stays as it is */
    h->broken = EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) != 1;
    ERR_pop_to_mark();
}

struct sbx_hasher *sbx_hasher_new(void)
{
    struct sbx_hasher *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->ctx = EVP_MD_CTX_new();
    if (h->ctx)
        restart(h);
    if (!h->ctx || h->broken) {
        sbx_hasher_free(h);
        return NULL;
    }
    return h;
}

void sbx_hasher_free(struct sbx_hasher *h)
{
    if (!h)
        return;
    EVP_MD_CTX_free(h->ctx);
    free(h);
}

void sbx_hasher_add(struct sbx_hasher *h, const void *data, size_t len)
{
    if (len && !h->broken && EVP_DigestUpdate(h->ctx, data, len) != 1)
        h->broken = true;
}

static void put_hex(const unsigned char *sum, char out[SBX_DIGEST_TEXT_SIZE])
{
    static const char hex[] = "0123456789abcdef";
    char *p = out + sizeof(PREFIX) - 1;

    memcpy(out, PREFIX, sizeof(PREFIX) - 1);
    for (size_t i = 0; i < SHA256_BYTES; i++) {
        *p++ = hex[sum[i] >> 4];
        *p++ = hex[sum[i] & 15];
    }
    *p = '\0';
}

void sbx_hasher_text(struct sbx_hasher *h, char out[SBX_DIGEST_TEXT_SIZE])
{
    unsigned char sum[SHA256_BYTES];

    if (h->broken || EVP_DigestFinal_ex(h->ctx, sum, NULL) != 1)
        snprintf(out, SBX_DIGEST_TEXT_SIZE, "%s", "sha256:failed");
    else
        put_hex(sum, out);
    restart(h);
}

enum sbx_code sbx_digest(const void *data, size_t len, char out[SBX_DIGEST_TEXT_SIZE])
{
    unsigned char sum[SHA256_BYTES];
    int done;

    ERR_set_mark();
    done = EVP_Digest(data ? data : "", len, sum, NULL, EVP_sha256(), NULL);
    ERR_pop_to_mark();
    if (done != 1)
        return SBX_NO_MEMORY;
    put_hex(sum, out);
    return SBX_OK;
}

bool sbx_digest_valid(const char *text)
{
    if (!text || strncmp(text, PREFIX, sizeof(PREFIX) - 1))
        return false;
    text += sizeof(PREFIX) - 1;
    return strspn(text, "0123456789abcdef") == (size_t)SHA256_BYTES * 2 &&
           strlen(text) == (size_t)SHA256_BYTES * 2;
}
