/**
 * @file
 * The one error type and the one position type.
 *
 * A callee says the cause, each caller adds what it was doing and with what; a function returns the
 * error or logs it, never both, and only main() prints. The object lives on the caller's stack and
 * allocates nothing. Text reads from the outside in: "outer: inner: cause".
 */
#ifndef SBX_ERR_H
#define SBX_ERR_H

#include <stdarg.h>
#include <stddef.h>

#include "sbx/auto.h"

#define SBX_ERR_TEXT_MAX 1024 /* bytes; longer texts are cut with "..." so that a message fits a screen */

enum sbx_code {
    SBX_OK = 0,
    SBX_FAILED,      /**< it did not work, for a reason the text names */
    SBX_USAGE,       /**< the command line is wrong */
    SBX_SYNTAX,      /**< bytes that are not of their format at all */
    SBX_SCHEMA,      /**< well-formed, but not what the grammar or the rules allow */
    SBX_LIMIT,       /**< a bound was passed */
    SBX_NO_MEMORY,
    SBX_IO,          /**< a system call failed; the text carries strerror */
    SBX_NOT_FOUND,
    SBX_EXISTS,      /**< the name is taken */
    SBX_CONFLICT,    /**< two inputs contradict each other */
    SBX_DENIED,      /**< the policy refuses */
    SBX_CONSENT,     /**< consent or a credential is missing */
    SBX_UNSUPPORTED, /**< this runtime, kernel or version cannot do it */
    SBX_UNAVAILABLE, /**< a service that is needed does not answer */
    SBX_TIMEOUT,
    SBX_BUSY,        /**< someone else holds it */
    SBX_CANCELED,    /**< the user interrupted */
};

/** A place in an input. Lines and columns count from 1 (columns in bytes); line 0 is "nowhere". */
struct sbx_pos {
    const char *file;      /**< borrowed from the object that holds the position; NULL: not a file */
    unsigned line, column; /**< start */
    size_t from, to;       /**< byte range in the input, `to` exclusive */
};

struct sbx_err {
    enum sbx_code code;
    struct sbx_pos at; /**< `at.file` is always NULL here: the text names the file */
    char text[SBX_ERR_TEXT_MAX];
};

#define SBX_ERR_INIT { SBX_OK, { NULL, 0, 0, 0, 0 }, "" }

/** Set the error (err may be NULL) and return the code. */
enum sbx_code sbx_err_set(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
    SBX_PRINTF(3, 4);
/** The same with a place in the input. */
enum sbx_code sbx_err_at(struct sbx_err *err, enum sbx_code code, struct sbx_pos at,
                         const char *fmt, ...) SBX_PRINTF(4, 5);
/** Set SBX_IO (or NOT_FOUND, EXISTS, NO_MEMORY as errno says): "<fmt>: strerror(errno)". */
enum sbx_code sbx_err_errno(struct sbx_err *err, const char *fmt, ...) SBX_PRINTF(2, 3);
/** Put "<fmt>: " in front of the text and return `code`. */
enum sbx_code sbx_err_wrap(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
    SBX_PRINTF(3, 4);
/** Short stable name of a code: "not-found". */
const char *sbx_code_name(enum sbx_code code);
/** Exit status of a command that ends with this code (decision C1). */
int sbx_code_exit(enum sbx_code code);

#endif
