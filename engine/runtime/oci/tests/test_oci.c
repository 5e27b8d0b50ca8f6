/* The oci runtime with a real runc, as root. */
#include "world.h"

#include <dirent.h>

static size_t count(const char *command)
{
    FILE *f = popen(command, "r");
    int n = -1;

    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return (size_t)n;
}

/* Nothing of a container but what the caller keeps: directories, cgroups, mounts, processes. */
static void assert_nothing_left(struct world *w)
{
    char command[400];

    snprintf(command, sizeof(command), "ls %s/containers | wc -l", w->state);
    assert_int_equal(count(command), 0);
    snprintf(command, sizeof(command),
             "find /sys/fs/cgroup -maxdepth 3 -path '*/sbx/sbx.%s-*' -type d 2>/dev/null | wc -l",
             w->app);
    assert_int_equal(count(command), 0);
    snprintf(command, sizeof(command), "grep -c %s /proc/self/mountinfo; true", w->dir);
    assert_int_equal(count(command), 0);
}

static void a_container_lives_from_create_to_remove(void **state)
{
    struct world *w = *state;
    static const char *const labels[] = { "a=b", NULL };
    struct sbx_container_spec spec = { .name = "t-life", .labels = labels };
    struct sbx_container c;
    const char *started;
    char *id = NULL;
    int status = -1;
    const char *argv[] = { "true", NULL };
    struct sbx_exec x = EXEC_INIT;

    x.argv = argv;
    assert_int_equal(try_create(w, spec, &id), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, "t-life", w->arena, &c, &w->err), SBX_OK);
    assert_string_equal(c.id, id);
    assert_string_equal(c.name, "t-life");
    assert_string_equal(c.labels[0], "a=b");
    assert_false(c.running);
    assert_string_equal(c.started_at, "");
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_UNAVAILABLE);
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
    assert_true(c.running);
    assert_int_equal(kill(c.pid, 0), 0);
    started = c.started_at;
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
    assert_false(c.running);
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
    assert_string_not_equal(c.started_at, started);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_NOT_FOUND);
    free(id);
    assert_nothing_left(w);
}

static void the_first_process_gets_term_and_time_to_end(void **state)
{
    struct world *w = *state;
    static const char *const argv[] = {
        "/bin/sh", "-c",
        "trap 'echo ended >/out/mark; exit 0' TERM; echo >/out/ready; while :; do sleep 0.01; done",
        NULL
    };
    struct sbx_mount m = { .kind = SBX_MOUNT_BIND, .target = "/out" };
    char path[100], text[120];
    const char *id;

    snprintf(path, sizeof(path), "%s/shared", w->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    m.source = path;
    id = running(w, (struct sbx_container_spec){
                        .name = "t-term", .argv = argv, .mounts = &m, .n_mounts = 1 });
    sh(w, id, "while ! test -e /out/ready; do sleep 0.01; done");
    assert_int_equal(sbx_runtime_stop(w->rt, id, 30, &w->err), SBX_OK);
    snprintf(text, sizeof(text), "%s/mark", path);
    assert_int_equal(access(text, F_OK), 0);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
}

static void exit_statuses_are_a_shells(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-status" });
    static const struct {
        const char *argv[4];
        int status;
    } rows[] = {
        { { "true" }, 0 },
        { { "sh", "-c", "exit 7" }, 7 },
        { { "no-such-program" }, 127 },
        { { "/no/such/program" }, 127 },
        { { "/bin/text" }, 126 },
        { { "/etc" }, 126 },
        { { "sh", "-c", "kill -9 $$" }, 137 },
        { { "sh", "-c", "kill -15 $$" }, 143 },
        { { "sh", "-c", "exit 127" }, 127 },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_exec x = EXEC_INIT;
        int status = -1;

        print_message("%s\n", rows[i].argv[0]);
        x.argv = rows[i].argv;
        assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
        assert_int_equal(status, rows[i].status);
    }
}

static void streams_are_carried_whole(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-streams" });
    const char *argv[] = { "sh", "-c", "cat; echo to-stderr >&2", NULL };
    SBX_AUTO(sbx_buf) back = SBX_BUF_INIT(8 << 20);
    struct sbx_exec x = EXEC_INIT;
    char path[128], *data = malloc(3000000);
    int status = -1, err_pipe[2];
    char text[32] = "";

    for (size_t i = 0; i < 3000000; i++)
        data[i] = (char)(i * 7 + i / 251);
    snprintf(path, sizeof(path), "%s/in", w->dir);
    assert_int_equal(sbx_file_write(AT_FDCWD, path, data, 3000000, 0600, NULL), SBX_OK);
    x.argv = argv;
    x.in = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s/back", w->dir);
    x.out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pipe2(err_pipe, O_CLOEXEC), 0);
    x.err_fd = err_pipe[1];
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    close(err_pipe[1]);
    assert_int_equal(read(err_pipe[0], text, sizeof(text)), 10);
    assert_string_equal(text, "to-stderr\n");
    close(err_pipe[0]);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &back, NULL), SBX_OK);
    assert_int_equal(back.len, 3000000);
    assert_memory_equal(back.ptr, data, 3000000);
    close(x.in);
    close(x.out);
    free(data);
}

