/* Lines of the startup list, and users as they are looked up in a passwd and a group of any bytes. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "list.h"
#include "sbx/file.h"
#include "users.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int root_with(const uint8_t *data, size_t size, char *dir)
{
    static const char *const names[] = { "etc/passwd", "etc/group" };
    int root;

    if (!mkdtemp(dir))
        abort();
    root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || mkdirat(root, "etc", 0755))
        abort();
    for (size_t i = 0; i < 2; i++) {
        int fd = openat(root, names[i], O_WRONLY | O_CREAT, 0644);

        if (fd < 0 || sbx_write_all(fd, data, size))
            abort();
        close(fd);
    }
    return root;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const users[] = { "agent", "0", "agent:docker", "77:88" };
    char dir[] = SBX_TEST_TMP "/fuzz-list-XXXXXX", name[256];
    struct sbx_err err = SBX_ERR_INIT;
    char *line = malloc(size + 1);
    struct sbx_command c;
    struct sbx_user u;
    int root;

    if (!line)
        abort();
    memcpy(line, data, size);
    line[size] = '\0';
    if (!sbx_list_parse(line, &c)) {
        sbx_list_log_name(&c, name);
        if (strchr(name, '/') || name[0] == '.')
            abort();
    }
    free(line);
    root = root_with(data, size, dir);
    for (size_t i = 0; i < SBX_ARRAY_LEN(users); i++)
        (void)!sbx_user_find(root, users[i], &u, &err);
    close(root);
    if (sbx_dir_remove(AT_FDCWD, dir, &err))
        abort();
    return 0;
}
