"""Published ports, TCP and UDP, behind the real helper: what arrives at a socket of the host reaches a service inside.

As root in namespaces of its own (lab.py).
"""
import array
import json
import os
import socket
import struct
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402

NETNS = os.environ["SBX_NETNS"]
INSIDE = 9000


class Case(unittest.TestCase):
    def setUp(self):
        self.sandbox = lab.Sandbox(NETNS)
        self.assertTrue(self.sandbox.status.startswith("ok "), self.sandbox.status)
        self.gate = lab.Gate([], netns=self.sandbox.connect())
        self.open = []

    def tearDown(self):
        for s in self.open:
            s.close()
        code = self.gate.close()
        self.sandbox.close()
        self.assertEqual(code, 0)

    def publish(self, listener, ident="x", port=INSIDE, protocol=None, helper=True):
        request = {"op": "publish", "id": ident, "port": port}
        if protocol:
            request["protocol"] = protocol
        fds = [listener.fileno()]
        connection = self.sandbox.connect() if helper else None
        if connection:
            fds.append(connection.fileno())
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.gate.control_path)
            s.sendmsg([json.dumps(request).encode() + b"\n"],
                      [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
            answer = s.makefile().readline()
        if connection:
            connection.close()
        return json.loads(answer)

    def outside(self, kind, address="127.0.0.1"):
        s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
        s.bind((address, 0))
        if kind == socket.SOCK_STREAM:
            s.listen(16)
        self.open.append(s)
        return s

    def service(self, kind, address="127.0.0.1", port=INSIDE):
        """Inside: says everything back with its own address in front."""
        s = self.sandbox.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
        s.bind((address, port))
        self.open.append(s)

        def datagrams():
            while True:
                try:
                    data, peer = s.recvfrom(65536)
                    s.sendto(address.encode() + b"|" + data, peer)
                except socket.timeout:
                    continue  # so that close() elsewhere is seen
                except OSError:
                    return

        def connections():
            s.listen(16)
            while True:
                try:
                    conn, _ = s.accept()
                except OSError:
                    return
                conn.sendall(address.encode() + b"|" + conn.recv(65536))
                conn.close()
        s.settimeout(None if kind == socket.SOCK_STREAM else 0.05)
        if kind == socket.SOCK_STREAM:
            s.listen(16)
        threading.Thread(target=datagrams if kind == socket.SOCK_DGRAM else connections, daemon=True).start()
        return s

    def client(self, to):
        s = socket.socket(to.family, socket.SOCK_DGRAM)
        s.settimeout(lab.WAIT)
        s.connect(to.getsockname())
        self.open.append(s)
        return s

    def ports(self):
        return self.gate.control(op="ports")["ports"]


class Udp(Case):
    def listener(self, address="127.0.0.1"):
        s = self.outside(socket.SOCK_DGRAM, address)
        self.assertEqual(self.publish(s, protocol="udp"), {"ok": True})
        return s

    def test_datagrams_go_in_and_answers_come_back_to_whom_they_belong(self):
        self.service(socket.SOCK_DGRAM)
        listener = self.listener()
        clients = [self.client(listener) for _ in range(20)]
        for i, c in enumerate(clients):
            c.send(b"hello %d" % i)
        for i, c in enumerate(clients):
            self.assertEqual(c.recv(100), b"127.0.0.1|hello %d" % i)
        for i, c in enumerate(reversed(clients)):
            c.send(b"again %d" % i)
            self.assertEqual(c.recv(100), b"127.0.0.1|again %d" % i)
        self.assertEqual(self.ports(), [{"id": "x", "protocol": "udp", "port": INSIDE, "connections": 20}])

    def test_datagrams_of_every_size_keep_their_bounds(self):
        self.service(socket.SOCK_DGRAM)
        c = self.client(self.listener())
        for size in (0, 1, 1472, 9000, 65000):
            data = os.urandom(size)
            c.send(data)
            self.assertEqual(c.recv(70000), b"127.0.0.1|" + data)

    def test_a_service_on_the_other_loopback_is_found(self):
        self.service(socket.SOCK_DGRAM, "::1")
        c = self.client(self.listener())
        c.send(b"six")
        self.assertEqual(c.recv(100), b"::1|six")

    def test_outside_may_be_ipv6(self):
        self.service(socket.SOCK_DGRAM)
        c = self.client(self.listener("::1"))
        c.send(b"hello")
        self.assertEqual(c.recv(100), b"127.0.0.1|hello")

    def test_a_service_that_comes_later_or_again_is_reached(self):
        c = self.client(self.listener())
        c.settimeout(0.2)
        for round in range(2):
            s = None
            for _ in range(100):
                try:
                    c.send(b"ping")
                    if c.recv(100) == b"127.0.0.1|ping":
                        break
                except (socket.timeout, ConnectionRefusedError):
                    if s is None:
                        s = self.service(socket.SOCK_DGRAM, port=INSIDE)
            else:
                self.fail("not reached in round %d" % round)
            if s:
                self.open.remove(s)
                s.close()

    def test_who_is_many_costs_a_bounded_number_of_sockets(self):
        self.service(socket.SOCK_DGRAM)
        listener = self.listener()
        first = self.client(listener)
        first.send(b"x")
        first.recv(100)
        noise = [self.client(listener) for _ in range(600)]
        for c in noise:
            c.send(b"noise")
        noise[-1].settimeout(0.1)
        end = time.monotonic() + lab.WAIT
        while True:  # datagrams of a crowd may be lost; who goes on is served
            try:
                noise[-1].send(b"noise")
                noise[-1].recv(100)
                break
            except socket.timeout:
                self.assertLess(time.monotonic(), end)
        while self.ports()[0]["connections"] > 256:
            self.assertLess(time.monotonic(), end)
        self.assertLess(len(os.listdir("/proc/%d/fd" % self.gate.process.pid)), 256 + 64)

    def settled(self):
        """Descriptors of the gate, once it has seen the ends of our own connections to it."""
        seen, end = [], time.monotonic() + lab.WAIT
        while len(seen) < 5 or len(set(seen[-5:])) > 1:
            self.assertLess(time.monotonic(), end)
            seen.append(len(os.listdir("/proc/%d/fd" % self.gate.process.pid)))
            time.sleep(0.02)
        return seen[-1]

    def test_what_is_taken_back_is_closed(self):
        self.service(socket.SOCK_DGRAM)
        listener = self.listener()
        c = self.client(listener)
        c.send(b"x")
        c.recv(100)
        before = self.settled()
        self.assertEqual(self.gate.control(op="unpublish", id="x"), {"ok": True})
        self.assertEqual(self.ports(), [])
        self.assertEqual(self.settled(), before - 2)

    def test_other_sockets_are_refused(self):
        tcp, udp = self.outside(socket.SOCK_STREAM), self.outside(socket.SOCK_DGRAM)
        self.assertFalse(self.publish(tcp, protocol="udp")["ok"])
        self.assertFalse(self.publish(udp)["ok"])
        self.assertFalse(self.publish(udp, protocol="sctp")["ok"])
        self.assertFalse(self.publish(udp, protocol="udp", helper=False)["ok"])
        self.assertFalse(self.publish(udp, protocol="udp", port=0)["ok"])
        self.assertEqual(self.ports(), [])


class Tcp(Case):
    def listener(self):
        s = self.outside(socket.SOCK_STREAM)
        self.assertEqual(self.publish(s), {"ok": True})
        return s

    def ask(self, listener, data):
        try:
            with socket.create_connection(listener.getsockname(), timeout=lab.WAIT) as s:
                s.sendall(data)
                return lab.read_all(s)
        except ConnectionResetError:
            return b""

    def test_connections_reach_either_loopback(self):
        self.service(socket.SOCK_STREAM)
        listener = self.listener()
        self.assertEqual(self.ask(listener, b"hello"), b"127.0.0.1|hello")
        other = self.outside(socket.SOCK_STREAM)
        self.service(socket.SOCK_STREAM, "::1", INSIDE + 1)
        self.assertEqual(self.publish(other, "y", INSIDE + 1), {"ok": True})
        self.assertEqual(self.ask(other, b"hello"), b"::1|hello")

    def test_nobody_inside_is_a_reset(self):
        self.assertEqual(self.ask(self.listener(), b"hello"), b"")

    def test_unpublish_ends_connections_on_their_way_and_open_ones(self):
        held = self.sandbox.socket()
        held.bind(("127.0.0.1", INSIDE))
        held.listen(8)
        self.open.append(held)
        listener = self.listener()
        clients = [socket.create_connection(listener.getsockname(), timeout=lab.WAIT) for _ in range(5)]
        self.open += clients
        held.accept()[0].close()
        listener.close()  # as the engine does: the gate's copy is the last one
        self.assertEqual(self.gate.control(op="unpublish", id="x"), {"ok": True})
        for c in clients:
            self.assertEqual(lab.read_all(c), b"")

    def test_a_helper_that_ends_ends_the_gate_and_leaves_nothing(self):
        self.service(socket.SOCK_STREAM)
        listener = self.listener()
        self.assertEqual(self.ask(listener, b"hello"), b"127.0.0.1|hello")
        self.sandbox.process.kill()
        self.assertEqual(self.gate.process.wait(lab.WAIT), 0)
        with open(self.gate.ended_path) as f:
            self.assertIn("gate: helper gone", f.read())


if __name__ == "__main__":
    lab.enter()
    unittest.main(verbosity=2)
