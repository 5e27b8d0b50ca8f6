/* Sections that every kit may have, each by its rule (seed "composition", "Merge rules"). */
#include <stdio.h>
#include <string.h>

#include "compose.h"

/* How many elements all kits have in one list together. */
#define TOTAL(c, member)                                                                           \
    __extension__({                                                                                \
        size_t total_ = 0;                                                                         \
        for (size_t i_ = 0; i_ < (c)->n; i_++)                                                     \
            total_ += (c)->kits[i_]->member.len;                                                   \
        total_;                                                                                    \
    })

/* Room for all of them; false: nothing to do, or no memory. */
#define ROOM(c, member) \
    (((c)->out->member.v = sbx_copy_array(c, TOTAL(c, member), sizeof(*(c)->out->member.v))) != NULL)

static bool holds(const struct sbx_strs *list, const char *text)
{
    for (size_t i = 0; i < list->len; i++)
        if (!strcmp(list->v[i], text))
            return true;
    return false;
}

/* Append one kit's list; with `once`, only what is not there yet. */
static void append_strs(struct sbx_composer *c, struct sbx_strs *to, const struct sbx_strs *from,
                        struct sbx_origin fallback, bool once)
{
    to->set = to->set || from->set;
    for (size_t i = 0; i < from->len && to->v && to->at; i++) {
        if (once && holds(to, from->v[i]))
            continue;
        to->v[to->len] = sbx_copy_text(c, from->v[i]);
        to->at[to->len++] = sbx_copy_origin(c, from->at ? from->at[i] : fallback);
    }
}

#define MERGE_STRS(c, member, once)                                                                \
    do {                                                                                           \
        size_t total = TOTAL(c, member);                                                           \
        (c)->out->member.v = sbx_copy_array(c, total, sizeof(*(c)->out->member.v));                \
        (c)->out->member.at = sbx_copy_array(c, total, sizeof(*(c)->out->member.at));              \
        for (size_t k = 0; k < (c)->n; k++)                                                        \
            append_strs(c, &(c)->out->member, &(c)->kits[k]->member, (c)->kits[k]->at, once);      \
    } while (0)

static bool same_text(const char *a, const char *b)
{
    return !strcmp(a && *a ? a : "", b && *b ? b : "");
}

/* Under `extends` a port is known by number and protocol: the same once, another name is a conflict. */
static bool is_inherited(struct sbx_composer *c, const struct sbx_port *p)
{
    for (size_t i = 0; c->extends && i < c->kits[0]->ports.len; i++) {
        const struct sbx_port *q = &c->kits[0]->ports.v[i];
        bool udp = same_text(p->protocol, "udp");

        if (p == q || p->container != q->container || same_text(q->protocol, "udp") != udp)
            continue;
        if (!same_text(p->name, q->name))
            sbx_compose_conflict(c, "extends-conflict", p->at, "ports",
                                 "leave out the port, or use the parent's name",
                                 "port %d/%s is declared in both %s and %s (%s:%u)", p->container,
                                 udp ? "udp" : "tcp", c->kits[0]->name, c->kits[1]->name,
                                 q->at.pos.file ? q->at.pos.file : "", q->at.pos.line);
        return true;
    }
    return false;
}

static void merge_ports(struct sbx_composer *c)
{
    if (!ROOM(c, ports))
        return;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->kits[k]->ports.len; i++) {
            const struct sbx_port *p = &c->kits[k]->ports.v[i];

            if (k && is_inherited(c, p))
                continue;
            c->out->ports.v[c->out->ports.len++] = (struct sbx_port){
                .at = sbx_copy_origin(c, p->at),
                .container = p->container,
                .protocol = sbx_copy_text(c, p->protocol),
                .name = sbx_copy_text(c, p->name),
            };
        }
    c->out->ports.set = true;
}

static void merge_install(struct sbx_composer *c)
{
    if (!ROOM(c, install))
        return;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->kits[k]->install.len; i++) {
            const struct sbx_install *x = &c->kits[k]->install.v[i];

            c->out->install.v[c->out->install.len++] = (struct sbx_install){
                .at = sbx_copy_origin(c, x->at),
                .command = sbx_copy_text(c, x->command),
                .user = sbx_copy_text(c, x->user),
                .description = sbx_copy_text(c, x->description),
            };
        }
    c->out->install.set = true;
}

static void merge_startup(struct sbx_composer *c)
{
    if (!ROOM(c, startup))
        return;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->kits[k]->startup.len; i++) {
            const struct sbx_startup *x = &c->kits[k]->startup.v[i];

            c->out->startup.v[c->out->startup.len++] = (struct sbx_startup){
                .at = sbx_copy_origin(c, x->at),
                .command = sbx_copy_strs(c, &x->command),
                .user = sbx_copy_text(c, x->user),
                .description = sbx_copy_text(c, x->description),
                .background = x->background,
            };
        }
    c->out->startup.set = true;
}

