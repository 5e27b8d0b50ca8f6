/* Checks of single values. Each is named by rows of the grammar. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "spdx.h"

static bool is_lower_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool sbx_is_kit_name(const char *text)
{
    size_t len = strlen(text);

    if (!len || len > 64 || !is_lower_alnum(text[0]) || !is_lower_alnum(text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_lower_alnum(text[i]) && text[i] != '-')
            return false;
    return true;
}

bool sbx_is_shell_name(const char *text)
{
    if (!is_alpha(*text) && *text != '_')
        return false;
    for (; *text; text++)
        if (!is_alpha(*text) && *text != '_' && !(*text >= '0' && *text <= '9'))
            return false;
    return true;
}

bool sbx_is_octal_mode(const char *text)
{
    size_t len = strlen(text);

    /* three or four digits, perhaps behind a 0 */
    return len >= 3 && len <= 5 && strspn(text, "01234567") == len && (len < 5 || *text == '0');
}

void sbx_check_name(struct sbx_checker *c, const char *const *place, const char *value)
{
    if (!sbx_is_kit_name(value))
        sbx_check_report(c, SBX_ERROR, "bad-name", place, NULL,
                         "use a-z, 0-9 and \"-\" inside, 1 to 64 characters", "not a name (%.80s)",
                         value);
}

void sbx_check_absolute(struct sbx_checker *c, const char *const *place, const char *value)
{
    if (*value != '/')
        sbx_check_report(c, SBX_ERROR, "bad-path", place, NULL, "begin it with \"/\"",
                         "must be an absolute path (%.200s)", value);
}

void sbx_check_volume_type(struct sbx_checker *c, const char *const *place, const char *value)
{
    if (strcmp(value, "tmpfs"))
        sbx_check_report(c, SBX_ERROR, "bad-value", place, NULL,
                         "write tmpfs, or leave it out for a volume", "unknown volume type (%.80s)",
                         value);
}

void sbx_check_size(struct sbx_checker *c, const char *const *place, const char *value)
{
    int64_t bytes;

    if (!sbx_size_parse(value, &bytes))
        sbx_check_report(c, SBX_ERROR, "bad-size", place, NULL,
                         "write a number with k, m, g, t or p, such as \"512m\"",
                         "not a byte size (%.80s)", value);
}

void sbx_check_mode(struct sbx_checker *c, const char *const *place, const char *value)
{
    if (!sbx_is_octal_mode(value))
        sbx_check_report(c, SBX_ERROR, "bad-mode", place, NULL, "write octal digits such as \"0644\"",
                         "not octal permissions (%.80s)", value);
}

void sbx_check_protocol(struct sbx_checker *c, const char *const *place, const char *value)
{
    if (strcmp(value, "tcp") && strcmp(value, "udp"))
        sbx_check_report(c, SBX_ERROR, "bad-value", place, NULL, "write tcp or udp",
                         "unknown protocol (%.80s)", value);
}

void sbx_check_format(struct sbx_checker *c, const char *const *place, const char *value)
{
    const char *s = strstr(value, "%s");

    if (!s || strstr(s + 2, "%s"))
        sbx_check_report(c, SBX_ERROR, "bad-format", place, NULL,
                         "write %s where the credential goes, once", "needs exactly one %%s (%.80s)",
                         value);
}

/* Only ${WORKDIR} is filled in; other shell-like names reach the file as they are. */
void sbx_check_content(struct sbx_checker *c, const char *const *place, const char *value)
{
    const char *s = value;

    while ((s = strstr(s, "${"))) {
        size_t len = strcspn(s + 2, "}");

        if (len < 64 && s[2 + len] == '}' && strncmp(s + 2, "WORKDIR}", 8) && s[2] != '{') {
            sbx_check_report(c, SBX_WARNING, "bad-placeholder", place, NULL,
                             "only ${WORKDIR} is filled in; this stays as it is",
                             "holds ${%.*s}", (int)len, s + 2);
            return;
        }
        s += 2;
    }
}

/* A dotted path: segments [a-z][A-Za-z0-9_]*, each with an optional [key=value]. */
static bool is_locked_path(const char *s)
{
    for (;;) {
        if (*s < 'a' || *s > 'z')
            return false;
        while (is_alpha(*s) || (*s >= '0' && *s <= '9') || *s == '_')
            s++;
        if (*s == '[') {
            size_t len = strcspn(s, "]");

            if (!s[len] || !memchr(s + 1, '=', len - 1))
                return false;
            s += len + 1;
        }
        if (!*s)
            return true;
        if (*s++ != '.')
            return false;
    }
}

/* Is the same text earlier in the list? */
static void check_twice(struct sbx_checker *c, const struct sbx_strs *all, const char *const *place)
{
    for (const char **other = all->v; (const char *const *)other < place; other++)
        if (!strcmp(*other, *place)) {
            sbx_check_report(c, SBX_ERROR, "given-twice", place, NULL, "keep one of them",
                             "given twice (%.200s)", *place);
            return;
        }
}

void sbx_check_locked(struct sbx_checker *c, const char *const *place, const char *value)
{
    if (!is_locked_path(value))
        sbx_check_report(c, SBX_ERROR, "bad-locked", place, NULL,
                         "write a dotted path such as sandbox.image", "not a path (%.200s)", value);
    check_twice(c, &c->a->locked, place);
}

#define SUGGESTIONS_MAX 20 /* each looks at all identifiers; nobody reads more */

/* What to write instead of an identifier that is not on the list. */
static void report_license(struct sbx_checker *c, const char *const *place, const char *value)
{
    const char *meant = c->diags->len < SUGGESTIONS_MAX ? sbx_spdx_suggest(value) : NULL;
    char hint[300];

    if (meant)
        snprintf(hint, sizeof(hint), "did you mean \"%s\"?", meant);
    sbx_check_report(c, SBX_WARNING, "unknown-license", place, NULL,
                     meant ? hint : "see https://spdx.org/licenses for the identifiers",
                     "not an SPDX identifier (%.80s)", value);
}

void sbx_check_license(struct sbx_checker *c, const char *const *place, const char *value)
{
    enum sbx_spdx status = sbx_spdx_status(value);
    bool gnu = strstr(value, "GPL-") || strstr(value, "GFDL-");

    if (!*value)
        sbx_check_report(c, SBX_ERROR, "missing-field", place, NULL, "name a license or remove it",
                         "is empty");
    else if (status == SBX_SPDX_DEPRECATED)
        sbx_check_report(c, SBX_WARNING, "unknown-license", place, NULL,
                         gnu ? "add -only or -or-later to the number of the version"
                             : "see https://spdx.org/licenses for the new one",
                         "a deprecated SPDX identifier (%.80s)", value);
    else if (status == SBX_SPDX_UNKNOWN)
        report_license(c, place, value);
    check_twice(c, &c->a->licenses, place);
}
