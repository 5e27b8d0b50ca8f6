#include "cli.h"

#include <ctype.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "out.h"
#include "remote.h"
#include "sbx/text.h"
#include "verbs.h"

/* Text of kits, files and commands is in it: nothing of it may act on the terminal. */
static void print_safe(FILE *out, const char *prefix, const char *text)
{
    for (const char *end; *text || *prefix; text = *end ? end + 1 : end, prefix = "") {
        SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(65536);

        end = strchrnul(text, '\n');
        if (sbx_text_escape(&b, text, (size_t)(end - text)) == SBX_OK)
            fprintf(out, "%s%s\n", prefix, b.ptr ? b.ptr : "");
    }
}

/* Colours only for a person who did not say no (https://no-color.org). */
static bool wants_colour(FILE *out)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fileno(out)) && (!no || !*no) && term && strcmp(term, "dumb");
}

/* On a terminal the source line with a caret follows the finding. */
static void print_excerpt(struct sbx_cli *cli, const struct sbx_diag *d, bool colour)
{
    SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(65536);

    if (sbx_diag_excerpt(d, &b) || !b.ptr)
        return;
    if (colour)
        fputs("\033[2m", cli->err);
    print_safe(cli->err, "", b.ptr);
    if (colour)
        fputs("\033[0m", cli->err);
}

/* Beside a value that does not have them in it. */
static void report_events(struct sbx_cli *cli)
{
    SBX_AUTO_JSON json_t *list = cli->reported < cli->diags.len ? sbx_diags_json(&cli->diags)
                                                                : NULL;

    for (; cli->reported < json_array_size(list); cli->reported++) {
        json_t *row = json_array_get(list, cli->reported);

        if (!json_object_set_new(row, "event", json_string("diagnostic")))
            sbx_out_event(cli, json_incref(row));
    }
}

void sbx_cli_report(struct sbx_cli *cli)
{
    bool terminal = isatty(fileno(cli->err)), colour = terminal && wants_colour(cli->err);
    bool cut = cli->reported < cli->diags.len &&
               cli->diags.dropped; /* said once, behind the last */

    if (cli->format == SBX_FORMAT_JSON && !cli->verb->sarif)
        report_events(cli);
    for (; cli->reported < cli->diags.len && cli->format == SBX_FORMAT_TABLE; cli->reported++) {
        SBX_AUTO(sbx_buf) b = SBX_BUF_INIT(65536);

        const struct sbx_diag *d = &cli->diags.v[cli->reported];

        if (colour)
            fputs(d->severity == SBX_ERROR ? "\033[31m" : "\033[33m", cli->err);
        if (sbx_diag_text(d, &b) == SBX_OK && b.ptr)
            print_safe(cli->err, "", b.ptr);
        if (colour)
            fputs("\033[0m", cli->err);
        if (terminal)
            print_excerpt(cli, d, colour);
    }
    if (cut && cli->format == SBX_FORMAT_TABLE)
        fprintf(cli->err, "(and %zu more)\n", cli->diags.dropped);
}

/* "note: ..." and "warning: ..." are kinds of events. */
static void note_event(const struct sbx_cli *cli, const char *text)
{
    bool warning = !strncmp(text, "warning: ", 9);

    if (warning || !strncmp(text, "note: ", 6))
        text = strchr(text, ' ') + 1;
    sbx_out_event(cli, sbx_out_event_of(warning ? "warning" : "note", text));
}

void sbx_cli_note(struct sbx_cli *cli, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (cli->format == SBX_FORMAT_JSON)
        note_event(cli, text);
    else
        print_safe(cli->err, "sbx: ", text);
}

enum sbx_code sbx_cli_confirm(struct sbx_cli *cli, const char *question, const char *instead,
                              struct sbx_err *err)
{
    char answer[16] = "";

