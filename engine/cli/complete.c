#include "complete.h"

#include <string.h>

#include "groups.h"
#include "sbx/builtin.h"

/* What is known of the unfinished line before its last word. */
struct line {
    const struct sbx_verb *verb;
    size_t n_args;
    bool ended;                    /* behind "--" */
    const struct sbx_opt *pending; /* the last word is this flag's value */
    const struct sbx_verb *asked;  /* the command that `help` is asked about so far */
    const char *prefix;            /* before a value: "--flag=" or "" */
    const char *app;
    const char *word;
    sbx_names_fn names;
    FILE *out;
};

static const struct sbx_opt *find_opt(const struct sbx_verb *v, const char *name, size_t len,
                                      char letter)
{
    struct sbx_opt_set sets[] = { { v->groups, v->n_groups, NULL },
                                  { &sbx_global_group, 1, NULL } };
    struct sbx_opt_found f;

    if (name ? sbx_opt_find(sets, 2, name, len, &f) : sbx_opt_find_letter(sets, 2, letter, &f))
        return f.opt;
    return NULL;
}

static void take_flag(struct line *l, const char *word, const char *next)
{
    const struct sbx_opt *o = NULL;
    const char *eq = strchr(word, '=');

    if (word[1] == '-')
        o = eq ? NULL : find_opt(l->verb, word + 2, strlen(word + 2), 0);
    else /* "-it", "-e": only the last letter can still want its value */
        o = find_opt(l->verb, NULL, 0, word[strlen(word) - 1]);
    if (eq && !strncmp(word, "--app-name=", 11))
        l->app = eq + 1;
    if (o && o->type != SBX_OPT_SWITCH) {
        l->pending = o;
        if (!strcmp(o->name, "app-name"))
            l->app = next;
    }
}

static const struct sbx_verb *sub(const struct sbx_verb *v, const char *name)
{
    for (size_t i = 0; i < v->n_sub; i++)
        if (!strcmp(v->sub[i]->name, name))
            return v->sub[i];
    return NULL;
}

static void read_line(struct line *l, const char *const *words, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        const char *w = words[i];

        if (l->pending)
            l->pending = NULL;
        else if (l->ended || (l->verb->stop_at && l->n_args >= l->verb->stop_at))
            l->n_args++;
        else if (!strcmp(w, "--"))
            l->ended = true;
        else if (w[0] == '-' && w[1])
            take_flag(l, w, words[i + 1]);
        else if (l->verb->n_sub && !l->n_args && sub(l->verb, w))
            l->verb = sub(l->verb, w);
        else {
            if (l->verb->words == SBX_WORDS_COMMAND && l->asked)
                l->asked = sub(l->asked, w);
            l->n_args++;
        }
    }
}

static void offer(const struct line *l, const char *prefix, const char *text, const char *about)
{
    size_t typed = strlen(l->word), skip = strlen(prefix);

    if (strncmp(prefix, l->word, typed < skip ? typed : skip) ||
        (typed > skip && strncmp(text, l->word + skip, typed - skip)))
        return;
    fprintf(l->out, "%s%s\t%s\n", prefix, text, about ? about : "");
}

static void offer_flags(const struct line *l, const struct sbx_opt_group *groups, size_t n)
{
    for (size_t g = 0; g < n; g++)
        for (size_t i = 0; groups[g].v[i].name; i++)
            if (!groups[g].v[i].hidden)
                offer(l, "--", groups[g].v[i].name, groups[g].v[i].help);
}

static void offer_kits(const struct line *l, bool agents_only)
{
    for (size_t i = 0; i < sbx_builtin_kits_n; i++)
        if (!agents_only || sbx_builtin_kits[i].agent)
            offer(l, l->prefix, sbx_builtin_kits[i].name,
                  sbx_builtin_kits[i].agent ? "built-in agent" : "built-in mixin");
}

static void offer_name(void *ctx, const char *name)
{
    const struct line *l = ctx;

    offer(l, l->prefix, name, "sandbox");
}

