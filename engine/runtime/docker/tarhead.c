#include "tarhead.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct head {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
    char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct head) == 512, "a tar header is one record");

static unsigned checksum(const struct head *h)
{
    const unsigned char *p = (const unsigned char *)h;
    unsigned sum = 0;

    for (size_t i = 0; i < sizeof(*h); i++)
        sum += i >= offsetof(struct head, sum) && i < offsetof(struct head, type) ? ' ' : p[i];
    return sum;
}

int docker_tar_head(char out[512], const char *name, bool directory, off_t size)
{
    struct head h = { .mode = "0000644",
                      .uid = "0000000",
                      .gid = "0000000",
                      .mtime = "00000000000",
                      .type = directory ? '5' : '0',
                      .magic = "ustar",
                      .version = { '0', '0' } };
    size_t len = strlen(name);
    const char *rest = name;

    if (len > sizeof(h.name)) { /* split at a slash */
        const char *slash = strchr(name + len - sizeof(h.name) - 1, '/');

        if (!slash || slash == name || (size_t)(slash - name) > sizeof(h.prefix))
            return -1;
        memcpy(h.prefix, name, (size_t)(slash - name));
        rest = slash + 1;
    }
    memcpy(h.name, rest, strlen(rest));
    if (directory)
        memcpy(h.mode, "0000755", 8);
    if (size > 077777777777) { /* 8 GiB and more: GNU's binary size */
        h.size[0] = (char)0x80;
        for (int i = 11; i > 3; i--, size >>= 8)
            h.size[i] = (char)(size & 0xff);
    } else {
        snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)size);
    }
    snprintf(h.sum, sizeof(h.sum), "%06o", checksum(&h));
    memcpy(out, &h, sizeof(h));
    return 0;
}

static bool number(const char *field, size_t size, uint64_t *ret)
{
    uint64_t v = 0;
    size_t i = 0;

    if ((unsigned char)field[0] == 0x80) {
        for (i = size - 8; i < size; i++)
            v = v << 8 | (unsigned char)field[i];
        *ret = v;
        return v <= INT64_MAX;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        v = v * 8 + (uint64_t)(field[i] - '0');
    *ret = v;
    return i == size || field[i] == '\0' || field[i] == ' ';
}

bool docker_tar_parse(const char head[512], char name[DOCKER_TAR_NAME_MAX], char *ret_type,
                      off_t *ret_size)
{
    struct head h;
    uint64_t sum, size;

    memcpy(&h, head, sizeof(h));
    if (!h.name[0] || !number(h.sum, sizeof(h.sum), &sum) || sum != checksum(&h) ||
        !number(h.size, sizeof(h.size), &size))
        return false;
    if (memcmp(h.magic, "ustar\0", 6) == 0 && h.prefix[0])
        snprintf(name, DOCKER_TAR_NAME_MAX, "%.155s/%.100s", h.prefix, h.name);
    else
        snprintf(name, DOCKER_TAR_NAME_MAX, "%.100s", h.name);
    *ret_type = h.type;
    *ret_size = (off_t)size;
    return true;
}
