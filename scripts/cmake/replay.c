/*
 * Replays a fuzz corpus without libFuzzer: every file of the directories named on the command line goes
 * through LLVMFuzzerTestOneInput() once, so that found inputs stay tests with any compiler.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    uint8_t *data;
    size_t got;

    if (!f || fstat(fileno(f), &st) || !S_ISREG(st.st_mode)) {
        perror(path);
        return 1;
    }
    data = malloc(st.st_size ? (size_t)st.st_size : 1);
    got = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
    fclose(f);
    if (data)
        LLVMFuzzerTestOneInput(data, got);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned count = 0;

    for (int i = 1; i < argc; i++) {
        DIR *d = opendir(argv[i]);

        if (!d) {
            perror(argv[i]);
            return 1;
        }
        for (struct dirent *e; (e = readdir(d));) {
            char path[4096];

            if (e->d_name[0] == '.')
                continue;
            snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
            if (replay_file(path))
                return 1;
            count++;
        }
        closedir(d);
    }
    printf("replayed %u inputs\n", count);
    return count ? 0 : 1; /* an empty corpus tests nothing */
}
