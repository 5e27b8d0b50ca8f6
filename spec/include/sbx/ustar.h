/**
 * @file
 * Headers of tar archives as they are written everywhere here: POSIX ustar, no times, numeric owners.
 * pax(1), "ustar Interchange Format".
 */
#ifndef SBX_USTAR_H
#define SBX_USTAR_H

#include <stddef.h>

#define SBX_USTAR_BLOCK 512 /* bytes; an archive is a row of them */
#define SBX_USTAR_NAME 100  /* bytes of a name that needs no pax record */

/**
 * Fill in one header.
 * @param name at most SBX_USTAR_NAME bytes count
 * @param size bytes of content, below 8 GiB (eleven octal digits)
 * @param type '0' a file, '5' a directory, 'x' a pax record
 */
void sbx_ustar_header(char block[SBX_USTAR_BLOCK], const char *name, size_t size, unsigned mode,
                      unsigned owner, char type);

#endif
