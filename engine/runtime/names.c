#include "names.h"

#include <string.h>

const char *sbx_name_app(const char *app) { return app && *app ? app : SBX_APP_DEFAULT; }

char *sbx_name_full(struct sbx_arena *arena, const char *app, const char *name)
{
    char *doubled, *p;

    app = sbx_name_app(app);
    if (strcmp(app, SBX_APP_DEFAULT) == 0)
        return sbx_arena_printf(arena, "sbx-%s", name);
    p = doubled = sbx_arena_alloc(arena, 2 * strlen(app) + 1);
    if (!doubled)
        return NULL;
    for (; *app; app++) {
        *p++ = *app;
        if (*app == '-')
            *p++ = '-';
    }
    return sbx_arena_printf(arena, "sbx.%s-%s", doubled, name);
}

static bool alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool sbx_name_valid(const char *name)
{
    if (!name || !alnum(*name) || strlen(name) > SBX_NAME_MAX)
        return false;
    for (const char *p = name; *p; p++)
        if (!alnum(*p) && !strchr("_.-", *p))
            return false;
    return true;
}
