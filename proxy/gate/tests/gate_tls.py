"""Interception: TLS ends at the gate for hosts with a rule of injection, and for no other.

One test a subject, named by its row in the list of cases where it has one. Needs root (namespaces).
"""
import errno
import hashlib
import json
import os
import queue
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
import tlslab  # noqa: E402
from lab import OK, ORIGIN, ORIGIN2, rule, status  # noqa: E402

HELPER = os.environ.get("SBX_NETNS") or os.path.join(os.path.dirname(lab.GATE), "sbx-netns")
NAME, OTHER, PLAIN = "api.example.com", "other.example.com", "plain.example.com"
SECRET = "s3cr3t-value-that-no-one-may-see"
UPLOAD, CHUNK, FLAT = 64 << 20, 64 << 10, 8 << 20  # bytes; FLAT: buffers and windows have their room in it
INJECT = [{"to": NAME + ":443", "header": "Authorization", "secret": "key"}]


def connect(target):
    return b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n"


def get(path=b"/", host=NAME.encode(), extra=b"", method=b"GET"):
    return method + b" " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + extra + b"\r\n"


class Case(unittest.TestCase):
    rules = [rule(NAME), rule(PLAIN), rule(ORIGIN + ":443"), rule("203.0.113.11:443")]
    hosts = {NAME: [ORIGIN], PLAIN: [ORIGIN2], OTHER: [ORIGIN]}
    inject = INJECT
    values = {"key": "Bearer " + SECRET}

    def setUp(self):
        self.servers = []
        self.gate = lab.Gate(self.rules, self.hosts, ca=sandbox_ca.path,
                             more={"inject": self.inject, "upstreamCa": world.pem})
        self.broker = tlslab.Broker(self.gate, **self.values) if self.values is not None else None
        for name in sorted({i["secret"] for i in self.inject}) if self.broker else ():
            while name not in self.broker.asked:
                self.gate.control(op="ping")

    def tearDown(self):
        log = lab.read_file(self.gate.log_path)
        ended = self.gate.ended()
        code = self.gate.close()
        for s in self.servers:
            s.close()
        if self.broker:
            self.broker.close()
        self.assertEqual(code, 0, "the gate did not end well")
        self.assertNotIn(SECRET.encode(), log)
        self.assertNotIn(SECRET, ended)

    def origin(self, behave=None, names=(NAME,), address=ORIGIN, port=443, cert=None, **more):
        s = tlslab.Origin(address, port, behave or lab.forever(OK), cert or world.leaf(names), **more)
        self.servers.append(s)
        return s

    def tunnel(self, target=None):
        s = self.gate.connect()
        s.sendall(connect(target or (NAME + ":443").encode()))
        head = lab.read_head(s)
        self.assertEqual(status(head), 200, head)
        return s

    def tls(self, name=NAME, target=None, ca=None, **more):
        return tlslab.client(self.tunnel(target), name, ca or sandbox_ca.path + ".crt", **more)

    def ask(self, data, **more):
        with self.tls(**more) as s:
            s.sendall(data)
            return lab.read_reply(s)

    def assert_flat(self, before):
        """The gate has not kept what passed since `before`. The sanitizer keeps all that is freed."""
        if os.environ.get("SBX_GATE_BUILD") != "sanitize":
            self.assertLess(peak(self.gate.process.pid) - before, FLAT)

    def record(self, n, **want):
        r = self.gate.records(n)[n - 1]
        for key, value in want.items():
            self.assertEqual(r[key], value, r)
        return r


class Chained(Case):
    """This machine has to use a proxy: TLS ends at the gate all the same, and goes on through a tunnel of the proxy."""

    def relay(self, conn, server):
        head = server.head(conn)
        with socket.create_connection((ORIGIN, 443), timeout=lab.WAIT) as far:
            conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

            def back():
                while True:
                    data = far.recv(65536)
                    if not data:
                        conn.shutdown(socket.SHUT_WR)
                        return
                    conn.sendall(data)
            self.heads.append(head)
            thread = lab.threading.Thread(target=back, daemon=True)
            thread.start()
            while True:
                data = server.read(conn)
                if not data:
                    break
                far.sendall(data)
            far.shutdown(socket.SHUT_WR)
            thread.join(lab.WAIT)

    def setUp(self):
        self.servers, self.heads = [], []
        proxy = {"host": ORIGIN2, "port": 3128, "authorization": "Basic cHJveHk6cGFzcw=="}
        self.gate = lab.Gate(self.rules, {}, ca=sandbox_ca.path, upstream={"http": proxy, "https": proxy},
                             more={"inject": self.inject, "upstreamCa": world.pem})
        self.broker = tlslab.Broker(self.gate, **self.values)
        while "key" not in self.broker.asked:
            self.gate.control(op="ping")
        self.proxy = lab.Server(ORIGIN2, 3128, self.relay)
        self.servers.append(self.proxy)

    def test_the_value_goes_to_the_server_and_the_proxy_sees_neither_it_nor_the_request(self):
        origin = self.origin()
        with self.tls() as s:
            for i in range(3):
                s.sendall(get(b"/%d" % i))
                self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual(origin.received.count(SECRET.encode()), 3)
        self.assertNotIn(b"Proxy-Authorization", origin.received)
        self.assertEqual(self.heads, [b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n"
                                      b"Proxy-Authorization: Basic cHJveHk6cGFzcw==\r\n\r\n"])
        for seen in (SECRET.encode(), b"GET "):
            self.assertNotIn(seen, self.proxy.received)
        self.assertEqual({r["address"] for r in self.gate.records(4)}, {"upstream"})

    def test_a_server_that_closes_is_reached_through_a_new_tunnel(self):
        def once(conn, server):
            if server.head(conn):
                conn.sendall(OK)
        origin = self.origin(once)
        with self.tls() as s:
            for i in range(3):
                s.sendall(get(b"/%d" % i))
                self.assertEqual(status(lab.read_reply(s)[0]), 200, i)
        self.assertEqual((origin.connections, len(self.heads)), (3, 3))

    def test_C11_a_certificate_of_another_is_refused_all_the_same(self):
        origin = self.origin(names=("other.example.com",))
        with self.tls() as s:
            s.sendall(get())
            self.assertEqual(status(lab.read_reply(s)[0]), 502)
        self.assertNotIn(SECRET.encode(), origin.received)

    def test_C1_another_name_in_the_hello_reaches_nobody(self):
        origin = self.origin()
        with self.assertRaises(OSError):
            self.tls(name=OTHER)
        self.assertEqual(origin.received, b"")


