/* The synthetic address map. See names.h. */
#include "names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bounds.h"
#include "sbx/auto.h"
#include "sbx/file.h"
#include "sbx/policy.h"

#define NET 0xc6130000u /* 198.19.0.0/16; the gate's own addresses are in 198.18.0.0/16 */
#define BUCKETS 16384   /* a few names each when the map is full */
#define LINE_MAX_BYTES (sizeof("name 65535 \n") + SBX_HOST_MAX)

struct entry {
    struct entry *next; /* of its bucket */
    struct entry *later;
    unsigned index;
    bool used;
    char name[];
};

struct sbx_names {
    int fd;
    unsigned count;
    struct entry *first, **end;   /* all, in the order they were given */
    unsigned last;                /* given last */
    uint64_t second;              /* the budget of new names: which second, and how many */
    unsigned budget;
    struct entry *by_index[SBX_GATE_NAMES + 1]; /* from 1: an address that ends in .0.0 confuses */
    struct entry *by_name[BUCKETS];
};

static struct entry **bucket(struct sbx_names *n, const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a: many equal buckets only make this sandbox slow */

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return &n->by_name[(hash ^ hash >> 15) % BUCKETS];
}

static struct entry *find(struct sbx_names *n, const char *name)
{
    struct entry *e = *bucket(n, name);

    while (e && strcmp(e->name, name) != 0)
        e = e->next;
    return e;
}

static struct entry *add(struct sbx_names *n, unsigned index, const char *name)
{
    size_t size = strlen(name) + 1;
    struct entry *e = malloc(sizeof(*e) + size), **b = bucket(n, name);

    if (!e)
        return NULL;
    *e = (struct entry){ .next = *b, .index = index };
    memcpy(e->name, name, size);
    *b = e;
    *n->end = e;
    n->end = &e->later;
    n->by_index[index] = e;
    n->last = index;
    n->count++;
    return e;
}

static void forget(struct sbx_names *n, struct entry *e)
{
    struct entry **p = bucket(n, e->name);

    while (*p != e)
        p = &(*p)->next;
    *p = e->next;
    n->by_index[e->index] = NULL;
    n->count--;
    free(e);
}

struct sbx_names *sbx_names_new(int fd)
{
    struct sbx_names *n = calloc(1, sizeof(*n));

    if (n) {
        n->fd = fd;
        n->end = &n->first;
    }
    return n;
}

void sbx_names_clear(struct sbx_names *n)
{
    while (n->first) {
        struct entry *e = n->first;

        n->first = e->later;
        forget(n, e);
    }
    n->end = &n->first;
    n->last = n->budget = 0;
    n->second = 0;
}

void sbx_names_free(struct sbx_names *n)
{
    if (n)
        sbx_names_clear(n);
    free(n);
}

/* "12" and a blank or the end behind it. 0: not an index. */
static unsigned read_index(const char **p, const char *end)
{
    unsigned v = 0;
    const char *start = *p;

    while (*p < end && **p >= '0' && **p <= '9' && v <= SBX_GATE_NAMES)
        v = v * 10 + (unsigned)(*(*p)++ - '0');
    return *start == '0' || v > SBX_GATE_NAMES ? 0 : v;
}

static bool read_name(const char *p, const char *end, struct sbx_host *ret)
{
    return !sbx_host_parse(p, (size_t)(end - p), ret, NULL) && ret->kind == SBX_HOST_NAME &&
           strlen(ret->text) == (size_t)(end - p) && memcmp(ret->text, p, (size_t)(end - p)) == 0;
}

/* One line without its end. What is wrong with it, or NULL. */
static const char *read_line(struct sbx_names *n, const char *p, const char *end)
{
    bool use = end - p > 5 && memcmp(p, "used ", 5) == 0;
    struct sbx_host host;
    unsigned index;

    if (end - p <= 5 || (!use && memcmp(p, "name ", 5) != 0))
        return "neither \"name\" nor \"used\"";
    p += 5;
    index = read_index(&p, end);
    if (!index)
        return "not an index";
    if (use) {
        if (p != end || !n->by_index[index])
            return "\"used\" of an index that has no name";
        n->by_index[index]->used = true;
        return NULL;
    }
    if (p >= end || *p++ != ' ' || !read_name(p, end, &host))
        return "not a name";
    if (n->by_index[index] || find(n, host.text))
        return "given twice";
    return add(n, index, host.text) ? NULL : "out of memory";
}

enum sbx_code sbx_names_parse(struct sbx_names *n, const char *text, size_t len,
                              struct sbx_err *err)
{
    const char *end = text + len;

    for (unsigned line = 1; text < end; line++) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        const char *wrong = nl ? read_line(n, text, nl) : "cut short";

        if (wrong)
            return sbx_err_set(err, SBX_SYNTAX, "address map: line %u: %s; the sandbox must be "
                               "stopped and the file removed", line, wrong);
        text = nl + 1;
    }
    return SBX_OK;
}

