/*
 * Identifiers of the SPDX License List that kits and their content use. Not the whole list: an
 * unknown one is a warning, never an error. Sorted as strcmp() does, for the search.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static const char *const ids[] = {
    "0BSD", "AFL-3.0", "AGPL-1.0-only", "AGPL-1.0-or-later", "AGPL-3.0-only", "AGPL-3.0-or-later",
    "APSL-2.0", "Apache-1.0", "Apache-1.1", "Apache-2.0", "Artistic-1.0", "Artistic-1.0-Perl",
    "Artistic-2.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-2-Clause-Patent", "BSD-3-Clause",
    "BSD-3-Clause-Clear", "BSD-3-Clause-LBNL", "BSD-4-Clause", "BSL-1.0", "BUSL-1.1", "BlueOak-1.0.0",
    "CAL-1.0", "CC-BY-1.0", "CC-BY-2.0", "CC-BY-2.5", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-4.0",
    "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0",
    "CDDL-1.0", "CDDL-1.1", "CECILL-2.1", "CPL-1.0", "ECL-2.0", "EPL-1.0", "EPL-2.0", "EUPL-1.1",
    "EUPL-1.2", "Elastic-2.0", "FSFAP", "FTL", "GFDL-1.1-only", "GFDL-1.1-or-later", "GFDL-1.2-only",
    "GFDL-1.2-or-later", "GFDL-1.3-only", "GFDL-1.3-or-later", "GPL-1.0-only", "GPL-1.0-or-later",
    "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only", "GPL-3.0-or-later", "HPND", "ICU", "IPL-1.0",
    "ISC", "ImageMagick", "JSON", "LGPL-2.0-only", "LGPL-2.0-or-later", "LGPL-2.1-only",
    "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later", "LPPL-1.3c", "Libpng", "MIT", "MIT-0",
    "MIT-CMU", "MPL-1.0", "MPL-1.1", "MPL-2.0", "MPL-2.0-no-copyleft-exception", "MS-PL", "MS-RL",
    "MulanPSL-2.0", "NCSA", "OFL-1.0", "OFL-1.1", "OLDAP-2.8", "OSL-3.0", "OpenSSL", "PHP-3.01",
    "PSF-2.0", "PostgreSQL", "Python-2.0", "QPL-1.0", "Ruby", "SISSL", "SSPL-1.0", "Sleepycat",
    "TCL", "UPL-1.0", "Unicode-3.0", "Unicode-DFS-2016", "Unlicense", "Vim", "W3C", "WTFPL", "X11",
    "Xnet", "ZPL-2.1", "Zlib", "curl", "libtiff", "zlib-acknowledgement",
};

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

static bool known(const char *id)
{
    return bsearch(id, ids, SBX_ARRAY_LEN(ids), sizeof(ids[0]), compare) != NULL;
}

bool sbx_is_spdx(const char *text)
{
    return known(text) || !strncmp(text, "LicenseRef-", 11);
}
