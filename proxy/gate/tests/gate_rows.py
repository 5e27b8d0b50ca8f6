"""Attack and edge cases at the gate's doors: one test a subject, named by its row in the list of cases.

Each refusal is held against the same oracle: no query, no connection and no byte upstream, exactly
one record, the stated answer.
"""
import hashlib
import json
import os
import resource
import select
import socket
import struct
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
from lab import OK, ORIGIN, ORIGIN2, PRIVATE, rule, status  # noqa: E402

NAME = "api.example.com"
HOST = b"Host: api.example.com\r\n"


def get(url, extra=b"", method=b"GET", version=b"HTTP/1.1", host=HOST):
    return method + b" " + url + b" " + version + b"\r\n" + host + extra + b"\r\n"


def connect(target, extra=b""):
    return b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n" + extra + b"\r\n"


class Case(unittest.TestCase):
    rules = [rule(NAME)]
    hosts = {NAME: [ORIGIN]}
    limits = None

    def setUp(self):
        resolver.names.clear()
        resolver.answers.clear()
        self.servers = []
        self.gate = lab.Gate(self.rules, self.hosts, self.limits)

    def tearDown(self):
        code = self.gate.close()
        for s in self.servers:
            s.close()
        self.assertEqual(code, 0, "the gate did not end well: " + self.gate_error())

    def gate_error(self):
        return "exit status of the gate is not 0 (sanitizer finding, signal, or leak)"

    def serve(self, behave, port=80, address=ORIGIN):
        s = lab.Server(address, port, behave)
        self.servers.append(s)
        return s

    def origin(self):
        return self.serve(lab.forever(OK)), self.serve(lab.echo, 443)

    def refused(self, data, code, reason=None, decision=None, n=1, half_close=False):
        """The oracle of every refusal."""
        servers = self.servers or self.origin()
        before = len(self.gate.records())
        reply = self.gate.ask(data, half_close)
        self.assertEqual(status(reply), code, "%r -> %r" % (data[:200], reply[:200]))
        records = self.gate.records(before + n)[before:]
        self.assertEqual(len(records), n, records)
        for s in servers:
            self.assertEqual((s.connections, s.received), (0, b""), data[:200])
        self.assertEqual(resolver.names, [])
        if reason:
            self.assertEqual(records[0]["reason"], reason)
        if decision:
            self.assertEqual(records[0]["decision"], decision)
        self.assertIn(records[0]["decision"], ("deny", "error"))
        return reply, records[0]

    def table(self, rows, code, **more):
        if not self.servers:
            self.origin()
        for row in rows:
            with self.subTest(row=row):
                self.refused(row, code, **more)


