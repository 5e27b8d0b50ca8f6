/* Ports inward: specs, what is recorded, what is taken back. */
#include "world.h"

#include <fcntl.h>
#include <unistd.h>

#include "../box.h"

static void specs_are_read_or_refused_with_what_to_write(void **state)
{
    static const struct {
        const char *text, *ip;
        unsigned host, inside;
        enum sbx_port_protocol protocol;
    } good[] = {
        { "80", "", 0, 80, SBX_PORT_ANY },
        { "65535/tcp", "", 0, 65535, SBX_PORT_TCP },
        { "80/TCP6", "", 0, 80, SBX_PORT_TCP6 },
        { "8080:80", "", 8080, 80, SBX_PORT_ANY },
        { ":80", "", 0, 80, SBX_PORT_ANY },
        { "0:80", "", 0, 80, SBX_PORT_ANY },
        { "8080:80/tcp4", "", 8080, 80, SBX_PORT_TCP4 },
        { "127.0.0.1::80", "127.0.0.1", 0, 80, SBX_PORT_TCP4 },
        { "0.0.0.0:8080:80/tcp4", "0.0.0.0", 8080, 80, SBX_PORT_TCP4 },
        { "[::1]:8080:80", "::1", 8080, 80, SBX_PORT_TCP6 },
        { "[0:0::1]:8080:80/tcp6", "::1", 8080, 80, SBX_PORT_TCP6 },
        { "[::1]:8080:80/tcp", "::1", 8080, 80, SBX_PORT_TCP6 },
        { "127.0.0.1:8080:80/tcp", "127.0.0.1", 8080, 80, SBX_PORT_TCP4 },
        { "53/udp", "", 0, 53, SBX_PORT_UDP },
        { "5353:53/UDP4", "", 5353, 53, SBX_PORT_UDP4 },
        { "127.0.0.1:5353:53/udp", "127.0.0.1", 5353, 53, SBX_PORT_UDP4 },
        { "[::1]:5353:53/udp", "::1", 5353, 53, SBX_PORT_UDP6 },
    };
    static const char *const bad[] = {
        "", ":", "::", "/tcp", "0", "65536", "-1", "+80", " 80", "80 ", "80x", "8080:", "8080:0",
        "8080:65536", "99999:80", "1:2:3", "a:80", "localhost:8080:80", "127.1:8080:80",
        "[::1]:80", "[::1:8080:80", "::1:8080:80", "[]:1:2", "[127.0.0.1]:8080:80", "1.2.3.4:80",
        "127.0.0.1:8080:80/tcp6", "[::1]:8080:80/tcp4", "[::1]:8080:80/udp4", "127.0.0.1:8080:80/udp6", "80/", "80/sctp",
        "80/tcp/tcp", "8000-8010:8000-8010", "80:80:80:80",
        "[0000:0000:0000:0000:0000:0000:0000:00000001]:8080:80",
    };
    struct sbx_port_spec s;

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(good); i++) {
        struct sbx_err err = SBX_ERR_INIT;

        if (sbx_port_spec_parse(good[i].text, &s, &err))
            fail_msg("%s: %s", good[i].text, err.text);
        if (strcmp(s.host_ip, good[i].ip) || s.host_port != good[i].host ||
            s.sandbox_port != good[i].inside || s.protocol != good[i].protocol)
            fail_msg("%s: [%s] %u %u %d", good[i].text, s.host_ip, s.host_port, s.sandbox_port,
                     (int)s.protocol);
    }
    for (size_t i = 0; i < SBX_ARRAY_LEN(bad); i++) {
        struct sbx_err err = SBX_ERR_INIT;

        if (sbx_port_spec_parse(bad[i], &s, &err) != SBX_USAGE || !strstr(err.text, "SANDBOX_PORT"))
            fail_msg("\"%s\" is taken, or: %s", bad[i], err.text);
    }
}

#define KIT "127.0.0.1:0>8080/4" /* of a mixin of the world */

static struct sbx_port_spec spec(const char *text)
{
    struct sbx_port_spec s;

    assert_int_equal(sbx_port_spec_parse(text, &s, NULL), SBX_OK);
    return s;
}