/* What a step leaves running must not hold its caller. */
static void a_process_in_the_background_holds_nobody(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-background" });
    const char *argv[] = { "sh", "-c", "sleep 100000 & echo done", NULL };
    struct sbx_exec x = EXEC_INIT;
    char text[32] = "";
    int fds[2], status = -1;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    x.argv = argv;
    x.out = x.err_fd = fds[1];
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    close(fds[1]);
    assert_int_equal(read(fds[0], text, sizeof(text)), 5);
    assert_string_equal(text, "done\n");
    assert_int_equal(read(fds[0], text, sizeof(text)), 0); /* the end: nobody inside has it */
    close(fds[0]);
}

static void a_working_directory_that_is_missing_is_named(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-cwd" });
    const char *argv[] = { "true", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status = -1;

    x.argv = argv;
    x.workdir = "/no/such/\033[31mplace";
    assert_string_equal(output(w, id, x, &status),
                        "sbx: working directory /no/such/\\x1b[31mplace: No such file or directory\n");
    assert_int_equal(status, 126);
    argv[0] = "/no/\033]0;title\a";
    x.workdir = NULL;
    assert_string_equal(output(w, id, x, &status),
                        "sbx: /no/\\x1b]0;title\\x07: No such file or directory\n");
    assert_int_equal(status, 127);
    x.user = "";
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_USAGE);
}

static void a_stopped_process_is_killed_at_the_second_interrupt(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-stopped" });
    const char *argv[] = { "sh", "-c", "kill -STOP $$; : sbx-stopped-here", NULL };
    struct sbx_exec x = EXEC_INIT;
    int fds[2], status = -1;
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    if (!pid) {
        int rc = system("for i in $(seq 600); do ps -eo stat,args | "
                        "grep -q '^T.*sbx-stopped-her[e]' && exit 0; sleep 0.05; done; exit 1");

        _exit(rc || write(fds[1], "\2\2", 2) != 2);
    }
    x.argv = argv;
    x.signal_fd = fds[0];
    x.timeout_s = 60;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 130);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fds[0]);
    close(fds[1]);
}

static void a_read_only_root_takes_no_writes_but_has_its_names(void **state)
{
    struct world *w = *state;
    struct sbx_mount m = { .kind = SBX_MOUNT_TMPFS, .target = "/tmp" };
    const char *id = running(
        w, (struct sbx_container_spec){
               .name = "t-ro", .read_only_root = true, .mounts = &m, .n_mounts = 1 });

    assert_string_equal(sh(w, id,
                           "touch /x 2>/dev/null || echo refused; touch /tmp/x; "
                           "cat /etc/hostname; grep -c t-ro /etc/hosts"),
                        "refused\nt-ro\n1\n");
}

static void a_process_does_not_see_our_descriptors(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-fds" });
    int held = open("/etc/hostname", O_RDONLY); /* on purpose without O_CLOEXEC */

    assert_true(held >= 0);
    /* 0, 1, 2 and that of the listing itself */
    assert_string_equal(sh(w, id, "ls /proc/self/fd | wc -l"), "4\n");
    /* and what it writes to is a pipe, not our file */
    assert_non_null(strstr(sh(w, id, "ls -l /proc/self/fd/1"), "pipe:"));
    close(held);
}

/* What entered a container must not be a file of the host that a hostile image could write to. */
static void the_program_that_enters_cannot_be_changed_from_inside(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-self" });
    const char *argv[] = { "/proc/self/exe", NULL };
    const char *script[] = { "/tmp/hostile", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status = -1;

    x.argv = argv;
    x.timeout_s = 30;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 125); /* it ran itself, found no request, and ended */
    sh(w, id, "printf '#!/proc/self/exe\n' >/tmp/hostile; chmod 755 /tmp/hostile");
    x.argv = script;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 125);
    assert_string_equal(sh(w, id, "true"), "");
}

static void users_groups_and_home_are_the_images(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-users" });
    int status;
    static const struct {
        const char *user, *says;
    } rows[] = {
        { "0", "uid=0(root) gid=0(root) /root" },
        { "agent", "uid=1000(agent) gid=1000(agent) groups=1000(agent),50(extra) /home/agent" },
        { "1000", "uid=1000(agent) gid=1000(agent) groups=1000(agent),50(extra) /home/agent" },
        { "77:88", "uid=77 gid=88 /" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const char *text = sh_as(w, id, rows[i].user, "echo $(id) $HOME", &status);
        char want[200];

        snprintf(want, sizeof(want), "%s\n", rows[i].says);
        if (strcmp(text, want) != 0 &&
            !strstr(text, "groups=")) /* busybox id shows groups or not */
            assert_string_equal(text, want);
        assert_int_equal(strncmp(text, want, 15), 0);
    }
    struct sbx_exec x = EXEC_INIT;
    const char *argv[] = { "true", NULL };

    x.argv = argv;
    x.user = "nobody-here";
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 126);
}

