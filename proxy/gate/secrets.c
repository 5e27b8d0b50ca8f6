/* The values that the gate injects. See secrets.h. */
#include "secrets.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX (SBX_GATE_SECRET_MAX + SBX_GATE_SECRET_NAME_MAX + 16)

struct secret {
    char name[SBX_GATE_SECRET_NAME_MAX + 1];
    char *value; /* of the locked memory; NULL: asked for, not here */
    size_t len;
};

struct sbx_secrets {
    struct sbx_source source; /* the broker */
    struct sbx_loop *loop;
    int ended_fd;
    struct secret *v;
    size_t n;
    char *message; /* one of the broker; locked too */
};

static void on_broker(struct sbx_source *s, uint32_t events);

struct sbx_secrets *sbx_secrets_new(struct sbx_loop *loop, int ended_fd)
{
    struct sbx_secrets *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->message = OPENSSL_secure_malloc(MESSAGE_MAX);
    s->v = calloc(SBX_GATE_SECRETS, sizeof(*s->v));
    s->source = (struct sbx_source){ .fd = -1, .on = on_broker };
    s->loop = loop;
    s->ended_fd = ended_fd;
    if (s->message && s->v)
        return s;
    sbx_secrets_free(s);
    return NULL;
}

static void wipe(struct secret *x)
{
    OPENSSL_secure_clear_free(x->value, x->len + 1);
    x->value = NULL;
    x->len = 0;
}

void sbx_secrets_free(struct sbx_secrets *s)
{
    if (!s)
        return;
    sbx_loop_close(s->loop, &s->source);
    for (size_t i = 0; i < s->n; i++)
        wipe(&s->v[i]);
    free(s->v);
    OPENSSL_secure_clear_free(s->message, MESSAGE_MAX);
    free(s);
}

static struct secret *find(const struct sbx_secrets *s, const char *name, size_t len)
{
    for (size_t i = 0; i < s->n; i++)
        if (strlen(s->v[i].name) == len && memcmp(s->v[i].name, name, len) == 0)
            return &s->v[i];
    return NULL;
}

bool sbx_secrets_find(const struct sbx_secrets *s, const char *name, struct sbx_slice *ret)
{
    const struct secret *x = find(s, name, strlen(name));

    if (!x || !x->value)
        return false;
    *ret = (struct sbx_slice){ x->value, x->len };
    return true;
}

bool sbx_secrets_connected(const struct sbx_secrets *s)
{
    return s->source.fd >= 0;
}

/* What a field value may hold: no control character but a tab, and blanks only inside. */
static bool fits_field(struct sbx_slice v)
{
    if (!v.len || v.len > SBX_GATE_SECRET_MAX || v.ptr[0] == ' ' || v.ptr[0] == '\t' ||
        v.ptr[v.len - 1] == ' ' || v.ptr[v.len - 1] == '\t')
        return false;
    for (size_t i = 0; i < v.len; i++) {
        unsigned char c = (unsigned char)v.ptr[i];

        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

int sbx_secret_read(const char *msg, size_t len, struct sbx_slice *ret_name,
                    struct sbx_slice *ret_value)
{
    const char *nl = len ? memchr(msg, '\n', len) : NULL;
    size_t head = nl ? (size_t)(nl - msg) : 0;
    bool value = head > 6 && memcmp(msg, "value ", 6) == 0;

    if (!value && !(head > 5 && memcmp(msg, "gone ", 5) == 0))
        return -1;
    *ret_name = (struct sbx_slice){ msg + (value ? 6 : 5), head - (value ? 6 : 5) };
    *ret_value = (struct sbx_slice){ value ? nl + 1 : NULL, len - head - 1 };
    if (!sbx_secret_is_name(ret_name->ptr, ret_name->len))
        return -1;
    return value ? (fits_field(*ret_value) ? 0 : -1) : (ret_value->len ? -1 : 0);
}

static void lose(struct sbx_secrets *s, const char *why)
{
    sbx_loop_close(s->loop, &s->source);
    for (size_t i = 0; i < s->n; i++)
        wipe(&s->v[i]);
    dprintf(s->ended_fd, "gate: %s: no credentials until the sandbox is started again\n", why);
}

static void take(struct sbx_secrets *s, size_t len)
{
    struct sbx_slice name, value;
    struct secret *x;

    if (sbx_secret_read(s->message, len, &name, &value)) {
        lose(s, "the broker sent what it must not");
        return;
    }
    x = find(s, name.ptr, name.len);
    if (!x)
        return; /* no rule wants it any more */
    wipe(x);
    if (!value.ptr)
        return;
    x->value = OPENSSL_secure_malloc(value.len + 1);
    if (!x->value)
        return; /* requests that need it are refused */
    memcpy(x->value, value.ptr, value.len);
    x->value[value.len] = '\0';
    x->len = value.len;
}

static void on_broker(struct sbx_source *src, uint32_t events)
{
    struct sbx_secrets *s = sbx_container_of(src, struct sbx_secrets, source);

    (void)events;
    while (s->source.fd >= 0) {
        ssize_t n = recv(s->source.fd, s->message, MESSAGE_MAX, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0)
            lose(s, "the broker is gone");
        else
            take(s, (size_t)n);
    }
    OPENSSL_cleanse(s->message, MESSAGE_MAX);
}

static void ask(struct sbx_secrets *s, const char *name)
{
    char text[SBX_GATE_SECRET_NAME_MAX + 16];
    int len = snprintf(text, sizeof(text), "want %s\n", name);

    /* A broker that does not take it in time gives nothing, and requests are refused. */
    if (s->source.fd >= 0 && send(s->source.fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = 0;
}

int sbx_secrets_connect(struct sbx_secrets *s, int fd)
{
    int kind = 0;
    socklen_t size = sizeof(kind);

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) || kind != SOCK_SEQPACKET) {
        close(fd);
        return -1;
    }
    sbx_loop_close(s->loop, &s->source);
    for (size_t i = 0; i < s->n; i++)
        wipe(&s->v[i]);
    s->source.fd = fd;
    if (sbx_loop_add(s->loop, &s->source, EPOLLIN | EPOLLRDHUP)) {
        close(fd);
        s->source.fd = -1;
        return -1;
    }
    for (size_t i = 0; i < s->n; i++)
        ask(s, s->v[i].name);
    return 0;
}

static bool wanted(const struct sbx_injects *rules, const char *name)
{
    for (size_t i = 0; i < rules->len; i++)
        if (strcmp(rules->v[i].secret, name) == 0)
            return true;
    return false;
}

void sbx_secrets_want(struct sbx_secrets *s, const struct sbx_injects *rules)
{
    for (size_t i = 0; i < s->n; i++) {
        if (wanted(rules, s->v[i].name))
            continue;
        wipe(&s->v[i]);
        s->v[i--] = s->v[--s->n];
        s->v[s->n] = (struct secret){ .value = NULL };
    }
    for (size_t i = 0; i < rules->len && s->n < SBX_GATE_SECRETS; i++) {
        const char *name = rules->v[i].secret;

        if (find(s, name, strlen(name)))
            continue;
        snprintf(s->v[s->n].name, sizeof(s->v[s->n].name), "%s", name);
        s->n++;
        ask(s, name);
    }
}
