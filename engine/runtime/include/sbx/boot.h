/**
 * @file
 * Which boot of the host this is. Process ids, cookies of network namespaces and numbers of devices
 * are only known within one.
 */
#ifndef SBX_BOOT_H
#define SBX_BOOT_H

#define SBX_BOOT_ID_SIZE 40 /* bytes: a UUID in text and its end */

/** The kernel's random id of this boot, or "-" where it cannot be read. */
void sbx_boot_id(char ret[SBX_BOOT_ID_SIZE]);

#endif
