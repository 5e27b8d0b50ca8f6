#include "list.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *sbx_list_parse(char *line, struct sbx_command *ret)
{
    const char *field[5];

    for (size_t i = 0; i < 5; i++) {
        field[i] = strsep(&line, "\t");
        if (!field[i])
            return "a line is SCRIPT, KIT, INDEX, USER, BACKGROUND, DESCRIPTION with tabs between";
    }
    if (!*field[0] || strchr(field[0], '/') || field[0][0] == '.')
        return "the script is not a file name";
    if (strcmp(field[4], "0") && strcmp(field[4], "1"))
        return "background is neither 0 nor 1";
    *ret = (struct sbx_command){ .script = field[0],
                                 .kit = *field[1] ? field[1] : "-",
                                 .index = *field[2] ? field[2] : "-",
                                 .user = field[3],
                                 .background = field[4][0] == '1' };
    return NULL;
}

void sbx_list_log_name(const struct sbx_command *c, char out[256])
{
    snprintf(out, 256, "%.200s-%.40s", c->kit, c->index);
    for (char *p = out; *p; p++)
        if (!isalnum((unsigned char)*p) && !(p > out && strchr("._-", *p)))
            *p = '-';
    strcat(out, ".log"); /* at most 241 before */
}