class Names(Case):
    rules = [rule("example.com"), rule("*.example.com"), rule("allowed.com"), rule("xn--bcher-kva.de")]
    hosts = {n: [ORIGIN] for n in ("example.com", NAME, "allowed.com", "xn--bcher-kva.de",
                                   "evilexample.com", "a.b.example.com", "127.1.nip.io")}

    def test_A1_nul_in_a_host(self):
        self.table([b"CONNECT evil\0.allowed.com:443 HTTP/1.1\r\n\r\n",
                    get(b"http://evil\0.allowed.com/"),
                    get(b"http://allowed.com/", host=b"Host: evil\0.allowed.com\r\n")], 400)

    def test_A3_mixed_case_is_the_same_name(self):
        http, _ = self.origin()
        reply = self.gate.ask(get(b"http://API.Example.COM/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        self.assertEqual(self.gate.records(1)[0]["host"], NAME)

    def test_A5_unicode_names_are_converted_and_look_alikes_never_match(self):
        http, _ = self.origin()
        reply = self.gate.ask(get("http://b\u00fccher.de/".encode(), b"Connection: close\r\n",
                                  host="Host: b\u00fccher.de\r\n".encode()))
        self.assertIn(status(reply), (200, 400))
        reply = self.gate.ask(get("http://ex\u0430mple.com/".encode(), b"Connection: close\r\n",
                                  host=b"Host: x\r\n"))
        self.assertIn(status(reply), (400, 403))
        self.assertLessEqual(http.connections, 1)
        self.assertNotIn(b"mple", http.received)

    def test_A6_percent_signs_in_a_host_are_never_decoded(self):
        self.table([connect(b"api%2eexample.com:443"), get(b"http://%65xample.com/")], 400)

    def test_A8_stars_stand_for_one_label(self):
        self.origin()
        for name in (b"evilexample.com", b"a.b.example.com"):
            self.refused(connect(name + b":443"), 403, "default-deny", "deny")
            self.refused(get(b"http://" + name + b"/", b"Connection: close\r\n"), 403)

    def test_A10_names_that_are_too_long_or_malformed(self):
        names = [b"a" * 64 + b".example.com", b".".join([b"a" * 60] * 5), b"a..example.com", b"",
                 b"-a.example.com", b".example.com"]
        self.table([connect(n + b":443") for n in names] +
                   [get(b"http://" + n + b"/") for n in names], 400)

    def test_A11_ports_are_plain_numbers(self):
        self.table([connect(b"api.example.com" + p) for p in self.ports], 400)

    ports = [b"", b":", b":0", b":65536", b":+443", b": 443", b":0443", b":443:443", b":443/",
             b":99999999999", b":-1", b":4e2", b":0x1bb"]

    def test_A11_ports_of_urls_are_plain_numbers(self):
        self.table([get(b"http://api.example.com" + p + b"/") for p in self.ports
                    if p not in (b"", b":443/")], 400)

    def test_A13_numeric_hosts_in_odd_spellings(self):
        hosts = [b"2130706433", b"0x7f000001", b"0177.0.0.1", b"127.1", b"1.2.3.4.", b"0x7f.1",
                 b"1.2.3", b"256.1.1.1", b"[::ffff:127.0.0.1", b"[::1%lo]"]
        self.table([connect(h + b":443") for h in hosts] +
                   [get(b"http://" + h + b"/") for h in hosts], 400)

    def test_A15_host_is_rewritten_from_the_authority(self):
        http, _ = self.origin()
        self.gate.ask(get(b"http://example.com/a", b"Connection: close\r\n",
                          host=b"Host: other.example.net\r\n"))
        self.assertTrue(http.received.startswith(b"GET /a HTTP/1.1\r\nHost: example.com\r\n"))
        self.assertNotIn(b"other", http.received)

    def test_A15_host_is_the_canonical_name_whatever_its_spelling(self):
        http, _ = self.origin()
        for name in ("example\u3002com", "EXAMPLE.com", "example.com.", "example.com:80"):
            self.gate.ask(get(b"http://" + name.encode() + b"/", b"Connection: close\r\n", host=b"Host: x\r\n"))
        self.assertEqual(http.received.count(b"Host: example.com\r\n"), 4, http.received)

    def test_A16_other_schemes_and_fragments(self):
        self.origin()
        for url, code in ((b"https://example.com/", 501), (b"ftp://example.com/", 501),
                          (b"file:///etc/passwd", 501), (b"//example.com/", 400),
                          (b"http://example.com/#f", 400), (b"http:/example.com/", 400),
                          (b"http://user@example.com/", 400), (b"http:///x", 400), (b"/x", 400),
                          (b"*", 400), (b"example.com:80", 400)):
            with self.subTest(url=url):
                self.refused(get(url), code)

    def test_A18_one_well_formed_host_field(self):
        fields = [b"Host: example.com\r\nHost: example.com\r\n", b"Host:\r\n", b"Host: a/b\r\n",
                  b"Host: a,b\r\n", b"Host: a b\r\n", b"Host: a@b\r\n", b""]
        self.table([get(b"http://example.com/", host=f) for f in fields], 400)
        self.table([b"CONNECT example.com:443 HTTP/1.1\r\n" + f + b"\r\n" for f in fields[:-1]], 400)


class Addresses(Case):
    rules = [rule("**"), rule("**.example.com")]
    hosts = {"mixed.example.com": ["127.0.0.1", PRIVATE, ORIGIN], "bad.example.com": [PRIVATE],
             "one.example.com": [ORIGIN], "two.example.com": [ORIGIN],
             "turn.example.com": [ORIGIN2, ORIGIN],
             "both.example.com": ["2606:4700::1", "2606:4700::2", ORIGIN2, ORIGIN],
             "meta.example.com": ["169.254.169.254"], "map.example.com": ["::ffff:10.0.0.1"]}

    def test_B2_of_a_mixed_set_only_the_good_are_used(self):
        http, _ = self.origin()
        private = self.serve(lab.forever(OK), 80, PRIVATE)
        loop = self.serve(lab.forever(OK), 80, "127.0.0.1")
        reply = self.gate.ask(get(b"http://mixed.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        self.assertEqual((private.connections, loop.connections), (0, 0))
        reply = self.gate.ask(get(b"http://bad.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 403)
        self.assertEqual((private.connections, loop.connections), (0, 0))
        self.assertEqual(self.gate.records(2)[1]["reason"], "private")

    def test_G13_what_cannot_be_recorded_is_refused_before_a_byte_goes_out(self):
        http, tunnel = self.origin()
        self.assertEqual(self.gate.close(), 0)
        self.gate = lab.Gate(self.rules, self.hosts, log="/dev/full")
        one = b"one.example.com"
        # the first is found out by writing; a tunnel that was promised then is reset
        self.assertEqual(self.gate.ask(connect(one + b":443") + b"hello").count(b"hello"), 0)
        for data in (get(b"http://" + one + b"/", b"Connection: close\r\n"), connect(one + b":443")):
            reply = self.gate.ask(data)
            self.assertEqual(status(reply), 503, reply)
            self.assertIn(b"cannot be recorded", reply)
        self.assertEqual((http.received, tunnel.received), (b"", b""))
        self.assertGreaterEqual(self.gate.control(op="ping")["lost"], 3)

    def test_B3_a_kept_server_is_not_used_for_another_name(self):
        http, _ = self.origin()
        with self.gate.connect() as s:
            for name in (b"one.example.com", b"one.example.com", b"two.example.com"):
                s.sendall(get(b"http://" + name + b"/", host=b"Host: " + name + b"\r\n"))
                lab.read_reply(s)
        self.assertEqual(http.connections, 2)

    def test_B5_metadata_is_denied_by_address_and_by_name(self):
        hosts = [b"169.254.169.254", b"169.254.1.1", b"[fe80::1]", b"100.100.100.200",
                 b"168.63.129.16", b"192.0.0.192", b"[fd00:ec2::254]", b"[fd20:ce::254]",
                 b"metadata.google.internal", b"[::ffff:169.254.169.254]"]
        self.table([connect(h + b":80") for h in hosts], 403, decision="deny")
        self.refused(get(b"http://meta.example.com/", b"Connection: close\r\n"), 403, "metadata")

    def test_B7_mapped_addresses_are_judged_as_what_they_embed(self):
        self.table([connect(b"[::ffff:10.0.0.1]:80"), connect(b"[::ffff:127.0.0.1]:80"),
                    get(b"http://map.example.com/", b"Connection: close\r\n")], 403)

    def test_B8_translated_ranges_are_denied(self):
        self.table([connect(h + b":80") for h in (b"[64:ff9b::a00:1]", b"[64:ff9b:1::1]",
                                                  b"[2002:a00:1::1]", b"[2001::1]", b"[::10.0.0.1]")],
                   403)

    def test_B20_a_resolver_that_fails_is_504(self):
        resolver.answers.update({"fails.example.com": "fail", "none.example.com": []})
        reply = self.gate.ask(connect(b"fails.example.com:443"))
        self.assertEqual(status(reply), 504)
        reply = self.gate.ask(connect(b"unknown.example.com:443"))
        self.assertEqual(status(reply), 502)
        reasons = [r["reason"] for r in self.gate.records(2)]
        self.assertEqual(reasons, ["resolve-failed", "name-not-found"])

    def test_B20_a_silent_resolver_is_504(self):
        resolver.answers["silent.example.com"] = None
        reply = self.gate.ask(connect(b"silent.example.com:443"))
        self.assertEqual(status(reply), 504)
        self.assertEqual(self.gate.records(1)[0]["reason"], "resolve-timeout")

    def test_the_addresses_of_a_name_are_tried_in_turn(self):
        http, _ = self.origin()  # the first address refuses
        reply = self.gate.ask(get(b"http://turn.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        self.assertEqual(self.gate.records(1)[0]["address"], ORIGIN)

    def test_addresses_of_both_families_are_tried(self):
        self.origin()  # no route to the first family, refused by the second's first
        reply = self.gate.ask(get(b"http://both.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        self.assertEqual(self.gate.records(1)[0]["address"], ORIGIN)

    def test_an_address_that_does_not_answer_gives_way_to_the_next(self):
        self.origin()
        with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
            deaf.bind((ORIGIN2, 80))
            deaf.listen(0)
            for s in (first, second):  # a full queue drops the next connection's first packet
                s.setblocking(False)
                s.connect_ex((ORIGIN2, 80))
            reply = self.gate.ask(get(b"http://turn.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        self.assertEqual(self.gate.records(1)[0]["address"], ORIGIN)

    def test_a_client_that_leaves_while_its_name_resolves_is_logged(self):
        resolver.answers["silent.example.com"] = None
        with self.gate.connect() as s:
            s.sendall(connect(b"silent.example.com:443"))
            while not resolver.names:
                time.sleep(0.01)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertEqual(self.gate.records(1)[0]["reason"], "client-closed")

    def test_names_resolve_on_the_host(self):
        resolver.answers["dns.example.com"] = [PRIVATE, ORIGIN]
        http, _ = self.origin()
        reply = self.gate.ask(get(b"http://dns.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        self.assertEqual(self.gate.records(1)[0]["address"], ORIGIN)


    def test_B17_a_name_is_asked_for_once_in_ten_seconds_and_again_after_a_change_of_rules(self):
        resolver.answers["often.example.com"] = [ORIGIN]
        http, _ = self.origin()
        for _ in range(3):
            self.assertEqual(status(self.gate.ask(get(b"http://often.example.com/", b"Connection: close\r\n"))), 200)
        asked = len(resolver.names)
        self.assertLessEqual(asked, 2)  # A and AAAA
        self.gate.write(self.rules, generation=2)
        self.gate.ask(get(b"http://often.example.com/", b"Connection: close\r\n"))
        self.assertGreater(len(resolver.names), asked)

    def test_B17_what_cannot_be_reached_is_asked_for_again(self):
        resolver.answers["moved.example.com"] = [ORIGIN2]
        self.origin()
        ask = get(b"http://moved.example.com/", b"Connection: close\r\n")
        self.assertEqual(status(self.gate.ask(ask)), 502)
        resolver.answers["moved.example.com"] = [ORIGIN]
        self.assertEqual(status(self.gate.ask(ask)), 200)


class HostResource(Case):
    rules = [rule("localhost:8080"), rule("10.9.9.9:80")]
    hosts = {}

    def test_N2_host_docker_internal_is_the_hosts_loopback(self):
        inside = self.serve(lab.forever(OK), 8080, "127.0.0.1")
        reply = self.gate.ask(get(b"http://host.docker.internal:8080/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        self.assertEqual(inside.connections, 1)
        self.assertEqual(self.gate.records(1)[0]["address"], "127.0.0.1")

    def test_N2_loopback_itself_is_refused_with_a_hint(self):
        self.serve(lab.forever(OK), 8080, "127.0.0.1")
        for host in (b"localhost", b"127.0.0.1", b"127.9.9.9", b"[::1]", b"a.localhost"):
            with self.subTest(host=host):
                reply, record = self.refused(connect(host + b":8080"), 403, "loopback", "deny")
                self.assertIn(b"host.docker.internal", reply)

    def test_B10_only_the_declared_port(self):
        self.serve(lab.forever(OK), 8081, "127.0.0.1")
        self.refused(connect(b"host.docker.internal:8081"), 403)

    def test_N3_a_rule_that_names_a_private_address_opens_it(self):
        private = self.serve(lab.forever(OK), 80, PRIVATE)
        reply = self.gate.ask(get(b"http://10.9.9.9/", b"Connection: close\r\n"))
        self.assertEqual((status(reply), private.connections), (200, 1))


class Dns(Case):
    def query(self, name, kind, ident=0x1234):
        msg = struct.pack(">HHHHHH", ident, 0x0100, 1, 0, 0, 0)
        for label in name.split(b"."):
            msg += bytes([len(label)]) + label
        return msg + b"\0" + struct.pack(">HH", kind, 1)

    def ask_udp(self, msg):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(lab.WAIT)
            s.connect((lab.PROXY[0], 53))
            s.send(msg)
            return s.recv(4096)

    def test_B13_B15_what_is_not_allowed_is_refused_locally_and_logged(self):
        for kind in (1, 28, 16, 10, 255, 252, 12, 65, 64, 999):
            msg = self.query(b"evil.example.net", kind)
            reply = self.ask_udp(msg)
            self.assertEqual(reply[:2], msg[:2])
            self.assertEqual((reply[2] & 0x80, reply[3] & 15), (0x80, 5))
            self.assertLessEqual(len(reply), len(msg))
        records = self.gate.records(10)
        self.assertEqual({(r["door"], r["host"], r["port"]) for r in records},
                         {("dns", "evil.example.net", None)})
        self.assertEqual({r["reason"] for r in records}, {"default-deny", "record-type"})
        self.assertEqual([r["method"] for r in records][:4], ["A", "AAAA", "TXT", "NULL"])
        self.assertEqual(resolver.names, [])

    def test_B13_the_same_over_tcp_in_pieces(self):
        msg = self.query(b"evil.example", 1)
        framed = struct.pack(">H", len(msg)) + msg
        with self.gate.connect((lab.PROXY[0], 53)) as s:
            for byte in framed + framed:
                s.sendall(bytes([byte]))
            reply = b""
            while len(reply) < 2 * len(framed):
                reply += s.recv(4096)
        self.assertEqual(reply[5] & 15, 5)
        self.assertEqual(len(self.gate.records(2)), 2)

    def test_malformed_queries_are_answered_or_dropped_and_never_crash(self):
        self.assertEqual(self.ask_udp(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\xff")[3] & 15, 1)
        self.assertEqual(self.ask_udp(b"\x12\x34\x28\0\0\x01\0\0\0\0\0\0\0\0\1\0\1")[3] & 15, 4)
        with self.gate.connect((lab.PROXY[0], 53)) as s:
            s.sendall(b"\xff\xff")
            self.assertEqual(lab.read_all(s), b"")

    def test_G13_A1_labels_with_odd_bytes_are_escaped_in_the_log(self):
        self.ask_udp(self.query(b"a\0b\x1b[2J\n", 1))
        self.assertEqual(self.gate.records(1)[0]["host"], "a\\000b\\027[2J\\010")


class Doors(Case):
    def test_B18_other_destinations_are_reset_and_logged(self):
        with self.assertRaises(ConnectionResetError):
            with self.gate.connect((ORIGIN2, 4443)) as s:
                s.sendall(b"x")
                while s.recv(1):
                    pass
        r = self.gate.records(1)[0]
        self.assertEqual((r["door"], r["host"], r["port"], r["decision"], r["reason"]),
                         ("transparent", ORIGIN2, 4443, "deny", "default-deny"))

    def test_D17_bytes_that_are_not_http_are_refused_at_once(self):
        for data in (b"\x16\x03\x01\x02\x00\x01\x00", b"\x05\x01\x00", b"\x00", b"\x04\x01\x00\x50"):
            self.refused(data, 400, "not-http", "error")

    def upgrade(self, value=b"websocket", extra=b"", connection=b"Upgrade"):
        return get(b"http://api.example.com/chat", b"Connection: " + connection + b"\r\nUpgrade: " + value +
                   b"\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + extra)

    def test_a_websocket_goes_both_ways_at_once(self):
        def chat(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n"
                         b"Sec-WebSocket-Accept: x\r\nAlt-Svc: h3\r\n\r\n\x81\x02hi")
            self.assertEqual(server.read(conn), b"\x81\x81maskA")
            conn.sendall(b"\x82\x01A")
            lab.read_all(conn)
        server = self.serve(chat)
        with self.gate.connect() as s:
            s.sendall(self.upgrade() + b"\x81\x81maskA")
            head = lab.read_head(s)
            self.assertEqual(status(head), 101)
            self.assertIn(b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", head)
            self.assertNotIn(b"Alt-Svc", head)
            self.assertEqual(s.recv(4, socket.MSG_WAITALL), b"\x81\x02hi")
            self.assertEqual(s.recv(3, socket.MSG_WAITALL), b"\x82\x01A")
            self.gate.write([], generation=2)
            with self.assertRaises(ConnectionResetError):
                while s.recv(100):
                    pass
        self.assertIn(b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", server.received)
        self.assertEqual([r["reason"] for r in self.gate.records(2)], ["rule", "policy-changed"])

    def test_E9_an_odd_frame_of_a_plain_websocket_ends_it(self):
        def chat(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n")
            lab.read_all(conn)
        self.serve(chat)
        with self.gate.connect() as s:
            s.sendall(self.upgrade())
            self.assertEqual(status(lab.read_head(s)), 101)
            s.sendall(b"GET http://evil.example.net/ HTTP/1.1\r\n\r\n")
            self.assertEqual(lab.read_all(s), b"\x88\x02\x03\xea")
        self.assertEqual([r["reason"] for r in self.gate.records(2)], ["rule", "websocket-frame"])

    def test_a_websocket_that_the_server_declines_is_an_ordinary_reply(self):
        http, _ = self.origin()
        with self.gate.connect() as s:
            s.sendall(self.upgrade())
            self.assertEqual(status(lab.read_reply(s)[0]), 200)
            s.sendall(get(b"http://api.example.com/", b"Connection: close\r\n"))
            self.assertEqual(status(lab.read_all(s)), 200)

    def test_a_101_to_another_protocol_is_502(self):
        self.serve(lab.replies(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"))
        with self.gate.connect() as s:
            s.sendall(self.upgrade())
            self.assertEqual(status(lab.read_reply(s)[0]), 502)

    def test_E12_mixed_offers_and_tls_are_400(self):
        for value in (b"websocket, h2c", b"TLS/1.0", b"tls", b"h2c,websocket"):
            self.refused(self.upgrade(value), 400, "bad-upgrade", "error")

    def test_E12_what_only_looks_like_a_websocket_is_not_sent_on_as_one(self):
        http, _ = self.origin()
        for data in (self.upgrade(connection=b"close"), self.upgrade(b"websocket2", connection=b"Upgrade, close"),
                     self.upgrade(connection=b"Upgrade, close").replace(b"GET", b"OPTIONS", 1)):
            self.assertEqual(status(self.gate.ask(data)), 200)
        self.assertNotIn(b"Upgrade:", http.received)

    def test_E2_E12_upgrades_are_never_sent_on(self):
        http, _ = self.origin()
        self.gate.ask(get(b"http://api.example.com/", b"Connection: Upgrade, HTTP2-Settings, close\r\n"
                          b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"))
        self.assertNotIn(b"pgrade", http.received)
        self.assertNotIn(b"HTTP2", http.received)


class Framing(Case):
    url = b"http://api.example.com/p"

    def post(self, fields, body=b""):
        return get(self.url, fields, b"POST") + body

    def test_D1_length_and_chunked(self):
        self.table([self.post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
                    self.post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", b"0\r\n\r\n")],
                   400, reason="length-and-chunked")

    def test_D2_odd_lengths(self):
        values = [b"5\r\nContent-Length: 5", b"5\r\nContent-Length: 6", b"5, 5", b"+5", b"-1", b"0x5",
                  b"18446744073709551616", b"9223372036854775808", b"", b"5 5", b"1e1", b"5;"]
        self.table([self.post(b"Content-Length: " + v + b"\r\n", b"hello") for v in values], 400)

    def test_D2_odd_codings(self):
        for value, code in ((b"gzip, chunked", 501), (b"identity", 501), (b"chunked, chunked", 501),
                            (b"", 501), (b"xchunked", 501), (b"chunked\r\nTransfer-Encoding: chunked", 400),
                            (b"\x0bchunked", 400)):
            with self.subTest(value=value):
                self.refused(self.post(b"Transfer-Encoding: " + value + b"\r\n"), code)
        self.refused(self.post(b"Transfer-Encoding: chunked\r\n").replace(b"HTTP/1.1", b"HTTP/1.0"), 400)

    def test_D4_line_ends_folds_and_names(self):
        rows = [b"GET " + self.url + b" HTTP/1.1\nHost: api.example.com\n\n",
                get(self.url, b"X: a\n"), get(self.url, b"X: a\rb\r\n"), get(self.url, b"X: a\0b\r\n"),
                get(self.url, b"X: a\r\n b\r\n"), get(self.url, b"X : a\r\n"), get(self.url, b": a\r\n"),
                get(self.url, b"X\r\n"), get(self.url, b"X\x80: a\r\n"),
                b"GET  " + self.url + b" HTTP/1.1\r\n" + HOST + b"\r\n",
                b"GET " + self.url + b"  HTTP/1.1\r\n" + HOST + b"\r\n",
                b"GET\t" + self.url + b" HTTP/1.1\r\n" + HOST + b"\r\n",
                b"G\x01T " + self.url + b" HTTP/1.1\r\n" + HOST + b"\r\n",
                b" GET " + self.url + b" HTTP/1.1\r\n" + HOST + b"\r\n"]
        self.table(rows, 400)

    def test_D4_one_empty_line_may_stand_in_front(self):
        self.origin()
        last = get(self.url, b"Connection: close\r\n")
        self.assertEqual(status(self.gate.ask(b"\r\n" + last)), 200)
        reply = self.gate.ask(get(self.url) + b"\r\n" + last)
        self.assertEqual(reply.count(b"HTTP/1.1 200 "), 2)
        for reply in self.gate.ask(b"\r\n\r\n" + last), self.gate.ask(b"\r\n\r" + last[:-1]):
            self.assertEqual(status(reply), 400)

    def test_D6_trailers_of_a_request_are_dropped(self):
        http, _ = self.origin()
        with self.gate.connect() as s:
            s.sendall(self.post(b"Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n",
                                b"5;ext=1\r\nhello\r\n0\r\nAuthorization: Bearer x\r\n\r\n"))
            lab.read_reply(s)
        time_limit = time.monotonic() + lab.WAIT
        while b"0\r\n\r\n" not in http.received and time.monotonic() < time_limit:
            time.sleep(0.01)
        self.assertNotIn(b"uthorization", http.received)
        self.assertNotIn(b"ext", http.received)
        self.assertTrue(http.received.endswith(b"5\r\nhello\r\n0\r\n\r\n"), http.received)

    def test_D7_pipelined_requests_are_judged_one_by_one(self):
        def behave(conn, server):
            data = server.head(conn)
            while not data.endswith(b"hello"):
                data += server.read(conn)
            conn.sendall(OK)
            while server.head(conn):
                conn.sendall(OK)
        http = self.serve(behave)
        batch = (self.post(b"Content-Length: 5\r\n", b"hello") +
                 get(b"http://evil.example.com/secret") +
                 get(b"http://api.example.com/last", b"Connection: close\r\n"))
        reply = self.gate.ask(batch)
        self.assertEqual([reply.count(b"HTTP/1.1 %d" % c) for c in (200, 403)], [2, 1])
        self.assertNotIn(b"secret", http.received)
        records = [(r["host"], r["decision"]) for r in self.gate.records(3)]
        self.assertEqual(records, [(NAME, "allow"), ("evil.example.com", "deny"), (NAME, "allow")])

    def test_D11_large_heads_are_refused_early(self):
        self.origin()
        self.refused(b"GET http://api.example.com/" + b"a" * 9000, 414)
        self.refused(get(self.url + b"a" * 8192), 414)
        self.refused(get(self.url, b"X: " + b"a" * 40000), 431)
        self.refused(get(self.url, b"X: a\r\n" * 128), 431)
        self.refused(b"CONNECT api.example.com:443 HTTP/1.1\r\nX: " + b"a" * 9000, 431)

    def test_D11_what_is_just_within_the_bounds_passes(self):
        http, _ = self.origin()
        reply = self.gate.ask(get(self.url + b"a" * (8192 - len(self.url)),
                                  b"X: b\r\n" * 126 + b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)

    def test_D12_N19_paths_go_on_byte_for_byte(self):
        http, _ = self.origin()
        path = b"/a/../b/%2e%2e/..;x//\\%2f%00/\xc0\xaf?q=%2F&x=[1]"
        self.gate.ask(get(b"http://api.example.com" + path, b"Connection: close\r\n"))
        self.assertTrue(http.received.startswith(b"GET " + path + b" HTTP/1.1\r\n"), http.received)

    def test_D14_trace_and_track(self):
        self.origin()
        for method in (b"TRACE", b"TRACK", b"trace"):
            self.refused(get(self.url, method=method), 405, "method", "deny")

    def test_D16_a_get_with_a_body_is_framed(self):
        def behave(conn, server):
            data = server.head(conn)
            while not data.endswith(b"hello"):
                data += server.read(conn)
            conn.sendall(OK)
        http = self.serve(behave)
        reply = self.gate.ask(get(self.url, b"Content-Length: 5\r\nConnection: close\r\n") + b"hello")
        self.assertEqual(status(reply), 200)
        self.assertTrue(http.received.endswith(b"Content-Length: 5\r\n\r\nhello"))

    def test_D17_versions(self):
        self.origin()
        for row, code in ((b"GET / HTTP/1.0\r\n\r\n", 400), (b"GET " + self.url + b"\r\n\r\n", 400),
                          (get(self.url, version=b"HTTP/1.2"), 505),
                          (get(self.url, version=b"HTTP/2.0"), 505),
                          (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
                          (get(self.url, version=b"http/1.1"), 400),
                          (get(self.url, version=b"HTTP/1.1 x"), 400)):
            with self.subTest(row=row):
                self.refused(row, code)

    def test_D22_an_upload_after_a_refusal_is_not_read_on(self):
        self.origin()
        with self.gate.connect() as s:
            s.sendall(get(b"http://evil.example.com/", b"Content-Length: 1000000000\r\n", b"POST"))
            sent = 0
            try:
                while sent < 100_000_000:
                    sent += s.send(b"x" * 65536)
            except OSError:
                pass
            self.assertLess(sent, 100_000_000)

    def test_a_refusal_without_a_body_keeps_the_connection(self):
        self.origin()
        with self.gate.connect() as s:
            s.sendall(get(b"http://evil.example.com/"))
            self.assertEqual(status(lab.read_reply(s)[0]), 403)
            s.sendall(get(self.url))
            self.assertEqual(status(lab.read_reply(s)[0]), 200)

    def test_broken_chunks_are_refused(self):
        rows = [b"5\nhello\r\n0\r\n\r\n", b"5\r\nhelloX\r\n", b"g\r\n", b"\r\n", b"-1\r\n", b"0x5\r\n",
                b"5 \r\nhello\r\n", b"11111111111111111\r\n", b"5\r\nhello\r\n0\r\nX: y\n\r\n"]
        for row in rows:
            with self.subTest(row=row):
                http = self.serve(lambda conn, server: lab.read_all(conn) and None, 80)
                reply = self.gate.ask(self.post(b"Transfer-Encoding: chunked\r\n", row))
                self.assertEqual(status(reply), 400)
                http.close()

    def test_hop_by_hop_fields_end_here(self):
        http, _ = self.origin()
        self.gate.ask(get(self.url, b"Connection: close, X-Secret\r\nX-Secret: 1\r\nTE: trailers\r\n"
                          b"Proxy-Authorization: Basic eDp5\r\nProxy-Connection: keep-alive\r\n"
                          b"Keep-Alive: 5\r\nX-Other: 2\r\n"))
        self.assertEqual(http.received, b"GET /p HTTP/1.1\r\nHost: api.example.com\r\nX-Other: 2\r\n\r\n")


class Replies(Case):
    url = b"http://api.example.com/p"

    def ask(self, answer, method=b"GET", fields=b"Connection: close\r\n", behave=None):
        http = self.serve(behave or lab.replies(answer))
        reply = self.gate.ask(get(self.url, fields, method))
        http.close()
        return reply

    def test_D19_bad_replies_are_502(self):
        rows = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
                b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
                b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + OK,
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nX: " + b"a" * 1048576 + b"\r\n\r\n",
                b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", b"HTTP/1.1 2000 OK\r\n\r\n",
                b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/1.1 999 X\r\n\r\n", b"ICY 200 OK\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxx", b"SSH-2.0-x\r\n", b"",
                b"HTTP/1.1 200 OK\r\n folded\r\n\r\n", b"HTTP/1.1 200 O\0K\r\n\r\n"]
        for row in rows:
            with self.subTest(row=row[:60]):
                reply = self.ask(row)
                if b"HTTP/1.1 100" in reply:  # the first interim ones went on; then the end
                    self.assertNotIn(b"200", reply)
                else:
                    self.assertEqual(status(reply), 502, reply[:100])

    def test_D19_an_early_end_is_visible_to_the_client(self):
        for row in (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
                    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"):
            reply = self.ask(row)
            self.assertIn(b"half", reply)
            self.assertNotIn(b"0\r\n\r\n", reply)

    def test_D19_bytes_behind_a_reply_never_answer_the_next_request(self):
        http = self.serve(lab.forever(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
        with self.gate.connect() as s:
            for _ in range(3):
                s.sendall(get(self.url))
                self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual(http.connections, 3)

    def test_D21_alt_svc_and_hop_fields_of_replies_are_removed(self):
        reply = self.ask(b"HTTP/1.1 200 OK\r\nAlt-Svc: h3=\":443\"\r\nContent-Length: 2\r\n"
                         b"Keep-Alive: timeout=5\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
                         b"Proxy-Authenticate: Basic\r\nX-Sbx-Policy: allowed\r\nX-Stay: 1\r\n\r\nok")
        self.assertEqual(reply, b"HTTP/1.1 200 OK\r\nX-Stay: 1\r\nContent-Length: 2\r\n"
                                b"Connection: close\r\n\r\nok")

    def test_replies_to_head_and_304_have_no_body(self):
        http = self.serve(lab.replies(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n",
                                      b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", OK))
        with self.gate.connect() as s:
            s.sendall(get(self.url, method=b"HEAD"))
            self.assertIn(b"Content-Length: 99", lab.read_head(s))
            s.sendall(get(self.url))
            self.assertEqual(status(lab.read_head(s)), 304)
            s.sendall(get(self.url))
            self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual(http.connections, 1)

    def test_N24_trailers_of_replies_go_on(self):
        reply = self.ask(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
                         b"X-Sum: 1\r\nContent-Length: 5\r\n\r\n")
        self.assertTrue(reply.endswith(b"2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"), reply)

    def test_a_client_of_http_1_0_gets_no_chunks(self):
        http = self.serve(lab.replies(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
                                      b"0\r\n\r\n"))
        reply = self.gate.ask(get(self.url, version=b"HTTP/1.0"))
        self.assertTrue(reply.endswith(b"\r\n\r\nok"), reply)
        self.assertNotIn(b"chunked", reply)

    def test_a_reply_until_close_is_whole(self):
        body = os.urandom(3_000_000)
        reply = self.ask(b"HTTP/1.1 200 OK\r\n\r\n" + body)
        self.assertEqual(reply.split(b"\r\n\r\n", 1)[1], body)

    def test_interim_replies_go_on(self):
        def behave(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            server.read(conn)
            conn.sendall(OK)
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(get(self.url, b"Expect: 100-continue\r\nContent-Length: 5\r\n", b"POST"))
            self.assertEqual(status(lab.read_head(s)), 100)
            s.sendall(b"hello")
            self.assertEqual(lab.read_reply(s)[1], b"ok")

    def test_a_stale_kept_server_is_replaced_unseen(self):
        http = self.serve(lab.replies(OK))
        with self.gate.connect() as s:
            for _ in range(3):
                s.sendall(get(self.url))
                self.assertEqual(lab.read_reply(s)[1], b"ok")

    def test_E17_a_stream_is_passed_on_as_it_comes(self):
        ready = []

        def paced(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for i in range(3):
                conn.sendall(b"5\r\ntick\n\r\n")
                while len(ready) <= i:
                    time.sleep(0.005)
            conn.sendall(b"0\r\n\r\n")
        self.serve(paced)
        with self.gate.connect() as s:
            s.sendall(get(self.url))
            lab.read_head(s)
            for _ in range(3):
                data = b""
                while b"tick\n\r\n" not in data:
                    data += s.recv(100)
                ready.append(1)
            self.assertEqual(s.recv(100), b"0\r\n\r\n")

    def test_a_large_upload_and_download_keep_every_byte(self):
        body = os.urandom(20_000_000)
        got = []

        def behave(conn, server):
            data = server.head(conn).split(b"\r\n\r\n", 1)[1]
            parts = [data]
            n = len(data)
            while n < len(body):
                more = conn.recv(1 << 18)
                parts.append(more)
                n += len(more)
            got.append(b"".join(parts))
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        self.serve(behave)
        reply = self.gate.ask(get(self.url, b"Content-Length: %d\r\nConnection: close\r\n" % len(body),
                                  b"PUT") + body)
        self.assertTrue(got[0] == body)
        self.assertTrue(reply.split(b"\r\n\r\n", 1)[1] == body)


class Flow(Case):
    """Bodies on their way: begun, stopped and ended by either side."""
    url = b"http://api.example.com/p"
    size = 32 << 20  # more than the buffers of all sockets on the way

    def post(self, length, extra=b""):
        return get(self.url, b"Content-Length: %d\r\n" % length + extra, b"POST")

    def stuffed(self, conn, data):
        """Send until nobody takes any more; how much it was. A slow machine only sends less."""
        conn.setblocking(False)
        sent = 0
        while sent < len(data) and select.select([], [conn], [], 1)[1]:
            sent += conn.send(data[sent:sent + (1 << 20)])
        conn.settimeout(lab.WAIT)
        return sent

    def test_a_client_that_reads_nothing_stops_the_server(self):
        body, sent = os.urandom(self.size), []
        begun = threading.Event()

        def behave(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            sent.append(self.stuffed(conn, body))
            begun.set()
            conn.sendall(body[sent[0]:])
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(get(self.url, b"Connection: close\r\n"))
            self.assertTrue(begun.wait(lab.WAIT))
            self.assertLess(sent[0], len(body) // 2)
            lab.read_head(s)
            self.assertEqual(self.digest(s, len(body)), hashlib.sha256(body).digest())

    def digest(self, conn, n, data=b""):
        """Of n bytes that begin with `data`."""
        h = hashlib.sha256(data)
        n -= len(data)
        while n > 0 and (data := conn.recv(1 << 18)):
            h.update(data)
            n -= len(data)
        return h.digest()

    def test_a_server_that_reads_nothing_stops_the_client(self):
        body, got, go = os.urandom(self.size), [], threading.Event()

        def behave(conn, server):
            data = server.head(conn).split(b"\r\n\r\n", 1)[1]
            go.wait(lab.WAIT)
            got.append(self.digest(conn, len(body), data))
            conn.sendall(OK)
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(self.post(len(body)))
            sent = self.stuffed(s, body)
            self.assertLess(sent, len(body) // 2)
            go.set()
            s.sendall(body[sent:])
            self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual(got, [hashlib.sha256(body).digest()])

    def test_a_reply_may_come_before_the_request_is_over(self):
        def behave(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nlong")
            while server.read(conn):
                pass
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(self.post(1000) + b"x" * 10)
            reply = lab.read_all(s)
        self.assertEqual(status(reply), 413)
        self.assertTrue(reply.endswith(b"\r\nConnection: close\r\n\r\nlong"), reply)

    def test_request_and_reply_go_on_at_the_same_time(self):
        def behave(conn, server):
            data = server.head(conn).split(b"\r\n\r\n", 1)[1]
            conn.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            n = 0
            while n < 5:
                if data:
                    conn.sendall(b"%x\r\n%s\r\n" % (len(data), data))
                    n += len(data)
                data = server.read(conn) if n < 5 else b""
            conn.sendall(b"0\r\n\r\n")
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(self.post(5))
            self.assertEqual(status(lab.read_head(s)), 200)
            for byte in b"abcde":
                s.sendall(bytes([byte]))
                data = b""
                while not data.endswith(b"\r\n" + bytes([byte]) + b"\r\n"):
                    more = s.recv(1)
                    self.assertTrue(more)
                    data += more
            self.assertEqual(s.recv(100), b"0\r\n\r\n")

    def test_a_refused_expectation_costs_no_body(self):
        http = self.serve(lab.replies(b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"))
        with self.gate.connect() as s:
            s.sendall(self.post(5, b"Expect: 100-continue\r\n"))
            self.assertEqual(status(lab.read_all(s)), 417)
        self.assertIn(b"Expect: 100-continue\r\n", http.received)

    def test_a_client_of_http_1_0_gets_no_interim_reply(self):
        self.serve(lab.replies(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK))
        reply = self.gate.ask(get(self.url, version=b"HTTP/1.0"))
        self.assertEqual(status(reply), 200, reply)

    def test_G9_a_client_that_has_ended_gets_its_reply(self):
        told = threading.Event()

        def behave(conn, server):
            data = server.head(conn)
            while not data.endswith(b"hello"):
                data += server.read(conn)
            told.wait(lab.WAIT)
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"y" * 1000000)
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(self.post(5) + b"hello")
            s.shutdown(socket.SHUT_WR)
            told.set()
            reply = lab.read_all(s)
        self.assertEqual(len(reply.split(b"\r\n\r\n", 1)[1]), 1000000)

    def test_a_client_that_ends_inside_its_body_ends_the_server(self):
        over = threading.Event()

        def behave(conn, server):
            server.head(conn)
            try:
                while server.read(conn):
                    pass
            except ConnectionResetError:
                pass
            over.set()
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(self.post(1000) + b"x" * 10)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(lab.read_all(s), b"")
        self.assertTrue(over.wait(lab.WAIT))

    def test_a_connection_of_a_server_serves_one_request_after_another(self):
        http = self.serve(lab.forever(OK))
        with self.gate.connect() as s:
            for i in range(20):
                s.sendall(get(b"http://api.example.com/%d" % i, method=b"HEAD" if i % 5 == 4 else b"GET"))
                if i % 5 == 4:
                    lab.read_head(s)
                    break
                self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual(http.connections, 1)
        self.assertEqual([r["decision"] for r in self.gate.records(5)], ["allow"] * 5)

    def test_a_request_that_cannot_be_repeated_has_a_connection_of_its_own(self):
        def behave(conn, server):
            while True:
                data = server.head(conn)
                if not data:
                    return
                while data.startswith(b"POST") and not data.endswith(b"hello"):
                    data += server.read(conn)
                conn.sendall(OK)
        http = self.serve(behave)
        with self.gate.connect() as s:
            for data in (get(self.url), self.post(5) + b"hello", get(self.url), self.post(5) + b"hello"):
                s.sendall(data)
                self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual(http.connections, 3)  # each POST a new one; the GET behind it uses that

    def test_a_server_that_says_close_is_not_used_again(self):
        http = self.serve(lab.replies(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"))
        with self.gate.connect() as s:
            for _ in range(3):
                s.sendall(get(self.url))
                self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual(http.connections, 3)

    def test_E17_streams_of_every_framing_pass_as_they_come(self):
        for head in (b"Content-Type: text/event-stream\r\n\r\n", b"Content-Length: 18\r\n\r\n"):
            go = threading.Semaphore(0)

            def paced(conn, server):
                server.head(conn)
                conn.sendall(b"HTTP/1.1 200 OK\r\n" + head)
                for _ in range(3):
                    go.acquire(timeout=lab.WAIT)
                    conn.sendall(b"data:\n")
            with self.subTest(head=head), self.gate.connect() as s:
                http = self.serve(paced)
                s.sendall(get(self.url, b"Connection: close\r\n"))
                self.assertEqual(status(lab.read_head(s)), 200)
                for _ in range(3):
                    go.release()
                    data = b""
                    while data != b"data:\n":
                        more = s.recv(6 - len(data))
                        self.assertTrue(more)
                        data += more
                self.assertEqual(lab.read_all(s), b"")
                http.close()


class Tunnels(Case):
    def test_C10_early_bytes_wait_for_the_verdict(self):
        _, tls = self.origin()
        reply = self.gate.ask(connect(b"api.example.com:443") + b"early" * 100, half_close=True)
        self.assertTrue(reply.endswith(b"\r\n\r\n" + b"early" * 100))

    def test_C10_early_bytes_of_a_denied_connect_are_never_parsed(self):
        self.origin()
        reply, _ = self.refused(connect(b"evil.example.com:443") + get(b"http://api.example.com/"), 403)
        self.assertEqual(reply.count(b"HTTP/1.1"), 1)

    def test_G9_half_close_of_the_client_is_kept(self):
        def behave(conn, server):
            data = b""
            while True:
                more = server.read(conn)
                if not more:
                    break
                data += more
            conn.sendall(b"got %d" % len(data))
        self.serve(behave, 443)
        with self.gate.connect() as s:
            s.sendall(connect(b"api.example.com:443"))
            lab.read_head(s)
            s.sendall(b"x" * 1_000_000)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(lab.read_all(s), b"got 1000000")

    def test_G9_half_close_of_the_server_is_kept(self):
        def behave(conn, server):
            conn.sendall(b"y" * 1_000_000)
            conn.shutdown(socket.SHUT_WR)
            while server.read(conn):
                pass
        tls = self.serve(behave, 443)
        with self.gate.connect() as s:
            s.sendall(connect(b"api.example.com:443"))
            lab.read_head(s)
            self.assertEqual(len(lab.read_all(s)), 1_000_000)
            s.sendall(b"z" * 500_000)
            s.shutdown(socket.SHUT_WR)
            self.assertEqual(s.recv(1), b"")
        end = time.monotonic() + lab.WAIT
        while len(tls.received) < 500_000 and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(len(tls.received), 500_000)

    def test_a_reset_goes_through_and_what_came_before_it_too(self):
        def behave(conn, server):
            server.read(conn)
            conn.sendall(b"w" * 100_000)
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.serve(behave, 443)
        with self.gate.connect() as s:
            s.sendall(connect(b"api.example.com:443"))
            lab.read_head(s)
            s.sendall(b"go")
            with self.assertRaises(ConnectionResetError):
                while s.recv(65536):
                    pass
        self.assertEqual(self.gate.control(op="ping")["tunnels"], 0)

    def test_G8_a_reset_is_not_held_by_a_server_that_never_reads(self):
        stop = threading.Event()
        self.addCleanup(stop.set)
        self.serve(lambda conn, server: stop.wait(lab.WAIT), 443)
        s = self.gate.connect()
        s.sendall(connect(b"api.example.com:443"))
        lab.read_head(s)
        s.settimeout(0.5)  # until nothing more goes, on any of the two connections
        try:
            while s.send(b"x" * 65536):
                pass
        except TimeoutError:
            pass
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
        end = time.monotonic() + lab.WAIT
        while self.gate.control(op="ping")["tunnels"]:
            self.assertLess(time.monotonic(), end, "the tunnel is stuck")
            time.sleep(0.05)

    def test_a_slow_reader_gets_every_byte(self):
        body = os.urandom(30_000_000)

        def behave(conn, server):
            conn.sendall(body)
        self.serve(behave, 443)
        with self.gate.connect() as s:
            s.sendall(connect(b"api.example.com:443"))
            lab.read_head(s)
            parts = []
            for i in range(10_000_000):
                data = s.recv(1000 if i < 2000 else 1 << 20)
                if not data:
                    break
                parts.append(data)
            self.assertTrue(b"".join(parts) == body)

    def test_a_server_that_refuses_is_502(self):
        reply = self.gate.ask(connect(b"api.example.com:444"))
        self.assertEqual(status(reply), 502)
        self.assertEqual(self.gate.records(1)[0]["reason"], "connect-failed")

    def test_python_and_netcat_connect_without_host(self):
        self.origin()
        reply = self.gate.ask(b"CONNECT api.example.com:443 HTTP/1.0\r\n\r\nhi", half_close=True)
        self.assertTrue(reply.endswith(b"\r\n\r\nhi"))

    def test_a_denied_request_names_the_rule_to_add(self):
        reply, record = self.refused(connect(b"evil.example.com:443"), 403, "default-deny", "deny")
        head, body = reply.split(b"\r\n\r\n", 1)
        self.assertIn(b"X-Sbx-Policy: denied", head)
        self.assertIn(b"sbx policy allow network evil.example.com:443", body)
        self.assertEqual(body.count(b"\n"), 1)
        self.assertEqual((record["host"], record["port"], record["rule"], record["status"]),
                         ("evil.example.com", 443, None, 403))


class Rights(Case):
    rules = [rule(NAME, name="first"), rule("other.example.com")]
    hosts = {NAME: [ORIGIN], "other.example.com": [ORIGIN]}

    def test_S5_deny_wins(self):
        self.origin()
        self.gate.write([rule("**"), rule(NAME, "deny", name="no"), rule(NAME, name="yes")], generation=2)
        _, record = self.refused(connect(b"api.example.com:443"), 403, "rule", "deny")
        self.assertEqual(record["rule"], "no")

    def test_G4_N8_a_tunnel_without_right_is_closed_and_others_stay(self):
        self.origin()
        with self.gate.connect() as s, self.gate.connect() as other:
            for conn, name in ((s, b"api.example.com"), (other, b"other.example.com")):
                conn.sendall(connect(name + b":443"))
                lab.read_head(conn)
            self.gate.write([rule("other.example.com")], generation=2)
            try:
                self.assertEqual(s.recv(1), b"")  # without any call to the gate: it notices by itself
            except ConnectionResetError:
                pass
            other.sendall(b"still")
            self.assertEqual(other.recv(5), b"still")
        self.assertEqual(sorted(r["reason"] for r in self.gate.records(3)),
                         ["policy-changed", "rule", "rule"])

    def test_G4_a_reply_that_streams_is_cut_when_its_right_ends(self):
        def behave(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
            server.read(conn)
        self.serve(behave)
        with self.gate.connect() as s:
            s.sendall(get(b"http://api.example.com/"))
            lab.read_head(s)
            self.assertEqual(s.recv(5), b"begin")
            self.gate.write([], generation=2)
            self.assertEqual(self.gate.control(op="reload")["generation"], 2)
            with self.assertRaises(ConnectionResetError):
                s.recv(1)
        self.assertEqual([r["reason"] for r in self.gate.records(2)], ["rule", "policy-changed"])

    def test_G4_a_new_file_counts_for_the_very_next_request(self):
        self.origin()
        for generation in range(2, 12):
            allow = generation % 2 == 0
            self.gate.write([rule(NAME)] if allow else [], generation=generation)
            reply = self.gate.ask(connect(b"api.example.com:443"), half_close=True)
            self.assertEqual(status(reply), 200 if allow else 403)

    def test_G6_a_policy_that_narrows_while_dialling_wins(self):
        resolver.answers["slow.example.com"] = None
        self.gate.write([rule("slow.example.com")], generation=2)
        http, tls = self.origin()
        with self.gate.connect() as s:
            s.sendall(connect(b"slow.example.com:443"))
            while not resolver.names:
                time.sleep(0.01)
            resolver.answers["slow.example.com"] = [ORIGIN]  # for the resolver's second try
            self.gate.write([rule(NAME)], generation=3)
            self.assertEqual(status(lab.read_all(s)), 403)
        self.assertEqual(tls.received, b"")
        self.assertEqual(len(self.gate.records(1)), 1)

    def test_the_control_socket_reloads_and_answers(self):
        self.assertEqual(self.gate.control(op="ping")["generation"], 1)
        self.gate.write([], generation=2)
        self.assertEqual(self.gate.control(op="reload"), {"ok": True, "generation": 2})
        self.gate.write([], text="{")
        answer = self.gate.control(op="reload")
        self.assertFalse(answer["ok"])
        self.assertIn("gate.json:1", answer["error"])
        self.assertEqual(self.gate.control(op="ping")["generation"], 2)
        self.assertFalse(self.gate.control(op="dance")["ok"])

    def test_the_control_socket_tells_the_policy_its_digest_and_what_happened(self):
        def http(path):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.gate.control_path)
                s.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\n\r\n")
                head, _, body = lab.read_all(s).partition(b"\r\n\r\n")
                return status(head), json.loads(body) if body else None
        self.gate.write([rule("n%d.example.com" % i) for i in range(20000)], generation=2)
        self.gate.control(op="reload")
        code, answer = http(b"/v0/policy")
        text = lab.read_file(os.path.join(self.gate.config_dir, "gate.json"))
        self.assertEqual((code, answer["generation"], answer["digest"]),
                         (200, 2, "sha256:" + hashlib.sha256(text).hexdigest()))
        self.assertEqual(answer["policy"], json.loads(text))
        self.assertEqual(self.gate.control(op="policy")["digest"], answer["digest"])
        self.gate.ask(connect(b"evil.example.net:443"))
        code, stats = http(b"/v0/stats")
        self.assertEqual((code, stats["denied"], stats["allowed"], stats["accepted"]), (200, 1, 0, 1))
        self.assertEqual(http(b"/v0/x"), (404, None))
        self.assertTrue(self.gate.control(op="shutdown")["ok"])
        self.assertEqual(self.gate.process.wait(lab.WAIT), 0)
        self.assertEqual(self.gate.ended(), "gate: asked to end\n")

    def test_a_bad_file_keeps_the_old_rules_and_is_reported(self):
        self.origin()
        for text in ("{", "[]", '{"version":1,"extra":1}', ""):
            self.gate.write([], text=text)
            reply = self.gate.ask(connect(b"api.example.com:443"), half_close=True)
            self.assertEqual(status(reply), 200, text)
        self.assertIn("keeps the rules of generation 1", self.gate.ended())

    def test_blocked_lists_what_was_denied_since(self):
        self.origin()
        self.gate.ask(connect(b"one.example.com:443"))
        since = self.gate.control(op="ping")["offset"]
        for _ in range(3):
            self.gate.ask(connect(b"two.example.com:443"))
        blocked = self.gate.control(op="blocked", since=since)["blocked"]
        self.assertEqual([(b["host"], b["port"], b["count"]) for b in blocked],
                         [("two.example.com", 443, 3)])

    def test_G13_log_records_are_escaped_json(self):
        self.origin()
        self.gate.ask(b"CONNECT e\x1b[2Jvil:443 HTTP/1.1\r\n\r\n")
        self.gate.ask(get(b"http://api.example.com/", method=b"GE\"T", host=b"Host: a\"b\r\n"))
        self.assertEqual(len(self.gate.records(2)), 2)
        self.assertNotIn(b"\x1b", lab.read_file(self.gate.log_path))

    def test_repeated_denials_are_counted_past_their_budget(self):
        for _ in range(50):
            self.gate.ask(connect(b"evil.example.com:443"))
        self.assertEqual(len(self.gate.records(20)), 20)
        self.gate.process.terminate()  # what was counted is written at the end
        self.gate.process.wait(lab.WAIT)
        last = self.gate.records(21)[-1]
        self.assertEqual((last["count"], last["host"]), (30, "evil.example.com"))


class Caps(Case):
    limits = {"tunnels": 4, "tunnelsPerHost": 2}
    rules = [rule("**.example.com")]
    hosts = {"%s.example.com" % n: [ORIGIN] for n in "abc"}

    def open(self, name):
        s = self.gate.connect()
        s.sendall(connect(name + b".example.com:443"))
        return s, status(lab.read_head(s))

    def test_G8_N18_a_full_destination_refuses_with_503_and_others_are_served(self):
        self.origin()
        held = [self.open(b"a"), self.open(b"a")]
        self.assertEqual([code for _, code in held], [200, 200])
        third = self.open(b"a")
        other = self.open(b"b")
        self.assertEqual((third[1], other[1]), (503, 200))
        held[0][0].close()
        held[1][0].close()
        for s, _ in (third, other):
            s.close()

    def test_G8_N18_when_full_the_oldest_without_a_server_goes_first(self):
        self.origin()
        idle = [self.gate.connect() for _ in range(4)]
        s, code = self.open(b"a")
        self.assertEqual(code, 200)
        try:
            self.assertEqual(idle[0].recv(1), b"")
        except ConnectionResetError:
            pass
        idle[3].sendall(connect(b"b.example.com:443"))  # the newest is still there
        self.assertEqual(status(lab.read_head(idle[3])), 200)
        for conn in idle + [s]:
            conn.close()

    def test_G8_with_nothing_to_give_up_the_newcomer_gets_503(self):
        self.origin()
        held = [self.open(n) for n in (b"a", b"a", b"b", b"b")]
        self.assertEqual([c for _, c in held], [200] * 4)
        self.assertEqual(status(self.gate.ask(b"")), 503)
        for s, _ in held:
            s.close()


class Crowds(Case):
    def setUp(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        if hard < 9000:
            self.skipTest("LOUD: the hard limit of open files is %d" % hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        super().setUp()

    def test_G8_thousands_of_idle_connections_do_not_keep_others_out(self):
        self.origin()
        idle = [self.gate.connect() for _ in range(4300)]
        reply = self.gate.ask(connect(b"api.example.com:443") + b"hi", half_close=True)
        self.assertTrue(reply.endswith(b"\r\n\r\nhi"), reply)
        with self.assertRaises(ConnectionResetError):
            idle[0].recv(1)
        idle[-1].sendall(get(b"http://api.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(lab.read_all(idle[-1])), 200)
        for s in idle:
            s.close()

    def test_G8_readers_that_stall_cost_bounded_memory_and_hold_up_nobody(self):
        def blast(conn, server):
            try:
                while conn.send(b"x" * (1 << 20)):
                    pass
            except TimeoutError:
                pass
        for port in (443, 444):  # 512 to one destination at most
            self.serve(blast, port)
        self.serve(lab.forever(OK))
        held = []
        for i in range(400):
            s = self.gate.connect()
            held.append(s)
            s.sendall(connect(b"api.example.com:%d" % (443 + i % 2)))
            self.assertEqual(status(lab.read_head(s)), 200)
        reply = self.gate.ask(get(b"http://api.example.com/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 200)
        if "sanitize" not in os.environ.get("SBX_GATE_BUILD", ""):
            rss = int(lab.read_file("/proc/%d/statm" % self.gate.process.pid).split()[1]) * 4096
            self.assertLess(rss, 120 << 20)
        for s in held:
            s.close()


class Slow(Case):
    def test_G8_a_head_that_does_not_come_ends_with_408(self):
        with self.gate.connect() as s, self.gate.connect() as silent:
            s.sendall(b"GET http://api.example.com/ HT")
            self.assertEqual(status(lab.read_all(s)), 408)
            self.assertEqual(lab.read_all(silent), b"")
        self.assertEqual(self.gate.records(1)[0]["reason"], "head-timeout")


class Life(unittest.TestCase):
    def start(self, *args, **more):
        gate = lab.Gate(*args, **more)
        self.addCleanup(gate.close)
        return gate

    def test_G1_without_rules_it_does_not_start(self):
        for text in ("", "{", '{"version":2}', '{"version":1,"sandbox":"x","generation":1}'):
            gate = lab.Gate(text=text, expect="error gate.json")
            self.assertEqual(gate.close(), 1)

    def test_it_refuses_to_run_as_root(self):
        gate = lab.Gate([], uid=0, expect="error must not run as uid 0")
        self.assertEqual(gate.close(), 1)

    def test_it_runs_as_the_user_who_called_even_as_the_first_one_of_a_system(self):
        lab.Gate([], uid=1000).close()

    def test_it_ends_with_the_helper_and_says_so(self):
        gate = self.start([])
        gate.helper.shutdown(socket.SHUT_RDWR)
        gate.helper.close()
        self.assertEqual(gate.process.wait(lab.WAIT), 0)
        self.assertEqual(gate.ended(), "gate: helper gone\n")

    def test_it_ends_with_the_container_and_says_so(self):
        gate = self.start([])
        gate.watched.kill()
        gate.watched.wait()
        self.assertEqual(gate.process.wait(lab.WAIT), 0)
        self.assertEqual(gate.ended(), "gate: container ended\n")

    def test_N8_without_inotify_a_new_file_is_seen_too(self):
        uid = lab.UID + 1
        self.addCleanup(lab.use_up_inotify(uid))
        gate = self.start([rule(NAME)], {NAME: [ORIGIN]}, uid=uid)
        server = lab.Server(ORIGIN, 443, lab.echo)
        self.addCleanup(server.close)
        with gate.connect() as s:
            s.sendall(connect(b"api.example.com:443"))
            lab.read_head(s)
            gate.write([], generation=2)
            with self.assertRaises(ConnectionResetError):
                s.recv(1)

    def test_it_is_confined(self):
        gate = self.start([])
        text = lab.read_file("/proc/%d/status" % gate.process.pid).decode()
        facts = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        self.assertEqual(facts["NoNewPrivs"].strip(), "1")
        self.assertEqual(facts["CapEff"].strip(), "0" * 16)
        if "sanitize" not in os.environ.get("SBX_GATE_BUILD", ""):
            self.assertEqual(facts["Seccomp"].strip(), "2")
            self.assertEqual(os.stat("/proc/%d/environ" % gate.process.pid).st_uid, 0)  # not dumpable
        fds = os.listdir("/proc/%d/fd" % gate.process.pid)
        self.assertLessEqual(len(fds), 20)
        self.assertEqual(gate.close(), 0)


if __name__ == "__main__":
    lab.enter()
    resolver = lab.Resolver()
    unittest.main(verbosity=2)
