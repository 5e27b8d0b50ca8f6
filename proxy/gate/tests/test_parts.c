/* gate.json, the decision log, timers and DNS messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "dnsmsg.h"
#include "log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP "\"version\":1,\"sandbox\":\"demo\",\"generation\":7"

static void a_configuration_is_read(void **state)
{
    static const char text[] = "{" TOP ",\"rules\":[{\"id\":\"a\",\"decision\":\"allow\",\"pattern\":"
                               "\"x.de:443\",\"source\":\"kit\",\"origin\":\"kit x\",\"consented\":false}],"
                               "\"hosts\":{\"B.de.\":[\"192.0.2.1\",\"2001:db8::1\"],\"a.de\":[\"192.0.2.2\"]},"
                               "\"publicTestRanges\":[\"192.0.2.0/24\"],"
                               "\"limits\":{\"tunnels\":10,\"tunnelsPerHost\":5},\"upstream\":null}";
    SBX_AUTO_PTR(sbx_config) c = NULL;
    struct sbx_err err = SBX_ERR_INIT;

    (void)state;
    if (sbx_config_parse(text, sizeof(text) - 1, &c, &err))
        fail_msg("%s", err.text);
    assert_int_equal(c->generation, 7);
    assert_int_equal(c->tunnels, 10);
    assert_int_equal(c->tunnels_per_host, 5);
    assert_int_equal(sbx_config_find(c, "b.de")->len, 2);
    assert_int_equal(sbx_config_find(c, "a.de")->len, 1);
    assert_null(sbx_config_find(c, "c.de"));
}

static void bad_configurations_say_what_is_wrong(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "", "gate.json:1" },
        { "[]", "top level: not an object" },
        { "{\"version\":2}", "version" },
        { "{" TOP ",\"extra\":1}", "unknown key \"extra\"" },
        { "{" TOP ",\"generation\":8,\"rules\":[]}", "gate.json:1" },
        { "{" TOP "}", "rules" },
        { "{" TOP ",\"rules\":[{}]}", "rules[0]" },
        { "{\"version\":1,\"sandbox\":\"\",\"generation\":1,\"rules\":[]}", "sandbox" },
        { "{\"version\":1,\"sandbox\":\"x\",\"generation\":-1,\"rules\":[]}", "generation" },
        { "{" TOP ",\"rules\":[],\"hosts\":[]}", "hosts" },
        { "{" TOP ",\"rules\":[],\"hosts\":{\"a b\":[\"192.0.2.1\"]}}", "hosts" },
        { "{" TOP ",\"rules\":[],\"hosts\":{\"a.de\":[]}}", "hosts.a.de" },
        { "{" TOP ",\"rules\":[],\"hosts\":{\"a.de\":[\"x\"]}}", "hosts.a.de[0]" },
        { "{" TOP ",\"rules\":[],\"hosts\":{\"a.de\":[\"1.1.1.1\"],\"A.de\":[\"1.1.1.1\"]}}", "twice" },
        { "{" TOP ",\"rules\":[],\"limits\":{\"tunnels\":4097}}", "limits.tunnels" },
        { "{" TOP ",\"rules\":[],\"limits\":{\"tunnels\":0}}", "limits.tunnels" },
        { "{" TOP ",\"rules\":[],\"limits\":{\"x\":1}}", "limits: unknown key" },
        { "{" TOP ",\"rules\":[],\"upstream\":{}}", "upstream" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO_PTR(sbx_config) c = NULL;
        struct sbx_err err = SBX_ERR_INIT;

        if (!sbx_config_parse(rows[i].text, strlen(rows[i].text), &c, &err) ||
            !strstr(err.text, rows[i].want))
            fail_msg("%s -> %s", rows[i].text, err.text);
        assert_null(c);
    }
}

static void log_text_is_escaped(void **state)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "plain", "\"plain\"" },
        { "a\"b\\c", "\"a\\\"b\\\\c\"" },
        { "\x1b[2J\n\x7f", "\"\\u001b[2J\\u000a\\u007f\"" },
        { "b\xc3\xbc", "\"b\xc3\xbc\"" },
        { "\xc2\x9b", "\"\\u009b\"" },
        { "\xff\xc3", "\"\\ufffd\\ufffd\"" },
        { "\xc0\xaf\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"" },
        { "\xf0\x9f\x98\x80\xf5", "\"\xf0\x9f\x98\x80\\ufffd\"" },
    };

    (void)state;
    for (size_t i = 0; i < SBX_ARRAY_LEN(rows); i++) {
        SBX_AUTO(sbx_buf) out = SBX_BUF_INIT(256);

        assert_int_equal(sbx_log_escape(&out, rows[i].text), SBX_OK);
        assert_string_equal(out.ptr, rows[i].want);
    }
}

static size_t lines_of(int fd)
{
    char buf[4096];
    size_t n = 0;
    ssize_t got;
    off_t at = 0;

    while ((got = pread(fd, buf, sizeof(buf), at)) > 0) {
        for (ssize_t i = 0; i < got; i++)
            n += buf[i] == '\n';
        at += got;
    }
    return n;
}

static void denials_past_their_budget_are_counted(void **state)
{
    struct sbx_loop loop;
    struct sbx_log log;
    struct sbx_record r = { .door = "proxy", .proxy = "forward", .protocol = "http", .host = "x.de",
                            .port = 80, .decision = "deny", .reason = "default-deny" };
    int fd = memfd_create("log", 0);

    (void)state;
    assert_int_equal(sbx_loop_init(&loop, NULL), SBX_OK);
    assert_int_equal(sbx_log_init(&log, dup(fd), -1, &loop, NULL), SBX_OK);
    log.sandbox = "demo";
    for (unsigned i = 0; i < 100; i++)
        sbx_log(&log, &r);
    assert_int_equal(lines_of(fd), SBX_GATE_DENIALS);
    for (unsigned i = 0; i < 2 * SBX_GATE_DENIAL_KEYS; i++) {
        char host[32];

        snprintf(host, sizeof(host), "h%u.de", i);
        r.host = host;
        sbx_log(&log, &r);
    }
    assert_int_equal(lines_of(fd), SBX_GATE_DENIALS + SBX_GATE_DENIAL_KEYS - 1);
    sbx_log_release(&log); /* the count of x.de, and one record for all that had no key */
    assert_int_equal(lines_of(fd), SBX_GATE_DENIALS + SBX_GATE_DENIAL_KEYS - 1 + 2);
    sbx_loop_release(&loop);
    close(fd);
}

