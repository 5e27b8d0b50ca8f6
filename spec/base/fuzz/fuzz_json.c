/*
 * Any JSON value in canonical form: it is JSON, says the same, and is its own canonical form. A whole
 * number stays the same whole number.
 */
#include <stdint.h>
#include <string.h>

#include "sbx/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Equal, but for 1.0 and 1: the canonical form knows only numbers. */
static bool is_same(const json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;

    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) == json_integer_value(b);
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    if (json_is_array(a) && json_is_array(b) && json_array_size(a) == json_array_size(b)) {
        for (size_t i = 0; i < json_array_size(a); i++)
            if (!is_same(json_array_get(a, i), json_array_get(b, i)))
                return false;
        return true;
    }
    if (!json_is_object(a) || !json_is_object(b))
        return json_equal(a, b);
    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach((json_t *)a, key, value)
        if (!is_same(value, json_object_get(b, key)))
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(1 << 24), again = SBX_BUF_INIT(1 << 24);
    SBX_AUTO_JSON json_t *value = json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL);
    SBX_AUTO_JSON json_t *read = NULL, *whole = NULL;
    enum sbx_code rc;

    if (!value)
        return 0;
    rc = sbx_buf_adds(&out, "x"); /* a failure leaves what was there */
    if (rc)
        return 0;
    rc = sbx_json_canonical(value, &out);
    if (rc) {
        if (out.len != 1 || (rc != SBX_SCHEMA && rc != SBX_LIMIT))
            __builtin_trap();
        return 0;
    }
    read = json_loadb(out.ptr + 1, out.len - 1,
                      JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
    if (!read || !is_same(value, read) || sbx_json_canonical(read, &again) ||
        again.len != out.len - 1 || memcmp(again.ptr, out.ptr + 1, again.len))
        __builtin_trap();
    whole = json_loadb(out.ptr + 1, out.len - 1, JSON_DECODE_ANY, NULL); /* NULL: 1e19 is past 64 bits */
    if (whole && !is_same(value, whole))
        __builtin_trap();
    return 0;
}
