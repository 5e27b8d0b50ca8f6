/* The docker backend against a real Engine: containers. */
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void a_container_lives_from_create_to_remove(void **state)
{
    struct world *w = *state;
    struct sbx_container_spec spec = { .name = "one", .image = image, .argv = idle };
    struct sbx_container c, *list;
    SBX_AUTO_FREE char *again = NULL;
    char *first;
    size_t n;

    ASSERT_OK(sbx_runtime_create(w->rt, &spec, &w->id, &w->err));
    assert_int_equal(sbx_runtime_create(w->rt, &spec, &again, &w->err), SBX_EXISTS);
    ASSERT_OK(sbx_runtime_inspect(w->rt, "one", w->arena, &c, &w->err));
    assert_false(c.running);
    assert_string_equal(c.started_at, "");
    assert_string_equal(c.name, "one");
    ASSERT_OK(sbx_runtime_start(w->rt, w->id, &w->err));
    ASSERT_OK(sbx_runtime_start(w->rt, w->id, &w->err));
    ASSERT_OK(sbx_runtime_inspect(w->rt, w->id, w->arena, &c, &w->err));
    assert_true(c.running && c.pid > 1);
    first = strdup(c.started_at);
    ASSERT_OK(sbx_runtime_stop(w->rt, w->id, 0, &w->err));
    ASSERT_OK(sbx_runtime_stop(w->rt, w->id, 0, &w->err));
    ASSERT_OK(sbx_runtime_inspect(w->rt, w->id, w->arena, &c, &w->err));
    assert_true(!c.running && c.pid == 0 && c.exit_code == 137);
    ASSERT_OK(sbx_runtime_start(w->rt, "one", &w->err));
    ASSERT_OK(sbx_runtime_list(w->rt, w->arena, &list, &n, &w->err));
    assert_int_equal(n, 1);
    assert_true(list[0].running && strcmp(list[0].started_at, first) != 0);
    free(first);
    ASSERT_OK(sbx_runtime_remove(w->rt, w->id, &w->err));
    ASSERT_OK(sbx_runtime_remove(w->rt, w->id, &w->err));
    assert_int_equal(sbx_runtime_inspect(w->rt, w->id, w->arena, &c, &w->err), SBX_NOT_FOUND);
    assert_int_equal(sbx_runtime_start(w->rt, w->id, &w->err), SBX_NOT_FOUND);
}

static void the_container_has_our_settings_and_no_network(void **state)
{
    struct world *w = *state;
    static const struct sbx_mount mounts[] = {
        { .kind = SBX_MOUNT_TMPFS,
          .target = "/run/secrets",
          .size = 1 << 20,
          .mode = 0700,
          .noexec = true,
          .uid = 1000 },
        { .kind = SBX_MOUNT_BIND,
          .source = "/etc/hostname",
          .target = "/mnt/x",
          .read_only = true },
        { .kind = SBX_MOUNT_VOLUME, .source = "data", .target = "/data" },
    };
    struct sbx_container_spec spec = {
        .name = "two",
        .image = image,
        .argv = idle,
        .hostname = "two",
        .mounts = mounts,
        .n_mounts = 3,
        .env = (const char *const[]){ "A=1", NULL },
        .workdir = "/made/here",
        .sysctls = (const char *const[]){ "net.ipv6.conf.lo.disable_ipv6=0", NULL },
        .labels = (const char *const[]){ "x.y=z=1", NULL },
        .memory = 256 << 20,
        .cpus = 0.5,
    };
    SBX_AUTO(sbx_buf) out = { 0 };
    struct sbx_container c;
    bool sized, created, label = false;

    assert_int_equal(sbx_runtime_create(w->rt, &spec, &w->id, &w->err), SBX_NOT_FOUND);
    ASSERT_OK(sbx_runtime_volume_ensure(w->rt, "data", 0, &sized, &created, &w->err));
    assert_true(created);
    ASSERT_OK(sbx_runtime_create(w->rt, &spec, &w->id, &w->err));
    ASSERT_OK(sbx_runtime_start(w->rt, w->id, &w->err));
    assert_int_equal(shell(w,
                           "stat -c '%a %u' /run/secrets; stat -f -c '%b %S' /run/secrets;"
                           "ls /sys/class/net; hostname; pwd; echo $A; id -u;"
                           "cat /proc/sys/net/ipv6/conf/lo/disable_ipv6; touch /mnt/x;"
                           "echo 127.0.0.1 mine >>/etc/hosts && grep -c mine /etc/hosts;"
                           "grep -E 'CapBnd|Seccomp:' /proc/self/status; touch /data/f",
                           &out),
                     0);
    assert_string_equal(out.ptr, "700 1000\n256 4096\nlo\ntwo\n/made/here\n1\n0\n0\n1\n"
                                 "CapBnd:\t00000000800405fb\nSeccomp:\t2\n");
    ASSERT_OK(sbx_runtime_inspect(w->rt, "two", w->arena, &c, &w->err));
    for (size_t i = 0; c.labels[i]; i++)
        label |= strcmp(c.labels[i], "x.y=z=1") == 0;
    assert_true(label);
}

