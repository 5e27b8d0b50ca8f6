/**
 * @file
 * The command line program: one table of verbs (table.c) declares names, flags and help; each verb
 * is one file that exports its row. Parsing, help, completion and the reference page read the table.
 *
 * A verb gets a parsed `struct sbx_cli` and returns a code; it prints results on stdout through
 * out.h and never prints its own error: main() does (decisions C1 to C4).
 */
#ifndef SBX_CLI_H
#define SBX_CLI_H

#include <jansson.h>
#include <stdio.h>

#include "opt.h"
#include "sbx/diag.h"

enum sbx_format { SBX_FORMAT_TABLE, SBX_FORMAT_JSON, SBX_FORMAT_YAML };

/** Flags of every command. */
struct sbx_globals {
    const char *app, *output;
    bool debug, json, no_input, help;
};

/** What completion offers for positionals. */
enum sbx_words {
    SBX_WORDS_NONE,
    SBX_WORDS_FILES,
    SBX_WORDS_DIRS,
    SBX_WORDS_SANDBOX,       /**< names of sandboxes */
    SBX_WORDS_SANDBOX_FIRST, /**< one name, then files */
    SBX_WORDS_AGENT_DIRS,    /**< built-in agents, then directories */
    SBX_WORDS_KIT,           /**< built-in kits and directories */
    SBX_WORDS_PRESET,
    SBX_WORDS_SHELL,
    SBX_WORDS_COMMAND,
};

struct sbx_cli;

struct sbx_verb {
    const char *name;
    const char *summary; /**< one line of the parent's list */
    const char *args;    /**< what follows the flags: "SANDBOX COMMAND [ARG...]" */
    const char *about;   /**< paragraphs for help; NULL: the summary is enough */
    const char *example; /**< lines of shell */
    const char *exits;   /**< exit statuses; NULL: the usual ones (help.c) */
    /** Its own verbs; then it does nothing itself, or (with `run`) what is no name of one is its argument. */
    const struct sbx_verb *const *sub;
    size_t n_sub;
    const struct sbx_opt_group *groups;
    size_t n_groups;
    size_t size;       /**< bytes of the verb's options, starting all zero */
    unsigned min, max; /**< number of positionals */
    unsigned stop_at;  /**< after so many positionals flags end by themselves; 0: never */
    bool rest;         /**< words after "--" are kept apart (else they are positionals) */
    bool sarif;        /**< its findings can be had with --output sarif */
    bool passthrough;  /**< its output is no value (the sandbox's, a script): no --output */
    bool hidden;
    enum sbx_words words;
    const char *not_built; /**< users of sbx know it; refused with this text */
    enum sbx_code (*run)(struct sbx_cli *cli, struct sbx_err *err);
};

/** One invocation. */
struct sbx_cli {
    struct sbx_arena *arena;
    const struct sbx_verb *verb;
    char path[96]; /**< "sbx policy set-default" */
    struct sbx_globals global;
    void *options;         /**< the verb's */
    void *root_options;    /**< of the program itself */
    struct sbx_texts args; /**< positionals */
    struct sbx_texts rest; /**< after "--", where the command keeps them apart */
    bool rest_given;       /**< there was a "--" */
    enum sbx_format format;
    bool sarif;              /**< JSON in the form of SARIF */
    FILE *out, *err;         /**< results; all else */
    bool printed;            /**< the JSON or YAML value is out */
    bool quiet;              /**< no progress */
    struct sbx_blobs *blobs; /**< what is fetched and sent (blobs.h); NULL: nothing was yet */
    struct sbx_diags diags;  /**< findings of the whole run */
    size_t reported;         /**< of diags: already shown */
    long long began;         /**< Unix seconds */
    int status;              /**< exit status where a code is not enough (exec); -1: by code */
};

/** Flags of the program without a command. */
struct sbx_root_opts {
    bool version;
};

extern const struct sbx_verb sbx_root; /**< table.c */
extern const struct sbx_opt_group sbx_global_group;

/**
 * Parse a command line into `cli`, which the caller has zeroed but for arena, out and err.
 * With --help the positionals are not counted.
 * @return SBX_OK, SBX_USAGE, SBX_UNSUPPORTED or SBX_NO_MEMORY
 */
SBX_MUST_USE enum sbx_code sbx_cli_parse(struct sbx_cli *cli, const struct sbx_verb *root, int argc,
                                         char *const *argv, struct sbx_err *err);
/** Find a command by words; `*used` words were commands. NULL never: the deepest that matched. */
const struct sbx_verb *sbx_cli_find(const struct sbx_verb *root, const char *const *words, size_t n,
                                    size_t *used);

/** SBX_USAGE: "unknown command"; with the one of `parent` that is near. */
enum sbx_code sbx_cli_unknown(const struct sbx_verb *parent, const char *path, const char *word,
                              struct sbx_err *err);

/** Parse, run, print the error: the whole program. */
int sbx_cli_main(int argc, char *const *argv, FILE *out, FILE *err);

/** Show the findings that were not shown yet on stderr; with JSON as events, unless the value has them. */
void sbx_cli_report(struct sbx_cli *cli);
/** A line for the user's eyes on stderr: "sbx: note: ..."; with JSON an event. */
void sbx_cli_note(struct sbx_cli *cli, const char *fmt, ...) SBX_PRINTF(2, 3);
/** Ask on the terminal; SBX_OK: yes. Without one, or with --no-input: SBX_USAGE naming `instead`. */
SBX_MUST_USE enum sbx_code sbx_cli_confirm(struct sbx_cli *cli, const char *question,
                                           const char *instead, struct sbx_err *err);

void sbx_help_print(const struct sbx_verb *c, const char *path, FILE *out);
/** The reference page (markdown) of all commands. */
void sbx_docs_print(FILE *out);

#endif