static void merge_setup_files(struct sbx_composer *c)
{
    if (!ROOM(c, setup_files))
        return;
    for (size_t k = 0; k < c->n; k++)
        for (size_t i = 0; i < c->kits[k]->setup_files.len; i++) {
            const struct sbx_setup_file *x = &c->kits[k]->setup_files.v[i];

            c->out->setup_files.v[c->out->setup_files.len++] = (struct sbx_setup_file){
                .at = sbx_copy_origin(c, x->at),
                .path = sbx_copy_text(c, x->path),
                .content = sbx_copy_text(c, x->content),
                .mode = sbx_copy_text(c, x->mode),
                .description = sbx_copy_text(c, x->description),
                .only_if_missing = x->only_if_missing,
            };
        }
    c->out->setup_files.set = true;
}

static const void *variable_at(const struct sbx_artifact *a, size_t i, const char **ret_key)
{
    if (i >= a->variables.len)
        return NULL;
    *ret_key = a->variables.v[i].name;
    return &a->variables.v[i];
}

/* The last kit that sets a variable wins, and is its origin; the place in the list is the first's. */
static void merge_variables(struct sbx_composer *c)
{
    struct sbx_pairs *to = &c->out->variables;
    size_t n;
    SBX_AUTO_FREE struct sbx_keyed *all = sbx_compose_group(c, variable_at, &n);

    for (size_t k = 0; k < c->n; k++) {
        c->out->environment_set = c->out->environment_set || c->kits[k]->environment_set;
        to->set = to->set || c->kits[k]->variables.set;
    }
    to->v = sbx_copy_array(c, n, sizeof(*to->v));
    for (size_t i = 0; i < n && to->v; i++) {
        const struct sbx_pair *from = all[all[i].last].element;

        if (all[i].first == i)
            to->v[to->len++] = (struct sbx_pair){ sbx_copy_text(c, from->name),
                                                  sbx_copy_text(c, from->value),
                                                  sbx_copy_origin(c, from->at) };
    }
}

static const void *volume_at(const struct sbx_artifact *a, size_t i, const char **ret_key)
{
    if (i >= a->volumes.len)
        return NULL;
    *ret_key = a->volumes.v[i].path;
    return &a->volumes.v[i];
}

static void volume_twice(struct sbx_composer *c, const struct sbx_volume *first,
                         const struct sbx_volume *again)
{
    char path[200];

    snprintf(path, sizeof(path), "volumes[path=%.150s]", again->path);
    sbx_compose_conflict(c, "extends-conflict", again->at, path,
                         "leave it out of the child, or use another path",
                         "volume %.150s is declared in both %s and %s (%s:%u)", again->path,
                         c->kits[0]->name, c->kits[1]->name,
                         first->at.pos.file ? first->at.pos.file : "", first->at.pos.line);
}

/* The last kit that names a path wins; under `extends` nobody may name it again (S21). */
static void merge_volumes(struct sbx_composer *c)
{
    size_t n;
    SBX_AUTO_FREE struct sbx_keyed *all = sbx_compose_group(c, volume_at, &n);

    c->out->volumes.v = sbx_copy_array(c, n, sizeof(*c->out->volumes.v));
    c->out->volumes.set = n > 0;
    for (size_t i = 0; i < n && c->out->volumes.v; i++) {
        if (c->extends && all[i].kit != all[all[i].first].kit)
            volume_twice(c, all[all[i].first].element, all[i].element);
        if (all[i].first == i)
            c->out->volumes.v[c->out->volumes.len++] =
                sbx_copy_volume(c, all[all[i].last].element);
    }
}

void sbx_compose_sections(struct sbx_composer *c)
{
    for (size_t k = 0; k < c->n; k++) {
        c->out->caps_set = c->out->caps_set || c->kits[k]->caps_set;
        c->out->security_set = c->out->security_set || c->kits[k]->security_set;
        if (c->kits[k]->privileged && !c->out->privileged)
            sbx_copy_place(c, c->kits[k], &c->kits[k]->privileged, &c->out->privileged);
        c->out->privileged = c->out->privileged || c->kits[k]->privileged;
    }
    MERGE_STRS(c, allow, c->extends);
    MERGE_STRS(c, deny, c->extends);
    if (c->extends)
        MERGE_STRS(c, mixins, true);
    MERGE_STRS(c, licenses, true);
    MERGE_STRS(c, locked, true);
    MERGE_STRS(c, warnings, false);
    merge_ports(c);
    merge_install(c);
    merge_startup(c);
    merge_setup_files(c);
    merge_variables(c);
    merge_volumes(c);
}
