/*
 * Build-time tool: turns directories of kits into a C source with their bytes.
 *
 *     embed OUT.c AGENTS MIXINS
 *
 * Each directory below the two is a kit: spec.yaml first, then its files/ in sorted order.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FILES_MAX 1000 /* files of all kits; a bound against a loop of links, not a need */
#define PATH_SIZE 4096 /* PATH_MAX */

struct file {
    char path[PATH_SIZE]; /* below the kit */
    unsigned mode;
};

struct kit {
    char name[256];
    bool agent;
    size_t first, n;
};

static struct file files[FILES_MAX];
static struct kit kits[FILES_MAX];
static size_t n_files, n_kits;

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
    va_list args;

    fputs("embed: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

static int not_hidden_dots(const struct dirent *e)
{
    return strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
}

static void join(char *to, const char *a, const char *b)
{
    if (snprintf(to, PATH_SIZE, "%s/%s", a, b) >= PATH_SIZE)
        die("%s/%s: path too long", a, b);
}

static void emit_file(FILE *out, const char *full, const char *path)
{
    struct stat st;
    FILE *in = fopen(full, "rb");
    size_t len = 0;
    int c;

    if (!in || fstat(fileno(in), &st))
        die("%s: %s", full, strerror(errno));
    if (n_files == FILES_MAX)
        die("over %d files", FILES_MAX);
    snprintf(files[n_files].path, PATH_SIZE, "%s", path);
    files[n_files].mode = st.st_mode & 0111 ? 0755 : 0644;
    fprintf(out, "static const unsigned char data_%zu[] = {", n_files++);
    while ((c = getc(in)) != EOF)
        fprintf(out, "%s%d,", len++ % 24 ? "" : "\n    ", c);
    if (ferror(in))
        die("%s: %s", full, strerror(errno));
    fputs("\n    0\n};\n", out); /* the NUL is not counted: see the length below */
    fclose(in);
}

static void walk(FILE *out, const char *dir, const char *below)
{
    struct dirent **v;
    int n = scandir(dir, &v, not_hidden_dots, alphasort);
    char full[PATH_SIZE], path[PATH_SIZE];
    struct stat st;

    if (n < 0)
        die("%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        join(full, dir, v[i]->d_name);
        join(path, below, v[i]->d_name);
        free(v[i]);
        if (lstat(full, &st))
            die("%s: %s", full, strerror(errno));
        if (S_ISDIR(st.st_mode))
            walk(out, full, path);
        else if (S_ISREG(st.st_mode))
            emit_file(out, full, path);
        else
            die("%s: not a file or directory", full);
    }
    free(v);
}

static void kit(FILE *out, const char *dir, const char *name, bool agent)
{
    struct kit *k = &kits[n_kits++];
    char full[PATH_SIZE];
    struct stat st;

    snprintf(k->name, sizeof(k->name), "%s", name);
    k->agent = agent;
    k->first = n_files;
    join(full, dir, "spec.yaml");
    emit_file(out, full, "spec.yaml");
    join(full, dir, "files");
    if (!stat(full, &st))
        walk(out, full, "files");
    k->n = n_files - k->first;
}

static void group(FILE *out, const char *dir, bool agent)
{
    struct dirent **v;
    int n = scandir(dir, &v, not_hidden_dots, alphasort);
    char full[PATH_SIZE];

    if (n < 0)
        die("%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        join(full, dir, v[i]->d_name);
        kit(out, full, v[i]->d_name, agent);
        free(v[i]);
    }
    free(v);
}

static void tables(FILE *out)
{
    for (size_t i = 0; i < n_kits; i++) {
        fprintf(out, "static const struct sbx_embedded_file files_%zu[] = {\n", i);
        for (size_t f = kits[i].first; f < kits[i].first + kits[i].n; f++)
            fprintf(out, "    { \"%s\", data_%zu, sizeof(data_%zu) - 1, 0%o },\n", files[f].path, f,
                    f, files[f].mode);
        fputs("};\n", out);
    }
    fputs("const struct sbx_embedded_kit sbx_builtin_kits[] = {\n", out);
    for (size_t i = 0; i < n_kits; i++)
        fprintf(out, "    { \"%s\", %s, files_%zu, %zu },\n", kits[i].name,
                kits[i].agent ? "true" : "false", i, kits[i].n);
    fprintf(out, "};\nconst size_t sbx_builtin_kits_n = %zu;\n", n_kits);
}

int main(int argc, char **argv)
{
    FILE *out;

    if (argc != 4)
        die("usage: embed OUT.c AGENTS MIXINS");
    out = fopen(argv[1], "w");
    if (!out)
        die("%s: %s", argv[1], strerror(errno));
    fputs("/* Made by kits/embed from the directories of kits/; do not edit. */\n"
          "#include \"sbx/builtin.h\"\n\n",
          out);
    group(out, argv[2], true);
    group(out, argv[3], false);
    tables(out);
    return fclose(out) ? 1 : 0;
}
