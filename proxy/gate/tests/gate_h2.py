"""HTTP/2 in intercepted connections, with real programs: nghttpd behind the gate; curl, h2load, and a client
of raw frames before it. What streams do in detail is tested in memory (test_h2*.c).

Needs root (namespaces), nghttpd, h2load and curl.
"""
import hashlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
import tlslab  # noqa: E402
from lab import OK, ORIGIN, rule, status  # noqa: E402

NAME = "api.example.com"
URL = "https://api.example.com"
OLD = 8443  # where a server speaks HTTP/1.1 only
SECRET = "s3cr3t-value-that-no-one-may-see"
MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
GET = b"\x82\x87\x84\x01\x0fapi.example.com"  # HPACK: GET https://api.example.com/
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


class Case(unittest.TestCase):
    rules = [rule(NAME)]
    options = ()
    limits = None
    origin = True

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="sbx-gate-h2")
        self.addCleanup(shutil.rmtree, self.dir)
        self.gate = lab.Gate(self.rules, {NAME: [ORIGIN]}, self.limits, ca=sandbox_ca.path, more={
            "inject": [{"to": "%s:%d" % (NAME, port), "header": "Authorization", "secret": "key"} for port in (443, OLD)],
            "upstreamCa": world.pem})
        self.broker = tlslab.Broker(self.gate, key="Bearer " + SECRET)
        while "key" not in self.broker.asked:
            self.gate.control(op="ping")
        self.server = tlslab.H2Origin(ORIGIN, 443, world.leaf([NAME]), *self.options) if self.origin else None

    def tearDown(self):
        log = lab.read_file(self.gate.log_path)
        code = self.gate.close()
        if self.server:
            self.server.close()
        self.broker.close()
        self.assertEqual(code, 0, "the gate did not end well")
        self.assertNotIn(SECRET.encode(), log)

    def curl(self, *args, url=URL + "/", check=True, http="--http2"):
        """Run curl through the proxy door. Its output ends with: version, status, bytes."""
        r = subprocess.run(["curl", "-sS", http, "-m", str(lab.WAIT), "--proxy", "http://%s:%d" % lab.PROXY,
                            "--noproxy", "", "--cacert", sandbox_ca.path + ".crt", "-w",
                            "\n%{http_version} %{http_code} %{size_download}", *args, url],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.dir})
        if check:
            self.assertEqual(r.returncode, 0, r.stdout[-500:])
        self.assertNotIn(SECRET.encode(), r.stdout)
        return r.stdout

    def raw(self):
        """A TLS connection that speaks HTTP/2, with its beginning sent."""
        s = self.gate.connect()
        s.sendall(b"CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n" % (NAME.encode(), NAME.encode()))
        self.assertEqual(status(lab.read_head(s)), 200)
        tls = tlslab.client(s, NAME, sandbox_ca.path + ".crt", alpn=("h2", "http/1.1"))
        self.assertEqual(tls.selected_alpn_protocol(), "h2", self.gate.records())
        tls.sendall(MAGIC + frame(SETTINGS))
        return tls

    def frames(self, s, until=None):
        """Frames as (kind, flags, stream, payload), up to the end or the first of a kind."""
        data = b""
        while True:
            while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
                n = 9 + int.from_bytes(data[:3], "big")
                kind, flags, stream = struct.unpack(">BBI", data[3:9])
                yield kind, flags, stream, data[9:n]
                if kind == until:
                    return
                data = data[n:]
            try:
                more = s.recv(65536)
            except OSError:
                return
            if not more:
                return
            data += more

    def goaway(self, s):
        for kind, _, _, payload in self.frames(s, GOAWAY):
            if kind == GOAWAY:
                return struct.unpack(">I", payload[4:8])[0]
        return None