    if (cli->global.no_input || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return sbx_err_set(err, SBX_USAGE, "this asks first; without a terminal run: %s", instead);
    fprintf(cli->err, "%s [y/N] ", question);
    fflush(cli->err);
    if (fgets(answer, sizeof(answer), stdin) && tolower((unsigned char)answer[0]) == 'y')
        return SBX_OK;
    return sbx_err_set(err, SBX_CANCELED, "nothing was done");
}

/* With JSON or YAML a failure is a value too (decision S28). */
static void print_failure(struct sbx_cli *cli, const struct sbx_err *err)
{
    struct sbx_err unused = SBX_ERR_INIT;
    json_t *list, *value;

    if (cli->format == SBX_FORMAT_TABLE || cli->printed)
        return;
    if (!cli->diags.errors)
        sbx_diags_add(&cli->diags, SBX_ERROR, sbx_code_name(err->code), err->at, NULL, NULL, "%s",
                      err->text);
    list = cli->sarif ? NULL : sbx_diags_json(&cli->diags);
    value = cli->sarif ? sbx_diags_sarif(&cli->diags, SBX_VERSION)
            : list     ? json_pack("{s:o}", "diagnostics", list)
                       : NULL;
    if (sbx_out_value(cli, value, &unused))
        print_safe(cli->err, "sbx: ", unused.text);
}

/* Is this error one of the findings, with its place, that were printed already? */
static bool was_reported(const struct sbx_cli *cli, const struct sbx_err *err)
{
    for (size_t i = 0; i < cli->reported; i++)
        if (cli->diags.v[i].severity == SBX_ERROR && *cli->diags.v[i].message &&
            strstr(err->text, cli->diags.v[i].message))
            return true;
    return false;
}

static void error_event(const struct sbx_cli *cli, const struct sbx_err *err)
{
    json_t *event = sbx_out_event_of("error", err->text);

    if (event && !json_object_set_new(event, "code", json_string(sbx_code_name(err->code))))
        sbx_out_event(cli, event);
    else
        json_decref(event);
}

static void print_error(struct sbx_cli *cli, const struct sbx_err *err)
{
    bool reported = was_reported(cli, err);

    if (cli->format == SBX_FORMAT_JSON) {
        error_event(cli, err);
        return;
    }
    if (reported && cli->diags.errors > 1)
        fprintf(cli->err, "sbx: %zu errors\n", cli->diags.errors);
    else if (err->text[0] && !reported)
        print_safe(cli->err, "sbx: ", err->text);
    if (err->code == SBX_USAGE)
        fprintf(cli->err, "Run \"%s --help\" for usage.\n", cli->path);
}

static enum sbx_code run(struct sbx_cli *cli, int argc, char *const *argv, struct sbx_err *err)
{
    enum sbx_code rc = sbx_cli_parse(cli, &sbx_root, argc, argv, err);
    const struct sbx_root_opts *root = cli->root_options;

    if (!rc && root && root->version)
        return sbx_verb_version.run(cli, err);
    /* Help is given even where the rest of the line is wrong. */
    if (cli->global.help || (!rc && cli->verb->n_sub && !cli->verb->run)) {
        sbx_help_print(cli->verb, cli->path, cli->out);
        return SBX_OK;
    }
    return rc ? rc : cli->verb->run(cli, err);
}

/* "| head -1": who reads has seen enough, which is no error to tell of. */
static bool reader_left(FILE *out)
{
    struct pollfd p = { .fd = fileno(out), .events = POLLOUT };

    return ferror(out) && poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

static int finish(struct sbx_cli *cli, enum sbx_code rc, struct sbx_err *err)
{
    sbx_cli_report(cli);
    if (rc) {
        err->code = rc;
        print_failure(cli, err);
        if (rc != SBX_IO || !reader_left(cli->out))
            print_error(cli, err);
    }
    if ((fflush(cli->out) || ferror(cli->out)) && !rc) {
        if (reader_left(cli->out))
            return 1;
        (void)sbx_err_errno(err, "write to standard output");
        print_error(cli, err);
        return 1;
    }
    if (cli->status >= 0)
        return cli->status;
    return sbx_code_exit(rc);
}

int sbx_cli_main(int argc, char *const *argv, FILE *out, FILE *err_file)
{
    SBX_AUTO_PTR(sbx_arena) arena = sbx_arena_new();
    struct sbx_cli cli = { .arena = arena, .out = out, .err = err_file, .status = -1 };
    struct sbx_err err = SBX_ERR_INIT;
    int status;

    if (!arena || sbx_diags_init(&cli.diags)) {
        fputs("sbx: out of memory\n", err_file);
        return 1;
    }
    cli.began = time(NULL);
    status = finish(&cli, run(&cli, argc, argv, &err), &err);
    if (sbx_cache_grew())
        sbx_cli_trim(&cli);
    sbx_diags_release(&cli.diags);
    return status;
}
