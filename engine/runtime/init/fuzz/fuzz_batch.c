/* Records of `init batch` on a root of its own: whatever they say, nothing outside it changes. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "sbx/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char dir[] = SBX_TEST_TMP "/fuzz-batch-XXXXXX";
    struct sbx_err err = SBX_ERR_INIT;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), root = -1;
    FILE *in = tmpfile();

    if (null < 0 || !in || !mkdtemp(dir))
        abort();
    root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || sbx_write_all(fileno(in), data, size))
        abort();
    lseek(fileno(in), 0, SEEK_SET);
    (void)sbx_init_batch(root, fileno(in), null);
    fclose(in);
    close(null);
    close(root);
    if (sbx_dir_remove(AT_FDCWD, dir, &err))
        abort();
    return 0;
}
