/* The oci runtime with a real runc, as root: what a container has and has not; files and images. */
#include "world.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bundle_is_as_closed_as_the_engines),
        cmocka_unit_test(a_read_only_root_takes_no_writes_but_has_its_names),
        cmocka_unit_test(limits_are_kept_by_cgroups),
        cmocka_unit_test(mounts_are_as_asked),
        cmocka_unit_test(files_are_copied_in_on_a_tmpfs_too),
        cmocka_unit_test(copying_never_leaves_the_root),
        cmocka_unit_test(an_image_may_have_more_than_a_hundred_layers),
        cmocka_unit_test(a_container_is_saved_as_an_image),
    };
    int rc = world_can_run();

    return rc ? rc : cmocka_run_group_tests(tests, world_up, world_down);
}