static void environment_and_directory_are_the_containers_unless_given(void **state)
{
    struct world *w = *state;
    const char *id = running(
        w, (struct sbx_container_spec){ .name = "t-env", .workdir = "/made/by/us" });
    const char *argv[] = { "sh", "-c", "pwd; echo $FROM $ADDED", NULL };
    const char *env[] = { "ADDED=exec", "FROM=changed", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status;

    x.argv = argv;
    assert_string_equal(output(w, id, x, &status), "/made/by/us\ncontainer\n");
    x.env = env;
    x.workdir = "/tmp";
    assert_string_equal(output(w, id, x, &status), "/tmp\nchanged exec\n");
}

static struct sbx_winsize size_of_test(void *ctx)
{
    int *calls = ctx;

    return (*calls)++ ? (struct sbx_winsize){ 25, 81 } : (struct sbx_winsize){ 50, 200 };
}

static void a_terminal_has_size_echo_and_end(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-tty" });
    const char *argv[] = { "sh", "-c", "tty; stty size; cat >/dev/null; echo end; exit 3", NULL };
    SBX_AUTO(sbx_buf) text = SBX_BUF_INIT(65536);
    struct sbx_exec x = EXEC_INIT;
    char path[128];
    int in[2], status = -1, calls = 0;

    snprintf(path, sizeof(path), "%s/tty", w->dir);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], "typed\n", 6), 6);
    close(in[1]); /* the end of our input is Ctrl-D on the terminal */
    x.argv = argv;
    x.tty = true;
    x.in = in[0];
    x.out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    x.winsize = size_of_test;
    x.ctx = &calls;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 3);
    close(in[0]);
    close(x.out);
    assert_int_equal(sbx_file_read(AT_FDCWD, path, &text, NULL), SBX_OK);
    print_message("%s", text.ptr);
    assert_non_null(strstr(text.ptr, "/dev/pts/"));
    assert_true(strstr(text.ptr, "50 200") || strstr(text.ptr, "25 81"));
    assert_non_null(strstr(text.ptr, "typed"));
    assert_non_null(strstr(text.ptr, "end"));
}

static void a_terminal_follows_resizing(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-resize" });
    const char *argv[] = {
        "sh", "-c", "while test \"$(stty size)\" != '25 81'; do sleep 0.01; done; echo resized",
        NULL
    };
    struct sbx_exec x = EXEC_INIT;
    int resize[2], status = -1, calls = 0;

    assert_int_equal(pipe2(resize, O_CLOEXEC), 0);
    assert_int_equal(write(resize[1], "", 1), 1);
    x.argv = argv;
    x.tty = true;
    x.winsize = size_of_test;
    x.ctx = &calls;
    x.resize_fd = resize[0];
    x.timeout_s = 60;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 0);
    close(resize[0]);
    close(resize[1]);
}

static void signals_reach_the_process(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-signal" });
    const char *argv[] = { "sleep", "100000", NULL };
    struct sbx_exec x = EXEC_INIT;
    int fds[2], status = -1;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "\x0f", 1), 1); /* SIGTERM */
    x.argv = argv;
    x.signal_fd = fds[0];
    x.timeout_s = 60;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_OK);
    assert_int_equal(status, 143);
    close(fds[0]);
    close(fds[1]);
}

static void a_process_past_its_time_is_killed_with_its_children(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-timeout" });
    const char *argv[] = { "sh", "-c", "sleep 777 & sleep 777", NULL };
    struct sbx_exec x = EXEC_INIT;
    int status = -1;

    x.argv = argv;
    x.timeout_s = 1;
    assert_int_equal(sbx_runtime_exec(w->rt, id, &x, &status, &w->err), SBX_TIMEOUT);
    assert_string_equal(sh(w, id,
                           "grep -l '^777' /proc/[0-9]*/cmdline | wc -l; "
                           "ps | grep -c '[s]leep 777'; true"),
                        "0\n0\n");
}

