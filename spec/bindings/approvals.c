/* policy.yaml `approvals`: what kits may reach of this machine and its private network (N11). */
#include "approvals.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sbx/digest.h"

#define ID_DIGITS 12 /* of a digest, as the ids of rules have */

static const struct sbx_field approval_fields[] = {
    { .key = "kit", .type = SBX_FIELD_STRING, .offset = offsetof(struct sbx_raw_approval, kit),
      .doc = "Name of the kit." },
    { .key = "digest", .type = SBX_FIELD_STRING,
      .offset = offsetof(struct sbx_raw_approval, digest),
      .doc = "Its digest: a changed kit is another one." },
    { .key = "resource", .type = SBX_FIELD_STRING,
      .offset = offsetof(struct sbx_raw_approval, resource),
      .doc = "The kit's rule, like host.docker.internal:5432." },
};
const struct sbx_block sbx_approval_block = {
    "policy.approvals[]", sizeof(struct sbx_raw_approval), offsetof(struct sbx_raw_approval, at),
    -1, approval_fields, SBX_ARRAY_LEN(approval_fields), NULL
};

const char *sbx_policy_approval_id(const struct sbx_policy_approval *a, struct sbx_arena *arena)
{
    char digest[SBX_DIGEST_TEXT_SIZE];
    const char *text = sbx_arena_printf(arena, "%s\n%s\n%s", a->kit, a->digest, a->resource);

    if (!text || sbx_digest(text, strlen(text), digest))
        return NULL;
    return sbx_arena_printf(arena, "a-%.*s", ID_DIGITS, strchr(digest, ':') + 1);
}

/* Kept, as a rule that never matches is: it opens nothing. */
static void check_resource(struct sbx_decoder *d, const struct sbx_raw_approval *a)
{
    struct sbx_err err = SBX_ERR_INIT;
    const char *inert = NULL;
    struct sbx_pattern p;

    if (sbx_pattern_parse(a->resource, SBX_RULE_KIT, &p, &inert, &err))
        sbx_bindings_report(d, SBX_ERROR, &a->resource, a->at.pos, "approvals.resource", NULL, "%s",
                            err.text);
    else if (inert)
        sbx_bindings_report(d, SBX_WARNING, &a->resource, a->at.pos, "approvals.resource", inert,
                            "never matches a request (%.200s)", a->resource);
    else if (!sbx_pattern_needs_consent(&p))
        sbx_bindings_report(d, SBX_WARNING, &a->resource, a->at.pos, "approvals.resource",
                            "remove it; approvals are for this machine and private addresses",
                            "a kit's rule for it needs no approval (%.200s)", a->resource);
}

void sbx_approval_check(struct sbx_decoder *d, const struct sbx_raw_approval *a)
{
    if (!a->kit || !a->digest || !a->resource) {
        sbx_bindings_report(d, SBX_ERROR, NULL, a->at.pos, "approvals",
                            "write {kit: NAME, digest: \"sha256:...\", resource: HOST:PORT}",
                            "an approval without a %s",
                            !a->kit ? "kit" : !a->digest ? "digest" : "resource");
        return;
    }
    if (!sbx_bindings_is_plain(a->kit, SBX_RULE_ID_MAX))
        sbx_bindings_report(d, SBX_ERROR, &a->kit, a->at.pos, "approvals.kit",
                            "name a kit as its spec does", "not a kit's name (%.80s)", a->kit);
    if (!sbx_digest_valid(a->digest))
        sbx_bindings_report(d, SBX_ERROR, &a->digest, a->at.pos, "approvals.digest",
                            "sha256: and 64 digits, as sbx plan --json shows it for the kit",
                            "not a digest (%.80s)", a->digest);
    check_resource(d, a);
}

enum sbx_code sbx_approval_convert(const struct sbx_raw_approval *from, struct sbx_arena *arena,
                                   struct sbx_policy_approval *to)
{
    *to = (struct sbx_policy_approval){ from->kit, from->digest, from->resource, NULL, from->at.pos };
    to->id = sbx_policy_approval_id(to, arena);
    return to->id ? SBX_OK : SBX_NO_MEMORY;
}

enum sbx_code sbx_approvals_settle(struct sbx_policy_file *f, struct sbx_diags *diags)
{
    SBX_AUTO_FREE struct sbx_numbered *sorted = calloc(f->n_approvals + 1, sizeof(*sorted));
    SBX_AUTO_FREE bool *drop = calloc(f->n_approvals + 1, sizeof(*drop));
    size_t kept = 0;

    if (!sorted || !drop)
        return SBX_NO_MEMORY;
    for (size_t i = 0; i < f->n_approvals; i++)
        sorted[i] = (struct sbx_numbered){ f->approvals[i].id, i };
    qsort(sorted, f->n_approvals, sizeof(*sorted), sbx_bindings_compare_ids);
    for (size_t i = 1; i < f->n_approvals; i++) {
        const struct sbx_policy_approval *a = &f->approvals[sorted[i].index],
                                         *before = &f->approvals[sorted[i - 1].index];

        if (strcmp(before->id, a->id)) /* of kit, digest and resource */
            continue;
        drop[sorted[i].index] = true;
        sbx_diags_add(diags, SBX_WARNING, "same-approval", a->at, "approvals", "remove it",
                      "the same approval as line %u (%s)", before->at.line, a->resource);
    }
    for (size_t i = 0; i < f->n_approvals; i++)
        if (!drop[i])
            f->approvals[kept++] = f->approvals[i];
    f->n_approvals = kept;
    return SBX_OK;
}

enum sbx_code sbx_approval_write(const struct sbx_policy_approval *a, struct sbx_buf *out)
{
    const struct { const char *before, *value; } parts[] = {
        { "  - kit: ", a->kit }, { "    digest: ", a->digest }, { "    resource: ", a->resource },
    };
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; !rc && i < SBX_ARRAY_LEN(parts); i++) {
        rc = sbx_buf_adds(out, parts[i].before);
        if (!rc)
            rc = sbx_bindings_quote(parts[i].value, out);
        if (!rc)
            rc = sbx_buf_adds(out, "\n");
    }
    return rc;
}
