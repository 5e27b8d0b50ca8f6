/**
 * @file
 * The network of a sandbox from outside: its helper, its gate, the marks by which PID 1 goes on, ports,
 * and what the gate is given. docs/gate-config.md has what the programs expect.
 */
#ifndef SBX_SANDBOX_NET_H
#define SBX_SANDBOX_NET_H

#include "box.h"

#define SBX_SPAWN_FDS 16 /* descriptors given to a program, or with a message */

/* ---- net.c ---- */
/** A namespace that exists before the container does (CREATE, HOLDER), and a gate that begins for it. */
SBX_MUST_USE enum sbx_code sbx_net_before(struct sbx_box *box, struct sbx_container_spec *spec,
                                          struct sbx_err *err);
/** The container runs: gate up for its namespace, mark written. */
SBX_MUST_USE enum sbx_code sbx_net_after(struct sbx_box *box, unsigned long long *ret_cookie,
                                         struct sbx_err *err);
/** Gate and helper of a container that runs are up, else restart what can be. */
SBX_MUST_USE enum sbx_code sbx_net_ensure(struct sbx_box *box, struct sbx_err *err);
/** End gate and helper; a holder is a container, and ends as such. */
void sbx_net_end(struct sbx_box *box);
enum sbx_net_mode sbx_net_mode_for(const struct sbx_runtime_info *info);