/* What a bundle closes: the sum of it as the kernel shows it. */
static void the_bundle_is_as_closed_as_the_engines(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-closed" });
    static const struct {
        const char *script, *says;
    } rows[] = {
        { "grep CapBnd /proc/self/status", "CapBnd:\t00000000800405fb\n" },
        { "grep CapEff /proc/self/status", "CapEff:\t00000000800405fb\n" },
        { "grep CapInh /proc/self/status", "CapInh:\t0000000000000000\n" },
        { "grep CapAmb /proc/self/status", "CapAmb:\t0000000000000000\n" },
        { "grep ^Seccomp: /proc/self/status", "Seccomp:\t2\n" },
        { "grep NoNewPrivs /proc/self/status", "NoNewPrivs:\t0\n" },
        { "grep CapBnd /proc/1/status", "CapBnd:\t00000000800405fb\n" },
        { "grep ^Seccomp: /proc/1/status", "Seccomp:\t2\n" },
        { "sed -n 's/^ *\\([a-z0-9]*\\):.*/\\1/p' /proc/net/dev", "lo\n" },
        { "hostname", "t-closed\n" },
        { "cat /etc/hostname", "t-closed\n" },
        { "head -c 1 /proc/kcore 2>/dev/null | wc -c", "0\n" },
        { "echo 1 2>/dev/null >/proc/sys/kernel/core_pattern || echo refused", "refused\n" },
        { "touch /sys/x 2>/dev/null || echo refused", "refused\n" },
        { "for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do test -e $f && "
          "echo $$ 2>/dev/null >$f && echo written; done; echo end",
          "end\n" },
        { "ls /sys/firmware | wc -l", "0\n" },
        { "mknod /tmp/n c 1 3 2>/dev/null || echo refused", "refused\n" },
        { "mount -t tmpfs x /tmp 2>/dev/null || echo refused", "refused\n" },
        { "unshare -U true 2>/dev/null || echo refused", "refused\n" },
        { "stat -c %a /bin/setuid", "4755\n" },
        { "cat /proc/self/cgroup | grep -vc ':/$'", "0\n" },
        { "stat -f -c %T /dev/shm", "tmpfs\n" },
        { "mount | grep -c ' /dev/pts '", "1\n" },
    };
    int status;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        print_message("%s\n", rows[i].script);
        assert_string_equal(sh_as(w, id, "0", rows[i].script, &status), rows[i].says);
    }
    assert_string_equal(sh_as(w, id, "1000", "grep CapEff /proc/self/status", &status),
                        "CapEff:\t0000000000000000\n");
    assert_string_equal(sh_as(w, id, "1000", "grep CapBnd /proc/self/status", &status),
                        "CapBnd:\t00000000800405fb\n");
}

static void limits_are_kept_by_cgroups(void **state)
{
    struct world *w = *state;
    const char *id = running(w,
                             (struct sbx_container_spec){
                                 .name = "t-limits", .memory = 64 << 20, .cpus = 0.5, .pids = 33 });
    const char *text = sh(w, id,
                          "cat /sys/fs/cgroup/memory/memory.limit_in_bytes "
                          "/sys/fs/cgroup/memory.max 2>/dev/null; cat "
                          "/sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null; "
                          "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu.max "
                          "2>/dev/null; true");

    print_message("%s", text);
    assert_non_null(strstr(text, "67108864\n"));
    assert_non_null(strstr(text, "33\n"));
    assert_non_null(strstr(text, "50000"));
}

static void mounts_are_as_asked(void **state)
{
    struct world *w = *state;
    char host[100], command[300];
    bool sized, created;
    int status;
    struct sbx_mount m[] = {
        { .kind = SBX_MOUNT_BIND, .target = "/work/ro", .read_only = true },
        { .kind = SBX_MOUNT_BIND, .target = "/work" },
        { .kind = SBX_MOUNT_TMPFS,
          .target = "/run/secrets",
          .mode = 0700,
          .uid = 1000,
          .size = 1 << 20,
          .noexec = true },
        { .kind = SBX_MOUNT_VOLUME, .source = "t-vol", .target = "/home/agent" },
        { .kind = SBX_MOUNT_VOLUME, .source = "t-empty", .target = "/data", .mode = 0750 },
    };
    const char *id;

    snprintf(host, sizeof(host), "%s/host", w->dir);
    snprintf(command, sizeof(command), "mkdir -p %s/ro && echo x > %s/f", host, host);
    assert_int_equal(system(command), 0);
    m[0].source = m[1].source = host;
    assert_int_equal(sbx_runtime_volume_ensure(w->rt, "t-vol", 0, &sized, &created, &w->err),
                     SBX_OK);
    assert_true(created && sized);
    assert_int_equal(sbx_runtime_volume_ensure(w->rt, "t-vol", 5, &sized, &created, &w->err),
                     SBX_OK);
    assert_false(created || sized);
    assert_int_equal(sbx_runtime_volume_ensure(w->rt, "t-empty", 0, &sized, &created, &w->err),
                     SBX_OK);
    id = running(w, (struct sbx_container_spec){
                        .name = "t-mounts", .mounts = m, .n_mounts = SBX_ARRAY_LEN(m) });
    assert_string_equal(sh(w, id,
                           "cat /work/f /work/ro/f; touch /work/new; "
                           "touch /work/ro/new 2>/dev/null || echo ro"),
                        "x\nx\nro\n");
    assert_string_equal(sh(w, id,
                           "stat -c '%a %u' /run/secrets; mount | grep -c "
                           "'/run/secrets.*nosuid.nodev.noexec.*size=1024k'"),
                        "700 1000\n1\n");
    assert_string_equal(sh(w, id,
                           "stat -c '%a %u %g' /home/agent; cat /home/agent/.profile; "
                           "stat -c ' %a %u' /home/agent/.profile /data"),
                        "755 1000 1000\nhello 640 1000\n 750 1000\n");
    sh_as(w, id, "1000", "echo kept > /home/agent/mine", &status);
    assert_int_equal(status, 0);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    id = running(w,
                 (struct sbx_container_spec){ .name = "t-mounts", .mounts = &m[3], .n_mounts = 1 });
    assert_string_equal(sh(w, id, "cat /home/agent/mine"), "kept\n");
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_volume_remove(w->rt, "t-vol", &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_volume_remove(w->rt, "t-vol", &w->err), SBX_OK);
}

