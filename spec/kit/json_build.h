/* Building JSON without a check at every step. */
#ifndef SBX_KIT_JSON_BUILD_H
#define SBX_KIT_JSON_BUILD_H

#include <jansson.h>
#include <stdbool.h>

/* One document under construction; `bad` sticks, so that one check at the end is enough. */
struct writer {
    bool bad;
};

static inline void put(struct writer *w, json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value)) /* which takes the value even if it fails */
        w->bad = true;
}

static inline void add(struct writer *w, json_t *list, json_t *value)
{
    if (!value || json_array_append_new(list, value))
        w->bad = true;
}

#endif
