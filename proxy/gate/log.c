/* The decision log. See log.h. */
#include "log.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bounds.h"

#define MINUTE_MS 60000

/* Length of the valid UTF-8 sequence at p, 0 if it is not one. */
static size_t utf8_len(const unsigned char *p)
{
    size_t n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : (*p & 0xf0) == 0xe0 ? 3
               : *p >= 0xf0 && *p < 0xf5               ? 4 : 0;

    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
        (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* How many bytes stand for themselves: nearly always all. */
static size_t plain_len(const unsigned char *p)
{
    size_t n = 0;

    while (p[n] >= 0x20 && p[n] < 0x7f && p[n] != '"' && p[n] != '\\')
        n++;
    return n;
}

enum sbx_code sbx_log_escape(struct sbx_buf *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    enum sbx_code rc = sbx_buf_add(out, "\"", 1);

    while (*p && !rc) {
        size_t n = plain_len(p);

        if (n) {
            rc = sbx_buf_add(out, p, n);
            p += n;
            continue;
        }
        n = utf8_len(p);
        if (!n)
            rc = sbx_buf_adds(out, "\\ufffd");
        else if (*p == '"' || *p == '\\')
            rc = sbx_buf_addf(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            rc = sbx_buf_addf(out, "\\u%04x", *p);
        else if (*p == 0xc2 && p[1] < 0xa0) /* C1 controls steer terminals too */
            rc = sbx_buf_addf(out, "\\u%04x", p[1]);
        else
            rc = sbx_buf_add(out, p, n);
        p += n ? n : 1;
    }
    return rc ? rc : sbx_buf_add(out, "\"", 1);
}

static enum sbx_code add_text(struct sbx_buf *out, const char *key, const char *value)
{
    enum sbx_code rc = sbx_buf_adds(out, ",\"") ?: sbx_buf_adds(out, key) ?: sbx_buf_adds(out, "\":");

    return rc ?: (value ? sbx_log_escape(out, value) : sbx_buf_adds(out, "null"));
}

static enum sbx_code add_number(struct sbx_buf *out, const char *key, unsigned value)
{
    return value ? sbx_buf_addf(out, ",\"%s\":%u", key, value)
                 : sbx_buf_addf(out, ",\"%s\":null", key);
}

static void address_text(const struct in6_addr *a, char *ret, socklen_t size)
{
    if (IN6_IS_ADDR_V4MAPPED(a))
        inet_ntop(AF_INET, &a->s6_addr[12], ret, size);
    else
        inet_ntop(AF_INET6, a, ret, size);
}

static enum sbx_code add_time(struct sbx_buf *out)
{
    struct timespec now;
    struct tm tm;
    char text[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    return sbx_buf_addf(out, "{\"time\":\"%s.%03dZ\"", text, (int)(now.tv_nsec / 1000000));
}

/* What only some records have, and the end. */
static enum sbx_code finish(const struct sbx_log *l, const struct sbx_record *r, struct sbx_buf *out)
{
    enum sbx_code rc = r->ech ? sbx_buf_adds(out, ",\"ech\":true") : SBX_OK;

    if (!rc && *l->step && !r->event)
        rc = add_text(out, "step", l->step);
    if (!rc && r->request)
        rc = sbx_buf_addf(out, ",\"request\":%llu", (unsigned long long)r->request);
    if (rc)
        return rc;
    if (!r->event)
        return sbx_buf_addf(out, ",\"count\":%llu}\n",
                            (unsigned long long)(r->count ? r->count : 1));
    return sbx_buf_addf(out, ",\"bytesIn\":%llu,\"bytesOut\":%llu,\"durationMs\":%llu,"
                        "\"count\":0}\n", (unsigned long long)r->bytes_in,
                        (unsigned long long)r->bytes_out, (unsigned long long)r->duration_ms);
}

static enum sbx_code compose(const struct sbx_log *l, const struct sbx_record *r,
                             struct sbx_buf *out)
{
    char address[INET6_ADDRSTRLEN] = "";
    const char *dialled = r->address_text;

    if (r->address) {
        address_text(r->address, address, sizeof(address));
        dialled = address;
    }
    return add_time(out) ?: (r->event ? add_text(out, "event", r->event) : SBX_OK)
           ?: add_text(out, "sandbox", l->sandbox) ?: add_text(out, "door", r->door)
           ?: add_text(out, "proxy", r->proxy) ?: add_text(out, "protocol", r->protocol)
           ?: add_text(out, "method", r->method) ?: add_text(out, "host", r->host)
           ?: add_number(out, "port", r->port) ?: add_text(out, "address", dialled)
           ?: add_text(out, "decision", r->decision) ?: add_text(out, "rule", r->rule)
           ?: add_text(out, "origin", r->origin) ?: add_text(out, "reason", r->reason)
           ?: add_number(out, "status", r->status) ?: finish(l, r, out);
}

/* A line that says why the next ones are missing takes the place of one that has no room. */
static bool put(struct sbx_log *l, struct sbx_buf *line)
{
    static const struct sbx_record last = { .door = "proxy", .proxy = "network", .protocol = "tcp",
                                            .decision = "error", .reason = "log-full" };

    if (sbx_logfile_room(&l->file, line->len))
        return sbx_logfile_put(&l->file, line);
    if (l->file.full)
        return false;
    l->file.full = true;
    sbx_buf_clear(line);
    if (compose(l, &last, line) == SBX_OK)
        sbx_logfile_put(&l->file, line);
    return false;
}

/* Once records can be written again, one says how many are missing here. */
static bool tell_lost(struct sbx_log *l)
{
    SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(SBX_GATE_RECORD_MAX);
    struct sbx_record gap = { .door = "proxy", .proxy = "network", .protocol = "tcp",
                              .decision = "error", .reason = "records-lost",
                              .count = l->lost - l->told };

    if (l->file.full || l->lost == l->told)
        return !l->file.full && !l->file.broken;
    if (compose(l, &gap, &line) || !put(l, &line))
        return false;
    l->told = l->lost;
    return true;
}

static bool write_record(struct sbx_log *l, const struct sbx_record *r)
{
    SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(SBX_GATE_RECORD_MAX);
    bool ok = tell_lost(l) && compose(l, r, &line) == SBX_OK && put(l, &line);

    l->lost += !ok;
    return ok;
}

bool sbx_log_ready(struct sbx_log *l) { return tell_lost(l); }

static void write_denial(struct sbx_log *l, const struct sbx_denial *d)
{
    struct sbx_record r = { .door = d->door, .proxy = d->proxy, .protocol = d->protocol,
                            .host = *d->host ? d->host : NULL, .port = d->port,
                            .decision = d->decision, .reason = d->reason, .count = d->held };

    write_record(l, &r);
}

static void end_minute(struct sbx_log *l)
{
    struct sbx_record rest = { .door = "proxy", .proxy = "network", .protocol = "tcp",
                               .decision = "deny", .reason = "many-denials" };

    for (size_t i = 0; i < l->ndenials; i++)
        if (l->denials[i].held)
            write_denial(l, &l->denials[i]);
    rest.count = l->overflow;
    if (l->overflow)
        write_record(l, &rest);
    l->ndenials = 0;
    l->overflow = 0;
}

static void on_minute(struct sbx_timer *t)
{
    end_minute(sbx_container_of(t, struct sbx_log, minute));
}

static void copy(char *to, size_t size, const char *from)
{
    size_t n = from ? strnlen(from, size - 1) : 0;

    if (n)
        memcpy(to, from, n);
    to[n] = '\0';
}

static struct sbx_denial *find_denial(struct sbx_log *l, const struct sbx_record *r)
{
    struct sbx_denial *d;
    char host[SBX_HOST_MAX + 3];

    copy(host, sizeof(host), r->host);
    for (size_t i = 0; i < l->ndenials; i++) {
        d = &l->denials[i];
        if (d->port == r->port && strcmp(d->host, host) == 0 && strcmp(d->reason, r->reason) == 0)
            return d;
    }
    if (l->ndenials == SBX_GATE_DENIAL_KEYS)
        return NULL;
    if (!l->minute.index)
        sbx_loop_arm(l->loop, &l->minute, MINUTE_MS);
    d = &l->denials[l->ndenials++];
    memset(d, 0, sizeof(*d));
    copy(d->host, sizeof(d->host), host);
    copy(d->reason, sizeof(d->reason), r->reason);
    copy(d->door, sizeof(d->door), r->door);
    copy(d->proxy, sizeof(d->proxy), r->proxy);
    copy(d->protocol, sizeof(d->protocol), r->protocol);
    copy(d->decision, sizeof(d->decision), r->decision);
    d->port = r->port;
    return d;
}

static void remember(struct sbx_log *l, const struct sbx_record *r)
{
    struct sbx_blocked *b;
    char host[SBX_HOST_MAX + 3];

    copy(host, sizeof(host), r->host);
    for (size_t i = 0; i < l->nblocked; i++) {
        b = &l->blocked[i];
        if (b->port == r->port && strcmp(b->host, host) == 0 && strcmp(b->reason, r->reason) == 0) {
            b->offset = sbx_log_offset(l);
            b->count++;
            return;
        }
    }
    b = &l->blocked[l->next_blocked];
    l->next_blocked = (l->next_blocked + 1) % SBX_GATE_BLOCKED;
    if (l->nblocked < SBX_GATE_BLOCKED)
        l->nblocked++;
    copy(b->host, sizeof(b->host), host);
    copy(b->reason, sizeof(b->reason), r->reason);
    b->port = r->port;
    b->offset = sbx_log_offset(l);
    b->count = 1;
}

bool sbx_log(struct sbx_log *l, const struct sbx_record *r)
{
    struct sbx_denial *d;

    if (strcmp(r->decision, "allow") == 0) {
        if (!write_record(l, r))
            return false;
        l->allowed++;
        return true;
    }
    if (strcmp(r->decision, "deny") == 0) {
        l->denied++;
        remember(l, r);
    } else {
        l->errors++;
    }
    d = find_denial(l, r);
    if (!d) {
        l->overflow++;
    } else if (++d->seen > SBX_GATE_DENIALS) {
        d->held++;
    } else {
        write_record(l, r);
    }
    return true;
}

void sbx_log_event(struct sbx_log *l, const struct sbx_record *r)
{
    write_record(l, r);
}

uint64_t sbx_log_offset(const struct sbx_log *l)
{
    return l->file.before + l->file.offset;
}

enum sbx_code sbx_log_init(struct sbx_log *l, int fd, int dir, struct sbx_loop *loop,
                           struct sbx_err *err)
{
    memset(l, 0, sizeof(*l));
    l->loop = loop;
    l->minute.on = on_minute;
    if (sbx_logfile_init(&l->file, fd, dir))
        return sbx_err_errno(err, "log");
    l->denials = calloc(SBX_GATE_DENIAL_KEYS, sizeof(*l->denials));
    l->blocked = calloc(SBX_GATE_BLOCKED, sizeof(*l->blocked));
    if (!l->denials || !l->blocked)
        return sbx_err_set(err, SBX_NO_MEMORY, "log: out of memory");
    return SBX_OK;
}

void sbx_log_release(struct sbx_log *l)
{
    if (!l->denials)
        return;
    end_minute(l);
    sbx_logfile_release(&l->file);
    sbx_loop_disarm(l->loop, &l->minute);
    free(l->denials);
    free(l->blocked);
    l->denials = NULL;
    l->blocked = NULL;
}