/* Members of a tar on stdin. */
static enum sbx_code copy_in(struct world *w, const char *id, const char *path,
                             const struct member *v, size_t n)
{
    SBX_AUTO(sbx_buf) tar = SBX_BUF_INIT(1 << 20);
    char file[128];
    enum sbx_code rc;
    int fd;

    tar_of(&tar, v, n);
    snprintf(file, sizeof(file), "%s/in.tar", w->dir);
    image_write(file, &tar, tar.len);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    rc = sbx_runtime_copy_in(w->rt, id, path, fd, &w->err);
    close(fd);
    return rc;
}

static void files_are_copied_in_on_a_tmpfs_too(void **state)
{
    struct world *w = *state;
    struct sbx_mount m = { .kind = SBX_MOUNT_TMPFS, .target = "/mem" };
    static const struct member v[] = {
        { .name = "sub/f", .mode = 04711, .uid = 1000, .gid = 50, .data = "text" },
        { .name = "sub/s", .type = '2', .mode = 0777, .link = "/etc/passwd" },
    };
    const char *id = running(
        w, (struct sbx_container_spec){ .name = "t-copy", .mounts = &m, .n_mounts = 1 });
    char command[300];
    int fd;

    assert_int_equal(copy_in(w, id, "/mem", v, 2), SBX_OK);
    assert_string_equal(sh(w, id, "cat /mem/sub/f; stat -c ' %a %u %g' /mem/sub/f"),
                        "text 4711 1000 50\n");
    assert_int_equal(copy_in(w, id, "/nowhere", v, 2), SBX_NOT_FOUND);
    snprintf(command, sizeof(command), "%s/out.tar", w->dir);
    fd = open(command, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(sbx_runtime_copy_out(w->rt, id, "/mem/sub", fd, &w->err), SBX_OK);
    close(fd);
    snprintf(command, sizeof(command),
             "cd %s && tar xpf out.tar && test \"$(cat sub/f)\" = text && "
             "test $(stat -c %%a%%u sub/f) = 47111000 && test $(readlink sub/s) = /etc/passwd",
             w->dir);
    assert_int_equal(system(command), 0);
    fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(sbx_runtime_copy_out(w->rt, id, "/mem/none", fd, &w->err), SBX_NOT_FOUND);
    close(fd);
}

static void copying_never_leaves_the_root(void **state)
{
    struct world *w = *state;
    char trap[100], script[600], inside[200];
    static const struct member v[] = { { .name = "f", .mode = 0644, .data = "evil" } };
    static const struct member dots[] = { { .name = "../../f", .mode = 0644, .data = "evil" } };
    static const struct member device[] = { { .name = "d", .type = '3', .major = 1, .minor = 3 } };
    static const struct member over[] = { { .name = "link", .mode = 0600, .data = "file" } };
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-escape" });

    snprintf(trap, sizeof(trap), "%s/trap", w->dir);
    assert_int_equal(mkdir(trap, 0755), 0);
    /* the same path inside the root, reached by links that try to leave it */
    snprintf(script, sizeof(script),
             "mkdir -p %s; ln -s %s /abs; ln -s ../../../../../../..%s /rel; "
             "ln -s /proc/1/root%s /magic; ln -s %s/f /link",
             trap, trap, trap, trap, trap);
    sh(w, id, script);
    assert_int_equal(copy_in(w, id, "/abs", v, 1), SBX_OK);
    assert_int_equal(copy_in(w, id, "/rel", v, 1), SBX_OK);
    assert_int_not_equal(copy_in(w, id, "/magic", v, 1), SBX_OK);
    assert_int_equal(copy_in(w, id, "/tmp", dots, 1), SBX_SCHEMA);
    assert_int_equal(copy_in(w, id, "/tmp", device, 1), SBX_SCHEMA);
    assert_int_equal(copy_in(w, id, "/", over, 1), SBX_OK); /* the link itself is replaced */
    snprintf(inside, sizeof(inside), "%s/f", trap);
    assert_int_not_equal(access(inside, F_OK), 0);
    snprintf(script, sizeof(script), "cat %s/f; cat /link; ls -l /link | head -c 1", trap);
    assert_string_equal(sh(w, id, script), "evilfile-");
}

static void what_cannot_be_had_is_refused_before_anything_is_made(void **state)
{
    struct world *w = *state;
    char *id = NULL;
    static const struct {
        struct sbx_container_spec spec;
        enum sbx_code code;
        const char *says;
    } rows[] = {
        { { .name = "t-x", .gpus = "all" }, SBX_UNSUPPORTED, "gpu" },
        { { .name = "t-x", .image = "none:1" }, SBX_NOT_FOUND, "none:1" },
        { { .name = "t-x", .netns = SBX_NETNS_CONTAINER, .netns_ref = "y" },
          SBX_UNSUPPORTED,
          "network" },
        { { .name = "t-x", .image = "../../etc" }, SBX_NOT_FOUND, "../../etc" },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        assert_int_equal(try_create(w, rows[i].spec, &id), rows[i].code);
        print_message("%s\n", w->err.text);
        assert_non_null(strstr(w->err.text, rows[i].says));
        assert_null(id);
    }
    assert_nothing_left(w);
}

static void a_start_that_fails_leaves_a_stopped_container(void **state)
{
    struct world *w = *state;
    static const char *const none[] = { "/no/such/init", NULL };
    struct sbx_mount gone = { .kind = SBX_MOUNT_BIND, .source = "/no/such/source", .target = "/x" };
    static const struct {
        const char *netns, *says;
        int what;
    } rows[] = {
        { "/proc/self/ns/net", "host's own network", 0 },
        { "/proc/1/ns/net", "/proc/1/ns/net", 0 },
        { "/proc/self/ns/mnt", "not a network namespace", 0 },
        { "/etc/passwd", "not a network namespace", 0 },
        { "/no/such/ns", "/no/such/ns", 0 },
        { NULL, "/no/such/init", 1 },
        { NULL, "/no/such/source", 2 },
    };

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_container_spec s = { .name = "t-fail", .netns_ref = rows[i].netns };
        struct sbx_container c;
        char *id = NULL;

        s.netns = rows[i].netns ? SBX_NETNS_PATH : SBX_NETNS_NONE;
        s.argv = rows[i].what == 1 ? none : NULL;
        s.mounts = rows[i].what == 2 ? &gone : NULL;
        s.n_mounts = rows[i].what == 2;
        assert_int_equal(try_create(w, s, &id), SBX_OK);
        assert_int_not_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
        print_message("%s\n", w->err.text);
        assert_non_null(strstr(w->err.text, rows[i].says));
        assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_OK);
        assert_false(c.running);
        assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
        free(id);
    }
    assert_nothing_left(w);
}

