/* The agent's profile file and kits-memory/ (seed lifecycle 11.5). */
#include "build.h"

#include <string.h>

#define SECTION_START "<!-- sbx:kits-section start -->"
#define SECTION_END "<!-- sbx:kits-section end -->"
#define MEMORY_DIR "kits-memory"
#define PROFILE_MAX 16777216 /* bytes; texts of kits are at most a spec file each */

static bool inside_mount(const struct sbx_plan *p, const char *dir)
{
    for (size_t i = 0; i < p->n_mounts; i++) {
        size_t len = strlen(p->mounts[i].target);

        if (!strncmp(dir, p->mounts[i].target, len) && (!dir[len] || dir[len] == '/'))
            return true;
    }
    return false;
}

/*
 * Beside the workspace, in its parent: agents read profile files of parent directories, and nothing
 * lands in the user's working copy. Where the parent is the root or a mount of the host: the home.
 */
static const char *directory(struct sbx_planner *b)
{
    const char *last = strrchr(b->p->workdir, '/');
    const char *parent;

    if (!last || last == b->p->workdir)
        return SBX_AGENT_HOME;
    parent = sbx_build_fmt(b, "%.*s", (int)(last - b->p->workdir), b->p->workdir);
    return parent && !inside_mount(b->p, parent) ? parent : SBX_AGENT_HOME;
}

static bool has_context(const struct sbx_kit_ref *k)
{
    return !strcmp(k->kind, "mixin") && k->agent_context && *k->agent_context;
}

static size_t count_mixins(const struct sbx_planner *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->a->kits.len; i++)
        n += has_context(&b->a->kits.v[i]);
    return n;
}

static enum sbx_code section(struct sbx_planner *b, const char *dir, struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_addf(out, SECTION_START
                                    "\n## Kits\n\nThis sandbox was set up by the kits "
                                    "below. Before you use what one of them provides, read its "
                                    "file.\n\n");

    for (size_t i = 0; !rc && i < b->a->kits.len; i++)
        if (has_context(&b->a->kits.v[i]))
            rc = sbx_buf_addf(out, "- %s: `%s/" MEMORY_DIR "/%s.md`\n", b->a->kits.v[i].name, dir,
                              b->a->kits.v[i].name);
    return rc ? rc : sbx_buf_adds(out, SECTION_END "\n");
}

static enum sbx_code profile(struct sbx_planner *b, const char *dir, size_t n, struct sbx_buf *out)
{
    const char *text = b->a->agent_context;
    enum sbx_code rc = SBX_OK;

    if (text && *text)
        rc = sbx_buf_addf(out, "%s%s", text, text[strlen(text) - 1] == '\n' ? "" : "\n");
    if (!rc && n && out->len)
        rc = sbx_buf_adds(out, "\n");
    return rc || !n ? rc : section(b, dir, out);
}

static struct sbx_plan_file *add(struct sbx_planner *b, struct sbx_plan_step *step,
                                 const char *path, const char *kit, const char *text, size_t len)
{
    struct sbx_plan_file *f = &step->files[step->n_files++];

    *f = (struct sbx_plan_file){ .path = path,
                                 .mode = 0644,
                                 .uid = SBX_AGENT_UID,
                                 .gid = SBX_AGENT_UID,
                                 .kit = sbx_build_str(b, kit) };
    sbx_build_data(b, f, text, len);
    return f;
}

bool sbx_build_instructions(struct sbx_planner *b, struct sbx_plan_step *step)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(PROFILE_MAX);
    size_t n = count_mixins(b);
    const char *dir = directory(b);

    step->files = sbx_build_array(b, n + 1, sizeof(*step->files));
    if (!step->files || !dir)
        return true;
    if (b->a->ai_filename && *b->a->ai_filename) {
        if (profile(b, dir, n, &out))
            b->no_memory = true;
        else if (out.len)
            add(b, step, sbx_build_fmt(b, "%s/%s", dir, b->a->ai_filename), b->a->name,
                sbx_build_str(b, out.ptr), out.len)
                ->generated = "profile";
    }
    for (size_t i = 0; i < b->a->kits.len; i++) {
        const struct sbx_kit_ref *k = &b->a->kits.v[i];

        if (has_context(k))
            add(b, step, sbx_build_fmt(b, "%s/" MEMORY_DIR "/%s.md", dir, k->name), k->name,
                sbx_build_str(b, k->agent_context), strlen(k->agent_context));
    }
    return step->n_files > 0;
}

static enum sbx_code add_once(const char *old, size_t old_len, const char *text, size_t len,
                              struct sbx_buf *out)
{
    enum sbx_code rc = SBX_OK;

    while (len && text[len - 1] == '\n')
        len--;
    if (!len || memmem(old, old_len, text, len))
        return SBX_OK;
    if (out->len && out->ptr[out->len - 1] != '\n')
        rc = sbx_buf_adds(out, "\n");
    if (!rc && out->len)
        rc = sbx_buf_adds(out, "\n");
    if (!rc)
        rc = sbx_buf_add(out, text, len);
    return rc ? rc : sbx_buf_adds(out, "\n");
}

enum sbx_code sbx_instructions_merge(const char *old, size_t len, const char *fresh,
                                     struct sbx_buf *out)
{
    const char *ours = strstr(fresh, SECTION_START);
    const char *from = len ? memmem(old, len, SECTION_START, strlen(SECTION_START)) : NULL;
    const char *to = from ? memmem(from, len - (size_t)(from - old), SECTION_END,
                                   strlen(SECTION_END))
                          : NULL;
    enum sbx_code rc;

    if (!len)
        return sbx_buf_adds(out, fresh);
    if (!to) { /* no whole section of ours: all of it stays */
        rc = sbx_buf_add(out, old, len);
        if (!rc)
            rc = add_once(old, len, fresh, ours ? (size_t)(ours - fresh) : strlen(fresh), out);
        return rc || !ours ? rc : add_once(old, len, ours, strlen(ours), out);
    }
    to += strlen(SECTION_END);
    if (to < old + len && *to == '\n')
        to++;
    rc = sbx_buf_add(out, old, (size_t)(from - old));
    if (!rc && ours)
        rc = sbx_buf_adds(out, ours);
    if (!rc)
        rc = sbx_buf_add(out, to, (size_t)(old + len - to));
    return rc ? rc : add_once(old, len, fresh, ours ? (size_t)(ours - fresh) : strlen(fresh), out);
}
