/* credentials.yaml: writing bindings and remembered choices, in the form with discovery. */
#include <string.h>
#include <strings.h>

#include "bindings_int.h"

static const char default_head[] =
    "# Where your credentials are, and which domains they may be sent to. No secret is in here.\n";

/* Plain where nothing could be misread. */
static enum sbx_code add_text(struct sbx_buf *out, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.-/";
    static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off", "y", "n" };
    bool quoted = !*value || strspn(value, plain) != strlen(value) || strchr(".-/", *value);

    for (size_t i = 0; i < SBX_ARRAY_LEN(words); i++)
        quoted = quoted || !strcasecmp(value, words[i]);
    return quoted ? sbx_bindings_quote(value, out) : sbx_buf_adds(out, value);
}

static enum sbx_code add_list(struct sbx_buf *out, const struct sbx_strs *list)
{
    enum sbx_code rc = sbx_buf_adds(out, "[");

    for (size_t i = 0; !rc && i < list->len; i++) {
        rc = sbx_buf_adds(out, i ? ", " : "");
        if (!rc)
            rc = add_text(out, list->v[i]);
    }
    return rc ? rc : sbx_buf_adds(out, "]\n");
}

static enum sbx_code add_discovery(struct sbx_buf *out, const struct sbx_discovery *e, int indent)
{
    enum sbx_code rc;

    if (e->env.len) {
        rc = sbx_buf_addf(out, "%*s- env: ", indent, "");
        return rc ? rc : add_list(out, &e->env);
    }
    rc = sbx_buf_addf(out, "%*s- file:\n%*spath: ", indent, "", indent + 6, "");
    if (!rc)
        rc = add_text(out, e->path ? e->path : "");
    if (!rc && e->parser && *e->parser) {
        rc = sbx_buf_addf(out, "\n%*sparser: ", indent + 6, "");
        if (!rc)
            rc = add_text(out, e->parser);
    }
    return rc ? rc : sbx_buf_adds(out, "\n");
}

/* Both lists as one, each domain once. */
static enum sbx_code add_domains(struct sbx_buf *out, const struct sbx_binding *b, int indent)
{
    enum sbx_code rc = SBX_OK;

    for (size_t k = 0; k < 2; k++) {
        const struct sbx_strs *list = k ? &b->oauth_domains : &b->api_key_domains;

        for (size_t i = 0; !rc && i < list->len; i++) {
            bool again = false;

            for (size_t j = 0; k && j < b->api_key_domains.len; j++)
                again = again || !strcmp(b->api_key_domains.v[j], list->v[i]);
            if (again)
                continue;
            rc = sbx_buf_addf(out, "%*s- ", indent, "");
            if (!rc)
                rc = add_text(out, list->v[i]);
            if (!rc)
                rc = sbx_buf_adds(out, "\n");
        }
    }
    return rc;
}

enum sbx_code sbx_credentials_write_one(const struct sbx_binding *b, unsigned indent,
                                        struct sbx_buf *out)
{
    bool nowhere = !b->api_key_domains.len && !b->oauth_domains.len;
    int in = (int)indent;
    enum sbx_code rc = sbx_buf_addf(out, "%*s", in, "");

    if (!rc)
        rc = add_text(out, b->id);
    if (!rc)
        rc = sbx_buf_addf(out, ":\n%*sdiscovery:%s\n", in + 2, "", b->discovery.len ? "" : " []");
    for (size_t i = 0; !rc && i < b->discovery.len; i++)
        rc = add_discovery(out, &b->discovery.v[i], in + 4);
    if (!rc)
        rc = sbx_buf_addf(out, "%*sallowedDomains:%s\n", in + 2, "", nowhere ? " []" : "");
    if (!rc)
        rc = add_domains(out, b, in + 4);
    if (!rc && b->delivery == SBX_DELIVERY_CONTAINER)
        rc = sbx_buf_addf(out, "%*sdelivery: container\n", in + 2, "");
    return rc;
}

enum sbx_code sbx_credentials_write_remembered(const struct sbx_credentials *c, struct sbx_buf *out)
{
    enum sbx_code rc = c->n_remembered ? sbx_buf_adds(out, "remembered:\n") : SBX_OK;

    for (size_t i = 0; !rc && i < c->n_remembered; i++) {
        const struct sbx_remembered *m = &c->remembered[i];

        if (!i || strcmp(m->workspace, c->remembered[i - 1].workspace)) {
            rc = sbx_buf_adds(out, "  ");
            if (!rc)
                rc = add_text(out, m->workspace);
            if (!rc)
                rc = sbx_buf_adds(out, ":\n");
        }
        if (!rc)
            rc = sbx_buf_adds(out, "    ");
        if (!rc)
            rc = add_text(out, m->service);
        if (!rc)
            rc = sbx_buf_adds(out, ": ");
        if (!rc)
            rc = add_text(out, m->binding);
        if (!rc)
            rc = sbx_buf_adds(out, "\n");
    }
    return rc;
}

enum sbx_code sbx_credentials_write(const struct sbx_credentials *c, const char *head,
                                    struct sbx_buf *out)
{
    enum sbx_code rc = sbx_buf_adds(out, head ? head : default_head);

    if (!rc)
        rc = sbx_buf_adds(out, c->bindings.len ? "bindings:\n" : "bindings: {}\n");
    for (size_t i = 0; !rc && i < c->bindings.len; i++)
        rc = sbx_credentials_write_one(&c->bindings.v[i], 2, out);
    return rc ? rc : sbx_credentials_write_remembered(c, out);
}
