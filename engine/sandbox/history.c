/* records.jsonl: what was done to a sandbox. Each record holds the digest of the one before. */
#include "box.h"

#include "sbx/digest.h"
#include "sbx/file.h"
#include "sbx/json.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define RECORDS_MAX 268435456 /* bytes that are verified; a record has about 350 and is a user's command */
#define TAIL 65536            /* bytes from the end that hold the last record whole */

static const char first[] = "sha256:"
                            "0000000000000000000000000000000000000000000000000000000000000000";

static enum sbx_code digest_of(const json_t *o, char out[SBX_DIGEST_TEXT_SIZE])
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_STATE_MAX);
    enum sbx_code rc = sbx_json_canonical(o, &text);

    return rc ? rc : sbx_digest(text.ptr, text.len, out);
}

/* Digest of the last whole line, and where that line ends: one cut off by a crash is written over. */
static enum sbx_code last_digest(int fd, off_t *ret_end, char out[SBX_DIGEST_TEXT_SIZE])
{
    char tail[TAIL + 1];
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > TAIL ? size - TAIL : 0;
    ssize_t n = size < 0 ? -1 : pread(fd, tail, TAIL, from);
    char *line;

    if (n < 0)
        return SBX_IO;
    while (n && tail[n - 1] != '\n')
        n--;
    *ret_end = from + n;
    snprintf(out, SBX_DIGEST_TEXT_SIZE, "%s", first);
    if (!n)
        return SBX_OK;
    tail[n - 1] = '\0';
    line = memrchr(tail, '\n', (size_t)n - 1);
    SBX_AUTO_JSON json_t *o = json_loads(line ? line + 1 : tail, 0, NULL);
    const char *digest = json_string_value(json_object_get(o, "digest"));

    if (digest && sbx_digest_valid(digest))
        snprintf(out, SBX_DIGEST_TEXT_SIZE, "%s", digest);
    return SBX_OK;
}

static enum sbx_code append(int fd, const char *line, size_t len, off_t end, bool synced)
{
    return ftruncate(fd, end) || lseek(fd, 0, SEEK_END) < 0 || sbx_write_all(fd, line, len) ||
                   (synced && fsync(fd))
               ? SBX_IO
               : SBX_OK;
}

enum sbx_code sbx_history_add(struct sbx_box *box, const char *event, json_t *fields,
                              struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *o = fields ? fields : json_object();
    SBX_AUTO(sbx_buf) line = SBX_BUF_INIT(TAIL - 1);
    SBX_AUTO_FD int fd = openat(box->dirfd, "records.jsonl",
                                O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    char prev[SBX_DIGEST_TEXT_SIZE], digest[SBX_DIGEST_TEXT_SIZE];
    const char *now = sbx_now(box->arena);
    off_t end = 0;
    enum sbx_code rc;

    if (fd < 0 || last_digest(fd, &end, prev))
        return sbx_err_errno(err, "%s/records.jsonl", box->dir);
    if (!now || json_object_set_new(o, "time", json_string(now)) ||
        json_object_set_new(o, "event", json_string(event)) ||
        json_object_set_new(o, "sandbox", json_string(box->name)) ||
        json_object_set_new(o, "prev", json_string(prev)) || digest_of(o, digest) ||
        json_object_set_new(o, "digest", json_string(digest)))
        return sbx_out_of_memory(err);
    rc = sbx_json_canonical(o, &line);
    if (!rc)
        rc = sbx_buf_adds(&line, "\n");
    if (rc)
        return sbx_err_set(err, rc, "record %s: too large", event);
    /* a create syncs all at its end */
    return append(fd, line.ptr, line.len, end, box->record.phase != SBX_STATE_CREATING)
               ? sbx_err_errno(err, "%s/records.jsonl", box->dir)
               : SBX_OK;
}

static enum sbx_code check(const char *line, char prev[SBX_DIGEST_TEXT_SIZE], size_t number,
                           struct sbx_err *err)
{
    SBX_AUTO_JSON json_t *o = json_loads(line, 0, NULL);
    SBX_AUTO_JSON json_t *said = json_incref(json_object_get(o, "digest"));
    const char *before = json_string_value(json_object_get(o, "prev"));
    char digest[SBX_DIGEST_TEXT_SIZE];

    json_object_del(o, "digest");
    if (!o || !before || strcmp(before, prev) || digest_of(o, digest) ||
        !json_string_value(said) || strcmp(json_string_value(said), digest))
        return sbx_err_set(err, SBX_SCHEMA, "record %zu does not follow from the ones before",
                           number);
    memcpy(prev, digest, sizeof(digest));
    return SBX_OK;
}

enum sbx_code sbx_history_verify(const char *path, struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) all = SBX_BUF_INIT(RECORDS_MAX);
    char prev[SBX_DIGEST_TEXT_SIZE], *save = NULL;
    enum sbx_code rc = sbx_file_read(AT_FDCWD, path, &all, err);
    size_t n = 0;

    memcpy(prev, first, sizeof(first));
    for (char *line = rc || !all.ptr ? NULL : strtok_r(all.ptr, "\n", &save); line && !rc;
         line = strtok_r(NULL, "\n", &save))
        rc = check(line, prev, ++n, err);
    return rc;
}
