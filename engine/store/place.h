/* Putting entries of an archive into a tree: tree.c reads, place.c writes. */
#ifndef SBX_STORE_PLACE_H
#define SBX_STORE_PLACE_H

#include <sys/stat.h>
#include <time.h>

#include "sbx/late_archive.h"
#include "store.h"

struct sbx_dir_time {
    char *path;
    struct timespec mtime;
};

struct sbx_place {
    const struct sbx_unpack *how;
    const struct sbx_archive *la;
    struct archive *archive;
    char parent[4096];         /* path of parent_fd, as the entries spell it */
    int parent_fd;             /* -1: none yet; most entries share it with the one before */
    struct sbx_dir_time *dirs; /* set when all is written: filling a directory changes its time */
    size_t n_dirs, cap_dirs;
};

/* What an entry says about its file, checked. */
struct sbx_entry_meta {
    mode_t type, perm;
    uid_t uid;
    gid_t gid;
    dev_t rdev;
    int64_t size;
    struct timespec mtime;
    const char *link;     /* symlink's text */
    const char *hardlink; /* path of the other name */
};

enum sbx_code sbx_place_entry(struct sbx_place *p, struct archive_entry *entry,
                              struct sbx_err *err);
enum sbx_code sbx_place_finish(struct sbx_place *p, struct sbx_err *err);
void sbx_place_release(struct sbx_place *p);
SBX_DEFINE_AUTO(sbx_place, sbx_place_release);

/* parent.c */
enum sbx_code sbx_place_parent(struct sbx_place *p, const char *path, size_t len, int *ret,
                               struct sbx_err *err);
bool sbx_is_whiteout(const struct stat *st);
int sbx_make_whiteout(int dir, const char *name);
int sbx_make_opaque(int dir);
/* attrs.c */
enum sbx_code sbx_place_attributes(struct sbx_place *p, int fd, const struct sbx_entry_meta *m,
                                   struct archive_entry *entry, struct sbx_err *err);
enum sbx_code sbx_entry_meta(const struct sbx_archive *la, struct archive_entry *entry,
                             struct sbx_entry_meta *ret, struct sbx_err *err);

#endif