static void the_log_stops_at_its_cap_and_says_so(void **state)
{
    struct sbx_loop loop;
    struct sbx_log log;
    struct sbx_record r = { .door = "proxy", .proxy = "forward", .protocol = "http", .host = "x.de",
                            .port = 80, .decision = "allow", .reason = "rule" };
    int fd = memfd_create("log", 0);

    (void)state;
    assert_int_equal(ftruncate(fd, SBX_GATE_LOG_MAX - SBX_GATE_RECORD_MAX - 1000), 0);
    assert_int_equal(lseek(fd, 0, SEEK_END), SBX_GATE_LOG_MAX - SBX_GATE_RECORD_MAX - 1000);
    assert_int_equal(sbx_loop_init(&loop, NULL), SBX_OK);
    assert_int_equal(sbx_log_init(&log, dup(fd), -1, &loop, NULL), SBX_OK);
    log.sandbox = "demo";
    for (unsigned i = 0; i < 1000; i++) {
        bool recorded = sbx_log(&log, &r);

        assert_true(recorded == !log.file.full);
    }
    assert_true(log.file.full);
    assert_false(sbx_log_ready(&log));
    assert_true(log.lost > 900);
    assert_true(lseek(fd, 0, SEEK_END) <= SBX_GATE_LOG_MAX);
    sbx_log_release(&log);
    sbx_loop_release(&loop);
    close(fd);
}

