/* policy suggest: what a kit would have to allow, from what a sandbox asked for. */
#include <string.h>

#include "logview.h"
#include "out.h"
#include "session.h"
#include "suggest.h"
#include "verbs.h"

#define REFUSED_SHOWN 20 /* lines of what was refused; --json has all */

static enum sbx_code read_log(struct sbx_cli *cli, struct sbx_session *s, json_t *asked,
                              struct sbx_err *err)
{
    FILE *log[SBX_LOG_PARTS] = { NULL };
    const char *path = NULL;
    enum sbx_code rc = sbx_sandbox_log_path(s->engine, cli->args.v[0], cli->arena, &path, err);

    if (!rc)
        rc = sbx_log_open(path, log, err);
    for (int i = 0; !rc && i < SBX_LOG_PARTS; i++)
        if (log[i])
            rc = sbx_suggest_read(log[i], asked, err);
    sbx_log_close(log);
    return rc;
}

/* "install/hello/1, agent" */
static const char *joined(struct sbx_arena *arena, const json_t *list)
{
    const char *all = "";
    json_t *one;
    size_t i;

    json_array_foreach((json_t *)list, i, one)
        if (!(all = sbx_arena_printf(arena, "%s%s%s", all, *all ? ", " : "",
                                     json_string_value(one))))
            return "";
    return sbx_out_clean(arena, all);
}

static void print_rules(struct sbx_cli *cli, const json_t *rules)
{
    json_t *r;
    size_t i;

    fprintf(cli->out, "permissions:\n  network:\n    allow:%s\n",
            json_array_size(rules) ? "" : " []");
    json_array_foreach((json_t *)rules, i, r) {
        const char *pattern = json_string_value(json_object_get(r, "pattern"));
        const json_t *hosts = json_object_get(r, "hosts");

        if (*pattern == '*')
            fprintf(cli->out, "      # %s\n", joined(cli->arena, hosts));
        fprintf(cli->out, "      - \"%s\"", sbx_out_clean(cli->arena, pattern));
        if (json_array_size(json_object_get(r, "steps")))
            fprintf(cli->out, " # %s", joined(cli->arena, json_object_get(r, "steps")));
        fputc('\n', cli->out);
    }
}

static void print_refused(struct sbx_cli *cli, const json_t *refused)
{
    json_t *r;
    size_t i;

    if (json_array_size(refused))
        fputs("# Asked for and refused; a rule for it is for you to decide on:\n", cli->out);
    json_array_foreach((json_t *)refused, i, r) {
        const char *steps = joined(cli->arena, json_object_get(r, "steps"));

        if (i == REFUSED_SHOWN) {
            fprintf(cli->out, "#   %zu more\n", json_array_size(refused) - i);
            break;
        }
        fprintf(cli->out, "#   %s (%s)%s%s\n",
                sbx_out_clean(cli->arena, json_string_value(json_object_get(r, "host"))),
                sbx_out_clean(cli->arena, json_string_value(json_object_get(r, "reason"))),
                *steps ? " " : "", steps);
    }
}

static enum sbx_code suggest(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = true };
    SBX_AUTO_JSON json_t *asked = json_object();
    json_t *config = NULL, *result;
    enum sbx_code rc = sbx_session_open(&s, cli, NULL, err);

    if (!rc)
        rc = read_log(cli, &s, asked, err);
    if (rc)
        return rc;
    if (!sbx_sandbox_gate_config(s.engine, cli->args.v[0], &config, NULL) &&
        !json_is_true(json_object_get(config, "learn")))
        sbx_cli_note(
            cli,
            "note: sandbox %s was not made with --learn: what was refused is not among the rules",
            cli->args.v[0]);
    json_decref(config);
    if (!json_object_get(asked, "allow")) /* no log was there to read */
        rc = json_object_set_new(asked, "allow", json_object()) ||
                     json_object_set_new(asked, "refused", json_object())
                 ? sbx_err_set(err, SBX_NO_MEMORY, "out of memory")
                 : SBX_OK;
    result = rc ? NULL : sbx_suggest_rules(asked);
    if (!result)
        return rc ? rc : sbx_err_set(err, SBX_NO_MEMORY, "out of memory");
    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, result, err);
    print_rules(cli, json_object_get(result, "rules"));
    print_refused(cli, json_object_get(result, "refused"));
    json_decref(result);
    return SBX_OK;
}

const struct sbx_verb sbx_verb_policy_suggest = {
    .name = "suggest",
    .summary = "Print the rules a kit needs, from what a sandbox asked for",
    .args = "SANDBOX",
    .about =
        "Made for a sandbox that was made with --learn: no preset and no allow rule of yours counts "
        "there, public\n"
        "hosts pass all the same, and each request is recorded with the step of the plan that asked. "
        "Prints\n"
        "permissions.network.allow with hosts and ports, the step behind each; three names below "
        "one parent\n"
        "become a wildcard, unless another name there was refused. This machine, private addresses "
        "and what a\n"
        "deny rule names are never opened: they are listed as refused. A host whose verdict changed "
        "counts by the\n"
        "last one. Works after the sandbox was removed.",
    .example = "sbx run --learn --kit ./my-kit shell\n"
               "sbx policy suggest shell-project >>my-kit/spec.yaml",
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_SANDBOX,
    .run = suggest,
};
