"""What flows through the gate and what is told of it: the log's events and rotation, a proxy upstream.

As root in namespaces of its own (lab.py).
"""
import json
import os
import socket
import ssl
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
from lab import OK, ORIGIN, ORIGIN2, rule, status  # noqa: E402

NAME = "api.example.com"
PART = 32 << 20  # bytes of a log that is rotated


def get(path=b"/", extra=b""):
    return b"GET http://api.example.com" + path + b" HTTP/1.1\r\nHost: api.example.com\r\n" + extra + b"\r\n"


CONNECT = b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"


class Case(unittest.TestCase):
    rules = [rule(NAME)]
    options = {}

    def setUp(self):
        self.servers = []
        self.gate = lab.Gate(self.rules, {NAME: [ORIGIN]}, **self.options)

    def tearDown(self):
        code = self.gate.close()
        for s in self.servers:
            s.close()
        self.assertEqual(code, 0, "the gate did not end well (sanitizer finding, signal, or leak)")

    def serve(self, behave, port=80):
        s = lab.Server(ORIGIN, port, behave)
        self.servers.append(s)
        return s


class Log(Case):
    def test_the_end_of_a_tunnel_tells_its_bytes_both_ways_and_its_time(self):
        self.serve(lab.echo, 443)
        with self.gate.connect() as s:
            s.sendall(CONNECT)
            lab.read_head(s)
            s.sendall(b"x" * 1000)
            got = b""
            while len(got) < 1000:
                got += s.recv(4096)
            self.assertEqual(self.gate.records(event="close"), [])
        end, = self.gate.records(1, event="close")
        begin, = self.gate.records(1)
        self.assertEqual((end["bytesOut"], end["bytesIn"]), (1000, 1000))
        self.assertEqual((end["decision"], end["count"]), (None, 0))
        self.assertGreaterEqual(end["durationMs"], 0)
        for key in ("request", "host", "port", "address", "rule", "reason", "proxy", "door"):
            self.assertEqual(end[key], begin[key], key)

    def test_each_request_of_a_connection_has_its_own_end(self):
        self.serve(lab.forever(OK))
        with self.gate.connect() as s:
            for i in range(3):
                s.sendall(get(b"/%d" % i))
                lab.read_reply(s)
                self.assertEqual(len(self.gate.records(i + 1, event="close")), i + 1)
        ends = self.gate.records(3, event="close")
        self.assertEqual([e["request"] for e in ends], [r["request"] for r in self.gate.records(3)])
        self.assertEqual(len({e["request"] for e in ends}), 3)
        for e in ends:
            self.assertEqual(e["bytesIn"], len(OK))
            self.assertGreater(e["bytesOut"], 30)

    def test_bodies_count_and_what_is_refused_has_no_end(self):
        self.serve(lab.replies(b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + b"y" * 70000))
        reply = self.gate.ask(b"POST http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n"
                              b"Content-Length: 5000\r\nConnection: close\r\n\r\n" + b"z" * 5000)
        self.assertEqual(status(reply), 200)
        end, = self.gate.records(1, event="close")
        self.assertGreater(end["bytesOut"], 5000)
        self.assertGreater(end["bytesIn"], 70000)
        self.assertEqual(status(self.gate.ask(b"CONNECT no.example.com:443 HTTP/1.1\r\n\r\n")), 403)
        self.gate.records(2)
        self.assertEqual(len(self.gate.records(event="close")), 1)

    def test_a_tunnel_that_loses_its_right_ends_under_the_rule_that_had_allowed_it(self):
        self.serve(lab.echo, 443)
        with self.gate.connect() as s:
            s.sendall(CONNECT + b"hello")
            lab.read_head(s)
            self.gate.records(1)
            self.gate.write([rule(NAME, "deny")], generation=2)
            self.gate.control(op="reload")
            lab.read_all(s)
        end, = self.gate.records(1, event="close")
        self.assertEqual(end["rule"], "user:allow:" + NAME)
        self.assertEqual([r["reason"] for r in self.gate.records(2)], ["rule", "policy-changed"])

    def test_the_gates_own_life_is_told(self):
        self.assertEqual(self.gate.records(1, event="start")[0]["reason"], "started")
        self.gate.control(op="shutdown")
        end, = self.gate.records(1, event="end")
        self.assertEqual(end["reason"], "asked to end")


