/* ports: which ports of a sandbox this machine can reach. */
#include <string.h>

#include "info.h"
#include "out.h"
#include "session.h"
#include "verbs.h"

struct ports_opts {
    struct sbx_texts publish, unpublish;
};

static const struct sbx_opt rows[] = {
    SBX_LISTOF(struct ports_opts, publish, "publish", 'p', "SPEC",
               "Publish, as ports publish does (repeatable)"),
    SBX_LISTOF(struct ports_opts, unpublish, "unpublish", 0, "SPEC",
               "Take back, as ports unpublish does (repeatable)"),
    SBX_OPT_END
};
static const struct sbx_opt_group groups[] = { { .v = rows } };

static enum sbx_code print(struct sbx_cli *cli, const struct sbx_published *v, size_t n,
                           struct sbx_err *err)
{
    static const char *const head[] = { "HOST IP",  "HOST PORT", "SANDBOX PORT",
                                        "PROTOCOL", "NAME",      "KIT" };
    struct sbx_columns c = { .arena = cli->arena, .head = head, .n = SBX_ARRAY_LEN(head) };

    if (cli->format != SBX_FORMAT_TABLE)
        return sbx_out_value(cli, json_pack("{s:o}", "ports", sbx_published_json(v, n)), err);
    for (size_t i = 0; i < n; i++) {
        char host[8] = "", inside[8];
        const char *cells[] = { v[i].host_ip, host,    inside, sbx_published_protocol(&v[i]),
                                v[i].name,    v[i].kit };

        if (v[i].host_port)
            snprintf(host, sizeof(host), "%u", v[i].host_port);
        snprintf(inside, sizeof(inside), "%u", v[i].sandbox_port);
        if (sbx_columns_add(&c, cells, err))
            return SBX_NO_MEMORY;
    }
    sbx_columns_print(&c, cli->out);
    return SBX_OK;
}

static enum sbx_code list(struct sbx_cli *cli, struct sbx_session *s, struct sbx_err *err)
{
    struct sbx_sandbox_info info;
    enum sbx_code rc = sbx_sandbox_inspect(s->engine, cli->args.v[0], cli->arena, &info, err);

    if (rc)
        return rc;
    if (info.status != SBX_STATUS_RUNNING && info.n_ports)
        sbx_cli_note(cli, "note: sandbox %s is %s: its ports open when it runs", info.name,
                     sbx_status_name(info.status));
    return print(cli, info.ports, info.n_ports, err);
}

/* Tell what became of each; JSON is the list of those that changed. */
static enum sbx_code tell(struct sbx_cli *cli, const char *word, const struct sbx_published *v,
                          size_t n, struct sbx_err *err)
{
    if (cli->format != SBX_FORMAT_TABLE)
        return print(cli, v, n, err);
    for (size_t i = 0; i < n; i++)
        fprintf(cli->out, "%s %s\n", word, sbx_published_text(cli->arena, &v[i]));
    return SBX_OK;
}

/* Listening beyond loopback is the user's right, but should not be an accident. */
static void warn_wide(struct sbx_cli *cli, const struct sbx_published *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(v[i].host_ip, "127.", 4) && strcmp(v[i].host_ip, "::1"))
            sbx_cli_note(cli, "note: port %u is open to other machines (%s)", v[i].host_port,
                         v[i].host_ip);
}

typedef enum sbx_code change_fn(struct sbx_engine *e, const char *name,
                                const struct sbx_port_spec *specs, size_t n,
                                struct sbx_arena *arena, const struct sbx_published **ret,
                                size_t *ret_n, struct sbx_err *err);

static enum sbx_code change(struct sbx_cli *cli, struct sbx_session *s, change_fn *fn,
                            const char *word, const struct sbx_texts *words, struct sbx_err *err)
{
    struct sbx_port_spec *specs = NULL;
    const struct sbx_published *v = NULL;
    size_t n = 0;
    enum sbx_code rc = sbx_port_list(cli->arena, words, &specs, err);

    if (!rc)
        rc = fn(s->engine, cli->args.v[0], specs, words->n, cli->arena, &v, &n, err);
    sbx_progress_end(s);
    if (rc)
        return rc;
    if (fn == sbx_sandbox_publish)
        warn_wide(cli, v, n);
    return tell(cli, word, v, n, err);
}

static enum sbx_code with_specs(struct sbx_cli *cli, change_fn *fn, const char *word,
                                struct sbx_err *err)
{
    struct sbx_texts specs = { cli->args.v + 1, cli->args.n - 1 };
    SBX_AUTO(sbx_session) s = { .quiet = false };
    enum sbx_code rc = sbx_session_open(&s, cli, NULL, err);

