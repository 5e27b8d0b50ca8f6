"""Attack and edge cases at every door behind the real helper: what gate_rows.py (the proxy door) and
gate_doors.py (transparent, DNS) leave open. cases.tsv says which test holds which case.
"""
import errno
import os
import socket
import struct
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gate_doors  # noqa: E402
import lab  # noqa: E402
from gate_doors import AAAA, NAME, REFUSED, hello, query  # noqa: E402
from lab import OK, ORIGIN, ORIGIN2, PRIVATE, rule, status  # noqa: E402

BRIDGE = "172.17.0.1"  # where a host's container bridge usually is
LAN = "192.168.1.20"


def raw_query(labels):
    """A question with labels of any bytes."""
    msg = struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0)
    return msg + b"".join(bytes([len(x)]) + x for x in labels) + b"\0" + struct.pack(">HH", 1, 1)


class Case(gate_doors.Case):
    def by_proxy(self, data, half_close=False):
        """Send bytes to the proxy door from inside and read until it closes."""
        with self.sandbox.socket() as s:
            s.connect(lab.PROXY)
            s.sendall(data)
            if half_close:
                s.shutdown(socket.SHUT_WR)
            return lab.read_all(s)

    def connect_by_proxy(self, target, more=b""):
        s = self.sandbox.socket()
        self.addCleanup(s.close)
        s.connect(lab.PROXY)
        s.sendall(b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n" + more)
        return s, status(lab.read_head(s))

    def get(self, url, host=b"x"):
        return self.by_proxy(b"GET " + url + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")

    def dns_refused(self, msg, host, reason):
        before = len(self.gate.records())
        self.assertEqual(self.dns(msg)[3] & 15, REFUSED)
        r = self.gate.records(before + 1)[before]
        self.assertEqual((r["door"], r["host"], r["reason"]), ("dns", host, reason))
        self.assertEqual(resolver.names, [])


class Names(Case):
    rules = [rule(NAME), rule("*.wild.example.com"), rule("example.com"), rule("b\u00fccher.de")]
    hosts = {NAME: [ORIGIN], "xn--bcher-kva.de": [ORIGIN], "a.wild.example.com": [ORIGIN]}

    def test_A1_nul_in_a_question_and_in_a_server_name(self):
        server = self.serve(lab.echo, 443)
        self.dns_refused(raw_query([b"api\0", b"example", b"com"]), "api\\000.example.com", "bad-name")
        self.dns_refused(raw_query([b"evil\0.api", b"example", b"com"]), "evil\\000\\046api.example.com", "bad-name")
        data = hello("x" * len(NAME)).replace(b"x" * len(NAME), b"api\0example.com")
        self.refused(self.address(), 443, "bad-hello", NAME, data, server)

    def test_A3_mixed_case_is_one_name_at_every_door(self):
        self.serve(lab.echo, 443)
        address = self.address("aPi.eXAMPLE.cOM")
        self.assertEqual(address, self.address(NAME))
        data = hello("API.example.COM")
        s = self.connect(address, 443)
        s.sendall(data)
        self.assertEqual(s.recv(len(data), socket.MSG_WAITALL), data)
        s, code = self.connect_by_proxy(b"api.EXAMPLE.com:443", b"x")
        self.assertEqual((code, s.recv(1)), (200, b"x"))
        self.assertEqual([(r["host"], r["decision"], r["rule"]) for r in self.gate.records(2)],
                         [(NAME, "allow", "user:allow:" + NAME)] * 2)

    def test_A5_look_alikes_match_at_no_door(self):
        server = self.serve(lab.echo, 443)
        cyrillic = "\u0430pi.example.com"
        a_label = cyrillic.encode("idna").decode()
        self.dns_refused(query(a_label), a_label, "default-deny")
        self.assertEqual(self.dns(raw_query([x.encode() for x in cyrillic.split(".")]))[3] & 15, REFUSED)
        self.refused(self.address(), 443, "server-name", a_label, hello(a_label), server)
        for target in (cyrillic.encode(), a_label.encode()):
            s, code = self.connect_by_proxy(target + b":443")
            self.assertEqual(code, 403)
        self.assertEqual({r["host"] for r in self.gate.records()[2:]}, {a_label})
        self.assertEqual((server.connections, resolver.names), (1, []))  # the one with the wrong hello

    def test_A5_a_unicode_name_is_its_A_label(self):
        http = self.serve(lab.forever(OK), 80)
        self.assertEqual(status(self.get("http://b\u00fccher.de/".encode())), 200)
        self.assertIn(b"\r\nHost: xn--bcher-kva.de\r\n", http.received)
        self.assertEqual(self.gate.records(1)[0]["host"], "xn--bcher-kva.de")

    def test_A6_A8_percent_signs_and_stars_in_questions(self):
        for name, reason in (("api%2eexample.com", "bad-name"), ("evilexample.com", "default-deny"),
                             ("b.a.wild.example.com", "default-deny"), ("wild.example.com", "default-deny"),
                             ("xwild.example.com", "default-deny")):
            self.dns_refused(query(name), name, reason)
        self.assertEqual(self.ask("a.wild.example.com")[0], 0)

    def test_A10_a_question_of_254_bytes(self):
        labels = [b"a" * 63] * 3 + [b"a" * 61]  # 253 as text, 255 on the wire: the longest there is
        self.assertEqual(self.dns(raw_query(labels))[3] & 15, REFUSED)
        self.assertEqual(self.dns(raw_query(labels[:-1] + [b"a" * 62]))[3] & 15, 1)
        self.assertEqual([r["reason"] for r in self.gate.records(2)], ["default-deny", "dns-malformed"])
        self.assertEqual(resolver.names, [])

    def test_A13_numbers_as_names_never_resolve(self):
        for name in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1"):
            before = len(self.gate.records())
            self.assertEqual(self.ask(name), (REFUSED, None))
            self.assertIn(self.gate.records(before + 1)[before]["reason"], ("bad-name", "not-a-name"))
        self.assertEqual(resolver.names, [])


class HostsAddresses(Case):
    rules = [rule("**"), rule(PRIVATE + ":8096")]

    def test_B10_UP14_services_of_the_host_by_its_addresses(self):
        declared, other = self.serve(lab.echo, 8096, PRIVATE), self.serve(lab.echo, 8097, PRIVATE)
        for address in (BRIDGE, LAN, PRIVATE):
            self.refused(address, 8097, "private", address)
            s, code = self.connect_by_proxy(b"%s:8097" % address.encode())
            self.assertEqual((code, self.gate.records()[-1]["reason"]), (403, "private"))
        self.refused("198.18.0.3", 8097, "default-deny", "host.docker.internal")  # not by "**" either
        s = self.connect(PRIVATE, 8096)
        s.sendall(b"x")
        self.assertEqual(s.recv(1), b"x")
        self.assertEqual((declared.connections, other.connections), (1, 0))

    def test_B18_other_resolvers_and_local_name_services(self):
        for port in (853, 5353, 5355):
            self.refused(lab.PROXY[0], port, "no-such-door", lab.PROXY[0])
            for address in (lab.PROXY[0], "8.8.8.8", "224.0.0.251"):
                with self.sandbox.socket(kind=socket.SOCK_DGRAM) as s, self.assertRaises(OSError):
                    s.connect((address, port))
                    s.send(query(NAME))
                    s.settimeout(5)
                    s.recv(1)
        self.assertEqual(resolver.names, [])

    def test_UP15_datagrams_and_pings_fail_at_once(self):
        for family, address in ((socket.AF_INET, "8.8.8.8"), (socket.AF_INET, ORIGIN), (socket.AF_INET6, "2001:db8::1")):
            icmp = socket.IPPROTO_ICMPV6 if family == socket.AF_INET6 else socket.IPPROTO_ICMP
            for kind, proto in ((socket.SOCK_DGRAM, 0), (socket.SOCK_RAW, icmp)):
                with self.sandbox.socket(family, kind, proto) as s, self.assertRaises(OSError) as e:
                    s.connect((address, 53))
                    s.send(b"\x08\0\xf7\xff\0\0\0\0")
                self.assertIn(e.exception.errno, (errno.ENETUNREACH, errno.EACCES, errno.EHOSTUNREACH))


class PastTheProxy(Case):
    """UP 15: without the proxy's variables, the same verdict with the same reason."""
    rules = [rule(NAME)]

    def test_G11_UP15_a_header_or_server_name_never_stands_for_the_destination(self):
        http, tls = self.serve(lab.forever(OK), 80), self.serve(lab.echo, 443)
        for port, data in ((80, b"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n"), (443, hello(NAME)),
                           (443, hello(None))):
            r = self.refused(ORIGIN, port, "default-deny", ORIGIN, data)
            s, code = self.connect_by_proxy(b"%s:%d" % (ORIGIN.encode(), port), data)
            self.assertEqual((code, self.gate.records()[-1]["reason"]), (403, r["reason"]))
        self.assertEqual((http.connections, tls.connections), (0, 0))

    def test_G11_the_doors_agree_on_the_reason(self):
        for address, reason in (("10.0.0.1", "private"), ("169.254.169.254", "metadata"), ("8.8.8.8", "default-deny"),
                                ("198.18.7.7", "gate"), ("224.0.0.1", "special")):
            s, code = self.connect_by_proxy(address.encode() + b":80")
            self.assertEqual((code, self.gate.records()[-1]["reason"]), (403, reason))
            if address != "224.0.0.1":  # TCP to it fails before any door
                self.refused(address, 80, reason, address)


class Times(Case):
    rules = [rule("**.example.com")]
    hosts = {}

    def test_B17_lifetimes_of_answers_inside_are_ours(self):
        reply = self.dns(query(NAME))
        self.assertEqual(struct.unpack(">I", reply[-10:-6])[0], 60)
        self.assertEqual(resolver.names, [])  # nothing is asked until somebody connects

    def test_B17_an_open_flow_outlives_what_its_name_meant(self):
        resolver.answers["moves.example.com"] = [ORIGIN]
        first, second = self.serve(lab.echo, 7), self.serve(lab.echo, 7, ORIGIN2)
        address = self.address("moves.example.com")
        old = self.connect(address, 7)
        old.sendall(b"1")
        self.assertEqual(old.recv(1), b"1")
        resolver.answers["moves.example.com"] = [ORIGIN2]
        self.gate.write(self.rules, generation=2)  # which forgets what names meant
        new = self.connect(self.address("moves.example.com"), 7)
        new.sendall(b"2")
        old.sendall(b"3")
        self.assertEqual((new.recv(1), old.recv(1)), (b"2", b"3"))
        self.assertEqual((first.received, second.received), (b"13", b"2"))
        self.assertEqual(self.address("moves.example.com"), address)

    def test_B22_no_AAAA_and_the_door_of_the_other_family_denies(self):
        resolver.answers["six.example.com"] = ["2001:db8::6"]
        self.assertEqual(self.ask("six.example.com", AAAA), (0, None))
        self.assertEqual(resolver.names, [])
        for address in ("2001:db8::6", "fd00::1", "fe80::1", "::ffff:10.0.0.1", "2606:4700::1111"):
            s = self.sandbox.socket(socket.AF_INET6)
            self.addCleanup(s.close)
            try:
                s.connect((address, 443))
                s.sendall(b"x")
                self.fail("%s: %r" % (address, s.recv(1)))
            except OSError as e:
                self.assertIn(e.errno, (errno.ECONNRESET, errno.ENETUNREACH, errno.EINVAL, errno.EPIPE), address)
        self.assertEqual({r["decision"] for r in self.gate.records(3)}, {"deny"})

    def test_B20_only_the_hosts_resolver_is_asked(self):
        resolver.answers["dead.example.com"] = "fail"
        s, code = self.connect_by_proxy(b"dead.example.com:443")
        self.assertEqual((code, set(resolver.names)), (504, {"dead.example.com"}))


class Oracle(Case):
    """N24: one record with the rule's id, and the answer, for each way to be refused or allowed by a rule."""
    rules = [rule("**.example.com", name="all"), rule("no.example.com", "deny", "kit", "kit x", name="kit:x:1")]
    hosts = {NAME: [ORIGIN], "no.example.com": [ORIGIN]}

    def test_N24_a_record_names_the_rule_and_its_origin(self):
        self.serve(lab.forever(OK), 80)
        self.assertEqual(status(self.get(b"http://no.example.com/")), 403)
        self.assertEqual(status(self.get(b"http://api.example.com/")), 200)
        self.assertEqual([(r["decision"], r["rule"], r["origin"]) for r in self.gate.records(2)],
                         [("deny", "kit:x:1", "kit x"), ("allow", "all", "user")])
        time_limit = time.monotonic() + lab.WAIT
        while self.gate.control(op="ping")["tunnels"] and time.monotonic() < time_limit:
            time.sleep(0.01)
        self.assertEqual(len(self.gate.records()), 2)


if __name__ == "__main__":
    lab.enter()
    if not os.path.exists(gate_doors.HELPER):
        lab.skip("no sbx-netns at " + gate_doors.HELPER)
    resolver = gate_doors.resolver = lab.Resolver()
    unittest.main(verbosity=2)