class Injection(Case):
    def test_the_value_is_put_in_and_the_clients_own_field_ends_here(self):
        origin = self.origin()
        head, body = self.ask(get(b"/v1?x=%2f", extra=b"Authorization: Bearer mine\r\nX-Other: 1\r\n"))
        self.assertEqual((status(head), body), (200, b"ok"))
        self.assertIn(b"\r\nAuthorization: Bearer " + SECRET.encode() + b"\r\n", origin.received)
        self.assertNotIn(b"mine", origin.received)
        self.assertTrue(origin.received.startswith(b"GET /v1?x=%2f HTTP/1.1\r\nHost: api.example.com\r\n"))
        self.assertIn(b"\r\nX-Other: 1\r\n", origin.received)
        self.assertNotIn(SECRET.encode(), head + body)
        self.record(1, protocol="connect", method="CONNECT", decision="allow", status=200, proxy="forward")
        self.record(2, protocol="https", method="GET", decision="allow", proxy="forward", host=NAME, port=443,
                    address=ORIGIN, rule="user:allow:" + NAME)
        self.assertEqual(len(self.gate.records()), 2)

    def test_D9_every_spelling_of_the_injected_field_is_removed(self):
        origin = self.origin()
        mine = b"".join(n + b": mine\r\n" for n in (b"AUTHORIZATION", b"authorization", b"Authorization"))
        self.ask(get(extra=mine))
        self.assertNotIn(b"mine", origin.received)
        self.assertEqual(origin.received.lower().count(b"authorization:"), 1)

    def test_many_requests_share_both_connections(self):
        origin = self.origin()
        with self.tls() as s:
            for i in range(20):
                method = (b"GET", b"POST", b"PUT")[i % 3]
                body = b"Content-Length: 3\r\n" if i % 3 else b""
                s.sendall(get(b"/%d" % i, method=method, extra=body) + (b"abc" if i % 3 else b""))
                self.assertEqual(status(lab.read_reply(s)[0]), 200)
        self.assertEqual(origin.connections, 1)
        self.assertEqual(origin.received.count(SECRET.encode()), 20)
        self.assertEqual(len(self.gate.records(21)), 21)

    def test_pipelined_requests_are_served_one_by_one(self):
        origin = self.origin()
        with self.tls() as s:
            s.sendall(get(b"/1") + get(b"/2") + get(b"/3"))
            for _ in range(3):
                self.assertEqual(status(lab.read_reply(s)[0]), 200)
        self.assertEqual(origin.received.count(SECRET.encode()), 3)

    def test_a_server_that_closes_between_requests_is_dialled_again(self):
        def once(conn, server):
            if server.head(conn):
                conn.sendall(OK)
        origin = self.origin(once)
        with self.tls() as s:
            for i in range(3):
                s.sendall(get(b"/%d" % i))
                self.assertEqual(status(lab.read_reply(s)[0]), 200, i)
        self.assertEqual(origin.connections, 3)
        self.assertEqual(origin.received.count(SECRET.encode()), 3)

    def test_in_a_crowd_an_idle_connection_gives_up_its_server_and_gets_another(self):
        ended = lab.threading.Semaphore(0)

        def serve(conn, server):
            while server.head(conn):
                conn.sendall(OK)
            ended.release()
        origin = self.origin(serve)
        held = []
        for _ in range(66):  # SBX_GATE_CROWD and two more
            held.append(self.tls())
            held[-1].sendall(get())
            self.assertEqual(status(lab.read_reply(held[-1])[0]), 200)
        self.assertTrue(ended.acquire(timeout=lab.WAIT))
        held[-1].sendall(get(b"/again", method=b"POST", extra=b"Content-Length: 1\r\n") + b"x")
        self.assertEqual(status(lab.read_reply(held[-1])[0]), 200)
        self.assertEqual(origin.received.count(SECRET.encode()), 67)
        for s in held:
            s.close()

    def test_bodies_stream_both_ways_with_both_framings(self):
        size = 3 << 20

        def swallow(conn, server):
            head = server.head(conn)
            body = head.split(b"\r\n\r\n", 1)[1]
            if b"chunked" in head:
                while not body.endswith(b"0\r\n\r\n"):
                    body += conn.recv(65536)
                total = sum(len(c) for c in body.split(b"\r\n")[1::2])
            else:
                while len(body) < size:
                    body += conn.recv(65536)
                total = len(body)
            answer = b"%d " % total + b"y" * size
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        self.origin(swallow)
        with self.tls() as s:
            s.sendall(get(method=b"POST", extra=b"Content-Length: %d\r\n" % size) + b"x" * size)
            head, body = lab.read_reply(s)
            self.assertEqual(body[:8], b"%d " % size)
            self.assertEqual(len(body), size + 8)
        with self.tls() as s:
            s.sendall(get(method=b"POST", extra=b"Transfer-Encoding: chunked\r\n"))
            for _ in range(48):
                s.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            s.sendall(b"0\r\n\r\n")
            head, body = lab.read_reply(s)
            self.assertEqual(body[:8], b"%d " % size)

    def test_a_large_upload_arrives_whole_and_is_not_kept(self):
        got = queue.Queue()

        def take(conn, server):
            head, left, digest = server.head(conn), UPLOAD, hashlib.sha256()
            if b"100-continue" in head:
                conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = conn.makefile("rb")
            while left:
                size = int(body.readline(), 16) if b"chunked" in head else min(left, CHUNK)
                digest.update(body.read(size))
                left -= size
                if b"chunked" in head:
                    self.assertEqual(body.readline(), b"\r\n")
            if b"chunked" in head:
                self.assertEqual(body.readline() + body.readline(), b"0\r\n\r\n")
            got.put(digest.hexdigest())
            conn.sendall(OK)
        origin = self.origin(take)
        part, before = os.urandom(CHUNK), peak(self.gate.process.pid)
        want = hashlib.sha256(part * (UPLOAD // CHUNK)).hexdigest()
        for framing, ahead, behind, end in (
                (b"Content-Length: %d\r\n" % UPLOAD, b"", b"", b""),
                (b"Transfer-Encoding: chunked\r\n", b"%x\r\n" % CHUNK, b"\r\n", b"0\r\n\r\n")):
            with self.tls() as s:
                s.sendall(get(method=b"POST", extra=framing + b"Authorization: mine\r\nExpect: 100-continue\r\n"))
                self.assertEqual(status(lab.read_head(s)), 100)
                for _ in range(UPLOAD // CHUNK):
                    s.sendall(ahead + part + behind)
                s.sendall(end)
                self.assertEqual(status(lab.read_reply(s)[0]), 200)
            self.assertEqual(got.get(timeout=lab.WAIT), want)
        self.assertEqual(origin.received.count(SECRET.encode()), 2)
        self.assert_flat(before)

    def test_E17_events_pass_at_once(self):
        steps = lab.threading.Semaphore(0)

        def events(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for i in range(5):
                steps.acquire(timeout=lab.WAIT)
                conn.sendall(b"data: %d\n\n" % i)
            conn.unwrap()
        self.origin(events)
        with self.tls() as s:
            s.sendall(get())
            self.assertEqual(status(lab.read_head(s)), 200)
            for i in range(5):
                steps.release()
                self.assertEqual(s.recv(100), b"data: %d\n\n" % i)

    def test_a_reply_cut_short_without_a_word_is_not_passed_off_as_whole(self):
        def cut(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 200 OK\r\n\r\nhalf")
            socket.socket.close(conn)  # no close_notify
        self.origin(cut)
        with self.tls() as s:
            s.sendall(get())
            self.assertEqual(status(lab.read_head(s)), 200)
            with self.assertRaises(OSError):
                while s.recv(100):
                    pass

    def websocket(self, behave, answer=b""):
        """A WebSocket through the gate; `behave` is the server's part of it."""
        def upgrade(conn, server):
            server.head(conn)
            conn.sendall(tlslab.upgraded(answer))
            behave(conn, server)
        origin, s = self.origin(upgrade), self.tls()
        s.sendall(get(extra=b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                      b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"))
        self.assertEqual(status(lab.read_head(s)), 101)
        return s, origin

    def test_websocket_passes_and_its_request_has_the_value(self):
        def chat(conn, server):
            conn.sendall(tlslab.frame(b"hi", masked=False))
            for part in parts:
                self.assertEqual(tlslab.read_exactly(conn, len(part)), part)
                conn.sendall(tlslab.frame(part, opcode=2, masked=False))
        parts = [tlslab.frame(b"a" * 10), tlslab.frame(b"b" * 100000, opcode=2), tlslab.frame(opcode=9)]
        s, origin = self.websocket(chat)
        with s:
            self.assertEqual(tlslab.read_exactly(s, 4), b"\x81\x02hi")
            for part in parts:
                for i in range(0, len(part), 30000):
                    s.sendall(part[i:i + 30000])
                whole = tlslab.frame(part, opcode=2, masked=False)
                self.assertEqual(tlslab.read_exactly(s, len(whole)), whole)
        self.assertIn(SECRET.encode(), origin.received)

    def closed_after(self, data, code, reason, answer=b"", passed=b""):
        """A client sends bytes that may not be: both sides are told, and it is over."""
        heard = queue.Queue()
        s, _ = self.websocket(lambda conn, server: heard.put(lab.read_all(conn)), answer)
        want = code.to_bytes(2, "big")
        with s:
            s.sendall(data)
            self.assertEqual(lab.read_all(s), tlslab.frame(want, opcode=8, masked=False), data[:20])
        self.assertEqual(heard.get(timeout=lab.WAIT), passed + b"\x88\x82\0\0\0\0" + want, data[:20])
        self.servers.pop().close()
        self.assertIn(reason, [r["reason"] for r in self.gate.records(0) if r.get("decision") == "error"])

    def test_E9_odd_frames_of_a_client(self):
        frame, good = tlslab.frame, tlslab.frame(b"good")
        rows = [
            (frame(b"no mask", masked=False), 1002, b""),
            (frame(b"rsv1", first=0xc0), 1002, b""),
            (good + frame(b"rsv3", first=0x90), 1002, good),
            (frame(opcode=3), 1002, b""),
            (frame(opcode=0), 1002, b""),
            (frame(opcode=9, first=0), 1002, b""),
            (frame(b"\x03\xee", opcode=8), 1002, b""),
            (frame(length=16 << 20), 1009, b""),
            (frame(length=1 << 40), 1009, b""),
        ]
        for data, code, passed in rows:
            reason = "websocket-frame" if code == 1002 else "websocket-too-big"
            self.closed_after(data, code, reason, passed=passed)

    def test_E9_fragments(self):
        part = tlslab.frame(b"x", opcode=0, first=0)
        most = tlslab.frame(b"x", first=0) + part * 4095
        self.closed_after(most + part, 1009, "websocket-too-big", passed=most)

    def test_E9_a_server_that_is_slow_to_read_loses_nothing_of_what_came_before(self):
        told, heard = threading.Event(), queue.Queue()

        def slow(conn, server):
            conn.sendall(tlslab.frame(b"unread", masked=False) * 100)
            told.wait(lab.WAIT)
            heard.put(lab.read_all(conn))
        s, _ = self.websocket(slow)
        good = tlslab.frame(b"x" * 200000, opcode=2)
        with s:
            s.sendall(good + tlslab.frame(opcode=3))
            self.assertTrue(lab.read_all(s).endswith(b"\x88\x02\x03\xea"))
            told.set()
            self.assertEqual(heard.get(timeout=lab.WAIT), good + b"\x88\x82\0\0\0\0\x03\xea")

    def test_E9_a_compressed_message_needs_the_extension(self):
        compressed = tlslab.frame(b"x", first=0xc0)
        self.closed_after(compressed + tlslab.frame(first=0xe0), 1002, "websocket-frame", passed=compressed,
                          answer=b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=15\r\n")

    def test_E9_an_extension_is_not_read_out_of_a_quoted_value(self):
        for lists in (b'permessage-deflate; x="a, other"', b'permessage-deflate; x="a\\", other"',
                      b'permessage-deflate; x="a, other', b'permessage-deflate, "other", a b'):
            self.closed_after(tlslab.frame(b"x", first=0x90), 1002, "websocket-frame",
                              answer=b"Sec-WebSocket-Extensions: " + lists + b"\r\n")
        compressed, other = tlslab.frame(b"x", first=0xc0), tlslab.frame(b"x", first=0x90)
        self.closed_after(compressed + other + tlslab.frame(opcode=3), 1002, "websocket-frame", passed=compressed + other,
                          answer=b'Sec-WebSocket-Extensions: permessage-deflate; x=",", other; y="1"\r\n')

    def test_E9_odd_frames_of_a_server(self):
        for data, passed, code in ((tlslab.frame(b"mask"), b"", 1002), (b"\x81\x02hi\x80\x00", b"\x81\x02hi", 1002),
                                   (tlslab.frame(masked=False, length=16 << 20), b"", 1009)):
            heard = queue.Queue()

            def odd(conn, server):
                conn.sendall(data)
                heard.put(lab.read_all(conn))
            s, _ = self.websocket(odd)
            with s:
                want = code.to_bytes(2, "big")
                self.assertEqual(lab.read_all(s), passed + tlslab.frame(want, opcode=8, masked=False))
            self.assertEqual(heard.get(timeout=lab.WAIT), b"\x88\x82\0\0\0\0" + want)
            self.servers.pop().close()

    def test_expect_100_continue(self):
        def careful(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.assertEqual(conn.recv(3), b"abc")
            conn.sendall(OK)
        self.origin(careful)
        with self.tls() as s:
            s.sendall(get(method=b"POST", extra=b"Expect: 100-continue\r\nContent-Length: 3\r\n"))
            self.assertEqual(status(lab.read_head(s)), 100)
            s.sendall(b"abc")
            self.assertEqual(status(lab.read_reply(s)[0]), 200)

    def test_F10_a_redirect_is_not_followed(self):
        there = b"HTTP/1.1 302 Found\r\nLocation: https://other.example.com/\r\nContent-Length: 0\r\n\r\n"
        origin = self.origin(lab.forever(there))
        head, _ = self.ask(get())
        self.assertEqual(status(head), 302)
        self.assertEqual(origin.connections, 1)

    def test_D21_alt_svc_of_a_reply_is_removed(self):
        self.origin(lab.forever(OK.replace(b"\r\n\r\n", b"\r\nAlt-Svc: h3=\":443\"\r\n\r\n")))
        head, _ = self.ask(get())
        self.assertNotIn(b"alt-svc", head.lower())


class Values(Case):
    def test_N8_a_changed_value_is_the_next_requests(self):
        origin = self.origin()
        with self.tls() as s:
            s.sendall(get(b"/1"))
            lab.read_reply(s)
            self.broker.set("key", "Bearer second")
            self.gate.control(op="ping")
            s.sendall(get(b"/2"))
            lab.read_reply(s)
        self.assertIn(b"Authorization: Bearer second\r\n", origin.received)
        self.assertEqual(origin.received.count(SECRET.encode()), 1)

    def test_F7_a_value_that_is_gone_refuses(self):
        origin = self.origin()
        with self.tls() as s:
            self.broker.set("key", None)
            self.gate.control(op="ping")
            s.sendall(get())
            head, _ = lab.read_reply(s)
        self.assertEqual(status(head), 503)
        self.assertEqual(origin.received, b"")
        self.record(2, reason="no-credential", decision="error", status=503)

    def test_no_value_of_before_outlives_the_broker(self):
        origin = self.origin()
        self.broker.close()
        while "broker is gone" not in self.gate.ended():
            self.gate.control(op="ping")
        self.assertEqual(status(self.ask(get())[0]), 503)
        self.broker = tlslab.Broker(self.gate, **self.values)
        while not self.broker.asked:
            self.gate.control(op="ping")
        self.assertEqual(status(self.ask(get())[0]), 200)
        self.assertIn(SECRET.encode(), origin.received)

    def test_F8_a_value_that_no_field_can_hold_is_not_taken(self):
        for bad in ("a\r\nX: y", "a\nb", "a\0b", " a", "a ", "", "x" * 8193, "\x7f"):
            with self.subTest(bad=bad[:10]):
                before = self.gate.ended().count("sent what it must not")
                self.broker.set("key", bad)
                while self.gate.ended().count("sent what it must not") == before:
                    self.gate.control(op="ping")
                self.broker.close()
                self.broker = tlslab.Broker(self.gate, **self.values)
        self.assertNotIn("X: y", self.gate.ended())

    def test_only_what_rules_want_is_asked_for_and_kept(self):
        self.gate.more = {"inject": [dict(INJECT[0], secret="next")], "upstreamCa": world.pem}
        self.gate.write(self.rules, generation=2)
        self.assertTrue(self.gate.control(op="reload")["ok"])
        while "next" not in self.broker.asked:
            self.gate.control(op="ping")
        self.origin()
        self.assertEqual(status(self.ask(get())[0]), 503)

    def test_the_broker_socket_is_of_the_right_kind(self):
        a, b = socket.socketpair()
        self.assertFalse(self.gate.control(fds=[a.fileno()], op="broker")["ok"])
        self.assertFalse(self.gate.control(op="broker")["ok"])
        a.close()
        b.close()


class Agreement(Case):
    """Host, server name, authority and destination are one, or nothing goes out."""
    rules = Case.rules + [rule(OTHER)]

    def test_C1_another_server_name(self):
        origin = self.origin()
        with self.assertRaises(OSError):
            self.tls(name=OTHER)
        self.assertEqual(origin.received, b"")
        self.assertEqual(origin.names, [])
        self.record(1, reason="server-name", decision="deny", host=OTHER)

    def test_C3_a_request_that_names_another_host(self):
        origin = self.origin()
        for bad in (get(host=b"other.example.com"), get(host=b"api.example.com:8443"),
                    get(b"https://other.example.com/"), get(b"https://api.example.com:444/")):
            with self.subTest(bad=bad[:60]):
                n = len(self.gate.records())
                head, _ = self.ask(bad)
                self.assertEqual(status(head), 421)
                self.record(n + 2, reason="misdirected", decision="deny", status=421)
        self.assertEqual(origin.received, b"")

    def test_C3_on_the_second_request_of_a_connection(self):
        origin = self.origin()
        with self.tls() as s:
            s.sendall(get())
            self.assertEqual(status(lab.read_reply(s)[0]), 200)
            s.sendall(get(b"/evil", host=b"other.example.com"))
            self.assertEqual(status(lab.read_reply(s)[0]), 421)
        self.assertNotIn(b"evil", origin.received)

    def test_the_own_name_in_other_spellings(self):
        origin = self.origin()
        for good in (get(host=b"API.Example.com"), get(host=b"api.example.com:443"), get(host=b"api.example.com."),
                     get(b"https://api.example.com/")):
            self.assertEqual(status(self.ask(good)[0]), 200, good)
        self.assertEqual(origin.received.count(b"\r\nHost: api.example.com\r\n"), 4)

    def test_D17_no_host_no_credential(self):
        origin = self.origin()
        for bad in (b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET /\r\n\r\n",
                    b"GET / HTTP/2.0\r\nHost: api.example.com\r\n\r\n"):
            with self.subTest(bad=bad):
                self.assertIn(status(self.ask(bad)[0]), (400, 505))
        self.assertEqual(origin.received, b"")

    def test_D14_methods_that_echo(self):
        origin = self.origin()
        for method in (b"TRACE", b"TRACK", b"CONNECT"):
            self.assertEqual(status(self.ask(get(method=method))[0]), 405)
        self.assertEqual(origin.received, b"")

    def test_D1_D2_D4_framing_is_as_strict_as_outside(self):
        origin = self.origin()
        for extra in (b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: +5\r\n",
                      b"Content-Length: 5\r\nContent-Length: 5\r\n", b"Transfer-Encoding: xchunked\r\n",
                      b"X: a\r\n b\r\n", b"X : a\r\n", b"X: a\n"):
            with self.subTest(extra=extra):
                self.assertIn(status(self.ask(get(method=b"POST", extra=extra))[0]), (400, 501))
        self.assertEqual(origin.received, b"")

    def test_E2_E12_upgrades_other_than_websocket(self):
        origin = self.origin()
        self.assertEqual(status(self.ask(get(extra=b"Connection: Upgrade\r\nUpgrade: TLS/1.0\r\n"))[0]), 400)
        self.assertEqual(status(self.ask(get(extra=b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                                   b"HTTP2-Settings: x\r\n"))[0]), 200)
        self.assertNotIn(b"h2c", origin.received)

    def test_F2_the_same_host_in_plain_text_gets_nothing(self):
        plain = lab.Server(ORIGIN, 80, lab.forever(OK))
        self.servers.append(plain)
        reply = self.gate.ask(b"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n"
                              b"Connection: close\r\n\r\n")
        self.assertEqual(status(reply), 200)
        self.assertNotIn(SECRET.encode(), plain.received)


class Peers(Case):
    """What is wrong on the server's side is told to the client over TLS, and never passed through."""

    def refused(self, reason, text, **origin):
        server = self.origin(**origin)
        head, body = self.ask(get(extra=b"X-Mark: here\r\n"))
        self.assertEqual(status(head), 502, head)
        self.assertIn(text, body.decode())
        self.assertEqual(server.received, b"")
        self.record(1, reason=reason, decision="error", status=502, host=NAME)
        self.assertEqual(len(self.gate.records()), 1)
        return server

    def test_C11_expired(self):
        self.refused("upstream-certificate", "expired", cert=world.leaf([NAME], days=-1))

    def test_C11_another_name(self):
        self.refused("upstream-certificate", "mismatch", names=(OTHER,))

    def test_C11_self_signed(self):
        self.refused("upstream-certificate", "self", cert=world.leaf([NAME], issuer=False))

    def test_C11_an_issuer_that_nobody_knows(self):
        self.refused("upstream-certificate", "issuer", cert=stranger.leaf([NAME]))

    def test_C11_the_sandboxs_own_authority_is_no_root_of_the_gate(self):
        self.refused("upstream-certificate", "issuer", cert=sandbox_ca.leaf([NAME]))

    def test_C11_the_name_only_in_the_subject(self):
        self.refused("upstream-certificate", "mismatch", cert=world.leaf([NAME], subject="/CN=" + NAME, san=False))

    def test_C13_a_server_of_old(self):
        self.refused("upstream-tls", "TLS", version=ssl.TLSVersion.TLSv1_1)

    def test_a_server_that_does_not_speak_tls(self):
        self.servers.append(lab.Server(ORIGIN, 443, lab.forever(OK)))
        head, body = self.ask(get())
        self.assertEqual(status(head), 502)
        self.record(1, reason="upstream-tls", status=502)

    def test_a_server_that_closes_or_stalls_in_the_handshake(self):
        self.servers.append(lab.Server(ORIGIN, 443, lambda conn, server: server.read(conn)))
        self.assertEqual(status(self.ask(get())[0]), 502)

    def test_C18_no_client_certificate_is_given(self):
        origin = self.origin(ask_client=True)
        self.assertEqual(status(self.ask(get())[0]), 200)
        self.assertEqual(origin.peers, [None])

    def test_both_versions_of_tls_on_both_sides(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            origin = self.origin(version=version)
            for mine in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
                self.assertEqual(status(self.ask(get(), version=mine)[0]), 200)
            origin.close()

    def test_C13_a_client_of_old(self):
        self.origin()
        with self.assertRaises(OSError):
            self.tls(version=ssl.TLSVersion.TLSv1_1)
        self.record(1, reason="client-tls", decision="error")

    def test_C13_no_session_is_taken_up_again_so_there_is_no_early_data(self):
        self.origin()
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl.create_default_context(cafile=sandbox_ca.path + ".crt")
            context.minimum_version = context.maximum_version = version
            session = None
            for _ in range(2):
                with context.wrap_socket(self.tunnel(), server_hostname=NAME, session=session) as s:
                    s.sendall(get())
                    self.assertEqual(status(lab.read_reply(s)[0]), 200)
                    self.assertFalse(s.session_reused)
                    self.assertFalse(s.session and s.session.has_ticket)
                    session = s.session if version == ssl.TLSVersion.TLSv1_2 else None

    def test_C13_renegotiation_is_refused(self):
        self.origin()
        p = subprocess.Popen(["openssl", "s_client", "-proxy", "198.18.0.1:3128", "-connect", NAME + ":443", "-servername",
                              NAME, "-tls1_2", "-CAfile", sandbox_ca.path + ".crt"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        p.stdin.write(b"R\n")
        p.stdin.flush()
        out = p.communicate(timeout=lab.WAIT)[0]
        self.assertIn(b"RENEGOTIATING", out)
        self.assertIn(b"no renegotiation", out)

    def test_a_client_that_does_not_trust_the_sandbox(self):
        self.origin()
        with self.assertRaises(OSError):
            self.tls(ca=world.path + ".crt")
        self.record(1, reason="client-distrust", decision="error")

    def test_a_client_that_leaves_in_the_handshake(self):
        self.origin()
        self.tunnel().close()
        self.record(1, reason="client-closed", decision="error")

    def test_the_protocol_is_what_the_server_chose(self):
        for theirs, offered, want in ((("http/1.1",), ("http/1.1",), "http/1.1"), ((), ("http/1.1",), "http/1.1"),
                                      (("http/1.1",), None, None)):
            origin = self.origin(alpn=theirs)
            with self.tls(alpn=offered) as s:
                self.assertEqual(s.selected_alpn_protocol(), want)
                s.sendall(get())
                self.assertEqual(status(lab.read_reply(s)[0]), 200)
            origin.close()

    def test_protocols_that_the_gate_does_not_know(self):
        origin = self.origin()
        with self.assertRaises(OSError):
            self.tls(alpn=["spdy/3"])
        self.assertEqual(origin.names, [])
        self.record(1, reason="no-protocol", decision="deny")

    def test_C8_bytes_that_are_not_tls(self):
        origin = self.origin()
        with self.tunnel() as s:
            s.sendall(get())
            self.assertEqual(lab.read_all(s), b"")
        self.assertEqual(origin.names, [])
        self.record(1, reason="not-tls", decision="deny")

    def test_C6_a_hello_in_single_bytes(self):
        self.origin()
        left, right = socket.socketpair()

        def drip():
            with self.tunnel() as out:
                lab.threading.Thread(target=back, args=(out,), daemon=True).start()
                while True:
                    data = right.recv(65536)
                    if not data:
                        return
                    for i in range(len(data)):
                        out.sendall(data[i:i + 1])

        def back(out):
            try:
                while True:
                    data = out.recv(65536)
                    right.sendall(data)
                    if not data:
                        return
            except OSError:
                pass
        lab.threading.Thread(target=drip, daemon=True).start()
        with tlslab.client(left, NAME, sandbox_ca.path + ".crt") as s:
            s.sendall(get())
            self.assertEqual(status(lab.read_reply(s)[0]), 200)


class Http2(Case):
    """Real ends: curl, nghttp, nghttpd."""

    def setUp(self):
        super().setUp()
        if not shutil.which("nghttpd") or b"HTTP2" not in self.run_tool("curl", "--version").stdout:
            self.skipTest("nghttpd or curl with HTTP/2 is missing")

    def run_tool(self, *args, **more):
        return subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=lab.WAIT, **more)

    def h2(self, *options):
        s = tlslab.H2Origin(ORIGIN, 443, world.leaf([NAME]), *options)
        self.servers.append(s)
        return s

    def curl(self, *args):
        return self.run_tool("curl", "-sS", "--proxy", "http://198.18.0.1:3128", "--cacert",
                             sandbox_ca.path + ".crt", "-w", "\n%{http_code} %{http_version}\n", *args)

    def test_a_request_over_http2_has_the_value_and_not_the_clients_own(self):
        origin = self.h2()
        out = self.curl("-H", "Authorization: mine", "-H", "X-Other: 1", "https://api.example.com/index.html").stdout
        self.assertEqual(out, b"hello from h2\n\n200 2\n")
        self.assertIn(b"authorization: Bearer " + SECRET.encode(), origin.received)
        self.assertIn(b"x-other: 1", origin.received)
        self.assertNotIn(b"mine", origin.received)
        self.record(1, protocol="connect", proxy="forward")
        self.record(2, protocol="https", method="GET", host=NAME, decision="allow")

    def test_bodies_both_ways_and_many_streams(self):
        origin = self.h2("--echo-upload")
        body = b"q" * (2 << 20)
        path = os.path.join(self.gate.dir, "body")
        with open(path, "wb") as f:
            f.write(body)
        out = self.curl("--data-binary", "@" + path, "https://api.example.com/x").stdout
        self.assertTrue(out == body + b"\n200 2\n", out[-200:])
        urls = []
        for _ in range(20):
            urls += ["-o", "/dev/null", "https://api.example.com/big"]
        out = self.curl("--parallel", *urls).stdout
        self.assertEqual(out.count(b"200 2"), 20, out[-500:])
        self.assertEqual(origin.received.count(b"authorization: Bearer " + SECRET.encode()), 21)

    def test_a_large_upload_arrives_whole_and_is_not_kept(self):
        origin = self.h2("--echo-upload")
        sent, back = (os.path.join(self.gate.dir, n) for n in ("sent", "back"))
        data = os.urandom(CHUNK) * (UPLOAD // CHUNK)
        with open(sent, "wb") as f:
            f.write(data)
        before = peak(self.gate.process.pid)
        for expect in ("Expect:", "Expect: 100-continue"):
            out = self.curl("-H", expect, "-o", back, "-T", sent, "https://api.example.com/x").stdout
            self.assertEqual(out, b"\n200 2\n")
            self.assertTrue(lab.read_file(back) == data)
        self.assertEqual(origin.received.count(b"authorization: Bearer " + SECRET.encode()), 2)
        self.assert_flat(before)

    def test_E4_another_authority_is_421_on_its_stream(self):
        origin = self.h2()
        out = self.curl("-H", "Host: other.example.com", "https://api.example.com/evil").stdout
        self.assertIn(b"421 2", out)
        self.assertNotIn(b"evil", origin.received)
        self.record(2, reason="misdirected", decision="deny", status=421)

    def test_trailers_of_a_reply_pass(self):
        self.h2("--trailer=x-end: yes")
        out = self.curl("-i", "https://api.example.com/index.html").stdout
        self.assertIn(b"x-end: yes", out)

    def test_a_right_that_is_gone_and_a_value_that_is_gone(self):
        self.h2()
        self.broker.set("key", None)
        self.gate.control(op="ping")
        self.assertIn(b"503 2", self.curl("https://api.example.com/index.html").stdout)
        self.record(2, reason="no-credential", decision="error", status=503)

    def test_a_client_of_http1_is_served_over_http1(self):
        self.h2()
        out = self.curl("--http1.1", "https://api.example.com/index.html").stdout
        self.assertNotIn(b"200 2", out)
        self.record(1, protocol="connect")

    def test_no_copy_of_the_secret_is_left_in_ordinary_memory(self):
        if os.environ.get("SBX_GATE_BUILD") == "sanitize":
            self.skipTest("the sanitizer keeps freed memory")
        self.h2()
        self.assertIn(b"200 2", self.curl("https://api.example.com/index.html").stdout)
        found = memory_with(self.gate.process.pid, SECRET.encode())
        self.assertEqual([f for f in found if not f["locked"]], [], found)


class Elsewhere(Case):
    """Hosts without a rule are relayed untouched."""

    def test_a_host_without_a_rule_shows_its_own_certificate(self):
        origin = self.origin(names=(PLAIN,), address=ORIGIN2)
        with self.tls(name=PLAIN, target=(PLAIN + ":443").encode(), ca=world.path + ".crt") as s:
            s.sendall(get(host=PLAIN.encode(), extra=b"Authorization: mine\r\n"))
            self.assertEqual(status(lab.read_reply(s)[0]), 200)
        self.assertIn(b"Authorization: mine\r\n", origin.received)
        self.assertNotIn(SECRET.encode(), origin.received)
        self.record(1, proxy="forward-bypass")

    def test_another_port_of_a_host_with_a_rule_is_untouched(self):
        origin = self.origin(port=8443)
        with self.tls(target=(NAME + ":8443").encode(), ca=world.path + ".crt") as s:
            s.sendall(get(host=b"api.example.com:8443"))
            self.assertEqual(status(lab.read_reply(s)[0]), 200)
        self.assertNotIn(SECRET.encode(), origin.received)

    def test_a_rule_of_injection_allows_nothing(self):
        origin = self.origin()
        self.gate.write([rule(PLAIN)], generation=2)
        reply = self.gate.ask(connect(b"api.example.com:443"))
        self.assertEqual(status(reply), 403)
        self.assertEqual(origin.connections, 0)

    def test_G4_a_connection_whose_right_is_gone_gets_no_more_requests_out(self):
        origin = self.origin()
        with self.tls() as s:
            s.sendall(get(b"/1"))
            lab.read_reply(s)
            self.gate.write([rule(PLAIN)], generation=2)
            s.sendall(get(b"/2"))
            head, _ = lab.read_reply(s)
        self.assertEqual(status(head), 403)
        self.assertNotIn(b"/2", origin.received)
        self.record(3, reason="default-deny", decision="deny")

    def test_G4_a_reply_that_is_under_way_is_cut(self):
        def slow(conn, server):
            server.head(conn)
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            server.read(conn)
        self.origin(slow)
        with self.tls() as s:
            s.sendall(get())
            lab.read_head(s)
            self.gate.write([rule(PLAIN)], generation=2)
            self.gate.control(op="reload")
            with self.assertRaises(OSError):
                while s.recv(100):
                    pass
        self.record(3, reason="policy-changed", decision="deny")

    def test_a_rule_that_is_taken_back_ends_the_connection(self):
        origin = self.origin()
        with self.tls() as s:
            s.sendall(get(b"/1"))
            lab.read_reply(s)
            self.gate.more = {}
            self.gate.write(self.rules, generation=2)
            s.sendall(get(b"/2"))
            self.assertEqual(lab.read_all(s), b"")
        self.assertNotIn(b"/2", origin.received)


class Transparent(unittest.TestCase):
    """The same for programs that know no proxy, behind the real helper."""

    @classmethod
    def setUpClass(cls):
        cls.sandbox = lab.Sandbox(HELPER)
        if not cls.sandbox.status.startswith("ok"):
            cls.sandbox.close()
            raise unittest.SkipTest("the helper cannot work here: " + cls.sandbox.status)

    @classmethod
    def tearDownClass(cls):
        cls.sandbox.close()

    def setUp(self):
        self.gate = lab.Gate([rule(NAME), rule(OTHER)], {NAME: [ORIGIN], OTHER: [ORIGIN]}, ca=sandbox_ca.path,
                             netns=self.sandbox.connect(), names="name 1 %s\nname 2 %s\n" % (NAME, OTHER),
                             more={"inject": INJECT, "upstreamCa": world.pem})
        self.addCleanup(lambda: self.assertEqual(self.gate.close(), 0))
        broker = tlslab.Broker(self.gate, key="Bearer " + SECRET)
        self.addCleanup(broker.close)
        while not broker.asked:
            self.gate.control(op="ping")
        self.origin = tlslab.Origin(ORIGIN, 443, lab.forever(OK), world.leaf([NAME, OTHER]))
        self.addCleanup(self.origin.close)

    def connect(self, index):
        s = self.sandbox.socket()
        self.addCleanup(s.close)
        s.connect(("198.19.0.%d" % index, 443))
        return s

    def test_a_request_has_the_value(self):
        with tlslab.client(self.connect(1), NAME, sandbox_ca.path + ".crt") as s:
            s.sendall(get(extra=b"Authorization: mine\r\n"))
            self.assertEqual(status(lab.read_reply(s)[0]), 200)
        self.assertIn(b"Authorization: Bearer " + SECRET.encode(), self.origin.received)
        self.assertNotIn(b"mine", self.origin.received)
        tunnel, request = self.gate.records(2)
        self.assertEqual((tunnel["door"], tunnel["proxy"], tunnel["protocol"]), ("transparent", "transparent", "tls"))
        self.assertEqual((request["door"], request["protocol"], request["method"]), ("transparent", "https", "GET"))

    def test_a_refusal_inside_is_an_answer(self):
        with tlslab.client(self.connect(1), NAME, sandbox_ca.path + ".crt") as s:
            s.sendall(get(host=OTHER.encode()))
            self.assertEqual(status(lab.read_reply(s)[0]), 421)

    def test_another_host_is_relayed(self):
        with tlslab.client(self.connect(2), OTHER, world.path + ".crt") as s:
            s.sendall(get(host=OTHER.encode()))
            self.assertEqual(status(lab.read_reply(s)[0]), 200)
        self.assertNotIn(SECRET.encode(), self.origin.received)

    def test_B12_another_server_name_no_name_and_no_tls_are_reset(self):
        for reason, begin in (("server-name", lambda s: tlslab.client(s, OTHER, sandbox_ca.path + ".crt")),
                              ("no-server-name", lambda s: tlslab.client(s, None, sandbox_ca.path + ".crt", sni=False)),
                              ("not-tls", lambda s: (s.sendall(get()), s.recv(1) or self.fail("an end")))):
            with self.subTest(reason=reason):
                before = len(self.gate.records())
                with self.assertRaises(OSError):
                    begin(self.connect(1))
                self.assertEqual(self.gate.records(before + 1)[before]["reason"], reason)
        self.assertEqual(self.origin.names, [])


class Certificates(Case):
    inject = INJECT + [{"to": "203.0.113.10:443", "header": "X-Key", "secret": "key"}]

    def fetch(self, s):
        return ssl.DER_cert_to_PEM_cert(s.getpeercert(True))

    def test_leaves_pass_the_strict_check_and_are_kept(self):
        self.origin()
        path = os.path.join(self.gate.dir, "leaf.pem")
        with self.tls() as s:
            pem = self.fetch(s)
            self.assertEqual(s.getpeercert()["subjectAltName"], (("DNS", NAME),))
        with open(path, "w") as f:
            f.write(pem)
        out = tlslab.openssl("verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", NAME, "-CAfile",
                             sandbox_ca.path + ".crt", path)
        self.assertIn(b": OK", out.stdout)
        text = tlslab.openssl("x509", "-in", path, "-noout", "-text").stdout.decode()
        self.assertIn("prime256v1", text)
        self.assertIn("TLS Web Server Authentication", text)
        with self.tls() as s:
            self.assertEqual(self.fetch(s), pem)

    def test_an_address_has_its_address_as_its_name(self):
        origin = self.origin(names=(ORIGIN,))
        with self.tls(name=ORIGIN, target=b"203.0.113.10:443") as s:
            self.assertEqual(s.getpeercert()["subjectAltName"], (("IP Address", ORIGIN),))
            s.sendall(get(host=b"203.0.113.10"))
            self.assertEqual(status(lab.read_reply(s)[0]), 200)
        self.assertIn(b"X-Key: Bearer " + SECRET.encode(), origin.received)
        self.assertEqual(origin.names, [None])

    def test_a_hello_without_a_name_after_connect(self):
        self.origin()
        with self.tls(sni=False) as s:
            s.sendall(get())
            self.assertEqual(status(lab.read_reply(s)[0]), 200)

    def test_F18_the_secret_is_in_no_file_of_the_process(self):
        origin = self.origin()
        self.ask(get())
        self.assertIn(SECRET.encode(), origin.received)
        proc = "/proc/%d/" % self.gate.process.pid
        for name in ("environ", "cmdline"):
            self.assertNotIn(SECRET.encode(), lab.read_file(proc + name))
        with open(proc + "limits") as f:
            core = [line for line in f if line.startswith("Max core file size")]
        self.assertEqual(core[0].split()[4:6], ["0", "0"])
        self.assertEqual(os.stat(proc + "environ").st_uid, 0 if not os.environ.get("SBX_GATE_BUILD") == "sanitize" else lab.UID)

    def test_no_copy_of_the_secret_is_left_in_ordinary_memory(self):
        if os.environ.get("SBX_GATE_BUILD") == "sanitize":
            self.skipTest("the sanitizer keeps freed memory")
        self.origin()
        for _ in range(3):
            self.ask(get())
        found = memory_with(self.gate.process.pid, SECRET.encode())
        self.assertEqual([f for f in found if not f["locked"]], [], found)
        self.assertTrue(found)


def peak(pid):
    """Most bytes of memory that a process ever had."""
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))


def memory_with(pid, what):
    """The mappings of a process that hold some bytes. It goes on meanwhile: where one is gone before it is read, all are read anew."""
    while True:
        try:
            return memory_now(pid, what)
        except OSError as e:
            if e.errno != errno.EIO:
                raise


def memory_now(pid, what):
    found, area = [], None
    with open("/proc/%d/smaps" % pid) as f:
        lines = f.readlines()
    for line in lines:
        first = line.split()[0]
        if "-" in first and not first.endswith(":"):
            start, end = (int(x, 16) for x in first.split("-"))
            area = {"start": start, "end": end, "read": line.split()[1].startswith("r"), "locked": False}
            if area["read"] and "[v" not in line:
                with open("/proc/%d/mem" % pid, "rb", 0) as mem:
                    mem.seek(start)
                    data = mem.read(end - start)
                if what in data:
                    found.append(area)
        elif first == "VmFlags:":
            area["locked"] = "lo" in line.split() and "dd" in line.split()
    return found


class Configuration(unittest.TestCase):
    def start(self, **more):
        gate = lab.Gate([], expect="", ca=sandbox_ca.path, more=more)
        text = gate.status
        gate.close()
        return text

    def test_G18_bad_rules_are_refused_with_the_place(self):
        good = INJECT[0]
        for bad, want in ((["x"], "inject[0]: not an object"), ({}, "inject: not a list"),
                          ([dict(good, to="api.example.com")], "inject[0]: to:"),
                          ([dict(good, to="*.example.com:443")], "inject[0]: to:"),
                          ([dict(good, to=443)], "to: a text"),
                          ([dict(good, header="a b")], "inject[0]: header:"),
                          ([dict(good, header="")], "inject[0]: header:"),
                          ([dict(good, header="Host")], "gate's own"),
                          ([dict(good, header="transfer-encoding")], "gate's own"),
                          ([dict(good, secret="../x")], "inject[0]: secret:"),
                          ([dict(good, secret=".x")], "inject[0]: secret:"),
                          ([dict(good, value="x")], 'inject[0]: unknown key "value"'),
                          ([good, dict(good, header="AUTHORIZATION")], "two rules"),
                          ([dict(good, header="X-%d" % i) for i in range(9)], "over 8 rules"),
                          ([{"to": good["to"], "header": "x"}], "inject[0]: secret:")):
            with self.subTest(bad=bad):
                self.assertIn(want, self.start(inject=bad))
        for bad in ("", "x", sandbox_ca.pem.replace("A", "?"), 5,
                    sandbox_ca.pem + lab.read_file(sandbox_ca.path + ".key").decode()):
            with self.subTest(bad=str(bad)[:20]):
                self.assertIn("upstreamCa:", self.start(inject=[], upstreamCa=bad))
        self.assertTrue(self.start(inject=INJECT, upstreamCa=None).startswith("ok"))

    def test_an_authority_must_be_one(self):
        wrong = os.path.join(sandbox_ca.dir, "wrong")
        leaf = sandbox_ca.leaf([NAME])
        for cert, key, want in ((leaf[0], leaf[1], "not the certificate of an authority"),
                                (sandbox_ca.path + ".crt", leaf[1], "another one's"),
                                (sandbox_ca.path + ".crt", sandbox_ca.path + ".crt", "not a private key")):
            for path, ext in ((cert, ".crt"), (key, ".key")):
                with open(wrong + ext, "wb") as f:
                    f.write(lab.read_file(path))
            gate = lab.Gate([], expect="error", ca=wrong)
            self.assertIn("certificate authority", gate.status)
            self.assertIn(want, gate.status)
            gate.close()

    def test_without_an_authority_what_must_be_intercepted_is_refused(self):
        gate = lab.Gate([rule(NAME)], {NAME: [ORIGIN]}, more={"inject": INJECT})
        origin = tlslab.Origin(ORIGIN, 443, lab.forever(OK), world.leaf([NAME]))
        reply = gate.ask(connect(b"api.example.com:443"))
        self.assertEqual(status(reply), 503)
        self.assertEqual(gate.records(1)[0]["reason"], "no-authority")
        gate.close()
        origin.close()


if __name__ == "__main__":
    lab.enter()
    sandbox_ca, world, stranger = (tlslab.Authority(n) for n in ("sandbox", "world", "stranger"))
    try:
        unittest.main(verbosity=2)
    finally:
        for a in (sandbox_ca, world, stranger):
            a.close()