    return rc ? rc : change(cli, &s, fn, word, &specs, err);
}

static enum sbx_code publish(struct sbx_cli *cli, struct sbx_err *err)
{
    return with_specs(cli, sbx_sandbox_publish, "Published", err);
}

static enum sbx_code unpublish(struct sbx_cli *cli, struct sbx_err *err)
{
    return with_specs(cli, sbx_sandbox_unpublish, "Unpublished", err);
}

static enum sbx_code ls(struct sbx_cli *cli, struct sbx_err *err)
{
    SBX_AUTO(sbx_session) s = { .quiet = true };
    enum sbx_code rc = sbx_session_open(&s, cli, NULL, err);

    return rc ? rc : list(cli, &s, err);
}

static enum sbx_code ports(struct sbx_cli *cli, struct sbx_err *err)
{
    const struct ports_opts *o = cli->options;
    SBX_AUTO(sbx_session) s = { .quiet = false };
    enum sbx_code rc = SBX_OK;

    if (o->publish.n && o->unpublish.n)
        return sbx_err_set(err, SBX_USAGE, "--publish and --unpublish: one at a time");
    rc = sbx_session_open(&s, cli, NULL, err);
    if (rc)
        return rc;
    if (o->publish.n)
        return change(cli, &s, sbx_sandbox_publish, "Published", &o->publish, err);
    if (o->unpublish.n)
        return change(cli, &s, sbx_sandbox_unpublish, "Unpublished", &o->unpublish, err);
    return list(cli, &s, err);
}

static const struct sbx_verb v_ls = {
    .name = "ls",
    .summary = "List the published ports of a sandbox",
    .args = "SANDBOX",
    .example = "sbx ports ls my-sandbox",
    .min = 1,
    .max = 1,
    .words = SBX_WORDS_SANDBOX,
    .run = ls,
};
static const struct sbx_verb v_publish = {
    .name = "publish",
    .summary = "Let this machine reach ports of a sandbox",
    .args = "SANDBOX SPEC...",
    .about =
        "SPEC is [[HOST_IP:]HOST_PORT:]SANDBOX_PORT[/PROTOCOL]. Without HOST_IP only this machine "
        "reaches it\n"
        "(127.0.0.1); without HOST_PORT a free port is chosen and stays the same at every start. "
        "PROTOCOL is\n"
        "tcp4 (default), tcp6 or tcp (both), udp4, udp6 or udp (both). The service inside may "
        "listen on all\n"
        "addresses or on its loopback alone. A stopped sandbox is started. All are published or "
        "none.",
    .example = "sbx ports publish my-sandbox 8080:3000\n"
               "sbx ports publish my-sandbox 5432 '[::1]:9000:9000'",
    .min = 2,
    .max = SBX_PORTS_MAX + 1,
    .words = SBX_WORDS_SANDBOX_FIRST,
    .run = publish,
};
static const struct sbx_verb v_unpublish = {
    .name = "unpublish",
    .summary = "Take published ports back",
    .args = "SANDBOX SPEC...",
    .about =
        "A bare SANDBOX_PORT takes back every mapping of it; HOST_PORT, HOST_IP and PROTOCOL name "
        "one. Open\n"
        "connections of them end. Ports of kits can be taken back too.",
    .example = "sbx ports unpublish my-sandbox 3000",
    .min = 2,
    .max = SBX_PORTS_MAX + 1,
    .words = SBX_WORDS_SANDBOX_FIRST,
    .run = unpublish,
};
static const struct sbx_verb *const subs[] = { &v_ls, &v_publish, &v_unpublish };

#define PORTS                                                                                      \
    .summary = "Publish ports of a sandbox on this machine", .args = "SANDBOX",                    \
    .about =                                                                                       \
        "With a SANDBOX, its published ports: those of its kits, of --publish at its making, and " \
        "later ones.",                                                                             \
    .example = "sbx ports my-sandbox\n"                                                            \
               "sbx ports my-sandbox --publish 8080:3000",                                         \
    .sub = subs, .n_sub = SBX_ARRAY_LEN(subs), .groups = groups,                                   \
    .n_groups = SBX_ARRAY_LEN(groups), .size = sizeof(struct ports_opts), .min = 1, .max = 1,      \
    .words = SBX_WORDS_SANDBOX, .run = ports

const struct sbx_verb sbx_verb_ports = { .name = "ports", PORTS };
/* The newer spelling of other versions. */
const struct sbx_verb sbx_verb_port = { .name = "port", .hidden = true, PORTS };
