#include "sbx/err.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int status;
} codes[] = {
    [SBX_OK] = { "ok", 0 },
    [SBX_FAILED] = { "failed", 1 },
    [SBX_USAGE] = { "usage", 2 },
    [SBX_SYNTAX] = { "syntax", 1 },
    [SBX_SCHEMA] = { "schema", 1 },
    [SBX_LIMIT] = { "limit", 1 },
    [SBX_NO_MEMORY] = { "no-memory", 1 },
    [SBX_IO] = { "io", 1 },
    [SBX_NOT_FOUND] = { "not-found", 1 },
    [SBX_EXISTS] = { "exists", 1 },
    [SBX_CONFLICT] = { "conflict", 1 },
    [SBX_DENIED] = { "denied", 4 },
    [SBX_CONSENT] = { "consent", 3 },
    [SBX_UNSUPPORTED] = { "unsupported", 1 },
    [SBX_UNAVAILABLE] = { "unavailable", 1 },
    [SBX_TIMEOUT] = { "timeout", 1 },
    [SBX_BUSY] = { "busy", 1 },
    [SBX_CANCELED] = { "canceled", 130 },
};

SBX_PRINTF(2, 0)
static void put(struct sbx_err *err, const char *fmt, va_list args)
{
    int n = vsnprintf(err->text, sizeof(err->text), fmt, args);

    if (n >= (int)sizeof(err->text))
        memcpy(err->text + sizeof(err->text) - 4, "...", 4);
}

enum sbx_code sbx_err_set(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    err->at = (struct sbx_pos){ 0 };
    va_start(args, fmt);
    put(err, fmt, args);
    va_end(args);
    return code;
}

enum sbx_code sbx_err_at(struct sbx_err *err, enum sbx_code code, struct sbx_pos at,
                         const char *fmt, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    err->at = at;
    err->at.file = NULL;
    va_start(args, fmt);
    put(err, fmt, args);
    va_end(args);
    return code;
}

static enum sbx_code code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
        return SBX_NOT_FOUND;
    case EEXIST:
        return SBX_EXISTS;
    case ENOMEM:
        return SBX_NO_MEMORY;
    default:
        return SBX_IO;
    }
}

enum sbx_code sbx_err_errno(struct sbx_err *err, const char *fmt, ...)
{
    int number = errno;
    size_t used;
    va_list args;

    if (!err)
        return code_of_errno(number);
    err->code = code_of_errno(number);
    err->at = (struct sbx_pos){ 0 };
    va_start(args, fmt);
    put(err, fmt, args);
    va_end(args);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(number));
    return err->code;
}

enum sbx_code sbx_err_wrap(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
{
    char inner[SBX_ERR_TEXT_MAX];
    size_t used;
    va_list args;

    if (!err)
        return code;
    err->code = code;
    memcpy(inner, err->text, sizeof(inner));
    va_start(args, fmt);
    put(err, fmt, args);
    va_end(args);
    used = strlen(err->text);
    if (snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner) >=
        (int)(sizeof(err->text) - used))
        memcpy(err->text + sizeof(err->text) - 4, "...", 4);
    return code;
}

const char *sbx_code_name(enum sbx_code code)
{
    return (size_t)code < SBX_ARRAY_LEN(codes) ? codes[code].name : "failed";
}

int sbx_code_exit(enum sbx_code code)
{
    return (size_t)code < SBX_ARRAY_LEN(codes) ? codes[code].status : 1;
}
