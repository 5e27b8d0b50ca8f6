#include "cli.h"

#include <string.h>

#define HELP_COLUMN 28 /* where the descriptions of flags begin */
#define USUAL_EXITS                                                                                \
    "0: done, 1: failed, 2: wrong usage, 3: consent or a log-in that works is missing, 4: refused by policy"

static void print_opt(const struct sbx_opt *o, FILE *out)
{
    char left[80];
    int n;

    n = o->letter ? snprintf(left, sizeof(left), "  -%c, --%s", o->letter, o->name)
                  : snprintf(left, sizeof(left), "      --%s", o->name);
    if (o->value)
        n += snprintf(left + n, sizeof(left) - (size_t)n, " %s", o->value);
    if (n + 2 > HELP_COLUMN)
        fprintf(out, "%s\n%*s%s\n", left, HELP_COLUMN, "", o->help);
    else
        fprintf(out, "%s%*s%s\n", left, HELP_COLUMN - n, "", o->help);
}

static void print_group(const struct sbx_opt_group *g, FILE *out)
{
    fprintf(out, "\n%s:\n", g->title ? g->title : "Flags");
    for (size_t i = 0; g->v[i].name; i++)
        if (!g->v[i].hidden)
            print_opt(&g->v[i], out);
}

static void print_subs(const struct sbx_verb *c, FILE *out)
{
    size_t longest = 0;

    for (size_t i = 0; i < c->n_sub; i++)
        if (!c->sub[i]->hidden && !c->sub[i]->not_built && strlen(c->sub[i]->name) > longest)
            longest = strlen(c->sub[i]->name);
    fputs("\nCommands:\n", out);
    for (size_t i = 0; i < c->n_sub; i++)
        if (!c->sub[i]->hidden && !c->sub[i]->not_built)
            fprintf(out, "  %-*s  %s\n", (int)longest, c->sub[i]->name, c->sub[i]->summary);
}

static void print_indented(const char *text, FILE *out)
{
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = strchrnul(text, '\n');
        fprintf(out, "%s%.*s\n", end > text ? "  " : "", (int)(end - text), text);
    }
}

void sbx_help_print(const struct sbx_verb *c, const char *path, FILE *out)
{
    bool own = c->run != NULL;

    fprintf(out, "%s\n\nUsage:\n", c->summary);
    if (c->n_sub)
        fprintf(out, "  %s COMMAND\n", path);
    if (own || !c->n_sub)
        fprintf(out, "  %s [flags]%s%s\n", path, c->args ? " " : "", c->args ? c->args : "");
    if (c->about)
        fprintf(out, "\n%s\n", c->about);
    if (c->n_sub)
        print_subs(c, out);
    if (c->example) {
        fputs("\nExamples:\n", out);
        print_indented(c->example, out);
    }
    for (size_t i = 0; i < c->n_groups; i++)
        print_group(&c->groups[i], out);
    print_group(&sbx_global_group, out);
    if (own) {
        fputs("\nExit status:\n", out);
        print_indented(c->exits ? c->exits : USUAL_EXITS, out);
    }
    if (c->n_sub)
        fprintf(out, "\nRun \"%s COMMAND --help\" for more about a command.\n", path);
}

/* ---- the same as markdown ---- */

static void docs_opts(const struct sbx_opt_group *g, FILE *out)
{
    fprintf(out, "\n%s:\n\n| flag | meaning |\n|---|---|\n", g->title ? g->title : "Flags");
    for (size_t i = 0; g->v[i].name; i++) {
        const struct sbx_opt *o = &g->v[i];

        if (o->hidden)
            continue;
        fputs("| `", out);
        if (o->letter)
            fprintf(out, "-%c, ", o->letter);
        fprintf(out, "--%s%s%s` | ", o->name, o->value ? " " : "", o->value ? o->value : "");
        for (const char *p = o->help; *p; p++)
            fprintf(out, *p == '|' ? "\\%c" : "%c", *p);
        fputs(" |\n", out);
    }
}

static void docs_command(const struct sbx_verb *c, const char *path, FILE *out)
{
    char deeper[96];

    if (c->hidden || c->not_built)
        return;
    if (!c->n_sub || c->run) {
        fprintf(out, "\n## %s\n\n%s\n\n    %s [flags]%s%s\n", path, c->summary, path,
                c->args ? " " : "", c->args ? c->args : "");
        if (c->about)
            fprintf(out, "\n%s\n", c->about);
        if (c->example) {
            fputs("\nExamples:\n\n```sh\n", out);
            fprintf(out, "%s\n```\n", c->example);
        }
        for (size_t i = 0; i < c->n_groups; i++)
            docs_opts(&c->groups[i], out);
        if (c->exits)
            fprintf(out, "\nExit status:\n%s\n", c->exits);
    }
    for (size_t i = 0; i < c->n_sub; i++) {
        snprintf(deeper, sizeof(deeper), "%s %s", path, c->sub[i]->name);
        docs_command(c->sub[i], deeper, out);
    }
}

static const char json_docs[] =
    "\nWith `--output json` standard output is one JSON value (one a line with `--follow`), also of a command that\n"
    "fails: `{\"diagnostics\": [...]}`. Standard error is one JSON object a line then, its kind in `event`:\n"
    "\n"
    "| event | meaning | fields |\n"
    "|---|---|---|\n"
    "| `step`, `output` | a step begins, a line it printed | `step` its id, `text` |\n"
    "| `done`, `failed` | a step ended | `step`, `ms` |\n"
    "| `blob` | bytes of a large blob are here, or on their way | `digest`, `done`, `total` |\n"
    "| `note`, `warning` | | `text`, `step` where it is of one |\n"
    "| `diagnostic` | a finding in a kit or in settings, where the value does not have it | as in `diagnostics` |\n"
    "| `error` | the last one of a command that failed | `text`, `code` |\n";

void sbx_docs_print(FILE *out)
{
    fputs(
        "# Commands\n\nMade from the program's own table by `sbx completion docs`; do not edit.\n",
        out);
    fprintf(out, "\n%s\n\nExit status, where a command names no other:\n%s\n", sbx_root.about,
            USUAL_EXITS);
    docs_opts(&sbx_global_group, out);
    fputs(json_docs, out);
    docs_command(&sbx_root, sbx_root.name, out);
}
