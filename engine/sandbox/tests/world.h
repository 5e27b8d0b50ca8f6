/* An engine on the fake runtime, with state, home and workspace in a directory that goes again. */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "../../plan/tests/compose.h"
#include "sbx/runtime_fake.h"
#include "sbx/sandbox.h"

struct world {
    char dir[64];
    char workspace[128];
    struct sbx_engine *e;
    struct sbx_runtime *rt;
    struct sbx_artifact *kit;
    struct sbx_arena *arena;
    char events[65536]; /* lines "KIND STEP TEXT" */
    char input[1 << 18]; /* what all batches were given */
    int interrupt[2];
};

int world_up(void **state);
int world_down(void **state);
/** A create of three mixins named "demo" with the world's workspace. */
struct sbx_create world_create(struct world *w);
/** Run it; the error text is in `err`. */
enum sbx_code create_demo(struct world *w, const struct sbx_create *c, struct sbx_err *err);
/** No container, volume, state or lock of any sandbox. */
void nothing_is_left(struct world *w);
/** The status of "demo". */
enum sbx_status status_of(struct world *w);
/** Does a path below the world's directory exist? */
bool there(struct world *w, const char *rest);
void put_file(const char *dir, const char *name, const char *text);

#endif
