/**
 * @file
 * Kit references: what kind a string is, and its parts. A pure string parser (decision C11); nothing
 * is looked up. Source: kit specification "distribution"; decisions C4, C5, S24.
 */
#ifndef SBX_REF_H
#define SBX_REF_H

#include <stdbool.h>

#include "sbx/arena.h"
#include "sbx/err.h"

/* What to do with an archive of the old kind, wherever one is named. */
#define SBX_REF_ZIP_HINT                                                                           \
    "kits as ZIP archives are of version 1 and are not taken: unpack it, run \"sbx kit migrate\" on the " \
    "directory and give that"
#define SBX_REF_MAX 4096 /* bytes, PATH_MAX: a reference may be a path */

enum sbx_ref_kind {
    SBX_REF_NAME,      /**< a bare word: built-in or catalog kit; no such kit: perhaps a directory */
    SBX_REF_DIRECTORY, /**< ./x ../x /x ~/x . .. a/b x.yaml or file://x; a spec file too */
    SBX_REF_GIT,       /**< git+https://, git+ssh://, git+http://, git+file:// */
    SBX_REF_OCI,       /**< oci://host/repo[:tag][@digest], or host/repo... with a registry host */
    SBX_REF_LAYOUT,    /**< oci-layout:DIR[:tag][@digest]: an OCI image layout on this machine */
};

struct sbx_ref {
    enum sbx_ref_kind kind;
    const char *text; /**< as written */
    const char *name; /**< NAME */
    const char *path; /**< DIRECTORY: without file://; LAYOUT: its directory */
    const char *url;  /**< GIT: without git+ and fragment */
    const char *revision, *subdir;                     /**< GIT: ref=, dir= (decoded, clean); NULL:
                                                            none, the root */
    const char *registry, *repository, *tag, *digest;  /**< OCI, the last two LAYOUT; NULL: none */
    bool immutable; /**< NAME, DIRECTORY; GIT with 40 hex digits; OCI, LAYOUT with a digest */
};

/**
 * @param arena owns the parts
 * @return SBX_OK; SBX_SCHEMA: err says what is wrong and what to write instead
 */
SBX_MUST_USE enum sbx_code sbx_ref_parse(const char *text, struct sbx_arena *arena,
                                         struct sbx_ref *ret, struct sbx_err *err);
/** SBX_OK, or SBX_SCHEMA with the seed's pinning rule and the spelling to use (C5). */
SBX_MUST_USE enum sbx_code sbx_ref_require_immutable(const struct sbx_ref *r, struct sbx_err *err);

/** A git reference with this commit in place of its own: what is written instead. In arena; NULL: no memory. */
const char *sbx_ref_git_text(const struct sbx_ref *r, const char *commit, struct sbx_arena *arena);

/**
 * A reference that a kit's spec makes (extends, mixins). A relative path counts from the directory of
 * the declaring spec and stays inside its tree: the kit's directory, or the git repository at the same
 * revision. OCI and built-in kits have no tree; paths of the caller's machine are refused (S24).
 *
 * @param declaring the kit that the reference stands in
 * @return as sbx_ref_parse()
 */
SBX_MUST_USE enum sbx_code sbx_ref_parse_in(const struct sbx_ref *declaring, const char *text,
                                            struct sbx_arena *arena, struct sbx_ref *ret,
                                            struct sbx_err *err);
const char *sbx_ref_kind_name(enum sbx_ref_kind kind); /**< "name", "directory", "git", "oci", "layout" */

#endif
