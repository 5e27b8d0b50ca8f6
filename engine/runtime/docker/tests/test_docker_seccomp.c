/* The seccomp profile as the Engine applies it, seen from inside. */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void make(struct world *w, bool userns, const char *const *cap_add)
{
    static const struct sbx_mount probe = {
        .kind = SBX_MOUNT_BIND, .source = SBX_PROBE, .target = "/probe", .read_only = true
    };
    struct sbx_container_spec spec = { .name = "one",
                                       .image = image,
                                       .argv = idle,
                                       .hostname = "one",
                                       .mounts = &probe,
                                       .n_mounts = 1,
                                       .userns_allowed = userns,
                                       .cap_add = cap_add };

    ASSERT_OK(sbx_runtime_create(w->rt, &spec, &w->id, &w->err));
    ASSERT_OK(sbx_runtime_start(w->rt, w->id, &w->err));
}

static void expect(struct world *w, const char *const *lines)
{
    SBX_AUTO(sbx_buf) out = { 0 };

    assert_int_equal(shell(w, "/probe", &out), 0);
    for (; *lines; lines++)
        if (!strstr(out.ptr, *lines)) {
            print_error("no \"%s\" in:\n%s", *lines, out.ptr);
            fail();
        }
}

static void vsock_and_other_ways_out_are_closed(void **state)
{
    static const char *const lines[] = {
        "unix 0\n",
        "inet 0\n",
        "inet6 0\n",
        "netlink 0\n",
        "pair 0\n",
        "ptrace 0\n",
        "vsock 1\n",
        "packet 1\n",
        "alg 1\n",
        "io_uring 1\n",
        "clone3 38\n",
        "mount 1\n",
        "keyctl 1\n",
        "bpf 1\n",
        "userns 1\n",
#if defined(__x86_64__)
        "int80-socketcall-vsock 38\n",
        "int80-socket-vsock 1\n",
        "int80-socket-unix 0\n",
#endif
        NULL,
    };
    struct world *w = *state;

    make(w, false, NULL);
    expect(w, lines);
}

static void switches_open_what_they_name_and_no_more(void **state)
{
    static const char *const lines[] = { "vsock 1\n",  "packet 0\n",  "io_uring 1\n",
                                         "userns 0\n", "clone3 22\n", NULL };
    static const char *const raw[] = { "NET_RAW", NULL };
    struct world *w = *state;

    make(w, true, raw);
    expect(w, lines);
}

static void sudo_works_inside(void **state)
{
    struct world *w = *state;
    SBX_AUTO(sbx_buf) out = { 0 };
    SBX_AUTO(sbx_buf) err = { 0 };
    SBX_AUTO(sbx_buf) hosts = { 0 };
    struct sbx_exec x = bare(
        SH("command -v sudo >/dev/null || exit 77; sudo -n id -u && git --version >/dev/null "
           "&& curl --version >/dev/null && apt-cache policy >/dev/null && echo fine"));
    int status = -1;

    make(w, false, NULL);
    assert_int_equal(shell(w, "echo 127.0.0.1 one >>/etc/hosts", &hosts), 0);
    x.user = "1000";
    ASSERT_OK(run(w, &x, &out, &err, &status));
    if (status == 77) { /* the image has no sudo to try; skip() leaves by longjmp */
        sbx_buf_release(&out);
        sbx_buf_release(&err);
        sbx_buf_release(&hosts);
        skip();
    }
    assert_string_equal(err.ptr, "");
    assert_string_equal(out.ptr, "0\nfine\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(vsock_and_other_ways_out_are_closed),
        PLAIN(switches_open_what_they_name_and_no_more),
        PLAIN(sudo_works_inside),
    };
    int rc = find_image();

    return rc ? rc : cmocka_run_group_tests(tests, NULL, NULL);
}