/* The disk of the host, small enough to fill: a file that may not grow any more. */
static void what_cannot_be_recorded_is_not_allowed(void **state)
{
    struct sbx_loop loop;
    struct sbx_log log;
    struct sbx_record r = { .door = "proxy", .proxy = "forward", .protocol = "http", .host = "x.de",
                            .port = 80, .decision = "allow", .reason = "rule" };
    int fd = memfd_create("log", MFD_ALLOW_SEALING), sealed, own;
    uint64_t before;
    char text[8192] = "";

    (void)state;
    assert_int_equal(sbx_loop_init(&loop, NULL), SBX_OK);
    assert_int_equal(sbx_log_init(&log, dup(fd), -1, &loop, NULL), SBX_OK);
    log.sandbox = "demo";
    assert_true(log.file.reserved >= SBX_GATE_LOG_RESERVE);
    assert_true(sbx_log_ready(&log));
    assert_true(sbx_log(&log, &r));
    before = log.file.offset;
    sealed = open("/dev/full", O_WRONLY | O_CLOEXEC);
    own = log.file.fd;
    log.file.fd = sealed;
    assert_false(sbx_log(&log, &r));
    assert_false(sbx_log_ready(&log));
    assert_false(sbx_log(&log, &r));
    r.decision = "deny";
    sbx_log(&log, &r);
    assert_int_equal(log.file.offset, before);
    assert_int_equal(log.allowed, 1);
    log.file.fd = own;
    assert_true(sbx_log_ready(&log)); /* there is room again, and the gap is told */
    r.decision = "allow";
    assert_true(sbx_log(&log, &r));
    assert_int_equal(lines_of(fd), 3);
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    assert_non_null(strstr(text, "\"reason\":\"records-lost\",\"status\":null,\"count\":"));
    sbx_log_release(&log);
    sbx_loop_release(&loop);
    close(sealed);
    close(fd);
}

static uint64_t size_of(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, 0) ? 0 : (uint64_t)st.st_size;
}

/* A name that is taken by a directory is what a file system in trouble looks like. */
static void the_log_goes_on_in_a_new_file_and_what_fails_leaves_the_old_one(void **state)
{
    char path[] = SBX_TEST_TMP "/log-XXXXXX";
    struct sbx_loop loop;
    struct sbx_log log;
    struct sbx_record r = { .door = "proxy", .proxy = "forward", .protocol = "http", .host = "x.de",
                            .port = 80, .decision = "allow", .reason = "rule" };
    int dir, fd;

    (void)state;
    assert_non_null(mkdtemp(path));
    dir = open(path, O_RDONLY | O_DIRECTORY);
    fd = openat(dir, "log.jsonl", O_RDWR | O_CREAT | O_APPEND, 0600);
    assert_int_equal(ftruncate(fd, SBX_GATE_LOG_PART - 100), 0);
    assert_int_equal(sbx_loop_init(&loop, NULL), SBX_OK);
    assert_int_equal(sbx_log_init(&log, fd, dup(dir), &loop, NULL), SBX_OK);
    log.sandbox = "demo";
    assert_int_equal(mkdirat(dir, "log.jsonl.new", 0700), 0);
    assert_true(sbx_log(&log, &r)); /* it cannot be rotated, so it goes on */
    assert_int_equal(unlinkat(dir, "log.jsonl.new", AT_REMOVEDIR), 0);
    assert_int_equal(mkdirat(dir, "log.jsonl.1", 0700), 0);
    assert_true(sbx_log(&log, &r));
    assert_true(size_of(dir, "log.jsonl") > SBX_GATE_LOG_PART);
    assert_int_equal(unlinkat(dir, "log.jsonl.1", AT_REMOVEDIR), 0);
    assert_true(sbx_log(&log, &r));
    assert_true(size_of(dir, "log.jsonl.1") > SBX_GATE_LOG_PART);
    assert_true(size_of(dir, "log.jsonl") > 0 && size_of(dir, "log.jsonl") < 1000);
    assert_int_equal(size_of(dir, "log.jsonl.new"), 0);
    assert_int_equal(sbx_log_offset(&log), size_of(dir, "log.jsonl.1") + size_of(dir, "log.jsonl"));
    assert_int_equal(log.lost, 0);
    assert_false(log.file.full);
    sbx_log_release(&log);
    sbx_loop_release(&loop);
    unlinkat(dir, "log.jsonl", 0);
    unlinkat(dir, "log.jsonl.1", 0);
    unlinkat(dir, "log.jsonl.new", 0);
    close(dir);
    rmdir(path);
}