static void a_container_joins_the_network_of_another(void **state)
{
    struct world *w = *state;
    struct sbx_container_spec spec = { .name = "two",
                                       .image = image,
                                       .argv = idle,
                                       .hostname = "two",
                                       .netns = SBX_NETNS_CONTAINER,
                                       .netns_ref = w->id };
    SBX_AUTO(sbx_buf) a = { 0 };
    SBX_AUTO(sbx_buf) b = { 0 };
    char *first = w->id;

    assert_int_equal(shell(w, "readlink /proc/self/ns/net", &a), 0);
    ASSERT_OK(sbx_runtime_create(w->rt, &spec, &w->id, &w->err));
    free(first);
    ASSERT_OK(sbx_runtime_start(w->rt, w->id, &w->err));
    assert_int_equal(shell(w, "readlink /proc/self/ns/net", &b), 0);
    assert_string_equal(a.ptr, b.ptr);
}

static void archives_go_in_and_come_out(void **state)
{
    struct world *w = *state;
    SBX_AUTO(sbx_buf) out = { 0 };
    struct drain d;
    int fd;

    assert_int_equal(
        shell(w, "mkdir -p /a/b /c; printf hello >'/a/b/x y'; chmod 640 '/a/b/x y'", &out), 0);
    fd = start_drain(&d);
    ASSERT_OK(sbx_runtime_copy_out(w->rt, w->id, "/a/b", fd, &w->err));
    close(fd);
    pthread_join(d.thread, NULL);
    fd = feed(d.b.ptr, d.b.len);
    sbx_buf_release(&d.b);
    ASSERT_OK(sbx_runtime_copy_in(w->rt, w->id, "/c", fd, &w->err));
    close(fd);
    sbx_buf_release(&out);
    assert_int_equal(shell(w, "cat '/c/b/x y'; stat -c ' %a' '/c/b/x y'", &out), 0);
    assert_string_equal(out.ptr, "hello 640\n");
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(sbx_runtime_copy_out(w->rt, w->id, "/none", fd, &w->err), SBX_NOT_FOUND);
    assert_int_equal(sbx_runtime_copy_in(w->rt, w->id, "/none", fd, &w->err), SBX_NOT_FOUND);
    close(fd);
}

static void volumes_are_ours_by_label_and_keep_their_data(void **state)
{
    struct world *w = *state;
    bool sized, created;
    const char **names;
    size_t n;

    ASSERT_OK(sbx_runtime_volume_ensure(w->rt, "a", 1 << 20, &sized, &created, &w->err));
    assert_true(created);
    ASSERT_OK(sbx_runtime_volume_ensure(w->rt, "a", 0, &sized, &created, &w->err));
    assert_false(created);
    ASSERT_OK(sbx_runtime_volume_ensure(w->rt, "b", 0, &sized, &created, &w->err));
    ASSERT_OK(sbx_runtime_volume_list(w->rt, w->arena, &names, &n, &w->err));
    assert_int_equal(n, 2);
    ASSERT_OK(sbx_runtime_volume_remove(w->rt, "a", &w->err));
    ASSERT_OK(sbx_runtime_volume_remove(w->rt, "a", &w->err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(a_container_lives_from_create_to_remove),
        PLAIN(the_container_has_our_settings_and_no_network),
        RUNNING(a_container_joins_the_network_of_another),
        RUNNING(archives_go_in_and_come_out),
        PLAIN(volumes_are_ours_by_label_and_keep_their_data),
    };
    int rc = find_image();

    return rc ? rc : cmocka_run_group_tests(tests, NULL, NULL);
}
