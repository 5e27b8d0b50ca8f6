#include "sbx/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sbx/auto.h"

void sbx_boot_id(char ret[SBX_BOOT_ID_SIZE])
{
    SBX_AUTO_FD int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, SBX_BOOT_ID_SIZE - 1);

    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    if (!*ret)
        strcpy(ret, "-");
}