static unsigned fired[64], nfired;

struct timed {
    struct sbx_timer timer;
    unsigned id;
};

static void on_fire(struct sbx_timer *t)
{
    fired[nfired++] = sbx_container_of(t, struct timed, timer)->id;
}

static void timers_fire_in_order_and_not_when_disarmed(void **state)
{
    struct sbx_loop loop;
    struct timed timers[40];
    unsigned seed = 1;

    (void)state;
    assert_int_equal(sbx_loop_init(&loop, NULL), SBX_OK);
    memset(timers, 0, sizeof(timers));
    for (unsigned i = 0; i < 40; i++) {
        timers[i].id = i;
        timers[i].timer.on = on_fire;
        seed = seed * 1103515245 + 12345;
        assert_int_equal(sbx_loop_arm(&loop, &timers[i].timer, (seed >> 16) % 5), 0);
    }
    for (unsigned i = 0; i < 40; i += 3)
        sbx_loop_disarm(&loop, &timers[i].timer);
    nfired = 0;
    while (loop.ntimers)
        sbx_loop_round(&loop);
    assert_int_equal(nfired, 26);
    for (unsigned i = 1; i < nfired; i++) {
        assert_true(timers[fired[i - 1]].timer.at <= timers[fired[i]].timer.at);
        assert_int_not_equal(fired[i] % 3, 0);
    }
    sbx_loop_release(&loop);
}

static void dns_queries_are_read_and_refused_in_kind(void **state)
{
    static const uint8_t query[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03"
                                   "a.b\x02" "de\x00\x00\x1c\x00\x01";
    uint8_t out[SBX_DNS_QUERY_MAX];
    struct sbx_dns_query q;
    size_t len = sizeof(query) - 1;

    (void)state;
    assert_int_equal(sbx_dns_parse(query, len, &q), SBX_DNS_QUERY);
    assert_string_equal(q.name, "a\\046b.de");
    assert_int_equal(q.type, 28);
    assert_int_equal(sbx_dns_reply(query, &q, SBX_DNS_REFUSED, NULL, out), len);
    assert_int_equal(out[3] & 15, 5);
    assert_memory_equal(out + 12, query + 12, len - 12);
    for (size_t n = 0; n < len; n++)
        assert_int_equal(sbx_dns_parse(query, n, &q), n < 12 ? SBX_DNS_DROP : SBX_DNS_MALFORMED);
    memcpy(out, query, len);
    out[2] |= 0x80;
    assert_int_equal(sbx_dns_parse(out, len, &q), SBX_DNS_DROP);
    memcpy(out, query, len);
    out[12] = 0xc0; /* a pointer */
    assert_int_equal(sbx_dns_parse(out, len, &q), SBX_DNS_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_configuration_is_read),
        cmocka_unit_test(bad_configurations_say_what_is_wrong),
        cmocka_unit_test(log_text_is_escaped),
        cmocka_unit_test(denials_past_their_budget_are_counted),
        cmocka_unit_test(the_log_stops_at_its_cap_and_says_so),
        cmocka_unit_test(the_log_goes_on_in_a_new_file_and_what_fails_leaves_the_old_one),
        cmocka_unit_test(what_cannot_be_recorded_is_not_allowed),
        cmocka_unit_test(timers_fire_in_order_and_not_when_disarmed),
        cmocka_unit_test(dns_queries_are_read_and_refused_in_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