static void a_name_is_taken_once(void **state)
{
    struct world *w = *state;
    char *id = NULL, *second = NULL;

    assert_int_equal(try_create(w, (struct sbx_container_spec){ .name = "t-name" }, &id), SBX_OK);
    assert_int_equal(try_create(w, (struct sbx_container_spec){ .name = "t-name" }, &second),
                     SBX_EXISTS);
    assert_int_equal(sbx_runtime_remove(w->rt, "t-name", &w->err), SBX_OK);
    assert_int_equal(try_create(w, (struct sbx_container_spec){ .name = "t-name" }, &second),
                     SBX_OK);
    assert_string_not_equal(id, second);
    /* the id of one that is gone does not find its successor */
    struct sbx_container c;
    assert_int_equal(sbx_runtime_inspect(w->rt, id, w->arena, &c, &w->err), SBX_NOT_FOUND);
    assert_int_equal(sbx_runtime_remove(w->rt, second, &w->err), SBX_OK);
    free(id);
    free(second);
}

static void a_container_is_saved_as_an_image(void **state)
{
    struct world *w = *state;
    const char *id = running(w, (struct sbx_container_spec){ .name = "t-commit" });
    char *ignored = NULL;

    sh(w, id, "echo new > /etc/new; rm /etc/group; chmod 700 /etc/new; mv /home/agent /home/moved");
    assert_int_equal(sbx_runtime_commit(w->rt, id, "saved:1", &w->err), SBX_OK);
    sh(w, id, "true"); /* and goes on */
    id = running(w, (struct sbx_container_spec){ .name = "t-commit2", .image = "saved:1" });
    assert_string_equal(sh(w, id,
                           "cat /etc/new; stat -c %a /etc/new; test -e /etc/group || echo gone; "
                           "cat /home/moved/.profile; test -e /home/agent || echo moved"),
                        "new\n700\ngone\nhellomoved\n");
    assert_int_equal(sbx_runtime_image_remove(w->rt, "saved:1", &w->err), SBX_BUSY);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_image_remove(w->rt, "saved:1", &w->err), SBX_OK);
    assert_int_equal(
        try_create(w, (struct sbx_container_spec){ .name = "t-c3", .image = "saved:1" }, &ignored),
        SBX_NOT_FOUND);
}

