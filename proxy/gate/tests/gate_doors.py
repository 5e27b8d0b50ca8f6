"""The transparent and the DNS doors with the real helper: names, addresses, server names, the map.

Sockets are made inside the sandbox's namespace; tests are named by their row in the list of cases.
"""
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
from lab import ORIGIN, ORIGIN2, PRIVATE, rule, status  # noqa: E402

HELPER = os.environ.get("SBX_NETNS") or os.path.join(os.path.dirname(lab.GATE), "sbx-netns")
SBX = os.environ.get("SBX_BIN") or os.path.join(os.path.dirname(lab.GATE), "../../bin/sbx")
DNS = (lab.PROXY[0], 53)
NAME = "api.example.com"
A, NS, PTR, MX, TXT, AAAA, HTTPS, ANY = 1, 2, 12, 15, 16, 28, 65, 255
SERVFAIL, NXDOMAIN, REFUSED = 2, 3, 5


def query(name, kind=A, edns=False, klass=1):
    msg = struct.pack(">HHHHHH", 0x1234, 0x0100, 1, 0, 0, 1 if edns else 0)
    for label in name.encode().split(b"."):
        msg += bytes([len(label)]) + label
    msg += b"\0" + struct.pack(">HH", kind, klass)
    return msg + (b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0) if edns else b"")


def hello(name, alpn=None):
    """A real ClientHello; name None: without a server name."""
    out = ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname = False
    if alpn:
        context.set_alpn_protocols(alpn)
    tls = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


