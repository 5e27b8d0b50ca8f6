"""What flows through the gate and what is told of it: the log's events and rotation.

As root in namespaces of its own (lab.py).
"""
import json
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
from lab import OK, ORIGIN, rule, status  # noqa: E402

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
    unittest.main(verbosity=2)
