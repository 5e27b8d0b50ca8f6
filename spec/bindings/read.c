/* One file: bytes, tree, struct, checks; and one error that sums up. */
#include "bindings_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sbx/file.h"
#include "sbx/yaml.h"

void sbx_bindings_report(struct sbx_decoder *d, enum sbx_severity severity, const void *field,
                         struct sbx_pos fallback, const char *key, const char *hint,
                         const char *fmt, ...)
{
    struct sbx_pos pos = fallback;
    char message[1024];
    va_list args;

    for (size_t i = 0; i < d->places->len; i++)
        if (d->places->v[i].field == field)
            pos = d->places->v[i].pos;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    sbx_diags_add(d->diags, severity, severity == SBX_ERROR ? "bad-value" : "no-effect", pos, key,
                  hint, "%s", message);
}

bool sbx_bindings_word(struct sbx_decoder *d, const char *const *field, const char *key,
                       const char *const *words)
{
    char want[200] = "";
    size_t len = 0;

    for (size_t i = 0; words[i]; i++) {
        if (*field && !strcmp(*field, words[i]))
            return true;
        len += (size_t)snprintf(want + len, sizeof(want) - len, "%s%s",
                                !i ? "write " : words[i + 1] ? ", " : " or ", words[i]);
    }
    sbx_bindings_report(d, SBX_ERROR, field, (struct sbx_pos){ 0 }, key, want,
                        "unknown value (%.80s)", *field ? *field : "");
    return false;
}

/* Lines at the top that are blank or comments. */
const char *sbx_bindings_head(struct sbx_arena *arena, const char *text)
{
    size_t len = 0;

    while (text && text[len] &&
           (text[len] == '#' || text[len] == '\n' || text[len] == '\r')) {
        len += strcspn(text + len, "\n");
        len += text[len] == '\n';
    }
    return len ? sbx_arena_memdup(arena, text, len) : NULL;
}

static enum sbx_code sum_up(const char *path, const struct sbx_diags *diags, size_t before,
                            enum sbx_code rc, struct sbx_err *err)
{
    const struct sbx_diag *last = NULL;

    for (size_t i = 0; i < diags->len; i++)
        if (diags->v[i].severity == SBX_ERROR)
            last = &diags->v[i];
    if (diags->errors - before != 1 || !last)
        return sbx_err_set(err, rc, "%s: %zu errors", path, diags->errors - before);
    return sbx_err_set(err, rc, "%s:%u: %s%s%s", path, last->pos.line, last->path,
                       *last->path ? ": " : "", last->message);
}

static enum sbx_code decode(const char *path, const struct sbx_block *block, void *base,
                            void (*check)(struct sbx_decoder *d, void *base),
                            struct sbx_arena *arena, const struct sbx_buf *text,
                            struct sbx_diags *diags)
{
    const struct sbx_yaml_node *root = NULL;
    struct sbx_places places = { .v = NULL };
    struct sbx_decoder d = { .arena = arena, .diags = diags, .kit = "", .places = &places };
    size_t before = diags->errors;
    enum sbx_code rc = sbx_yaml_parse(arena, path, text->ptr ? text->ptr : "", text->len, diags, &root);

    if (rc || !root || (root->kind == SBX_YAML_SCALAR && sbx_yaml_is_null(root)))
        return rc;
    sbx_decode_block(&d, block, root, base);
    if (!d.no_memory && diags->errors == before)
        check(&d, base);
    return d.no_memory ? SBX_NO_MEMORY : SBX_OK;
}

enum sbx_code sbx_bindings_text(const char *path, struct sbx_buf *text, struct sbx_err *err)
{
    enum sbx_code rc = sbx_file_read(AT_FDCWD, path, text, err);
    struct stat st;

    if (rc == SBX_NOT_FOUND && !lstat(path, &st) && S_ISLNK(st.st_mode))
        return sbx_err_set(err, SBX_FAILED, "%s: a link to a file that is not there; make the file, "
                           "or remove the link", path);
    return rc;
}

enum sbx_code sbx_bindings_read(const char *path, const struct sbx_block *block, void *base,
                                void (*check)(struct sbx_decoder *d, void *base),
                                struct sbx_arena *arena, const char **head, struct sbx_diags *diags,
                                struct sbx_err *err)
{
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(SBX_BINDINGS_MAX);
    enum sbx_code rc = sbx_bindings_text(path, &text, err);

    if (rc == SBX_NOT_FOUND)
        return SBX_OK;
    if (rc)
        return rc;
    if (head)
        *head = sbx_bindings_head(arena, text.ptr);
    return sbx_bindings_decode(path, &text, block, base, check, arena, diags, err);
}

enum sbx_code sbx_bindings_decode(const char *path, const struct sbx_buf *text,
                                  const struct sbx_block *block, void *base,
                                  void (*check)(struct sbx_decoder *d, void *base),
                                  struct sbx_arena *arena, struct sbx_diags *diags,
                                  struct sbx_err *err)
{
    size_t before = diags->errors;
    const char *file = sbx_arena_strdup(arena, path);
    enum sbx_code rc;

    if (!file)
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    rc = decode(file, block, base, check, arena, text, diags);
    if (rc == SBX_NO_MEMORY || diags->no_memory)
        return sbx_err_set(err, SBX_NO_MEMORY, "%s: no memory", path);
    if (!rc && diags->errors > before)
        rc = SBX_SCHEMA;
    return rc ? sum_up(path, diags, before, rc, err) : SBX_OK;
}
