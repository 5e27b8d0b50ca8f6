/* libyaml counts characters; editors, JSON clients and our own tools want bytes. */
#include <string.h>

#include "yaml_impl.h"

static bool is_utf16(const char *text, size_t len)
{
    return len >= 2 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2));
}

void sbx_yaml_offsets_init(struct sbx_yaml_offsets *o, const char *text, size_t len)
{
    memset(o, 0, sizeof(*o));
    o->text = text;
    o->len = len;
    o->unknown = is_utf16(text, len);
    if (!o->unknown && len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        o->start = 3;
    o->ascii = true;
    for (size_t i = o->start; i < len && o->ascii; i++)
        o->ascii = !((unsigned char)text[i] & 0x80);
    o->at_byte = o->start;
}

static bool is_inner(const struct sbx_yaml_offsets *o, size_t byte)
{
    return byte < o->len && ((unsigned char)o->text[byte] & 0xc0) == 0x80;
}

size_t sbx_yaml_offset(struct sbx_yaml_offsets *o, size_t character)
{
    if (o->unknown)
        return 0;
    if (o->ascii) {
        character += o->start;
        return character < o->len ? character : o->len;
    }
    while (o->at_char < character && o->at_byte < o->len) {
        do
            o->at_byte++;
        while (is_inner(o, o->at_byte));
        o->at_char++;
    }
    while (o->at_char > character && o->at_byte > o->start) {
        do
            o->at_byte--;
        while (is_inner(o, o->at_byte) && o->at_byte > o->start);
        o->at_char--;
    }
    return o->at_byte;
}
