"""Doors that nothing inside can take, and what lasts: thieves while the gate dies, a container behind a bridge inside, no
connection tracking, the map of names under a flood of them, the log under a flood of denials.

SBX_SOAK=1 makes the floods long: 100 deaths, 200,000 names, 60 s of denials.
"""
import errno
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gate_doors  # noqa: E402
import lab  # noqa: E402
from gate_doors import DNS, NAME, REFUSED, query  # noqa: E402
from lab import OK, ORIGIN, rule, status  # noqa: E402

SOAK = bool(os.environ.get("SBX_SOAK"))
DEATHS = 100 if SOAK else 8
NAMES = 200_000 if SOAK else 15_000
DENIAL_SECONDS = 60 if SOAK else 2
LOG_MAX = 64 << 20  # hard cap of the log, both of its parts

# Run inside, as root without the capabilities that a sandbox never has: tries to take every door until its input ends.
THIEF = r"""
import itertools, select, socket, sys
A4, A6 = ["198.18.0.1", "0.0.0.0"], ["2001:2::1", "::"]
places = [(socket.AF_INET, a) for a in A4] + [(socket.AF_INET6, a) for a in A6]
kinds = [socket.SOCK_STREAM, socket.SOCK_DGRAM]
reuse = [(), (socket.SO_REUSEADDR,), (socket.SO_REUSEPORT,), (socket.SO_REUSEADDR, socket.SO_REUSEPORT)]
held, tries, stolen = {}, 0, []
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for key in itertools.product(places, (1, 53, 3128), kinds, reuse):
        if key in held:
            continue
        (family, address), port, kind, options = key
        s = socket.socket(family, kind)
        s.setblocking(False)
        tries += 1
        try:
            for o in options:
                s.setsockopt(socket.SOL_SOCKET, o, 1)
            if address in ("198.18.0.1", "2001:2::1"):
                s.setsockopt(*((socket.SOL_IP, 15) if family == socket.AF_INET else (socket.IPPROTO_IPV6, 78)), 1)  # FREEBIND
            s.bind((address, port))
            if kind == socket.SOCK_STREAM:
                s.listen(8)
            held[key] = s
        except OSError:
            s.close()
    for key, s in held.items():
        try:
            if key[2] == socket.SOCK_STREAM:
                c, peer = s.accept()
                stolen.append("%s from %s" % (c.getsockname(), peer))
            else:
                stolen.append("%s from %s" % (key, s.recvfrom(512)[1]))
        except OSError:
            pass
print(tries, len(held), stolen, flush=True)
"""


class Nested:
    """A container behind a bridge inside the sandbox, as an engine inside would make it."""

    def __init__(self, sandbox):
        self.process = subprocess.Popen(["unshare", "-n", "sleep", "100000"], **lab.quiet())
        mine = os.stat("/proc/self/ns/net").st_ino
        while os.stat("/proc/%d/ns/net" % self.process.pid).st_ino == mine:
            time.sleep(0.01)
        self.netns = os.open("/proc/%d/ns/net" % self.process.pid, os.O_RDONLY)
        outer = ["nsenter", "--net=/proc/%d/ns/net" % sandbox.process.pid]
        inner = ["nsenter", "--net=/proc/%d/ns/net" % self.process.pid]
        pid = str(self.process.pid)
        for line in (outer + ["ip", "link", "add", "br0", "type", "bridge"], outer + ["ip", "address", "add", "172.30.0.1/24", "dev", "br0"],
                     outer + ["ip", "-6", "address", "add", "fd30::1/64", "dev", "br0", "nodad"],
                     outer + ["ip", "link", "add", "v0", "type", "veth", "peer", "name", "eth0", "netns", pid],
                     outer + ["ip", "link", "set", "v0", "master", "br0"], outer + ["ip", "link", "set", "v0", "up"],
                     outer + ["ip", "link", "set", "br0", "up"],
                     outer + ["sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding"],
                     inner + ["ip", "link", "set", "lo", "up"], inner + ["ip", "address", "add", "172.30.0.2/24", "dev", "eth0"],
                     inner + ["ip", "-6", "address", "add", "fd30::2/64", "dev", "eth0", "nodad"],
                     inner + ["ip", "link", "set", "eth0", "up"], inner + ["ip", "route", "add", "default", "via", "172.30.0.1"],
                     inner + ["ip", "-6", "route", "add", "default", "via", "fd30::1"]):
            subprocess.run(line, check=True, **lab.quiet())

    def socket(self, *args, **more):
        return lab.Sandbox.socket(self, *args, **more)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.netns)