/* A crash in the middle of a write left half a line: its name was never told to anybody. */
static enum sbx_code cut(int fd, struct sbx_buf *text, struct sbx_err *err)
{
    size_t whole = text->len;

    while (whole && text->ptr[whole - 1] != '\n')
        whole--;
    if (whole != text->len && ftruncate(fd, (off_t)whole))
        return sbx_err_errno(err, "mend the address map");
    text->len = whole;
    return SBX_OK;
}

static int append(const struct sbx_names *n, const char *text, size_t len)
{
    struct stat st;
    ssize_t got;

    if (n->fd < 0)
        return 0;
    do
        got = write(n->fd, text, len);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)len)
        return 0;
    /* A full disk: take back the part that fitted, or the next line would be glued to it. */
    if (got > 0 && (fstat(n->fd, &st) || ftruncate(n->fd, st.st_size - got)))
        return -1;
    return -1;
}

/* Nothing that runs knows an address any more, so a crash in between loses nothing that counts. */
static enum sbx_code start_anew(struct sbx_names *n, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(SBX_GATE_MAP_MAX);
    struct entry **p = &n->first;

    while (*p) {
        struct entry *e = *p;

        if (!e->used) {
            *p = e->later;
            forget(n, e);
            continue;
        }
        if (sbx_buf_addf(&out, "name %u %s\nused %u\n", e->index, e->name, e->index))
            return sbx_err_set(err, SBX_NO_MEMORY, "address map: out of memory");
        p = &e->later;
    }
    n->end = p;
    if (ftruncate(n->fd, 0) || (out.len && append(n, out.ptr, out.len)))
        return sbx_err_errno(err, "write the address map");
    return SBX_OK;
}

enum sbx_code sbx_names_open(int fd, bool fresh, struct sbx_names **ret, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_GATE_MAP_MAX);
    struct sbx_names *n = sbx_names_new(fd);
    enum sbx_code rc;

    if (!n)
        return sbx_err_set(err, SBX_NO_MEMORY, "address map: out of memory");
    rc = sbx_fd_read(fd, "address map", &text, err);
    if (!rc)
        rc = cut(fd, &text, err);
    if (!rc && text.len)
        rc = sbx_names_parse(n, text.ptr, text.len, err);
    if (!rc && fresh && text.len)
        rc = start_anew(n, err);
    if (rc)
        sbx_names_free(n);
    else
        *ret = n;
    return rc;
}

static struct in6_addr address_of(unsigned index)
{
    uint32_t v4 = htonl(NET + index);
    struct in6_addr a = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

    memcpy(&a.s6_addr[12], &v4, 4);
    return a;
}

bool sbx_names_in_range(const struct in6_addr *a)
{
    uint32_t v4;

    memcpy(&v4, &a->s6_addr[12], 4);
    return IN6_IS_ADDR_V4MAPPED(a) && (ntohl(v4) & 0xffff0000u) == NET;
}

static struct entry *at(const struct sbx_names *n, const struct in6_addr *a)
{
    unsigned index = (unsigned)a->s6_addr[14] << 8 | a->s6_addr[15];

    return sbx_names_in_range(a) && index <= SBX_GATE_NAMES ? n->by_index[index] : NULL;
}

static bool within_budget(struct sbx_names *n, uint64_t now_ms)
{
    if (now_ms / 1000 != n->second) {
        n->second = now_ms / 1000;
        n->budget = SBX_GATE_NAMES_PER_SECOND;
    }
    if (!n->budget)
        return false;
    n->budget--;
    return true;
}

enum sbx_name_given sbx_names_give(struct sbx_names *n, const char *name, uint64_t now_ms,
                                   struct in6_addr *ret)
{
    struct entry *e = find(n, name);
    char line[LINE_MAX_BYTES];
    unsigned index = n->last;

    if (!e) {
        if (n->count == SBX_GATE_NAMES)
            return SBX_NAME_FULL;
        if (!within_budget(n, now_ms))
            return SBX_NAME_EARLY;
        do
            index = index % SBX_GATE_NAMES + 1;
        while (n->by_index[index]);
        if (append(n, line, (size_t)snprintf(line, sizeof(line), "name %u %s\n", index, name)))
            return SBX_NAME_FAILED;
        e = add(n, index, name);
        if (!e)
            return SBX_NAME_FAILED;
    }
    *ret = address_of(e->index);
    return SBX_NAME_GIVEN;
}

const char *sbx_names_find(const struct sbx_names *n, const struct in6_addr *a)
{
    const struct entry *e = at(n, a);

    return e ? e->name : NULL;
}

void sbx_names_use(struct sbx_names *n, const struct in6_addr *a)
{
    struct entry *e = at(n, a);
    char line[LINE_MAX_BYTES];

    if (!e || e->used)
        return;
    e->used = !append(n, line, (size_t)snprintf(line, sizeof(line), "used %u\n", e->index));
}

unsigned sbx_names_count(const struct sbx_names *n)
{
    return n->count;
}
