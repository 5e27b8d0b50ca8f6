/**
 * @file
 * The sub-commands that the engine runs through exec. Each returns an exit status.
 */
#ifndef SBX_INIT_COMMANDS_H
#define SBX_INIT_COMMANDS_H

/** Wait for the end of the startup list, then print its status file. */
int sbx_init_wait(void);

/** stdin to a file: `argv` is PATH MODE UID GID IFMISSING. Prints "ok" or "kept". */
int sbx_init_write(int argc, char **argv);

/**
 * Records from `in`, one answer line each to `out`; 0 when every one was "ok" or "kept".
 * @param root an open directory that stands for /
 */
int sbx_init_batch(int root, int in, int out);

/** Facts about the inside of the sandbox, one JSON object to `to`. */
int sbx_init_probe(int to);

/**
 * Ask the engine for records by its socket and run them like sbx_init_batch(), in a child. Only while a
 * start of the engine's waits for it: else nobody listens, and nothing happens.
 */
void sbx_init_steps(int root);

/** PID 1: does not return until it is told to end. */
int sbx_init_pid1(void);

#endif