static void an_image_may_have_more_than_a_hundred_layers(void **state)
{
    struct world *w = *state;
    struct test_image im = { .tag = "many:1" };
    char name[32], path[128];
    const char *id, **names;
    size_t n;

    im.layer[0] = (struct sbx_buf)SBX_BUF_INIT(32 << 20);
    im.n = 1;
    tar_add(&im.layer[0],
            &(struct member){
                .name = "bin/sh", .mode = 0755, .data = busybox.ptr, .len = busybox.len });
    tar_add(&im.layer[0], &(struct member){ .name = "bin/sleep", .type = '2', .link = "sh" });
    tar_add(&im.layer[0], &(struct member){ .name = "bin/ls", .type = '2', .link = "sh" });
    tar_end(&im.layer[0]);
    for (int i = 0; i < 126; i++) {
        struct member m = { .name = name, .mode = 0644, .data = name };

        snprintf(name, sizeof(name), "d/f%d", i / 2 * 2); /* each layer twice: dropped below */
        image_layer(&im, &m, 1);
    }
    snprintf(path, sizeof(path), "%s/many.tar", w->dir);
    image_save(&im, path);
    assert_int_equal(sbx_runtime_image_load(w->rt, path, w->arena, &names, &n, &w->err), SBX_OK);
    id = running(w, (struct sbx_container_spec){ .name = "t-many", .image = "many:1" });
    assert_string_equal(sh(w, id, "set -- /d/*; echo $#"), "63\n");
}

/* Kill a command that makes, starts, uses and removes at a moment that differs each time. */
static void killed_commands_leave_nothing_that_the_next_does_not_clean(void **state)
{
    struct world *w = *state;

    for (unsigned i = 0; i < 24; i++) {
        struct sbx_container_spec spec = { .name = "t-killed" };
        struct sbx_container *list;
        char *id = NULL;
        size_t n;
        pid_t pid = fork();

        if (!pid) {
            int status;
            const char *argv[] = { "true", NULL };
            struct sbx_exec x = EXEC_INIT;

            x.argv = argv;
            if (world_reopen(w) == SBX_OK && try_create(w, spec, &id) == SBX_OK &&
                sbx_runtime_start(w->rt, id, &w->err) == SBX_OK &&
                sbx_runtime_exec(w->rt, id, &x, &status, &w->err) == SBX_OK &&
                sbx_runtime_stop(w->rt, id, 0, &w->err) == SBX_OK)
                _exit(sbx_runtime_remove(w->rt, id, &w->err) != SBX_OK);
            _exit(1);
        }
        usleep(i * 5000); /* the moment, not a wait for anything */
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        /* a runtime that the killed command had started may still be at work; remove ends it */
        assert_int_equal(sbx_runtime_list(w->rt, w->arena, &list, &n, &w->err), SBX_OK);
        assert_int_equal(sbx_runtime_remove(w->rt, "t-killed", &w->err), SBX_OK);
        assert_int_equal(try_create(w, spec, &id), SBX_OK);
        assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
        assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
        free(id);
        assert_nothing_left(w);
    }
}

static void accounts_that_are_no_files_do_not_hold_a_start(void **state)
{
    static const char *const rows[] = {
        "rm /etc/passwd; mknod /etc/passwd p",
        "rm /etc/group; mknod /etc/group p",
        "mknod /tmp/p p; rm /etc/passwd; ln -s /tmp/p /etc/passwd",
        "mkdir /tmp/e; mknod /tmp/e/passwd p; mv /etc /old; ln -s /tmp/e /etc",
    };
    struct world *w = *state;

    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        const char *id = running(w, (struct sbx_container_spec){ .name = "t-fifo" });

        sh(w, id, rows[i]);
        assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
        assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_OK);
        assert_non_null(strstr(sh(w, id, "cat /etc/passwd"), "agent:x:1000"));
        assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    }
    assert_nothing_left(w);
}

