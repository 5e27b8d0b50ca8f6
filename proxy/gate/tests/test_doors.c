/* Parts of the DNS and transparent doors: ClientHellos, the address map, names as data, the cache. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cache.h"
#include "dnsmsg.h"
#include "hello.h"
#include "names.h"
#include "relay.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sbx/auto.h"

/* A hello without extensions but for what is put behind it. */
static size_t make_hello(char *out, const char *extensions, size_t len)
{
    static const char head[] = "\3\3rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr\0\0\2\x13\1\1\0";
    size_t body = sizeof(head) - 1 + 2 + len, n = 0;

    n += (size_t)sprintf(out, "\x16\3\1%c%c\1%c%c%c", 'x', 'x', 'x', 'x', 'x');
    out[3] = (char)((body + 4) >> 8);
    out[4] = (char)(body + 4);
    out[6] = 0;
    out[7] = (char)(body >> 8);
    out[8] = (char)body;
    memcpy(out + n, head, sizeof(head) - 1);
    n += sizeof(head) - 1;
    out[n++] = (char)(len >> 8);
    out[n++] = (char)len;
    memcpy(out + n, extensions, len);
    return n + len;
}

#define EXT(text) text, sizeof(text) - 1

static void hellos_are_read_strictly(void **state)
{
    static const struct {
        const char *ext;
        size_t len;
        enum sbx_hello_state want;
        const char *name;
    } rows[] = {
        { EXT(""), SBX_HELLO_DONE, NULL },
        { EXT("\0\0\0\x0b\0\x09\0\0\6a.test"), SBX_HELLO_DONE, "a.test" },
        { EXT("\0\x2b\0\3\2\3\4\0\0\0\x0b\0\x09\0\0\6a.test"), SBX_HELLO_DONE, "a.test" },
        { EXT("\0\0\0\x0b\0\x09\0\0\6a.test\0\0\0\x0b\0\x09\0\0\6a.test"), SBX_HELLO_BAD, NULL },
        { EXT("\0\0\0\x12\0\x10\0\0\6a.test\0\0\4b.de"), SBX_HELLO_BAD, NULL },
        { EXT("\0\0\0\x0b\0\x09\1\0\6a.test"), SBX_HELLO_BAD, NULL },
        { EXT("\0\0\0\x0b\0\x09\0\0\7a.test"), SBX_HELLO_BAD, NULL },
        { EXT("\0\0\0\x0c\0\x09\0\0\6a.testx"), SBX_HELLO_BAD, NULL },
        { EXT("\0\0\0\5\0\3\0\0\0"), SBX_HELLO_BAD, NULL },
        { EXT("\0\0\0\0"), SBX_HELLO_BAD, NULL },
        { EXT("\0\0\0"), SBX_HELLO_BAD, NULL },
    };
    char buf[256];

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_hello h = SBX_HELLO_INIT;
        size_t n = make_hello(buf, rows[i].ext, rows[i].len);

        for (size_t k = 0; k < n; k++)
            assert_int_equal(sbx_hello_read(&h, buf, k), SBX_HELLO_MORE);
        if (sbx_hello_read(&h, buf, n) != rows[i].want)
            fail_msg("row %zu", i);
        if (rows[i].name)
            assert_string_equal(h.name, rows[i].name);
        else if (rows[i].want == SBX_HELLO_DONE)
            assert_false(h.named);
        sbx_hello_release(&h);
    }
}

static void other_protocols_are_told_by_their_first_bytes(void **state)
{
    static const char *const rows[] = { "GET /", "SSH-2.0", "\x16\x02", "\x80\x2e", "\x15\x03" };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        struct sbx_hello h = SBX_HELLO_INIT;

        assert_int_equal(sbx_hello_read(&h, rows[i], strlen(rows[i])), SBX_HELLO_NOT_TLS);
        sbx_hello_release(&h);
    }
}

static struct in6_addr v4(const char *text)
{
    struct in6_addr a = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

    inet_pton(AF_INET, text, &a.s6_addr[12]);
    return a;
}

static void names_keep_their_addresses(void **state)
{
    SBX_AUTO_FD int fd = memfd_create("names", MFD_CLOEXEC);
    struct sbx_names *n = NULL;
    struct sbx_err err = SBX_ERR_INIT;
    struct in6_addr a, b, want = v4("198.19.0.1");

    (void)state;
    fcntl(fd, F_SETFL, O_APPEND);
    assert_int_equal(sbx_names_open(fd, false, &n, &err), SBX_OK);
    assert_int_equal(sbx_names_give(n, "a.example.com", 5000, &a), SBX_NAME_GIVEN);
    assert_memory_equal(&a, &want, sizeof(a));
    assert_int_equal(sbx_names_give(n, "b.example.com", 5000, &b), SBX_NAME_GIVEN);
    sbx_names_use(n, &b);
    sbx_names_free(n);
    assert_int_equal(sbx_names_open(fd, false, &n, &err), SBX_OK);
    assert_int_equal(sbx_names_count(n), 2);
    assert_string_equal(sbx_names_find(n, &a), "a.example.com");
    sbx_names_free(n);
    assert_int_equal(sbx_names_open(fd, true, &n, &err), SBX_OK);
    assert_int_equal(sbx_names_count(n), 1);
    assert_null(sbx_names_find(n, &a));
    assert_string_equal(sbx_names_find(n, &b), "b.example.com");
    assert_int_equal(sbx_names_give(n, "c.example.com", 5000, &a), SBX_NAME_GIVEN);
    assert_int_equal(a.s6_addr[15], 3);
    sbx_names_free(n);
}