class Case(unittest.TestCase):
    rules = [rule(NAME)]
    hosts = {NAME: [ORIGIN]}
    start = {}

    @classmethod
    def setUpClass(cls):
        cls.sandbox = lab.Sandbox(HELPER)
        if not cls.sandbox.status.startswith("ok"):
            lab.skip("the helper cannot work here: " + cls.sandbox.status)

    @classmethod
    def tearDownClass(cls):
        cls.sandbox.close()

    def setUp(self):
        resolver.names.clear()
        resolver.answers.clear()
        self.open_gate(**self.start)

    def open_gate(self, **more):
        self.gate = gate = lab.Gate(self.rules, self.hosts, netns=self.sandbox.connect(), **more)
        self.addCleanup(lambda: self.assertEqual(gate.close(), 0, "the gate did not end well"))

    def serve(self, behave, port, address=ORIGIN):
        s = lab.Server(address, port, behave)
        self.addCleanup(s.close)
        return s

    def dns(self, msg):
        with self.sandbox.socket(kind=socket.SOCK_DGRAM) as s:
            s.connect(DNS)
            s.send(msg)
            return s.recv(4096)

    def ask(self, name, kind=A):
        """(code, data of the one answer or None)"""
        reply = self.dns(query(name, kind))
        self.assertEqual(reply[2] & 0x80, 0x80)
        answers = struct.unpack(">H", reply[6:8])[0]
        if not answers:
            return reply[3] & 15, None
        self.assertEqual(answers, 1)
        rest = reply[len(query(name, kind)):]
        self.assertEqual(rest[:6], b"\xc0\x0c" + struct.pack(">HH", kind, 1))
        return reply[3] & 15, rest[12:]

    def address(self, name=NAME):
        code, data = self.ask(name)
        self.assertEqual((code, len(data or b"")), (0, 4), name)
        return socket.inet_ntoa(data)

    def connect(self, address, port):
        s = self.sandbox.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        self.addCleanup(s.close)
        s.connect((address, port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def refused(self, address, port, reason, host, data=b"", server=None):
        """Accepted, then reset; one record; no byte upstream."""
        before = len(self.gate.records())
        try:
            s = self.connect(address, port)
            if data:
                s.sendall(data)
            self.assertEqual(s.recv(1), b"RESET")  # anything but an exception is wrong
        except ConnectionResetError:
            pass
        records = self.gate.records(before + 1)[before:]
        self.assertEqual([(r["door"], r["decision"], r["reason"], r["host"], r["port"]) for r in records],
                         [("transparent", "deny", reason, host, port)])
        if server:
            self.assertEqual(server.received, b"")
        self.assertEqual(resolver.names, [])
        return records[0]


class Resolver(Case):
    rules = [rule(NAME), rule("**.wild.example.com"), rule("only.example.com:22"),
             rule("cdn.example.com", "deny", name="no-cdn"), rule("*.example.com:8443")]

    def test_N14_B17_an_allowed_name_has_an_address_of_its_own_and_keeps_it(self):
        first = self.address()
        self.assertTrue(first.startswith("198.19."), first)
        other = self.address("a.b.wild.example.com")
        self.assertNotEqual(first, other)
        for name in (NAME, "API.Example.COM"):
            self.assertEqual(self.address(name), first)
        self.assertEqual(resolver.names, [])
        self.assertEqual(self.gate.records(), [])

    def test_N14_B15_other_types_of_an_allowed_name(self):
        for kind in (AAAA, HTTPS, 64):
            self.assertEqual(self.ask(NAME, kind), (0, None))
        for kind in (TXT, MX, NS, ANY, 252, 10, 999):
            self.assertEqual(self.ask(NAME, kind), (REFUSED, None))
        self.assertEqual({r["reason"] for r in self.gate.records(7)}, {"record-type"})
        self.assertEqual(self.dns(query(NAME, klass=3))[3] & 15, REFUSED)

    def test_B13_a_name_that_no_rule_allows_is_refused_and_logged_with_its_reason(self):
        for name, reason in (("evil.example.net", "default-deny"), ("cdn.example.com", "rule"),
                             ("metadata.google.internal", "metadata"), ("a_b." + "x" * 63, "default-deny"),
                             ("wild.example.com", None), ("1.2.3.4", "not-a-name"),
                             ("0x7f.1", "bad-name"), ("host.docker.internal", "default-deny")):
            before = len(self.gate.records())
            if reason is None:  # the star allows 8443
                self.assertEqual(self.ask(name)[0], 0)
                continue
            self.assertEqual(self.ask(name), (REFUSED, None), name)
            r = self.gate.records(before + 1)[before]
            self.assertEqual((r["host"], r["reason"], r["method"], r["port"]), (name, reason, "A", None))
        self.assertEqual(self.gate.records()[1]["rule"], "no-cdn")
        self.assertEqual(resolver.names, [])

    def test_N6_a_name_that_is_allowed_on_one_port_only_resolves(self):
        self.assertEqual(self.ask("only.example.com")[0], 0)

    def test_N2_names_of_the_sandbox_itself(self):
        self.assertEqual(self.ask("localhost"), (0, b"\x7f\0\0\1"))
        self.assertEqual(self.ask("db.localhost", AAAA), (0, b"\0" * 15 + b"\1"))
        self.assertEqual(self.ask("gateway.docker.internal"), (0, socket.inet_aton("198.18.0.1")))
        self.gate.write([rule("localhost:8080")], generation=2)
        self.gate.control(op="reload")
        self.assertEqual(self.ask("host.docker.internal"), (0, socket.inet_aton("198.18.0.3")))

    def test_N14_an_address_of_the_range_has_its_name(self):
        reverse = ".".join(reversed(self.address().split("."))) + ".in-addr.arpa"
        code, data = self.ask(reverse, PTR)
        self.assertEqual((code, data), (0, b"\3api\7example\3com\0"))
        self.assertEqual(self.ask("9.9.19.198.in-addr.arpa", PTR), (NXDOMAIN, None))
        for name in ("10.113.0.203.in-addr.arpa", "1.0.0.127.in-addr.arpa", "x.19.198.in-addr.arpa", NAME):
            self.assertEqual(self.ask(name, PTR), (REFUSED, None), name)

    def test_EDNS_is_answered_in_kind_and_the_case_of_the_question_stays(self):
        reply = self.dns(query("aPi.eXample.com", edns=True))
        self.assertEqual(struct.unpack(">HHHH", reply[4:12]), (1, 1, 0, 1))
        self.assertIn(b"\3aPi\7eXample", reply)
        self.assertEqual(reply[-11:-7], b"\0\0\x29\x04")
        self.assertEqual(reply[3] & 0x80, 0x80)

    def test_B15_the_same_over_tcp_in_pieces(self):
        msg = query(NAME)
        with self.connect(*DNS) as s:
            for byte in struct.pack(">H", len(msg)) + msg:
                s.sendall(bytes([byte]))
            reply = s.recv(4096)
        self.assertEqual(socket.inet_ntoa(reply[-4:]), self.address())

    def test_N14_new_names_have_a_budget_and_old_ones_go_on(self):
        old, codes = self.address(), []
        end = time.monotonic() + lab.WAIT
        with self.sandbox.socket(kind=socket.SOCK_DGRAM) as s:
            s.connect(DNS)
            i = 0
            while SERVFAIL not in codes and time.monotonic() < end:
                i += 1
                s.send(query("n%d.wild.example.com" % i))
                codes.append(s.recv(512)[3] & 15)
        self.assertIn(SERVFAIL, codes)
        self.assertGreaterEqual(codes.index(SERVFAIL), 50)
        self.assertEqual(self.address(), old)
        self.assertEqual(self.gate.records(1)[0]["reason"], "too-many-new-names")


class Map(Case):
    rules = [rule("**.example.com")]

    def test_N14_B17_the_map_survives_a_killed_gate(self):
        given = {n: self.address(n + ".example.com") for n in "abc"}
        text = lab.read_file(self.gate.map_path).decode()
        self.gate.kill()
        self.open_gate(names=text + "name 9 half-a-li")
        for name in "cba":
            self.assertEqual(self.address(name + ".example.com"), given[name])
        self.assertNotIn(self.address("d.example.com"), given.values())
        self.assertNotIn("half", lab.read_file(self.gate.map_path).decode())

    def test_N14_a_fresh_start_keeps_what_was_connected_and_gives_other_addresses_last(self):
        self.gate.close()
        self.open_gate(names="name 1 a.example.com\nname 2 b.example.com\nused 2\nname 3 c.example.com\n",
                       fresh=True)
        self.assertEqual(lab.read_file(self.gate.map_path), b"name 2 b.example.com\nused 2\n")
        self.assertEqual(self.address("b.example.com"), "198.19.0.2")
        self.assertEqual(self.address("a.example.com"), "198.19.0.4")

    def test_N14_a_connection_is_noted(self):
        self.serve(lab.echo, 7, ORIGIN)
        self.gate.hosts = {NAME: [ORIGIN]}
        self.gate.write(self.rules, generation=2)
        s = self.connect(self.address(), 7)
        s.sendall(b"x")
        self.assertEqual(s.recv(1), b"x")
        self.assertEqual(lab.read_file(self.gate.map_path), b"name 1 api.example.com\nused 1\n")

    def test_a_map_that_is_not_one_ends_the_start(self):
        self.gate.close()
        for text in ("hello\n", "name 0 a.example.com\n", "name 65536 a.example.com\n", "used 1\n",
                     "name 1 A.example.com\n", "name 1 a.b\nname 1 c.d\n", "name 1 a.b\nname 2 a.b\n",
                     "name 1 127.0.0.1\n", "name 1 a b\n", "\n", "name 01 a.b\n"):
            gate = lab.Gate([], names=text, expect="error address map: line ")
            self.assertEqual(gate.close(), 1, text)

    def test_N14_a_full_map_leaves_the_old_names_working(self):
        self.gate.close()
        self.open_gate(names="".join("name %d n%d.example.com\n" % (i, i) for i in range(1, 65536)))
        self.assertEqual(self.ask("new.example.com"), (SERVFAIL, None))
        self.assertEqual(self.address("n65535.example.com"), "198.19.255.255")
        self.assertEqual(self.gate.records(1)[0]["reason"], "too-many-names")


class Transparent(Case):
    rules = [rule(NAME), rule("only.example.com:22"), rule(ORIGIN2 + ":9000"), rule("other.example.com"),
             rule("private.example.com"), rule("gone.example.com"), rule("[2001:db8::5]:80")]
    hosts = {NAME: [ORIGIN], "only.example.com": [ORIGIN], "other.example.com": [ORIGIN],
             "private.example.com": [PRIVATE]}

    def exchange(self, address, port, data=b"ping"):
        s = self.connect(address, port)
        s.sendall(data)
        got = s.recv(len(data), socket.MSG_WAITALL)
        s.close()
        while self.gate.control(op="ping")["tunnels"]:  # else a later change of rules finds it open
            pass
        return got

    def test_raw_tcp_to_an_allowed_name_works(self):
        self.serve(lab.echo, 5432)
        self.assertEqual(self.exchange(self.address(), 5432), b"ping")
        r, = self.gate.records(1)
        self.assertEqual((r["door"], r["proxy"], r["protocol"], r["host"], r["port"], r["address"],
                          r["decision"], r["reason"], r["status"]),
                         ("transparent", "network", "tcp", NAME, 5432, ORIGIN, "allow", "rule", None))

    def test_a_server_that_speaks_first_is_heard_at_once(self):
        def greet(conn, server):
            conn.sendall(b"SSH-2.0-x\r\n")
            lab.echo(conn, server)
        self.serve(greet, 22)
        s = self.connect(self.address("only.example.com"), 22)
        self.assertEqual(s.recv(11, socket.MSG_WAITALL), b"SSH-2.0-x\r\n")
        s.sendall(b"SSH-2.0-y\r\n")
        self.assertEqual(s.recv(11, socket.MSG_WAITALL), b"SSH-2.0-y\r\n")
        s.close()
        self.assertEqual([r["decision"] for r in self.gate.records(1)], ["allow"])

    def test_plain_http_is_told_apart_in_the_log(self):
        self.serve(lab.echo, 80)
        self.exchange(self.address(), 80, b"GET / HTTP/1.1\r\n\r\n")
        r, = self.gate.records(1)
        self.assertEqual((r["proxy"], r["protocol"]), ("transparent", "http"))

    def test_G11_UP15_another_port_of_a_name_is_reset(self):
        server = self.serve(lab.echo, 443)
        self.refused(self.address("only.example.com"), 443, "default-deny", "only.example.com", b"x", server)
        self.assertEqual(server.connections, 0)

    def test_UP15_a_literal_address_needs_a_rule_for_it(self):
        server = self.serve(lab.echo, 443)
        self.serve(lab.echo, 9000, ORIGIN2)
        self.refused(ORIGIN, 443, "default-deny", ORIGIN, hello(NAME), server)
        self.assertEqual(server.connections, 0)
        self.assertEqual(self.exchange(ORIGIN2, 9000), b"ping")
        self.refused(ORIGIN2, 9001, "default-deny", ORIGIN2)
        for address, reason in (("10.0.0.1", "private"), ("169.254.169.254", "metadata"),
                                ("2001:db8::9", "documentation"), ("fe80::1%lo", None)):
            if reason:
                self.refused(address, 80, reason, address)

    def test_B12_a_name_behind_an_allowed_address_is_denied_by_its_name(self):
        server = self.serve(lab.echo, 443)
        self.refused(self.address(), 443, "server-name", "denied.example.com", hello("denied.example.com"),
                     server)

    def test_N2_the_hosts_loopback_by_its_address(self):
        server = self.serve(lab.echo, 8080, "127.0.0.1")
        self.refused("198.18.0.3", 8080, "default-deny", "host.docker.internal", b"x", server)
        self.gate.write(self.rules + [rule("localhost:8080")], generation=2)
        self.assertEqual(self.exchange("198.18.0.3", 8080), b"ping")
        self.gate.write(self.rules + [rule("localhost:8080"),
                                      rule("host.docker.internal:8080", "deny")], generation=3)
        self.refused("198.18.0.3", 8080, "rule", "host.docker.internal")

    def test_N3_a_private_address_behind_a_name_is_refused(self):
        server = self.serve(lab.echo, 80, PRIVATE)
        self.refused(self.address("private.example.com"), 80, "private", "private.example.com")
        self.assertEqual(server.connections, 0)

    def test_other_doors_and_addresses_nobody_was_given(self):
        self.refused("198.18.0.1", 22, "no-such-door", "198.18.0.1")
        self.refused("198.19.200.1", 443, "unknown-address", "198.19.200.1")
        self.refused("198.18.9.9", 443, "gate", "198.18.9.9")

    def test_a_name_that_the_host_does_not_know_is_reset_and_logged(self):
        s = self.connect(self.address("gone.example.com"), 80)
        with self.assertRaises(ConnectionResetError):
            s.recv(1)
        r, = self.gate.records(1)
        self.assertEqual((r["decision"], r["reason"], r["status"]), ("error", "name-not-found", 502))

    def test_G4_a_connection_without_right_is_closed_and_others_stay(self):
        self.serve(lab.echo, 5432)
        kept, lost = (self.connect(self.address(n), 5432) for n in ("other.example.com", NAME))
        for s in (kept, lost):
            s.sendall(b"x")
            self.assertEqual(s.recv(1), b"x")
        self.gate.write([rule("other.example.com")], generation=2)
        with self.assertRaises(ConnectionResetError):
            lost.recv(1)
        kept.sendall(b"y")
        self.assertEqual(kept.recv(1), b"y")
        self.assertEqual(self.gate.records(3)[2]["reason"], "policy-changed")

    def test_G9_half_close_is_kept(self):
        def count(conn, server):
            n = 0
            while True:
                data = server.read(conn)
                if not data:
                    break
                n += len(data)
            conn.sendall(b"%d" % n)
        self.serve(count, 5432)
        s = self.connect(self.address(), 5432)
        s.sendall(b"x" * 100000)
        s.shutdown(socket.SHUT_WR)
        self.assertEqual(lab.read_all(s), b"100000")
        silent = self.connect(self.address(), 5432)
        silent.shutdown(socket.SHUT_WR)
        self.assertEqual(lab.read_all(silent), b"0")

    def test_E7_datagrams_fail_at_once(self):
        for family, address in ((socket.AF_INET, self.address()), (socket.AF_INET6, "2001:db8::9")):
            with self.sandbox.socket(family, socket.SOCK_DGRAM) as s:
                with self.assertRaises(OSError):
                    s.connect((address, 443))
                    s.send(b"x")


class Hello(Case):
    hosts = {NAME: [ORIGIN], "other.example.com": [ORIGIN]}
    rules = [rule(NAME), rule("other.example.com"), rule(ORIGIN + ":8443")]

    def send(self, pieces, port=443, name=NAME):
        s = self.connect(self.address(name), port)
        for piece in pieces:
            s.sendall(piece)
        return s

    def passes(self, pieces, want, port=443):
        s, got = self.send(pieces, port), b""
        while len(got) < len(want):
            got += s.recv(65536) or self.fail("an early end")
        self.assertEqual(got, want)
        s.close()

    def test_C6_a_hello_passes_byte_for_byte_in_any_pieces(self):
        self.serve(lab.echo, 443)
        whole = hello(NAME, ["h2", "http/1.1"])
        self.passes([whole], whole)
        self.passes([whole[i:i + 1] for i in range(len(whole))], whole)
        self.passes([whole + b"\x17\x03\x03\0\1x"], whole + b"\x17\x03\x03\0\1x")
        body = whole[5:]
        split = b"".join(b"\x16\x03\x01" + struct.pack(">H", len(body[i:i + 100])) + body[i:i + 100]
                         for i in range(0, len(body), 100))
        self.passes([split[:7], split[7:]], split)
        r = self.gate.records(4)
        self.assertEqual({(x["proxy"], x["protocol"], x["decision"]) for x in r},
                         {("transparent", "tls", "allow")})

    def padded(self, size):
        """A hello of about this many bytes, over several records."""
        whole = hello(NAME)
        message = whole[5:]
        sid = message[38]
        at = 39 + sid
        at += 2 + struct.unpack(">H", message[at:at + 2])[0]
        at += 1 + message[at]
        ext = message[at + 2:] + struct.pack(">HH", 21, size) + b"\0" * size
        body = message[4:at] + struct.pack(">H", len(ext)) + ext
        body = b"\1" + struct.pack(">I", len(body))[1:] + body
        return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(body[i:i + 16384])) + body[i:i + 16384]
                        for i in range(0, len(body), 16384))

    def test_C6_a_large_hello_passes_and_one_past_the_bound_does_not(self):
        server = self.serve(lab.echo, 443)
        for size in (4096, 60000):
            whole = self.padded(size)
            self.passes([whole], whole)
        server.received = b""
        many = self.padded(60000)[5:]  # in records of one byte, their headers count too
        split = b"".join(b"\x16\x03\x01\0\1" + many[i:i + 1] for i in range(20000))
        self.refused(self.address(), 443, "bad-hello", NAME, split, server)

    def test_C1_another_server_name_is_never_sent_on(self):
        server = self.serve(lab.echo, 443)
        for name in ("evil.example.com", "other.example.com", "x" + NAME):
            self.refused(self.address(), 443, "server-name", name, hello(name), server)

    def test_C1_the_same_through_the_proxy(self):
        server = self.serve(lab.echo, 443)
        for name, ok in (("evil.example.com", False), (NAME.upper(), True), (None, True)):
            with self.subTest(name=name), self.sandbox.socket() as s:
                s.connect(lab.PROXY)
                data = hello(name)
                s.sendall(b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n")
                self.assertEqual(status(lab.read_head(s)), 200)
                s.sendall(data)
                if ok:
                    self.assertEqual(s.recv(len(data), socket.MSG_WAITALL), data)
                else:
                    with self.assertRaises(ConnectionResetError):
                        s.recv(1)
                    r, = self.gate.records(1)
                    self.assertEqual((r["door"], r["reason"], r["host"]), ("proxy", "server-name", name))
                    self.assertEqual(server.received, b"")

    def test_UP15_a_hello_without_a_name_needs_a_rule_for_the_address(self):
        server = self.serve(lab.echo, 443)
        self.serve(lab.echo, 8443)
        self.refused(self.address(), 443, "no-server-name", NAME, hello(None), server)
        whole = hello(None)
        self.passes([whole], whole, port=8443)

    def test_C5_an_encrypted_hello_is_logged(self):
        self.serve(lab.echo, 443)
        whole = self.padded(0).replace(struct.pack(">HH", 21, 0), struct.pack(">HH", 0xfe0d, 0))
        self.passes([whole], whole)
        self.assertTrue(self.gate.records(1)[0]["ech"])

    def test_A1_a_hello_that_can_be_read_in_two_ways_is_refused(self):
        server = self.serve(lab.echo, 443)
        whole = hello(NAME)
        name = NAME.encode()
        entry = b"\0" + struct.pack(">H", len(name)) + name
        for data in (whole[:5] + b"\2" + whole[6:], b"\x16\x03\x01\0\0", b"\x16\x03\x01\xff\xff",
                     whole.replace(name, b"api.example\0com"), whole.replace(name, b"127.0.000000.01"[:len(name)]),
                     whole.replace(entry, b"\1" + entry[1:])):
            self.refused(self.address(), 443, "bad-hello", NAME, data, server)

    def test_C6_half_a_hello_ends_with_the_connection_or_after_a_time(self):
        server = self.serve(lab.echo, 443)
        whole = hello(NAME)
        s = self.send([whole[:50]])
        s.shutdown(socket.SHUT_WR)
        with self.assertRaises(ConnectionResetError):
            s.recv(1)
        self.refused(self.address(), 443, "hello-timeout", NAME, whole[:-1], server) \
            if self.gate.records(1)[0]["reason"] == "bad-hello" else self.fail("no record")

    def test_C8_what_is_not_tls_is_relayed_where_the_rule_allows_the_port(self):
        self.serve(lab.echo, 443)
        for data in (b"\x16\x02rest", b"\x80\x2e\x01\x03\x01", b"\0", b"\x16\x16"):
            self.passes([data], data)

    def test_N25_a_silent_client_is_dialled_and_logged(self):
        server = self.serve(lab.echo, 443)
        s = self.connect(self.address(), 443)
        self.assertEqual(self.gate.records(1)[0]["decision"], "allow")
        self.assertEqual(server.connections, 1)
        s.sendall(hello("evil.example.com"))
        with self.assertRaises(ConnectionResetError):
            s.recv(1)
        self.assertEqual(self.gate.records(2)[1]["reason"], "server-name")
        self.assertEqual(server.received, b"")


# allow, deny, request, verdict: one table for every way to ask.
TABLE = [
    ("example.com", "", "example.com:443", "allow"),
    ("example.com", "", "example.com:8443", "allow"),
    ("example.com:443", "", "example.com:8443", "deny"),
    ("example.com:400-500", "", "example.com:443", "allow"),
    ("example.com:400-500", "", "example.com:501", "deny"),
    ("example.com", "", "deb.example.com:443", "deny"),
    ("*.example.com", "", "a.example.com:443", "allow"),
    ("*.example.com", "", "example.com:443", "deny"),
    ("*.example.com", "", "a.b.example.com:443", "deny"),
    ("*.example.com", "", "aexample.com:443", "deny"),
    ("**.example.com", "", "a.b.example.com:443", "allow"),
    ("**.example.com", "", "example.com:443", "deny"),
    ("**", "", "any.example.net:80", "allow"),
    ("*.example.com", "telemetry.example.com", "telemetry.example.com:443", "deny"),
    ("example.com", "example.com:25", "example.com:25", "deny"),
    ("EXAMPLE.com.", "", "example.COM:443", "allow"),
    ("b\u00fccher.de", "", "xn--bcher-kva.de:443", "allow"),
    ("[fd00::1]:22", "", "[fd00:0:0:0:0:0:0:1]:22", "allow"),
    ("[fd00::1]:22", "", "[fd00::2]:22", "deny"),
    ("10.9.9.0/24:80", "", "10.9.9.9:80", "allow"),
    ("10.9.9.0/24:80", "10.9.9.9", "10.9.9.9:80", "deny"),
    ("203.0.113.0/24", "", "203.0.113.10:443", "allow"),
    ("169.254.169.254", "", "169.254.169.254:80", "deny"),
    ("127.0.0.1:80", "", "host.docker.internal:80", "allow"),
    ("localhost:80", "", "host.docker.internal:81", "deny"),
    ("localhost:80", "host.docker.internal:80", "host.docker.internal:80", "deny"),
    ("**", "", "metadata.google.internal:80", "deny"),
    ("127.0.0.1:80", "", "127.1:80", "error"),
    ("127.0.0.1:80", "", "0x7f.1:80", "error"),
    ("example.com", "", "example.com\0.evil.test:443", "error"),
    ("**", "", "a" * 60 + ("." + "a" * 60) * 4 + ":443", "error"),
    ("example.com", "", "example..com:443", "error"),
]


class Table(Case):
    """UP 13: proxy, transparent door and `sbx policy check` agree on every line."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = tempfile.mkdtemp(prefix="sbx-gate-check")
        cls.servers = [lab.Server(a, p, lab.echo) for a, p in
                       [(ORIGIN, p) for p in (80, 443, 8443)] + [(PRIVATE, 80), ("127.0.0.1", 80)]]

    @classmethod
    def tearDownClass(cls):
        for s in cls.servers:
            s.close()
        shutil.rmtree(cls.home)
        super().tearDownClass()

    def load(self, allow, deny, target):
        name = target.rsplit(":", 1)[0].lower()
        whole = "\0" not in name and ".." not in name and len(name) < 254
        self.gate.hosts = {name: [ORIGIN]} if whole and name.split(".")[-1].isalpha() else {}
        self.rules = [rule(p, d) for p, d in ((allow, "allow"), (deny, "deny")) if p]
        self.gate.generation += 1
        self.gate.write(self.rules)
        self.assertTrue(self.gate.control(op="reload")["ok"])

    def by_proxy(self, target):
        with self.sandbox.socket() as s:
            s.connect(lab.PROXY)
            s.sendall(b"CONNECT " + target.encode() + b" HTTP/1.1\r\n\r\n")
            code = status(lab.read_head(s))
        return {200: "allow", 502: "allow", 403: "deny", 400: "error"}.get(code, code)

    def transparently(self, target):
        host, port = target.rsplit(":", 1)
        address = host.strip("[]")
        if not host.startswith("[") and not host.replace(".", "").isdigit() or host == "127.1":
            before = len(self.gate.records())
            if ".." in host or len(host) > 253:
                return "error"  # no question can hold it
            code, data = self.ask(host)
            if code:
                r = self.gate.records(before + 1)[before]
                return "error" if r["reason"] in ("bad-name", "dns-malformed") else "deny"
            address = socket.inet_ntoa(data)
        before = len(self.gate.records())
        try:
            with self.sandbox.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as s:
                s.connect((address, int(port)))
                s.sendall(b"x")
                s.recv(1)
        except ConnectionResetError:
            pass
        r = self.gate.records(before + 1)[before]
        return "allow" if r["reason"] == "connect-failed" else r["decision"]

    def by_check(self, allow, deny, target):
        if "\0" in target:
            return "error"  # no argument can hold it
        os.makedirs(self.home + "/sbx", exist_ok=True)
        with open(self.home + "/sbx/policy.yaml", "w", encoding="utf-8") as f:
            f.write("preset: deny-all\ninitialized: true\nrules:\n")
            for pattern, decision in ((allow, "allow"), (deny, "deny")):
                if pattern:
                    f.write("  - { decision: %s, resource: \"%s\" }\n" % (decision, pattern))
        env = {"PATH": os.environ["PATH"], "XDG_CONFIG_HOME": self.home, "XDG_STATE_HOME": self.home,
               "XDG_CACHE_HOME": self.home, "HOME": self.home}
        r = subprocess.run([SBX, "--no-input", "policy", "check", "network", target], env=env,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return {0: "allow", 4: "deny", 2: "error"}.get(r.returncode, r.stdout)

    def test_UP13_every_way_to_ask_gives_the_same_verdict(self):
        have_check = os.path.exists(SBX)
        if not have_check:
            print("NOTE: no sbx at %s: policy check is not compared" % SBX)
        for allow, deny, target, want in TABLE:
            with self.subTest(allow=allow, deny=deny, target=target):
                self.load(allow, deny, target)
                self.assertEqual(self.by_proxy(target), want, "proxy")
                self.assertEqual(self.transparently(target), want, "transparent")
                if have_check:
                    self.assertEqual(self.by_check(allow, deny, target), want, "check")


if __name__ == "__main__":
    lab.enter()
    if not os.path.exists(HELPER):
        lab.skip("no sbx-netns at " + HELPER)
    resolver = lab.Resolver()
    unittest.main(verbosity=2)