class Upstream(Case):
    """This machine itself has to use a proxy, here one that does as it is told and keeps all it hears."""
    PASSWORD = "Basic c2VjcmV0LXVzZXI6c2VjcmV0LXBhc3M="
    PROXY = {"host": "proxy.corp.example", "port": 3128, "authorization": PASSWORD}
    options = {"upstream": {"http": PROXY, "https": PROXY, "noProxy": ["direct.example.com", "10.0.0.0/8"]}}
    rules = [rule("*.example.com"), rule("10.9.9.9:443"), rule("203.0.113.11:4443")]
    OPEN = b"HTTP/1.1 200 Connection established\r\nServer: x\r\n\r\n"

    def setUp(self):
        resolver.names.clear()
        resolver.answers.clear()
        resolver.answers["proxy.corp.example"] = [ORIGIN2]
        self.servers = []
        self.gate = lab.Gate(self.rules, {"pinned.example.com": [ORIGIN]}, **self.options)

    def proxy(self, behave):
        s = lab.Server(ORIGIN2, 3128, behave)
        self.servers.append(s)
        return s

    def opened(self, tail=b""):
        def behave(conn, server):
            server.head(conn)
            conn.sendall(self.OPEN + tail)
            lab.echo(conn, server)
        return self.proxy(behave)

    def refused(self, code, reason):
        """A CONNECT that ends so, and is told so."""
        before = len(self.gate.records())
        reply = self.gate.ask(CONNECT)
        self.assertEqual(status(reply), code, reply)
        record = self.gate.records(before + 1)[before]
        self.assertEqual((record["decision"], record["reason"]), ("error", reason))
        self.assertNotIn(b"proxy.corp", reply)
        return reply

    def test_a_tunnel_goes_by_name_and_no_name_but_the_proxys_is_looked_up(self):
        proxy = self.opened(b"first from the server")
        with self.gate.connect() as s:
            s.sendall(CONNECT)
            self.assertTrue(lab.read_head(s).startswith(b"HTTP/1.1 200"))
            self.assertEqual(s.recv(100), b"first from the server")
            s.sendall(b"hello")
            self.assertEqual(s.recv(100), b"hello")
        self.assertEqual(proxy.received, b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n"
                         b"Proxy-Authorization: " + self.PASSWORD.encode() + b"\r\n\r\nhello")
        self.assertEqual(set(resolver.names), {"proxy.corp.example"})
        record, = self.gate.records(1)
        self.assertEqual((record["address"], record["decision"]), ("upstream", "allow"))
        end, = self.gate.records(1, event="close")
        self.assertEqual((end["bytesIn"], end["bytesOut"]), (26, 5))

    def test_what_no_rule_allows_never_reaches_the_proxy(self):
        proxy = self.opened()
        self.assertEqual(status(self.gate.ask(b"CONNECT no.example.org:443 HTTP/1.1\r\n\r\n")), 403)
        self.assertEqual(status(self.gate.ask(b"GET http://no.example.org/ HTTP/1.1\r\nHost: no.example.org\r\n"
                                              b"Connection: close\r\n\r\n")), 403)
        for target in (b"169.254.169.254:80", b"127.0.0.1:80", b"10.1.1.1:443", b"metadata.google.internal:80"):
            self.assertEqual(status(self.gate.ask(b"CONNECT " + target + b" HTTP/1.1\r\n\r\n")), 403, target)
        self.assertEqual((proxy.connections, resolver.names), (0, []))

    def test_requests_go_in_absolute_form_with_our_password_and_not_the_clients(self):
        proxy = self.proxy(lab.forever(OK))
        with self.gate.connect() as s:
            for path in (b"/a?b", b"/c"):
                s.sendall(get(path, b"Proxy-Authorization: Basic bm8=\r\nX: 1\r\n"))
                self.assertEqual(lab.read_reply(s)[1], b"ok")
            s.sendall(b"OPTIONS http://api.example.com:8080 HTTP/1.1\r\nHost: api.example.com:8080\r\n\r\n")
            lab.read_reply(s)
        heads = proxy.received.split(b"\r\n\r\n")
        self.assertEqual(heads[0], b"GET http://api.example.com/a?b HTTP/1.1\r\nProxy-Authorization: " +
                         self.PASSWORD.encode() + b"\r\nHost: api.example.com\r\nX: 1")
        self.assertTrue(heads[1].startswith(b"GET http://api.example.com/c HTTP/1.1\r\n"))
        self.assertTrue(heads[2].startswith(b"OPTIONS http://api.example.com:8080 HTTP/1.1\r\n"), heads[2])
        self.assertEqual({r["address"] for r in self.gate.records(3)}, {"upstream"})

    def test_a_407_is_a_502_here_and_told_in_the_log(self):
        self.proxy(lab.forever(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\n"
                               b"Content-Length: 0\r\n\r\n"))
        self.refused(502, "upstream-auth")
        reply = self.gate.ask(get(b"/", b"Connection: close\r\n"))
        self.assertEqual(status(reply), 502)
        self.assertNotIn(b"realm", reply)
        self.assertEqual([r["reason"] for r in self.gate.records(3)], ["upstream-auth", "rule", "upstream-auth"])

    def test_each_way_to_fail_has_its_reason(self):
        answers = [(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "upstream-refused"),
                   (b"HTTP/1.1 503 Busy\r\n\r\n", "upstream-failed"), (b"SSH-2.0-x\r\n\r\n", "bad-upstream-reply"),
                   (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20000 + b"\r\n\r\n", "bad-upstream-reply"),
                   (b"HTTP/1.1 101 Switch\r\n\r\n", "bad-upstream-reply"),
                   (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "bad-upstream-reply"),
                   (b"HTTP/1.1 200 OK\nX: y\n\n", "bad-upstream-reply"), (b"", "upstream-closed"),
                   (b"HTTP/1.1 200 OK\r\nX: y", "upstream-closed")]
        for answer, reason in answers:
            with self.subTest(answer=answer[:30]):
                proxy = self.proxy(lab.replies(answer))
                self.refused(502, reason)
                proxy.close()
        self.refused(502, "upstream-connect-failed")
        resolver.answers.pop("proxy.corp.example")
        self.gate.write(self.rules, generation=2)  # and what was cached is forgotten
        self.refused(502, "upstream-not-found")

    def test_interim_replies_and_replies_in_pieces_are_read(self):
        def behave(conn, server):
            server.head(conn)
            for byte in b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nhi":
                conn.sendall(bytes([byte]))
        self.proxy(behave)
        self.assertTrue(self.gate.ask(CONNECT).endswith(b"\r\n\r\nhi"))

    def test_a_proxy_that_is_silent_costs_ten_seconds(self):
        held = threading.Event()
        self.proxy(lambda conn, server: held.wait(lab.WAIT))
        begin = time.monotonic()
        with socket.create_connection((ORIGIN2, 4443), timeout=lab.WAIT) as s:
            self.refused(504, "upstream-timeout")
            with self.assertRaises(ConnectionResetError):
                s.recv(1)
        held.set()
        self.assertLess(time.monotonic() - begin, 12)
        self.assertEqual({r["reason"] for r in self.gate.records(2)}, {"upstream-timeout"})

    def test_no_proxy_and_names_with_addresses_are_dialled(self):
        proxy = self.opened()
        self.serve(lab.forever(OK))
        resolver.answers["direct.example.com"] = [ORIGIN]
        for name in (b"direct.example.com", b"pinned.example.com"):
            reply = self.gate.ask(b"GET http://" + name + b"/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertEqual(status(reply), 200)
        self.assertEqual(proxy.connections, 0)
        self.assertEqual({r["address"] for r in self.gate.records(2)}, {ORIGIN})

    def test_transparent_connections_are_chained_too(self):
        proxy = self.opened(b"banner")
        with socket.create_connection((ORIGIN2, 4443), timeout=lab.WAIT) as s:
            self.assertEqual(s.recv(100), b"banner")
            s.sendall(b"x")
            self.assertEqual(s.recv(1), b"x")
        self.assertTrue(proxy.received.startswith(b"CONNECT 203.0.113.11:4443 HTTP/1.1\r\n"))
        self.assertEqual(self.gate.records(1)[0]["address"], "upstream")

    def reset(self, reason):
        """A transparent connection that ends so: there is nobody to tell but the log."""
        before = len(self.gate.records())
        with self.assertRaises(ConnectionResetError): # by connect() already where the gate is quick
            with socket.create_connection((ORIGIN2, 4443), timeout=lab.WAIT) as s:
                s.recv(1)
        record = self.gate.records(before + 1)[before]
        self.assertEqual((record["decision"], record["reason"]), ("error", reason))

    def test_the_transparent_door_fails_for_the_same_reasons(self):
        for answer, reason in ((b"HTTP/1.1 407 Who\r\n\r\n", "upstream-auth"), (b"HTTP/1.1 403 No\r\n\r\n", "upstream-refused"),
                               (b"HTTP/1.1 503 Busy\r\n\r\n", "upstream-failed"), (b"SSH-2.0-x\r\n\r\n", "bad-upstream-reply"),
                               (b"", "upstream-closed"), (b"HTTP/1.1 200 OK\r\nX: y", "upstream-closed")):
            with self.subTest(answer=answer[:30]):
                proxy = self.proxy(lab.replies(answer))
                try:
                    self.reset(reason)
                finally:
                    proxy.close()
        self.reset("upstream-connect-failed")

    def test_the_payload_chooses_neither_host_nor_port(self):
        proxy = self.opened()
        context = ssl.create_default_context()
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="other.example.com")
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        with self.gate.connect() as s:
            s.sendall(CONNECT)
            lab.read_head(s)
            s.sendall(outgoing.read())
            self.assertEqual(lab.read_all(s), b"")
        self.assertNotIn(b"other", proxy.received)
        self.assertEqual(self.gate.records(1)[0]["reason"], "server-name")

    def test_rules_that_narrow_while_the_proxy_thinks_win(self):
        asked, go = threading.Event(), threading.Event()

        def behave(conn, server):
            server.head(conn)
            asked.set()
            go.wait(lab.WAIT)
            conn.sendall(self.OPEN)
            server.read(conn)
        proxy = self.proxy(behave)
        with self.gate.connect() as s:
            s.sendall(CONNECT + b"early")
            self.assertTrue(asked.wait(lab.WAIT))
            self.gate.write([], generation=2)
            self.gate.control(op="reload")
            go.set()
            self.assertEqual(status(lab.read_all(s)), 403)
        self.assertNotIn(b"early", proxy.received)

    def test_the_password_is_nowhere_to_be_seen(self):
        self.opened()
        self.gate.ask(CONNECT, half_close=True)
        self.gate.records(1)
        pid = self.gate.process.pid
        seen = lab.read_file("/proc/%d/cmdline" % pid) + lab.read_file("/proc/%d/environ" % pid)
        seen += lab.read_file(self.gate.log_path) + json.dumps(
            [self.gate.control(op="policy"), self.gate.control(op="stats")]).encode()
        for secret in (self.PASSWORD.encode(), b"c2VjcmV0", b"secret-pass"):
            self.assertNotIn(secret, seen)