class Requests(Case):
    options = ("--trailer", "x-sum: 1", "--echo-upload")

    def test_a_request_goes_through_with_the_value_put_in(self):
        out = self.curl("-H", "authorization: Bearer mine", "-H", "X-Other: 1", "-D", "-")
        self.assertTrue(out.endswith(b"hello from h2\nx-sum: 1\r\n\n2 200 14"), out)  # with the trailer
        log = self.server.received.decode("latin-1")
        self.assertIn("authorization: Bearer " + SECRET, log)
        self.assertNotIn("mine", log)
        self.assertIn(":authority: api.example.com", log)
        self.assertIn("x-other: 1", log)
        first, second = self.gate.records(2)
        self.assertEqual((first["protocol"], first["method"], first["decision"]), ("connect", "CONNECT", "allow"))
        self.assertEqual((second["protocol"], second["method"], second["host"], second["port"],
                          second["decision"], second["rule"], second["address"]),
                         ("https", "GET", NAME, 443, "allow", "user:allow:" + NAME, ORIGIN))
        end = self.gate.records(1, event="close")[0]
        self.assertEqual((end["request"], end["method"], end["protocol"]), (second["request"], "GET", "https"))
        self.assertGreater(end["bytesIn"], 6)
        self.assertGreater(end["bytesOut"], 20)

    def test_bodies_keep_every_byte(self):
        body = os.urandom(20_000_000)
        path = os.path.join(self.dir, "body")
        with open(path, "wb") as f:
            f.write(body)
        back = path + ".back"
        self.curl("-T", path, "-o", back, url=URL + "/echo")
        self.assertEqual(hashlib.sha256(lab.read_file(back)).digest(), hashlib.sha256(body).digest())
        with open(os.path.join(self.server.dir, "large"), "wb") as f:
            f.write(body)
        self.curl("-o", back, url=URL + "/large")
        self.assertEqual(hashlib.sha256(lab.read_file(back)).digest(), hashlib.sha256(body).digest())

    def test_many_requests_share_the_connection(self):
        out = self.curl("-o", "/dev/null", *["%s/?%d" % (URL, i) for i in range(30) for _ in (0, 1)
                                            if _ == 0 and i], "-Z", "--parallel-max", "20")
        self.assertNotIn(b" 502 ", out)
        self.assertEqual([r["method"] for r in self.gate.records(31)].count("CONNECT"), 1)

    def test_HEAD_and_errors_of_the_server_pass(self):
        self.assertTrue(self.curl("-I").endswith(b"2 200 0"))
        self.assertIn(b"\n2 404 ", self.curl(url=URL + "/none"))

    def test_E4_another_authority_is_421(self):
        for host in ("other.example.com", NAME + ":444", "api.example.com.evil.com"):
            with self.subTest(host=host):
                out = self.curl("-H", "Host: " + host)
                self.assertIn(b"\n2 421 ", out)
        self.assertNotIn("recv (stream_id=1)", self.server.received.decode("latin-1"))
        self.assertEqual({r["reason"] for r in self.gate.records(6) if r["protocol"] == "https"}, {"misdirected"})

    def test_only_https_is_asked_for_here(self):
        with self.raw() as s:
            s.sendall(frame(HEADERS, 5, 1, b"\x82\x86\x84\x01\x0fapi.example.com"))  # :scheme http
            head = [f[3] for f in self.frames(s, DATA) if f[0] == HEADERS][0]
            self.assertEqual(head[:4], b"\x3f\xe1\x07\x8c")  # a table of 1,024 bytes; :status 400
        self.assertEqual(self.gate.records(2)[1]["reason"], "scheme")

    def test_D14_trace_is_405(self):
        out = self.curl("-X", "TRACE", "-D", "-")
        self.assertIn(b"x-sbx-policy: denied", out)
        self.assertIn(b"\n2 405 ", out)
        self.assertEqual(self.gate.records(2)[1]["reason"], "method")

    def test_E5_no_tunnel_in_a_stream(self):
        with self.raw() as s:
            s.sendall(frame(HEADERS, 4, 1, b"\x02\x07CONNECT\x01\x13api.example.com:443"))
            seen = [f for f in self.frames(s, RST) if f[0] in (RST, SETTINGS)]
            self.assertEqual(seen[-1][0], RST)
            self.assertEqual(seen[-1][3], b"\0\0\0\1")
            settings = b"".join(f[3] for f in seen if f[0] == SETTINGS and not f[1] & 1)
            self.assertNotIn(b"\0\x08", [settings[i:i + 2] for i in range(0, len(settings), 6)])

    def test_a_loaded_connection_answers_all(self):
        door = Door(self.gate)
        r = subprocess.run(["h2load", "-n", "3000", "-c", "6", "-m", "50", "--connect-to", "127.0.0.1:%d" % door.port,
                            URL + "/"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=lab.WAIT)
        door.close()
        self.assertIn(b"3000 succeeded, 0 failed, 0 errored, 0 timeout", r.stdout, r.stdout)
        self.assertEqual(len(self.gate.records(3006)), 3006)
        self.assertEqual(len(self.gate.records(3000, event="close")), 3000)


class Door:
    """A port for programs that know no proxy: each connection goes on as a CONNECT to the name."""

    def __init__(self, gate):
        self.gate, self.held = gate, []
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            up = self.gate.connect()
            self.held += [conn, up]
            up.sendall(b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n")
            lab.read_head(up)
            for a, b in ((conn, up), (up, conn)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    def _pump(self, a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        for s in [self.sock] + self.held:
            s.close()


class Ends(Case):
    def test_floods_end_with_a_goaway_that_arrives(self):
        rows = (("ping", frame(PING, 0, 0, b"12345678") * 3000, "h2-flood"),
                ("settings", frame(SETTINGS) * 3000, "h2-flood"),
                ("rapid reset", b"".join(frame(HEADERS, 5, i, GET) + frame(RST, 0, i, b"\0\0\0\x08")
                                         for i in range(1, 2000, 2)), "h2-resets"),
                ("continuation", frame(HEADERS, 0, 1, GET) + frame(9, 0, 1) * 100, "h2-flood"))
        for name, data, reason in rows:
            with self.subTest(name=name), self.raw() as s:
                s.sendall(data)
                self.assertEqual(self.goaway(s), 11)
                self.assertIn(reason, [r["reason"] for r in self.gate.records()])

    def test_what_is_not_http2_ends_with_a_goaway(self):
        with self.raw() as s:
            s.sendall(frame(DATA, 0, 1, b"x"))
            self.assertEqual(self.goaway(s), 1)
        self.assertEqual(self.gate.records(2)[1]["reason"], "h2-protocol")

    def test_a_server_that_dies_costs_its_streams_only_a_status(self):
        with self.raw() as s:
            s.sendall(frame(HEADERS, 5, 1, GET))
            for kind, flags, stream, _ in self.frames(s, DATA):
                pass
            self.server.process.kill()
            self.assertEqual(self.goaway(s), 0)  # the client is told to come again
        out = self.curl("-D", "-", check=False)
        self.assertIn(b" 502 ", out)

    def test_N8_a_right_that_ends_closes_the_connection(self):
        with self.raw() as s:
            s.sendall(frame(HEADERS, 5, 1, GET))
            for _ in self.frames(s, DATA):
                pass
            self.gate.write([], generation=2)
            self.assertEqual(self.gate.control(op="reload"), {"ok": True, "generation": 2})
            self.assertEqual([f for f in self.frames(s) if f[0] == HEADERS], [])
        self.assertEqual(self.gate.records(3)[2]["reason"], "policy-changed")

    def test_N8_a_changed_value_is_the_next_requests(self):
        with self.raw() as s:
            for i, value in ((1, "Bearer first"), (3, "Bearer second")):
                self.broker.set("key", value)
                self.gate.control(op="ping")
                s.sendall(frame(HEADERS, 5, i, GET))
                for _ in self.frames(s, DATA):
                    pass
                self.assertIn("authorization: " + value, self.server.received.decode("latin-1"))
            self.broker.set("key", None)
            self.gate.control(op="ping")
            s.sendall(frame(HEADERS, 5, 5, GET))
            body = [f[3] for f in self.frames(s, DATA) if f[0] == DATA][-1]
            self.assertIn(b"credential", body)
        self.assertEqual(self.gate.records(4)[3]["reason"], "no-credential")

    def test_an_idle_connection_is_small(self):
        held = []
        statm = "/proc/%d/statm" % self.gate.process.pid
        before = 0
        for i in range(60):
            if i == 10:
                before = int(lab.read_file(statm).split()[1])
            s = self.raw()
            held.append(s)
            s.sendall(frame(HEADERS, 5, 1, GET))
            for _ in self.frames(s, DATA):
                pass
        grown = (int(lab.read_file(statm).split()[1]) - before) * 4096 // 50
        print("memory of an idle HTTP/2 connection: %d bytes" % grown, file=sys.stderr)
        for s in held:
            s.close()
        if "sanitize" not in os.environ.get("SBX_GATE_BUILD", ""):
            self.assertLess(grown, 256 << 10)


class Filled(Case):
    def rested(self):
        s = self.raw()
        s.sendall(frame(HEADERS, 5, 1, GET))
        self.assertIn(DATA, [f[0] for f in self.frames(s, DATA)])
        return s

    def busy(self):
        """A stream whose reply nobody takes."""
        s = self.raw()
        s.sendall(frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0") + frame(HEADERS, 5, 1, GET))
        self.assertIn(HEADERS, [f[0] for f in self.frames(s, HEADERS)])
        return s

    def kept(self):
        """A connection of HTTP/1.1 between two requests."""
        s = self.gate.connect()
        s.sendall(b"CONNECT %s:%d HTTP/1.1\r\nHost: %s\r\n\r\n" % (NAME.encode(), OLD, NAME.encode()))
        self.assertEqual(status(lab.read_head(s)), 200)
        tls = tlslab.client(s, NAME, sandbox_ca.path + ".crt")
        self.assertEqual(self.get(tls), 200)
        return tls

    def get(self, tls):
        tls.sendall(b"GET / HTTP/1.1\r\nHost: %s:%d\r\n\r\n" % (NAME.encode(), OLD))
        return status(lab.read_reply(tls)[0])

    def again(self, s):
        """Does a session still take requests?"""
        s.sendall(frame(HEADERS, 5, 3, GET))
        return DATA in [f[0] for f in self.frames(s, DATA)]

    def an_idle_session_makes_room(self):
        busy, first, second, third = self.busy(), self.rested(), self.rested(), self.rested()
        self.assertTrue(self.again(first))  # now it is not the one that waits longest
        new = self.rested()
        self.assertEqual(self.goaway(second), 0)
        for s in (first, third):
            s.sendall(frame(HEADERS, 5, 5, GET))
            self.assertIn(DATA, [f[0] for f in self.frames(s, DATA)])
        busy.sendall(frame(WINDOW, 0, 1, b"\0\0\xff\xff"))
        self.assertIn(DATA, [f[0] for f in self.frames(busy, DATA)])
        for s in (busy, first, second, third, new):
            s.close()


class Full(Filled):
    """A gate that is full: who has no request makes room, and only then the newcomer is refused."""
    limits = {"tunnels": 4}

    def setUp(self):
        super().setUp()
        old = tlslab.Origin(ORIGIN, OLD, lab.forever(OK), world.leaf([NAME]))
        self.addCleanup(old.close)

    def test_N18_G8_an_idle_session_makes_room_and_busy_ones_do_not(self):
        self.an_idle_session_makes_room()

    def test_N18_G8_who_has_no_server_yet_goes_before_idle_ones(self):
        rested, kept = self.rested(), self.kept()
        waiting = [self.gate.connect() for _ in range(2)]
        new = self.rested()
        with self.assertRaises(ConnectionResetError):
            waiting[0].recv(1)
        newer = self.rested()
        with self.assertRaises(ConnectionResetError):
            waiting[1].recv(1)
        self.assertTrue(self.again(rested))
        self.assertEqual(self.get(kept), 200)
        newest = self.kept()  # of all four, `new` is now idle for longest
        self.assertEqual(self.goaway(new), 0)
        for s in [rested, kept, new, newer, newest] + waiting:
            s.close()

    def test_N18_G8_a_kept_connection_makes_room(self):
        kept = self.kept()
        busy = [self.busy() for _ in range(3)]
        new = self.rested()
        self.assertEqual(kept.recv(1), b"")
        for s in busy + [kept, new]:
            s.close()

    def test_N18_G8_with_busy_ones_only_the_newcomer_is_refused(self):
        busy = [self.busy() for _ in range(4)]
        self.assertEqual(status(self.gate.ask(b"")), 503)
        for s in busy:
            s.close()


class FullHost(Filled):
    """The same where one destination is full."""
    limits = {"tunnelsPerHost": 4}

    def test_N18_G8_an_idle_session_makes_room_and_busy_ones_do_not(self):
        self.an_idle_session_makes_room()

    def test_N18_G8_with_busy_ones_only_the_newcomer_is_refused(self):
        busy = [self.busy() for _ in range(4)]
        self.assertEqual(status(self.gate.ask(b"CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n\r\n"
                                              % (NAME.encode(), NAME.encode()))), 503)
        for s in busy:
            s.close()


class Crowd(Case):
    limits = {"tunnels": 60}

    def test_G8_readers_that_stall_cost_bounded_memory_and_hold_up_nobody(self):
        held = []
        statm = "/proc/%d/statm" % self.gate.process.pid
        big = b"\x82\x87\x04\x04/big\x01\x0fapi.example.com"  # 4 MiB
        for i in range(50):
            s = self.raw()
            held.append(s)
            s.sendall(frame(WINDOW, 0, 0, b"\x3f\xff\x00\x00") +
                      b"".join(frame(HEADERS, 5, 2 * k + 1, big) for k in range(10)))
            for _ in self.frames(s, DATA):  # the first bytes, and then nothing
                pass
        self.assertTrue(self.curl().endswith(b"2 200 14"))
        if "sanitize" not in os.environ.get("SBX_GATE_BUILD", ""):
            self.assertLess(int(lab.read_file(statm).split()[1]) * 4096, 120 << 20)
        for s in held:
            s.close()


class Versions(Case):
    origin = False

    def serve(self, behave=None, alpn=("http/1.1",)):
        s = tlslab.Origin(ORIGIN, 443, behave or lab.forever(OK), world.leaf([NAME]), alpn=alpn)
        self.addCleanup(s.close)
        return s

    def test_both_sides_speak_what_the_server_chooses(self):
        for alpn in (("http/1.1",), None):
            with self.subTest(alpn=alpn):
                server = self.serve(alpn=alpn)
                self.assertTrue(self.curl().endswith(b"ok\n1.1 200 2"))
                self.assertIn(b"Bearer " + SECRET.encode(), server.received)
                server.close()

    def test_a_client_without_alpn_gets_http_1(self):
        self.server = tlslab.H2Origin(ORIGIN, 443, world.leaf([NAME]))
        server_speaks_h2_only = self.curl("--no-alpn", check=False)
        self.assertNotIn(b"2 200", server_speaks_h2_only)

    def test_a_client_of_http_1_gets_http_1(self):
        self.serve(alpn=("h2", "http/1.1"))
        self.assertTrue(self.curl(http="--http1.1").endswith(b"ok\n1.1 200 2"))

    def test_a_server_that_only_says_that_it_speaks_http2(self):
        def behave(conn, server):
            conn.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            while server.read(conn):
                pass
        self.serve(behave, alpn=("h2",))
        self.assertIn(b"\n2 502 ", self.curl())
        self.assertIn("h2-server", [r["reason"] for r in self.gate.records(3)])


class Grpc(Case):
    """Real gRPC at both ends: trailers, streams both ways, cancelling."""
    origin = False

    def test_calls_of_every_kind(self):
        here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h2_grpc.py")
        python = next((p for p in (sys.executable, "/usr/bin/python3")
                       if subprocess.run([p, "-c", "import grpc"], stderr=subprocess.DEVNULL).returncode == 0), None)
        if not python:
            print("SKIP: gRPC needs python3-grpcio (scripts/install-deps.sh test)", file=sys.stderr, flush=True)
            self.skipTest("python3-grpcio is missing")
        server = subprocess.Popen([python, here, "serve", ORIGIN + ":443", *world.leaf([NAME])],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.communicate)
        self.assertEqual(server.stdout.readline(), b"ready\n")
        proxy = "http://%s:%d" % lab.PROXY
        r = subprocess.run([python, here, "call", NAME + ":443", sandbox_ca.path + ".crt"], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100,
                           env={"PATH": os.environ.get("PATH", ""), "https_proxy": proxy, "http_proxy": proxy})
        self.assertEqual((r.returncode, r.stdout.splitlines()[-1]), (0, b"the server knows"), r.stdout)
        records = [(x["method"], x["decision"]) for x in self.gate.records(11)]
        self.assertEqual(records, [("CONNECT", "allow")] + [("POST", "allow")] * 10)
        self.assertEqual(len(self.gate.records(10, event="close")), 10)


if __name__ == "__main__":
    for program in ("nghttpd", "h2load", "curl"):
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin"):
            lab.skip("this test needs %s (scripts/install-deps.sh test)" % program)
    lab.enter()
    sandbox_ca, world = tlslab.Authority("sandbox"), tlslab.Authority("world")
    try:
        unittest.main(verbosity=2)
    finally:
        for a in (sandbox_ca, world):
            a.close()