class Case(gate_doors.Case):
    def inside(self, work):
        """Run a function in the sandbox's namespace."""
        found = []

        def run():
            lab.enter_netns(self.sandbox.netns)
            found.append(work())
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return found[0]

    def tracked(self):
        """Connections that the sandbox's namespace tracks; where nothing tracks any, none."""
        def count():
            try:
                return int(lab.read_file("/proc/sys/net/netfilter/nf_conntrack_count"))
            except FileNotFoundError:
                return 0  # this kernel has no tracking, or nothing has asked for it
        return self.inside(count)

    def dns(self, msg):
        """As a resolver does: behind a flood a question may be dropped, and is asked again."""
        end = time.monotonic() + lab.WAIT
        with self.sandbox.socket(kind=socket.SOCK_DGRAM) as s:
            s.connect(DNS)
            s.settimeout(1)
            while time.monotonic() < end:
                s.send(msg)
                try:
                    return s.recv(4096)
                except TimeoutError:
                    pass
        self.fail("no answer")

    def verdict(self, s, address, port, data=b"x"):
        """What becomes of a connection: bytes of the answer, "reset" or the name of the error."""
        with s:
            try:
                s.connect((address, port))
                s.sendall(data)
                return s.recv(64)
            except ConnectionResetError:
                return "reset"
            except OSError as e:
                return errno.errorcode.get(e.errno, str(e))