static void new_names_have_a_budget_a_second(void **state)
{
    struct sbx_names *n = sbx_names_new(-1);
    struct in6_addr a;
    char name[32];

    (void)state;
    assert_non_null(n);
    for (int i = 0; i <= SBX_GATE_NAMES_PER_SECOND; i++) {
        sprintf(name, "n%d.example.com", i);
        assert_int_equal(sbx_names_give(n, name, 5000, &a),
                         i < SBX_GATE_NAMES_PER_SECOND ? SBX_NAME_GIVEN : SBX_NAME_EARLY);
    }
    assert_int_equal(sbx_names_give(n, "n0.example.com", 5000, &a), SBX_NAME_GIVEN);
    assert_int_equal(sbx_names_give(n, name, 6000, &a), SBX_NAME_GIVEN);
    sbx_names_free(n);
}

static void a_name_that_cannot_be_written_down_is_not_given(void **state)
{
    SBX_AUTO_FD int fd = open("/dev/full", O_RDWR | O_APPEND | O_CLOEXEC);
    struct sbx_names *n = sbx_names_new(fd);
    struct in6_addr a;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(sbx_names_give(n, "a.example.com", 5000, &a), SBX_NAME_FAILED);
    assert_int_equal(sbx_names_count(n), 0);
    sbx_names_free(n);
}

static void addresses_are_kept_for_a_while(void **state)
{
    struct sbx_cache *c = sbx_cache_new();
    struct sbx_addresses a = { .len = 1 };

    (void)state;
    assert_non_null(c);
    sbx_cache_put(c, "a.example.com", &a, 1000);
    assert_non_null(sbx_cache_find(c, "a.example.com", 1000 + SBX_GATE_CACHE_MS - 1));
    assert_null(sbx_cache_find(c, "a.example.com", 1000 + SBX_GATE_CACHE_MS));
    assert_null(sbx_cache_find(c, "b.example.com", 1000));
    sbx_cache_drop(c, "a.example.com");
    assert_null(sbx_cache_find(c, "a.example.com", 1000));
    sbx_cache_put(c, "a.example.com", &a, 1000);
    sbx_cache_clear(c);
    assert_null(sbx_cache_find(c, "a.example.com", 1000));
    sbx_cache_free(c);
}

static void names_become_data(void **state)
{
    struct sbx_dns_data d;
    char longest[256] = "";

    (void)state;
    assert_int_equal(sbx_dns_put_name(&d, "a.bc"), 0);
    assert_int_equal(d.len, 6);
    assert_memory_equal(d.bytes, "\1a\2bc", 6);
    assert_int_equal(sbx_dns_put_name(&d, "a..b"), -1);
    for (int i = 0; i < 126; i++)
        strcat(longest, "a.");
    strcat(longest, "a");
    assert_int_equal(sbx_dns_put_name(&d, longest), 0);
    assert_int_equal(d.len, 255);
    longest[253] = '.';
    longest[254] = 'a';
    assert_int_equal(sbx_dns_put_name(&d, longest), -1);
}

static void a_client_of_a_door_is_asked_whether_it_is_there(void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    SBX_AUTO_FD int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SBX_AUTO_FD int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    SBX_AUTO_FD int taken = -1;
    socklen_t len = sizeof(at);
    int value = 0;

    (void)state;
    sbx_socket_probe(listener);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&at, len), 0);
    taken = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(taken >= 0);
    len = sizeof(value);
    assert_int_equal(getsockopt(taken, SOL_SOCKET, SO_KEEPALIVE, &value, &len), 0);
    assert_int_equal(value, 1);
    assert_int_equal(getsockopt(taken, IPPROTO_TCP, TCP_KEEPIDLE, &value, &len), 0);
    assert_int_equal(value, SBX_GATE_PROBE_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hellos_are_read_strictly),
        cmocka_unit_test(other_protocols_are_told_by_their_first_bytes),
        cmocka_unit_test(names_keep_their_addresses),
        cmocka_unit_test(new_names_have_a_budget_a_second),
        cmocka_unit_test(a_name_that_cannot_be_written_down_is_not_given),
        cmocka_unit_test(addresses_are_kept_for_a_while),
        cmocka_unit_test(a_client_of_a_door_is_asked_whether_it_is_there),
        cmocka_unit_test(names_become_data),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
