#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "input.h"
#include "inside.h"
#include "number.h"
#include "sbx/file.h"
#include "users.h"

#define HEADER_MAX (PATH_MAX + 128) /* bytes: a path and seven short fields */
#define CONTENT_MAX (1ull << 40)    /* bytes; more than any file of a kit, less than an overflow */
#define APPEND_TEXT_MAX 65536       /* bytes added to a file: a certificate, some lines */

/* VERB LENGTH MODE UID GID IFMISSING PATH; `user` and the others leave some fields out or at 0. */
struct record {
    char verb[8];
    uint64_t length, mode, uid, gid, if_missing;
    const char *path;
};

static char *next_word(char **at)
{
    char *word = *at, *space = strchr(word, ' ');

    if (!space)
        return NULL;
    *space = '\0';
    *at = space + 1;
    return word;
}

/* The path is the rest of the line: it may hold blanks. */
static enum sbx_code parse(char *line, struct record *r, struct sbx_err *err)
{
    char *verb = next_word(&line), *word[5] = { NULL };
    bool is_user = verb && !strcmp(verb, "user");

    for (size_t i = 0; verb && i < 5; i++)
        if (!(word[i] = next_word(&line)))
            verb = NULL;
    if (!verb || strlen(verb) >= sizeof(r->verb))
        return sbx_err_set(err, SBX_SYNTAX, "a header is VERB and five numbers and PATH");
    strcpy(r->verb, verb);
    r->path = line;
    r->mode = 0;
    /* user 0 UID GID 0 0 NAME:HOME */
    if (!sbx_number(word[0], 10, CONTENT_MAX, &r->length) ||
        (!is_user && !sbx_number(word[1], 8, 07777, &r->mode)) ||
        !sbx_number(word[is_user ? 1 : 2], 10, SBX_ID_MAX, &r->uid) ||
        !sbx_number(word[is_user ? 2 : 3], 10, SBX_ID_MAX, &r->gid) ||
        !sbx_number(word[4], 10, 1, &r->if_missing))
        return sbx_err_set(err, SBX_SYNTAX, "a header's number is not one or too large");
    return SBX_OK;
}

static struct sbx_owner owner_of(const struct record *r)
{
    return (struct sbx_owner){ (uid_t)r->uid, (gid_t)r->gid };
}

static enum sbx_code do_write(int root, const struct record *r, struct sbx_input *in,
                              enum sbx_done *done, struct sbx_err *err)
{
    SBX_AUTO(sbx_new_file) f = SBX_NEW_FILE_INIT;
    struct sbx_err later = SBX_ERR_INIT;
    enum sbx_code rc, read;

    rc = sbx_new_file_open(root, r->path, owner_of(r), (mode_t)r->mode, r->if_missing, &f, err);
    *done = f.fd < 0 ? SBX_DONE_KEPT : SBX_DONE_OK;
    read = sbx_input_copy(in, r->length, rc ? -1 : f.fd, &later); /* the next header follows */
    if (!rc && read) {
        *err = later;
        rc = read;
    }
    return rc ? rc : sbx_new_file_commit(&f, err);
}

static enum sbx_code do_append(int root, const struct record *r, struct sbx_input *in,
                               enum sbx_done *done, struct sbx_err *err)
{
    static char text[APPEND_TEXT_MAX];
    enum sbx_code rc = sbx_input_string(in, r->length, text, sizeof(text), err);

    return rc ? rc
              : sbx_inside_append(root, r->path, text, owner_of(r), (mode_t)r->mode, r->if_missing,
                                  done, err);
}

static enum sbx_code do_link(int root, const struct record *r, struct sbx_input *in,
                             struct sbx_err *err)
{
    char target[PATH_MAX];
    enum sbx_code rc = sbx_input_string(in, r->length, target, sizeof(target), err);

    return rc ? rc : sbx_inside_link(root, r->path, target, owner_of(r), err);
}

static enum sbx_code do_user(int root, const struct record *r, enum sbx_done *done,
                             struct sbx_err *err)
{
    const char *colon = strchr(r->path, ':');
    char name[SBX_USER_NAME];

    if (!colon || (size_t)(colon - r->path) >= sizeof(name))
        return sbx_err_set(err, SBX_SYNTAX, "want NAME:HOME");
    memcpy(name, r->path, (size_t)(colon - r->path));
    name[colon - r->path] = '\0';
    return sbx_user_make(root, name, owner_of(r), colon + 1, done, err);
}

static enum sbx_code run(int root, const struct record *r, struct sbx_input *in, int out,
                         enum sbx_done *done, struct sbx_err *err)
{
    enum sbx_code rc;

    if (!strcmp(r->verb, "write"))
        return do_write(root, r, in, done, err);
    if (!strcmp(r->verb, "append"))
        return do_append(root, r, in, done, err);
    if (!strcmp(r->verb, "link"))
        return do_link(root, r, in, err);
    rc = sbx_input_copy(in, r->length, -1, err); /* no other verb has content */
    if (rc)
        return rc;
    if (!strcmp(r->verb, "mkdir"))
        return sbx_inside_mkdir(root, r->path, owner_of(r), (mode_t)r->mode, r->if_missing, done,
                                err);
    if (!strcmp(r->verb, "user"))
        return do_user(root, r, done, err);
    if (!strcmp(r->verb, "remove"))
        return sbx_inside_remove(root, r->path, err);
    if (!strcmp(r->verb, "probe")) /* a line of facts before the answer */
        return sbx_init_probe(out) ? sbx_err_set(err, SBX_FAILED, "no facts") : SBX_OK;
    return sbx_err_set(err, SBX_USAGE, "unknown verb %s", r->verb);
}

/* Whoever wrote the records knows which path this one had. */
static void answer(int out, enum sbx_code rc, enum sbx_done done, const struct sbx_err *err)
{
    if (rc)
        dprintf(out, "error %s\n", err->text);
    else
        dprintf(out, "%s\n", done == SBX_DONE_KEPT ? "kept" : "ok");
}

int sbx_init_batch(int root, int in_fd, int out)
{
    static struct sbx_input in;
    char line[HEADER_MAX];
    int status = 0;

    in = (struct sbx_input){ .fd = in_fd };
    for (;;) {
        struct sbx_err err = SBX_ERR_INIT;
        struct record r = { .path = NULL };
        enum sbx_done done = SBX_DONE_OK;
        enum sbx_code rc = sbx_input_line(&in, line, sizeof(line), &err);

        if (rc == SBX_NOT_FOUND)
            return status;
        if (!rc)
            rc = parse(line, &r, &err);
        if (rc) { /* where the next header begins is not known */
            answer(out, rc, done, &err);
            return 1;
        }
        rc = run(root, &r, &in, out, &done, &err);
        answer(out, rc, done, &err);
        if (rc)
            status = 1;
    }
}
