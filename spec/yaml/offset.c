/* libyaml counts characters; editors, JSON clients and our own tools want bytes. */
#include <string.h>

#include "yaml_impl.h"

#define WORD 8                       /* bytes looked at together */
#define ONES 0x0101010101010101U     /* the lowest bit of each */
#define HIGH (ONES << 7)             /* the highest, which ASCII has not */

static uint64_t word_at(const char *text)
{
    uint64_t word;

    memcpy(&word, text, WORD);
    return word;
}

static bool is_ascii(const char *text, size_t len)
{
    size_t i = 0;

    for (; i + WORD <= len; i += WORD)
        if (word_at(text + i) & HIGH)
            return false;
    for (; i < len; i++)
        if ((unsigned char)text[i] & 0x80)
            return false;
    return true;
}

/* Of a word: the bytes that begin a character, which are all but 10xxxxxx. */
static unsigned characters_in(uint64_t word)
{
    uint64_t inner = (word >> 7) & ~(word >> 6) & ONES;

    return WORD - (unsigned)(inner * ONES >> 56); /* the sum of its bytes */
}

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
    o->ascii = is_ascii(text + o->start, len - o->start);
    o->at_byte = o->start;
}

static bool is_inner(const struct sbx_yaml_offsets *o, size_t byte)
{
    return byte < o->len && ((unsigned char)o->text[byte] & 0xc0) == 0x80;
}

static void step(struct sbx_yaml_offsets *o)
{
    do
        o->at_byte++;
    while (is_inner(o, o->at_byte));
    o->at_char++;
}

static void go_forward(struct sbx_yaml_offsets *o, size_t character)
{
    while (o->at_char + WORD <= character && o->at_byte + WORD < o->len) {
        o->at_char += characters_in(word_at(o->text + o->at_byte));
        o->at_byte += WORD;
        while (is_inner(o, o->at_byte))
            o->at_byte++;
    }
    if (o->at_byte + WORD < o->len && !(word_at(o->text + o->at_byte) & HIGH)) {
        o->at_byte += character - o->at_char; /* less than a word */
        o->at_char = character;
    }
    while (o->at_char < character && o->at_byte < o->len)
        step(o);
}

size_t sbx_yaml_offset(struct sbx_yaml_offsets *o, size_t character)
{
    if (o->unknown)
        return 0;
    if (o->ascii) {
        character += o->start;
        return character < o->len ? character : o->len;
    }
    if (character > o->at_char)
        go_forward(o, character);
    while (o->at_char > character && o->at_byte > o->start) {
        do
            o->at_byte--;
        while (is_inner(o, o->at_byte) && o->at_byte > o->start);
        o->at_char--;
    }
    return o->at_byte;
}
