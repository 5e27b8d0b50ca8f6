/* The credential surfaces of version 1 as sorted lists: v1_services.c makes them, v1_credentials.c uses them. */
#ifndef SBX_KIT_V1_SERVICES_H
#define SBX_KIT_V1_SERVICES_H

#include "v1.h"

/* A word that belongs to a service. */
struct word {
    const char *text, *service;
    struct sbx_origin at;
};
struct words {
    struct word *v;
    size_t len;
};

struct fold {
    struct sbx_decoder *d;
    struct sbx_v1 *v;
    struct words listed;   /* services that `credentials:` lists itself: they win */
    struct words env;      /* variable of a source to its service */
    struct words domains;
    struct words services; /* that get an entry here */
    struct sbx_v1_auth *auth;
    size_t n_auth;
    struct sbx_credential *out; /* parallel to services */
};

/* Make all lists and the empty entries; false: no memory (d->no_memory). */
bool sbx_v1_list(struct fold *f);
/* The first word with this text, in a sorted list; NULL: none. */
const struct word *sbx_v1_find(const struct words *w, const char *text);
const struct sbx_v1_auth *sbx_v1_find_auth(const struct fold *f, const char *service);
const char *sbx_v1_service_of_variable(struct fold *f, const char *variable);

#endif
