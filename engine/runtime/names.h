/**
 * @file
 * The one place where names and labels of containers and volumes are decided (decision C8), for
 * all backends. The default app's sandbox "demo" is the container "sbx-demo"; that of app "acme" is
 * "sbx.acme-demo". A dash in an app name is doubled, so two apps never meet in one name.
 */
#ifndef SBX_RUNTIME_NAMES_H
#define SBX_RUNTIME_NAMES_H

#include <stdbool.h>

#include "sbx/arena.h"

#define SBX_APP_DEFAULT "sbx" /* what NULL and "" mean too */

#define SBX_LABEL_APP "sbx.app"         /* on all that we make: the app's name */
#define SBX_LABEL_SANDBOX "sbx.sandbox" /* container: its name without the app */
#define SBX_LABEL_VOLUME "sbx.volume"   /* volume: its name without the app */
#define SBX_LABEL_SIZE "sbx.size"       /* volume: bytes that were asked for */

/** The app as written in labels: "sbx" for NULL or "". */
const char *sbx_name_app(const char *app);
/** Name of a container or volume at the runtime, in arena; NULL: no memory. */
char *sbx_name_full(struct sbx_arena *arena, const char *app, const char *name);
/**
 * Can it be part of such a name? Letters, digits, "_", "." and "-", the first a letter or digit,
 * 1 to 200 bytes (file systems hold 255, and the app and ends of file names need theirs).
 */
bool sbx_name_valid(const char *name);
#define SBX_NAME_MAX 200 /* bytes */

#endif
