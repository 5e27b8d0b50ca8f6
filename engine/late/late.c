#include "sbx/late.h"

#include <dlfcn.h>
#include <string.h>

static enum sbx_code fill(const struct sbx_late *lib, void *handle, struct sbx_err *err)
{
    for (size_t i = 0; i < lib->n_symbols; i++) {
        void *p = dlsym(handle, lib->symbols[i].name);

        if (!p)
            return sbx_err_set(err, SBX_UNAVAILABLE,
                               "%s has no function %s: install a newer package %s", lib->soname,
                               lib->symbols[i].name, lib->package);
        /* POSIX: an object pointer of dlsym() holds a function pointer */
        memcpy((char *)lib->table + lib->symbols[i].offset, &p, sizeof(p));
    }
    return SBX_OK;
}

static enum sbx_code load(struct sbx_late *lib, struct sbx_err *err)
{
    /* Lazily: what libcurl's thirty libraries would call is looked up when they do, a tenth of the time. */
    void *handle = dlopen(lib->soname, RTLD_LAZY | RTLD_LOCAL);
    enum sbx_code rc;

    if (!handle)
        return sbx_err_set(err, SBX_UNAVAILABLE, "%s cannot be loaded (Debian package %s): %s",
                           lib->soname, lib->package, dlerror());
    rc = fill(lib, handle, err);
    if (!rc && lib->ready && !lib->ready())
        rc = sbx_err_set(err, SBX_UNAVAILABLE, "%s does not initialise", lib->soname);
    if (rc) {
        dlclose(handle);
        return rc;
    }
    lib->loaded = true;
    return SBX_OK;
}

enum sbx_code sbx_late_load(struct sbx_late *lib, struct sbx_err *err)
{
    enum sbx_code rc = SBX_OK;

    pthread_mutex_lock(&lib->lock);
    if (!lib->loaded)
        rc = load(lib, err);
    pthread_mutex_unlock(&lib->lock);
    return rc;
}