static void offer_value(struct line *l, const struct sbx_opt *o)
{
    bool kit = !strcmp(o->name, "kit");

    for (size_t i = 0; o->choices && o->choices[i]; i++)
        if (!o->some || l->verb->sarif || strcmp(o->choices[i], o->some) != 0)
            offer(l, l->prefix, o->choices[i], NULL);
    if (o->choices)
        return;
    if (kit || !strcmp(o->value, "AGENT"))
        offer_kits(l, !kit);
    if (!strcmp(o->name, "sandbox") || !strcmp(o->name, "name"))
        l->names(l->app, offer_name, l);
    if (kit || !strcmp(o->value, "FILE") || !strcmp(o->value, "PATH"))
        fputs(":files\n", l->out);
}

static void offer_subs(const struct line *l, const struct sbx_verb *v)
{
    for (size_t i = 0; i < v->n_sub; i++)
        if (!v->sub[i]->hidden && !v->sub[i]->not_built)
            offer(l, "", v->sub[i]->name, v->sub[i]->summary);
}

static void offer_words(struct line *l)
{
    static const char *const shells[] = { "bash", "zsh", "fish" };

    switch (l->verb->words) {
    case SBX_WORDS_SANDBOX_FIRST:
    case SBX_WORDS_SANDBOX:
        if (l->verb->words == SBX_WORDS_SANDBOX || !l->n_args)
            l->names(l->app, offer_name, l);
        else
            fputs(":files\n", l->out);
        break;
    case SBX_WORDS_AGENT_DIRS:
        if (!l->n_args)
            offer_kits(l, true);
        fputs(":dirs\n", l->out);
        break;
    case SBX_WORDS_KIT:
        offer_kits(l, false);
        fputs(":files\n", l->out);
        break;
    case SBX_WORDS_PRESET:
        for (size_t i = 0; sbx_preset_names[i]; i++)
            offer(l, "", sbx_preset_names[i], NULL);
        break;
    case SBX_WORDS_SHELL:
        for (size_t i = 0; i < SBX_ARRAY_LEN(shells); i++)
            offer(l, "", shells[i], NULL);
        break;
    case SBX_WORDS_COMMAND:
        if (l->asked)
            offer_subs(l, l->asked);
        break;
    case SBX_WORDS_FILES:
        fputs(":files\n", l->out);
        break;
    case SBX_WORDS_DIRS:
        fputs(":dirs\n", l->out);
        break;
    case SBX_WORDS_NONE:
        break;
    }
}

void sbx_complete(const char *const *words, size_t n, sbx_names_fn names, FILE *out)
{
    struct line l = { .verb = &sbx_root,
                      .asked = &sbx_root,
                      .prefix = "",
                      .word = n ? words[n - 1] : "",
                      .names = names,
                      .out = out };
    const char *eq = strchr(l.word, '=');
    char prefix[64];

    read_line(&l, words, n);
    l.ended = l.ended || (l.verb->stop_at && l.n_args >= l.verb->stop_at);
    if (l.pending) {
        offer_value(&l, l.pending);
    } else if (!l.ended && !strncmp(l.word, "--", 2) && eq &&
               (size_t)(eq - l.word) < sizeof(prefix) - 1) {
        const struct sbx_opt *o = find_opt(l.verb, l.word + 2, (size_t)(eq - l.word - 2), 0);

        snprintf(prefix, sizeof(prefix), "%.*s", (int)(eq + 1 - l.word), l.word);
        l.prefix = prefix;
        if (o && o->type != SBX_OPT_SWITCH)
            offer_value(&l, o);
    } else if (!l.ended && l.word[0] == '-') {
        offer_flags(&l, l.verb->groups, l.verb->n_groups);
        offer_flags(&l, &sbx_global_group, 1);
    } else {
        if (!l.n_args)
            offer_subs(&l, l.verb);
        if (!l.verb->n_sub || l.verb->run)
            offer_words(&l);
    }
}