/* ---- sock.c ---- */
/** A unix socket by its path below the box's directory; one that is there is replaced. */
SBX_MUST_USE enum sbx_code sbx_socket_listen(struct sbx_box *box, const char *path, int type,
                                             mode_t mode, int *ret, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_socket_connect(struct sbx_box *box, const char *path, int type,
                                              int *ret, struct sbx_err *err);
/** sendmsg() with descriptors, over EINTR: bytes sent, or -1 with errno. */
ssize_t sbx_send_with(int sock, const void *data, size_t len, const int *fds, size_t n);

/* ---- helper.c, holder.c, gate.c, gateconf.c ---- */
int sbx_open_ended(struct sbx_box *box); /**< net/ended for appending; -1 with errno */
SBX_MUST_USE enum sbx_code sbx_helper_start(struct sbx_box *box, const char *mode, int pidfd,
                                            unsigned long long *ret_cookie, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_helper_connect(struct sbx_box *box, int *ret, struct sbx_err *err);
/** The holder container of a caller without root; its id goes into the record. */
SBX_MUST_USE enum sbx_code sbx_holder_start(struct sbx_box *box, unsigned long long *ret_cookie,
                                            struct sbx_err *err);
/** Send one request (and a descriptor unless -1), read "ok …". */
SBX_MUST_USE enum sbx_code sbx_helper_ask(int sock, const char *request, int fd, char *answer,
                                          size_t size, struct sbx_err *err);
/**
 * Start the gate; it is up after sbx_gate_ready(), until when other things can be done.
 * @param fresh no process of the sandbox runs yet, so none knows an address that the gate gave a name
 */
SBX_MUST_USE enum sbx_code sbx_gate_begin(struct sbx_box *box, int pidfd, bool fresh,
                                          unsigned long long cookie, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_gate_ready(struct sbx_box *box, struct sbx_err *err);
/**
 * Write gate.json of the plan and the user's policy as it is now. Needs no lock of the box: writers
 * take turns by a lock of their own.
 */
SBX_MUST_USE enum sbx_code sbx_gate_write_config(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_gate_make_dir(struct sbx_box *box, struct sbx_err *err);
/** That lock; close it to let go. -1: there is no directory (any more). */
int sbx_gate_lock(struct sbx_box *box);
/** Let records from here on name a step of the plan; where the log stands now (0: not known). */
json_int_t sbx_gate_step(struct sbx_box *box, const char *id);
/** One request on the control socket; `ret` may be NULL. */
SBX_MUST_USE enum sbx_code sbx_gate_ask(struct sbx_box *box, json_t *request, json_t **ret,
                                        struct sbx_err *err);
/** The same with descriptors, which stay the caller's. */
SBX_MUST_USE enum sbx_code sbx_gate_ask_with(struct sbx_box *box, json_t *request, const int *fds,
                                             size_t n, json_t **ret, struct sbx_err *err);
bool sbx_gate_alive(struct sbx_box *box);
/** End it, and wait until it is gone: by its pid file, or, where that cannot be read, as it is asked. */
void sbx_gate_end(struct sbx_box *box);

/* ---- marks.c ---- */
SBX_MUST_USE enum sbx_code sbx_marks_init(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_mark_gate(struct sbx_box *box, unsigned long long cookie,
                                         struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_mark_done(struct sbx_box *box, unsigned long long cookie,
                                         struct sbx_err *err);
/** Before a start of ours that is not the first: old marks go, and PID 1 may ask for its steps. */
SBX_MUST_USE enum sbx_code sbx_marks_begin(struct sbx_box *box, struct sbx_err *err);

/* ---- serve.c ---- */
/** Wait for PID 1 from now on. Once for a start, before its mark of the gate. */
SBX_MUST_USE enum sbx_code sbx_serve_open(struct sbx_box *box, struct sbx_err *err);
/** The same for a later start, whose init may be of an sbx that knew nothing of this. */
SBX_MUST_USE enum sbx_code sbx_serve_again(struct sbx_box *box, struct sbx_err *err);
/**
 * Give PID 1 the records in `fd` and take its answers; nobody can ask any more after that.
 * @return SBX_OK; SBX_UNAVAILABLE: it did not ask; SBX_CANCELED
 */
SBX_MUST_USE enum sbx_code sbx_serve(struct sbx_box *box, int fd, struct sbx_buf *out,
                                     struct sbx_err *err);

/* ---- ports.c ---- */
/** The record's ports: those of the plan, then the specs. */
SBX_MUST_USE enum sbx_code sbx_ports_record(struct sbx_box *box, const struct sbx_port_spec *specs,
                                            size_t n, struct sbx_err *err);
/**
 * Of a gate that has just come up: listen on the host for every port and hand the sockets over. Host
 * ports that had to be chosen are saved.
 * @param strict a port that cannot be opened is an error; else a warning, and it stays recorded
 */
SBX_MUST_USE enum sbx_code sbx_ports_open(struct sbx_box *box, bool strict, struct sbx_err *err);

/* ---- proc.c ---- */
struct sbx_spawn {
    const char *path;          /* program */
    const char *const *argv;   /* NULL-terminated */
    int fds[SBX_SPAWN_FDS];    /* become 3, 4, ... in this order; -1 ends */
    uid_t uid;                 /* 0: stay who we are */
};
/** Start a process of its own session, with only these descriptors and an empty environment. */
SBX_MUST_USE enum sbx_code sbx_spawn(const struct sbx_spawn *s, pid_t *ret, struct sbx_err *err);
/** Read the one line of a status descriptor: SBX_OK for "ok …" (the rest in `line`). */
SBX_MUST_USE enum sbx_code sbx_status_line(int fd, const char *who, char *line, size_t size,
                                           struct sbx_err *err);
unsigned long long sbx_process_start(pid_t pid); /**< 0: no such process */
struct sbx_pidfile { pid_t pid; unsigned long long start; unsigned long long cookie; };
bool sbx_pidfile_read(struct sbx_box *box, const char *name, struct sbx_pidfile *ret);
SBX_MUST_USE enum sbx_code sbx_pidfile_write(struct sbx_box *box, const char *name,
                                             const struct sbx_pidfile *p, struct sbx_err *err);
/** Does it run, and will go on? Not once it is killed, though the kernel takes a while to end it. */
bool sbx_process_alive(const struct sbx_pidfile *p);
/** End it, and wait until it is gone. */
void sbx_process_end(const struct sbx_pidfile *p);

/* ---- ca.c ---- */
SBX_MUST_USE enum sbx_code sbx_ca_make(struct sbx_box *box, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_ca_cert(struct sbx_box *box, struct sbx_buf *pem,
                                       struct sbx_err *err);

/* ---- inject.c ---- */
/** Put into gate.json what the gate adds to requests, and the roots of --upstream-ca. */
SBX_MUST_USE enum sbx_code sbx_inject_config(struct sbx_box *box, json_t *o, struct sbx_err *err);
/** Forget what is added for the sandbox of this name. */
SBX_MUST_USE enum sbx_code sbx_inject_drop(const struct sbx_engine *e, const char *name,
                                           struct sbx_err *err);
/** SBX_USAGE: not PEM certificates, or more than those. */
SBX_MUST_USE enum sbx_code sbx_upstream_ca_check(const char *pem, struct sbx_err *err);
SBX_MUST_USE enum sbx_code sbx_upstream_ca_save(struct sbx_box *box, const char *pem, /* or NULL */
                                                struct sbx_err *err);
/** A gate that adds something has a broker; failing is a warning, since such requests are refused then. */
void sbx_broker_ensure(struct sbx_box *box);

/* ---- hostproxy.c ---- */
/**
 * What proxy this machine has to use, as JSON for the gate (proxy/gate/upstream.h); nothing: none.
 * @param env getenv(), or what a test has
 * @param warn told of what is left out: a proxy that is not spoken to by plain HTTP
 * @return SBX_OK; SBX_SCHEMA (a setting that cannot be used), SBX_IO (its file); errors show no value
 */
SBX_MUST_USE enum sbx_code sbx_host_proxy_json(const struct sbx_host_proxy *settings,
                                               const char *(*env)(const char *name),
                                               void (*warn)(void *ctx, const char *text), void *ctx,
                                               struct sbx_buf *out, struct sbx_err *err);
/** The same in a descriptor, -1 when there is none. */
SBX_MUST_USE enum sbx_code sbx_host_proxy_open(struct sbx_box *box, int *ret, struct sbx_err *err);

/* ---- logs.c ---- */
/** log/ and log/log.jsonl for a gate that is about to start; `gate`: its uid where we are root, else 0. */
SBX_MUST_USE enum sbx_code sbx_logs_open(struct sbx_box *box, uid_t gate, int *ret_dir, int *ret_log,
                                         struct sbx_err *err);
void sbx_logs_keep(struct sbx_box *box); /**< Of a sandbox that goes: to logs/. */

#endif