class Learn(Case):
    """N13: public names that no rule allows pass and are told; nothing else does."""
    rules = [rule("known.example.com"), rule("bad.example.com", "deny"), rule("10.0.0.0/8", source="kit")]

    def setUp(self):
        resolver.names.clear()
        resolver.answers.clear()
        resolver.answers.update({n: [ORIGIN] for n in ("new.example.com", "known.example.com", "bad.example.com")})
        resolver.answers["inside.example.com"] = ["10.9.9.9"]
        self.servers = []
        self.gate = lab.Gate(self.rules, learn=True)

    def ask(self, host, port=80):
        return status(self.gate.ask(b"GET http://%s:%d/ HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n" %
                                    (host, port, host, port)))

    def test_public_names_pass_with_the_step_that_asked(self):
        self.serve(lab.forever(OK))
        self.assertTrue(self.gate.control(op="step", id="install/hello/1")["ok"])
        self.assertEqual(self.ask(b"new.example.com"), 200)
        self.assertTrue(self.gate.control(op="step", id="agent")["ok"])
        self.assertEqual(self.ask(b"known.example.com"), 200)
        seen = [(r["host"], r["reason"], r["rule"], r["step"]) for r in self.gate.records(2)]
        self.assertEqual(seen, [("new.example.com", "learn", None, "install/hello/1"),
                                ("known.example.com", "rule", "user:allow:known.example.com", "agent")])

    def test_nothing_else_does(self):
        self.serve(lab.forever(OK))
        for host in (b"bad.example.com", b"host.docker.internal", b"gateway.docker.internal", b"localhost",
                     b"metadata.google.internal", b"169.254.169.254", b"10.1.1.1", b"203.0.113.10", b"127.0.0.1",
                     b"inside.example.com", b"x.docker.internal"):
            with self.subTest(host=host):
                self.assertEqual(self.ask(host), 403)
        self.assertEqual(self.servers[0].connections, 0)
        self.assertLessEqual(set(resolver.names), {"inside.example.com"})

    def test_its_end_closes_what_only_it_allowed(self):
        self.serve(lab.echo, 443)
        with self.gate.connect() as s:
            s.sendall(b"CONNECT new.example.com:443 HTTP/1.1\r\n\r\nhello")
            lab.read_head(s)
            self.gate.records(1)
            self.gate.learn = None
            self.gate.write(self.rules, generation=2)
            self.gate.control(op="reload")
            lab.read_all(s)
        self.assertEqual([r["reason"] for r in self.gate.records(2)], ["learn", "policy-changed"])


