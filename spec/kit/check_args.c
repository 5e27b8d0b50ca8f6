/* Declarations of arguments (RB 1.7); their values are substituted elsewhere. */
#include <string.h>

#include "check.h"
#include "pattern_re.h"

static bool is_arg_name(const char *s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

    if (!strspn(s, letters))
        return false;
    for (; *s; s++)
        if (!strchr(letters, *s) && *s != '-' && !(*s >= '0' && *s <= '9'))
            return false;
    return true;
}

static void report(struct sbx_checker *c, const void *field, const char *key, const char *hint,
                   const char *text)
{
    sbx_check_report(c, SBX_ERROR, "bad-arg", field, key, hint, "%s", text);
}

static void check_default(struct sbx_checker *c, const struct sbx_arg *a)
{
    struct sbx_err err = SBX_ERR_INIT;
    bool found = !a->choices.len;
    enum sbx_code rc = SBX_OK;

    for (size_t i = 0; i < a->choices.len && a->default_value; i++)
        found = found || !strcmp(a->choices.v[i], a->default_value);
    if (!a->default_value)
        return;
    if (!found)
        sbx_check_report(c, SBX_ERROR, "bad-arg", &a->default_value, "default", "name one of enum",
                         "is not one of enum (%.80s)", a->default_value);
    else if (a->pattern && *a->pattern && !sbx_re_check(a->pattern, NULL))
        rc = sbx_re_match(a->pattern, a->default_value, &err);
    c->diags->no_memory |= rc == SBX_NO_MEMORY;
    if (rc)
        sbx_check_report(c, SBX_ERROR, "bad-arg", &a->default_value, "default", NULL,
                         "%s (%.80s)", err.text, a->default_value);
}

static void check_choices(struct sbx_checker *c, const struct sbx_strs *choices)
{
    for (size_t i = 1; i < choices->len; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(choices->v[i], choices->v[k])) {
                report(c, choices, "enum", "keep one of them", "names a value twice");
                return;
            }
}

static void check_arg(struct sbx_checker *c, const struct sbx_arg *a)
{
    struct sbx_err err = SBX_ERR_INIT;
    enum sbx_code rc;

    if (!is_arg_name(a->name))
        report(c, NULL, NULL, "use letters, digits, \"_\" and \"-\", no digit first",
               "not the name of an argument");
    if (a->default_value && a->required)
        report(c, &a->required, "required", "remove required or default",
               "an argument with a default is never required");
    else if (!a->default_value && !a->required)
        report(c, NULL, NULL, "add one of them",
               "must declare either a default or required: true");
    if (a->choices.len && a->pattern && *a->pattern)
        report(c, &a->pattern, "pattern", "remove enum or pattern", "is redundant beside enum");
    check_choices(c, &a->choices);
    rc = a->pattern && *a->pattern ? sbx_re_check(a->pattern, &err) : SBX_OK;
    c->diags->no_memory |= rc == SBX_NO_MEMORY;
    if (rc)
        report(c, &a->pattern, "pattern", "see https://github.com/google/re2/wiki/Syntax", err.text);
    check_default(c, a);
}

void sbx_check_args(struct sbx_checker *c)
{
    for (size_t i = 0; i < c->a->args.len; i++) {
        size_t mark = sbx_check_enter(c, "args.", c->a->args.v[i].name);

        c->near = &c->a->args.v[i].at;
        check_arg(c, &c->a->args.v[i]);
        sbx_check_leave(c, mark);
    }
    c->near = NULL;
}