/* A start that hangs: /etc of a volume, which is mounted only by the OCI runtime, has the FIFO. */
static char *hangs(struct world *w)
{
    static const struct sbx_mount etc = { .kind = SBX_MOUNT_BIND, .target = "/etc" };
    struct sbx_mount m = etc;
    char dir[128], path[160], *id = NULL;

    snprintf(dir, sizeof(dir), "%s/etc", w->dir);
    snprintf(path, sizeof(path), "%s/passwd", dir);
    assert_true(mkdir(dir, 0755) == 0 || errno == EEXIST);
    assert_true(mkfifo(path, 0644) == 0 || errno == EEXIST);
    m.source = dir;
    assert_int_equal(try_create(w,
                                (struct sbx_container_spec){
                                    .name = "t-hangs", .mounts = &m, .n_mounts = 1 },
                                &id),
                     SBX_OK);
    return id;
}

/* Until the container's first process waits for the FIFO: its cgroup has a process. */
static void wait_for_hang(const char *id)
{
    char command[700];

    snprintf(command, sizeof(command),
             "for i in $(seq 600); do cat /sys/fs/cgroup/sbx/%s/cgroup.procs "
             "/sys/fs/cgroup/*/sbx/%s/cgroup.procs 2>/dev/null | grep -q . && exit 0; sleep 0.05; "
             "done; exit 1",
             id, id);
    assert_int_equal(system(command), 0);
}

static void a_start_that_hangs_ends_at_an_interrupt(void **state)
{
    struct world *w = *state;
    char *id = hangs(w);
    int fds[2];
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "\2", 1), 1); /* one that was followed before does not count */
    sbx_runtime_interrupt_by(w->rt, fds[0]);
    pid = fork();
    if (!pid) {
        wait_for_hang(id);
        _exit(write(fds[1], "\2", 1) != 1);
    }
    assert_int_equal(sbx_runtime_start(w->rt, id, &w->err), SBX_CANCELED);
    assert_non_null(strstr(w->err.text, "interrupted"));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    close(fds[0]);
    close(fds[1]);
    free(id);
    assert_nothing_left(w);
}

static void a_start_that_hangs_and_is_killed_holds_nobody(void **state)
{
    struct world *w = *state;
    char *id = hangs(w);
    pid_t pid = fork();

    if (!pid)
        _exit(sbx_runtime_start(w->rt, id, &w->err) != SBX_OK);
    wait_for_hang(id);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(sbx_runtime_stop(w->rt, id, 0, &w->err), SBX_OK);
    assert_int_equal(sbx_runtime_remove(w->rt, id, &w->err), SBX_OK);
    free(id);
    assert_nothing_left(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_lives_from_create_to_remove),
        cmocka_unit_test(the_first_process_gets_term_and_time_to_end),
        cmocka_unit_test(exit_statuses_are_a_shells),
        cmocka_unit_test(streams_are_carried_whole),
        cmocka_unit_test(a_process_in_the_background_holds_nobody),
        cmocka_unit_test(a_working_directory_that_is_missing_is_named),
        cmocka_unit_test(a_read_only_root_takes_no_writes_but_has_its_names),
        cmocka_unit_test(a_process_does_not_see_our_descriptors),
        cmocka_unit_test(the_program_that_enters_cannot_be_changed_from_inside),
        cmocka_unit_test(users_groups_and_home_are_the_images),
        cmocka_unit_test(environment_and_directory_are_the_containers_unless_given),
        cmocka_unit_test(a_terminal_has_size_echo_and_end),
        cmocka_unit_test(a_terminal_follows_resizing),
        cmocka_unit_test(signals_reach_the_process),
        cmocka_unit_test(a_stopped_process_is_killed_at_the_second_interrupt),
        cmocka_unit_test(a_process_past_its_time_is_killed_with_its_children),
        cmocka_unit_test(the_bundle_is_as_closed_as_the_engines),
        cmocka_unit_test(limits_are_kept_by_cgroups),
        cmocka_unit_test(mounts_are_as_asked),
        cmocka_unit_test(files_are_copied_in_on_a_tmpfs_too),
        cmocka_unit_test(copying_never_leaves_the_root),
        cmocka_unit_test(an_image_may_have_more_than_a_hundred_layers),
        cmocka_unit_test(a_container_is_saved_as_an_image),
        cmocka_unit_test_setup_teardown(a_name_is_taken_once, world_up, world_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_had_is_refused_before_anything_is_made,
                                        world_up, world_down),
        cmocka_unit_test_setup_teardown(a_start_that_fails_leaves_a_stopped_container, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(accounts_that_are_no_files_do_not_hold_a_start, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(a_start_that_hangs_ends_at_an_interrupt, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(a_start_that_hangs_and_is_killed_holds_nobody, world_up,
                                        world_down),
        cmocka_unit_test_setup_teardown(killed_commands_leave_nothing_that_the_next_does_not_clean,
                                        world_up, world_down),
    };
    int rc = world_can_run();

    return rc ? rc : cmocka_run_group_tests(tests, world_up, world_down);
}