class Lookups(Case):
    """Names by the thousand, and a name server that is silent."""
    rules = [rule("**.example.com")]

    def setUp(self):
        resolver.names.clear()
        resolver.answers.clear()
        self.servers = []
        self.gate = lab.Gate(self.rules)

    def facts(self):
        text = lab.read_file("/proc/%d/status" % self.gate.process.pid).decode()
        return {k: int(v.split()[0]) for k, v in (line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
                if k in ("VmRSS", "Threads")}

    def ask(self, names):
        done = []
        with self.gate.connect() as s:
            for name in names:
                s.sendall(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (name.encode(), name.encode()))
                done.append(status(lab.read_reply(s)[0]))
        return done

    def test_thousands_of_names_cost_a_bounded_number_of_threads_and_little_memory(self):
        self.serve(lab.forever(OK))
        n = int(os.environ.get("SBX_NAMES", "2000"))
        for i in range(n):
            resolver.answers["n%d.example.com" % i] = [ORIGIN]
        self.ask(["n0.example.com"])
        before, results = self.facts(), []
        threads = [threading.Thread(target=lambda k=k: results.extend(
            self.ask(["n%d.example.com" % i for i in range(k, n, 10)]))) for k in range(10)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
        self.assertEqual(results, [200] * n)
        after = self.facts()
        self.assertLessEqual(after["Threads"], 9)
        self.assertEqual(len(self.gate.records(n + 1)), n + 1)
        if "sanitize" not in os.environ.get("SBX_GATE_BUILD", ""):
            self.assertLess(after["VmRSS"] - before["VmRSS"], 8192)

    def test_a_crowd_of_names_that_nobody_answers_holds_up_none_that_comes_later(self):
        self.serve(lab.forever(OK))
        for i in range(500):
            resolver.answers["dead%d.example.com" % i] = None
        resolver.answers["good.example.com"] = [ORIGIN]
        crowd = [self.gate.connect() for _ in range(500)]
        for i, s in enumerate(crowd):
            s.sendall(b"CONNECT dead%d.example.com:443 HTTP/1.1\r\n\r\n" % i)
        for s in crowd:
            self.assertEqual(status(lab.read_head(s)), 504)
            s.close()
        end = time.monotonic() + lab.WAIT
        while self.ask(["good.example.com"]) != [200]:  # the eight that are being asked need a second more
            self.assertLess(time.monotonic(), end)
        self.assertLessEqual(self.facts()["Threads"], 9)
        self.assertLess(len(set(resolver.names)), 50)  # the rest was never asked


class BadUpstream(unittest.TestCase):
    def test_a_description_that_cannot_be_read_ends_the_start(self):
        for bad in ([], {"http": {"host": "x", "port": 0}}, {"https": {"host": "a b", "port": 1}}, {"socks": None},
                    {"http": {"host": "x", "port": 1, "authorization": "a\r\nb: c"}}, {"noProxy": [1]}):
            with self.subTest(bad=bad):
                gate = lab.Gate([], upstream=bad, expect="error upstream proxy: ")
                self.assertEqual(gate.close(), 1)


class Rotation(unittest.TestCase):
    def tearDown(self):
        self.assertEqual(self.gate.close(), 0)
        self.server.close()

    def test_a_running_gate_rotates_its_log_and_loses_nothing(self):
        filler = json.dumps({"event": "filler", "text": "x" * 65000}) + "\n"
        self.server = lab.Server(ORIGIN, 80, lab.forever(OK))
        self.gate = lab.Gate([rule(NAME)], {NAME: [ORIGIN]}, log_text=filler * (PART // len(filler)))
        started = self.gate.control(op="ping")["offset"]
        n = 0
        with self.gate.connect() as s:
            while not os.path.exists(self.gate.log_path + ".1"):
                s.sendall(get(b"/", b"X: %d\r\n" % n))
                lab.read_reply(s)
                n += 1
                self.assertLess(n, 2000, "it was not rotated")
        late = socket.create_connection(lab.PROXY)
        late.sendall(b"CONNECT no.example.com:443 HTTP/1.1\r\n\r\n")
        lab.read_all(late)
        late.close()
        with open(self.gate.log_path + ".1") as f:
            older = [json.loads(line) for line in f]
        decisions = [r for r in older if "event" not in r] + self.gate.records()
        self.assertEqual(len(decisions), n + 1)
        self.assertEqual(decisions[-1]["decision"], "deny")
        self.assertLessEqual(os.path.getsize(self.gate.log_path + ".1"), PART)
        self.assertFalse(os.path.exists(self.gate.log_path + ".new"))
        now = self.gate.control(op="blocked", since=started)
        self.assertGreater(now["offset"], PART - len(filler))  # goes on over the parts
        self.assertEqual([b["host"] for b in now["blocked"]], ["no.example.com"])
        self.assertEqual(self.gate.control(op="ping")["lost"], 0)


if __name__ == "__main__":
    lab.enter()
    resolver = lab.Resolver()
    unittest.main(verbosity=2)