static void must_create(struct world *w, const struct sbx_port_spec *specs, size_t n)
{
    struct sbx_create c = world_create(w);
    struct sbx_err err = SBX_ERR_INIT;

    c.ports = specs;
    c.n_ports = n;
    if (create_demo(w, &c, &err))
        fail_msg("%s", err.text);
}

/* "IP:PORT>PORT4 ..." of the sandbox's record; n by the fake runtime, which opens nothing. */
static const char *recorded(struct world *w)
{
    struct sbx_sandbox_info info;
    struct sbx_err err = SBX_ERR_INIT;
    const char *text = "";

    if (sbx_sandbox_inspect(w->e, "demo", w->arena, &info, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < info.n_ports; i++)
        text = sbx_arena_printf(w->arena, "%s%s%s:%u>%u/%d", text, i ? " " : "",
                                info.ports[i].host_ip, info.ports[i].host_port,
                                info.ports[i].sandbox_port, info.ports[i].ipv6 ? 6 : 4);
    return text;
}

static void ports_are_recorded_published_and_taken_back(void **state)
{
    struct world *w = *state;
    const struct sbx_port_spec first[] = { spec("8080:80"), spec("7000/tcp") },
                               more[] = { spec("[::1]:9000:80"), spec("81") };
    const struct sbx_published *v = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    struct sbx_port_spec one;
    size_t n = 0;

    must_create(w, first, 2);
    assert_string_equal(recorded(w), KIT " 127.0.0.1:8080>80/4 127.0.0.1:0>7000/4 ::1:0>7000/6");
    assert_int_equal(sbx_sandbox_publish(w->e, "demo", more, 2, w->arena, &v, &n, &err), SBX_OK);
    assert_int_equal(n, 2);
    assert_int_equal(v[0].host_port, 9000);
    /* one that is there already: none of the others either */
    one = spec("8080:80");
    assert_int_equal(sbx_sandbox_publish(w->e, "demo",
                                         (struct sbx_port_spec[]){ spec("99"), one }, 2, w->arena,
                                         &v, &n, &err),
                     SBX_EXISTS);
    assert_string_equal(recorded(w), KIT " 127.0.0.1:8080>80/4 127.0.0.1:0>7000/4 ::1:0>7000/6 "
                                     "::1:9000>80/6 127.0.0.1:0>81/4");
    one = spec("8081:80");
    assert_int_equal(sbx_sandbox_unpublish(w->e, "demo",
                                           (struct sbx_port_spec[]){ spec("81"), one }, 2, w->arena,
                                           &v, &n, &err),
                     SBX_NOT_FOUND);
    one = spec("80/tcp6");
    assert_int_equal(sbx_sandbox_unpublish(w->e, "demo", &one, 1, w->arena, &v, &n, &err), SBX_OK);
    assert_int_equal(n, 1);
    one = spec("7000");
    assert_int_equal(sbx_sandbox_unpublish(w->e, "demo", &one, 1, w->arena, &v, &n, &err), SBX_OK);
    assert_int_equal(n, 2);
    assert_string_equal(recorded(w), KIT " 127.0.0.1:8080>80/4 127.0.0.1:0>81/4");
    assert_int_equal(sbx_sandbox_stop(w->e, "demo", &err), SBX_OK);
    assert_int_equal(sbx_sandbox_start(w->e, "demo", &err), SBX_OK);
    assert_string_equal(recorded(w), KIT " 127.0.0.1:8080>80/4 127.0.0.1:0>81/4");
}

static void there_is_a_bound_of_ports(void **state)
{
    struct world *w = *state;
    struct sbx_port_spec specs[SBX_PORTS_MAX + 1];
    const struct sbx_published *v = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    size_t n = 0;

    for (size_t i = 0; i < SBX_ARRAY_LEN(specs); i++)
        specs[i] = spec("80");
    must_create(w, NULL, 0);
    assert_int_equal(sbx_sandbox_publish(w->e, "demo", specs, SBX_ARRAY_LEN(specs), w->arena, &v, &n,
                                         &err),
                     SBX_LIMIT);
    assert_string_equal(recorded(w), KIT);
    assert_int_equal(sbx_sandbox_publish(w->e, "nobody", specs, 1, w->arena, &v, &n, &err),
                     SBX_NOT_FOUND);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_up, world_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_are_read_or_refused_with_what_to_write),
        TEST(ports_are_recorded_published_and_taken_back),
        TEST(there_is_a_bound_of_ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