class Thieves(Case):
    def test_nothing_inside_takes_a_door_while_the_gate_dies(self):
        self.serve(lab.echo, 443)
        args = ["setpriv", "--bounding-set=-net_admin,-net_raw,-sys_admin", "--inh-caps=-all", sys.executable, "-c", THIEF]
        thief = subprocess.Popen(args, preexec_fn=lambda: lab.enter_netns(self.sandbox.netns), stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(thief.kill)
        self.assertEqual(thief.stdout.readline(), "ready\n")
        address = self.address()
        for _ in range(DEATHS):
            self.gate.kill()
            for door, port, data in ((lab.PROXY[0], 3128, b"GET / HTTP/1.1\r\n\r\n"), (lab.PROXY[0], 53, b"\0\1x"),
                                     (address, 443, b"x"), ("2001:db8::1", 80, b"x")):
                s = self.sandbox.socket(socket.AF_INET6 if ":" in door else socket.AF_INET)
                self.assertIn(self.verdict(s, door, port, data), ("reset", "ECONNREFUSED"))
            with self.sandbox.socket(kind=socket.SOCK_DGRAM) as s:
                s.connect(DNS)
                s.send(query(NAME))
            self.open_gate(names="name 1 %s\n" % NAME)
            s = self.sandbox.socket()
            self.assertEqual(self.verdict(s, *lab.PROXY, b"CONNECT evil.example.net:1 HTTP/1.1\r\n\r\n")[:12], b"HTTP/1.1 403")
            self.assertEqual(self.verdict(self.sandbox.socket(), address, 443, b"y"), b"y")
            self.assertEqual(self.address(), address)
        out = thief.communicate("end", timeout=lab.WAIT)[0].split(" ", 2)
        self.assertEqual(out[2], "[]\n")  # what it got
        self.assertGreater(int(out[0]), 50 * DEATHS)
        self.assertGreaterEqual(int(out[1]), 4)  # 0.0.0.0:3128 and its like are the sandbox's own

    def test_services_of_the_sandbox_on_the_doors_ports_are_its_own(self):
        def serve(family, address, port):
            s = self.sandbox.socket(family)
            self.addCleanup(s.close)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((address, port))
            s.listen(8)
            return s
        for family, any_, own, port in ((socket.AF_INET, "0.0.0.0", "127.0.0.1", 3128), (socket.AF_INET, "0.0.0.0", "127.0.0.1", 53),
                                        (socket.AF_INET, "0.0.0.0", "127.9.9.9", 443), (socket.AF_INET6, "::", "::1", 80)):
            listener = serve(family, any_, port)
            with self.sandbox.socket(family) as s:
                s.connect((own, port))
                s.sendall(b"own")
                conn, _ = listener.accept()
                self.assertEqual(conn.recv(3), b"own")
                conn.close()
            listener.setblocking(False)
            door = "2001:db8::1" if family == socket.AF_INET6 else lab.PROXY[0] if port != 443 else ORIGIN
            self.verdict(self.sandbox.socket(family), door, port, b"GET x HTTP/1.1\r\n\r\n")
            with self.assertRaises(BlockingIOError):
                listener.accept()
        with self.sandbox.socket(kind=socket.SOCK_DGRAM) as s, self.sandbox.socket(kind=socket.SOCK_DGRAM) as c:
            s.bind(("0.0.0.0", 53))
            c.connect(("127.0.0.1", 53))
            c.send(b"own")
            self.assertEqual(s.recv(10), b"own")
            self.assertEqual(self.ask(NAME)[0], 0)  # and the door answers beside it

    def test_nothing_is_tracked(self):
        self.serve(lab.echo, 443)
        address = self.address()
        for _ in range(50):
            self.assertEqual(self.verdict(self.sandbox.socket(), address, 443), b"x")
            self.assertEqual(self.verdict(self.sandbox.socket(), ORIGIN, 443), "reset")
            self.ask(NAME)
        self.assertEqual(self.tracked(), 0)


class BehindABridge(Case):
    rules = [rule(NAME), rule("no.example.com", "deny"), rule("[2001:db8::5]:80")]

    def test_a_container_inside_meets_the_same_verdicts(self):
        nested = Nested(self.sandbox)
        self.addCleanup(nested.close)
        self.serve(lab.echo, 443)
        self.serve(lab.forever(OK), 80)
        verdicts = [self.verdicts(box) for box in (self.sandbox, nested)]
        self.assertEqual(verdicts[0], verdicts[1])
        self.assertEqual(verdicts[0][-2:], ["ENETUNREACH"] * 2)
        self.assertEqual(verdicts[0][:3], [b"HTTP/1.1 200", b"HTTP/1.1 403", b"HTTP/1.1 200"])
        self.assertEqual(self.tracked(), 0)

    def verdicts(self, box):
        def proxy(data):
            return self.verdict(box.socket(), *lab.PROXY, data)[:12]

        def ask(name):
            with box.socket(kind=socket.SOCK_DGRAM) as s:
                s.connect(DNS)
                s.send(query(name))
                return s.recv(512)

        def datagram(address):
            with box.socket(kind=socket.SOCK_DGRAM) as s:
                s.setsockopt(socket.SOL_IP, 11, 1)  # IP_RECVERR: behind the bridge the refusal comes back as a message
                try:
                    s.connect((address, 443))
                    s.send(b"x")
                    return s.recv(1)
                except OSError as e:
                    return errno.errorcode.get(e.errno, str(e))
        found = [proxy(b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\n"), proxy(b"CONNECT no.example.com:443 HTTP/1.1\r\n\r\n"),
                 proxy(b"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n"), ask(NAME), ask("no.example.com")]
        address = socket.inet_ntoa(found[3][-4:])
        framed = struct.pack(">H", len(query(NAME))) + query(NAME)
        for door, port, data in ((lab.PROXY[0], 53, framed), (address, 443, b"x"), (ORIGIN, 443, b"x"), ("198.18.0.1", 22, b"x"),
                                 ("10.0.0.1", 80, b"x"), ("169.254.169.254", 80, b"x")):
            found.append(self.verdict(box.socket(), door, port, data))
        found.append(self.verdict(box.socket(socket.AF_INET6), "2001:db8::9", 80))
        return found + [datagram("8.8.8.8"), datagram(ORIGIN)]


class Floods(Case):
    rules = [rule("**.example.com")]

    def flood(self, names, seconds):
        """Ask for names as fast as it goes, without waiting for each answer; returns how many were asked for."""
        asked = 0
        end = time.monotonic() + seconds
        with self.sandbox.socket(kind=socket.SOCK_DGRAM) as s:
            s.connect(DNS)
            s.setblocking(False)
            for name in names:
                while True:
                    try:
                        s.send(query(name))
                        break
                    except OSError:
                        self.drain(s)
                asked += 1
                if asked % 64 == 0:
                    self.drain(s)
                    if time.monotonic() > end:
                        break
        return asked

    def drain(self, s):
        try:
            while s.recv(512):
                pass
        except OSError:
            pass

    def test_N14_a_flood_of_names_leaves_the_existing_ones_working(self):
        self.serve(lab.echo, 7)
        self.gate.hosts = {"kept.example.com": [ORIGIN]}
        self.gate.write(self.rules, generation=2)
        kept = {n: self.address(n) for n in ("kept.example.com", "a.example.com", "b.example.com")}
        self.assertEqual(self.verdict(self.sandbox.socket(), kept["kept.example.com"], 7), b"x")
        asked = self.flood(("n%d.flood.example.com" % i for i in range(NAMES)), 600)
        self.assertEqual(asked, NAMES)
        for name, address in kept.items():
            self.assertEqual(self.address(name), address)
        self.assertEqual(self.verdict(self.sandbox.socket(), kept["kept.example.com"], 7), b"x")
        lines = lab.read_file(self.gate.map_path).splitlines()
        names = [line for line in lines if line.startswith(b"name ")]
        self.assertEqual(len(names), self.gate.control(op="stats")["names"])
        self.assertLess(len(names), NAMES)  # the budget of a second holds
        self.assertIn("too-many-new-names", {r["reason"] for r in self.gate.records()})
        text = lab.read_file(self.gate.map_path).decode()
        hosts = self.gate.hosts
        self.gate.kill()
        self.hosts = hosts
        self.open_gate(names=text)  # what a crash leaves is what the next gate knows
        for name, address in kept.items():
            self.assertEqual(self.address(name), address)
        self.assertEqual(self.verdict(self.sandbox.socket(), kept["kept.example.com"], 7), b"x")

    def test_N24_a_flood_of_denials_stays_below_the_cap_with_exact_counters(self):
        answered = []

        def by_proxy(k):
            with self.sandbox.socket() as s:
                s.connect(lab.PROXY)
                n, end = 0, time.monotonic() + DENIAL_SECONDS
                while time.monotonic() < end:
                    name = b"h%d.evil%d.test" % (n % 3000, k)
                    s.sendall(b"GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n" % (name, name))
                    self.assertEqual(status(lab.read_reply(s)[0]), 403)
                    n += 1
                answered.append(n)
        threads = [threading.Thread(target=by_proxy, args=(k,)) for k in range(2)]
        for t in threads:
            t.start()
        self.flood(("q%d.evil.test" % (i % 5000) for i in iter(int, 1) for i in range(5000)), DENIAL_SECONDS)
        for t in threads:
            t.join()
        self.assertEqual(len(answered), 2)
        self.assertEqual(self.dns(query("last.evil.test"))[3] & 15, REFUSED)  # those before it are through as well
        stats = self.gate.control(op="stats")
        self.assertGreaterEqual(stats["denied"], sum(answered))
        path = self.gate.log_dir
        self.gate.process.terminate()
        self.assertEqual(self.gate.process.wait(lab.WAIT), 0)
        records = self.gate.records()
        self.assertEqual(sum(r["count"] for r in records if r["decision"] == "deny"), stats["denied"])
        size = sum(os.stat(os.path.join(path, f)).st_size for f in os.listdir(path))
        self.assertLess(size, LOG_MAX)
        print("%d denials, %d records, %d KiB" % (stats["denied"], len(records), size >> 10), file=sys.stderr)


if __name__ == "__main__":
    lab.enter()
    if not os.path.exists(lab.HELPER):
        lab.skip("no sbx-netns at " + lab.HELPER)
    resolver = gate_doors.resolver = lab.Resolver()
    unittest.main(verbosity=2)
