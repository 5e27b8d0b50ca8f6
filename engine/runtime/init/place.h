/**
 * @file
 * Where PID 1 finds and leaves things inside the sandbox: docs/gate-config.md section 5.
 */
#ifndef SBX_INIT_PLACE_H
#define SBX_INIT_PLACE_H

#define SBX_MARKS_DIR "/run/sbx"          /* read-only bind mount of the engine's run/ */
#define SBX_STEPS_SOCKET SBX_MARKS_DIR "/steps"
#define SBX_STATUS_DIR "/run/sbx-startup" /* a tmpfs of ours */
#define SBX_STATUS_FILE SBX_STATUS_DIR "/status"
#define SBX_LIST_DIR "/etc/durable-startup.d"
#define SBX_LIST_FILE SBX_LIST_DIR "/list"
#define SBX_LOG_DIR "/var/log/sbx/startup"

#define SBX_LIST_BYTES 1048576 /* bytes of the list; a kit's spec has at most as many */
#define SBX_DB_BYTES 4194304   /* bytes of /etc/passwd or /etc/group; 50,000 users */
#define SBX_STATUS_BYTES                                                                           \
    786432                /* bytes of the status file; its tmpfs has 1 MiB, and the end must fit */
#define SBX_LAST_LINE 512 /* bytes of a command's last line of output that are kept */

#define SBX_RECHECK_MS 250 /* a look without being told: some shared file systems tell nothing */
#define SBX_POLL_MS 20     /* the same where inotify cannot be had at all */
#define SBX_TERM_MS 8000   /* between TERM and KILL; docker stop gives 10 s by default */

#endif
