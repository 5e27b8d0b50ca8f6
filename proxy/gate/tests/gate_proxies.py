"""The gate behind a real proxy of this machine that wants a password: `tinyproxy` or `squid` as argument.

As root in namespaces of its own (lab.py); the proxy listens on an address of its own there.
"""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
from lab import OK, ORIGIN, ORIGIN2, rule, status  # noqa: E402

KIND = sys.argv.pop(1) if len(sys.argv) > 1 else "tinyproxy"
PORT = 3128
GOOD, WRONG = "Basic dXNlcjpwYXNz", "Basic dXNlcjpubw=="  # user:pass, user:no
CONNECT = b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n"
GET = b"GET http://api.example.com/x HTTP/1.1\r\nHost: api.example.com\r\n\r\n"

TINYPROXY = """Port %d
Listen %s
Timeout 60
LogFile "%s/log"
MaxClients 50
BasicAuth user pass
"""
SQUID = """http_port %s:%d
auth_param basic program /usr/lib/squid/basic_ncsa_auth %s/passwd
auth_param basic children 1 startup=1
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
cache deny all
cache_log %s/cache.log
access_log none
pid_filename none
coredump_dir %s
shutdown_lifetime 0 seconds
dns_nameservers %s
cache_effective_user proxy
"""


class Proxy:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="sbx-gate-proxy")
        os.chmod(self.dir, 0o777)
        config = os.path.join(self.dir, "conf")
        with open(config, "w") as f:
            if KIND == "squid":
                f.write(SQUID % (ORIGIN2, PORT, self.dir, self.dir, self.dir, lab.RESOLVER))
            else:
                f.write(TINYPROXY % (PORT, ORIGIN2, self.dir))
        with open(os.path.join(self.dir, "passwd"), "w") as f:
            f.write("user:{SHA}nU4eI71bcnBGqeO0t9tXvY1u5oQ=\n" if KIND != "squid" else "user:%s\n" % self.hash())
        args = ["squid", "-N", "-f", config] if KIND == "squid" else ["tinyproxy", "-d", "-c", config]
        self.process = subprocess.Popen(args, **lab.quiet())
        end = time.monotonic() + lab.WAIT
        while True:
            try:
                socket.create_connection((ORIGIN2, PORT)).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    lab.skip("%s does not start here" % KIND)
                time.sleep(0.05)

    @staticmethod
    def hash():
        return subprocess.run(["openssl", "passwd", "-apr1", "pass"], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.strip()

    def close(self):
        self.process.kill()
        self.process.wait(lab.WAIT)
        shutil.rmtree(self.dir)


class Chained(unittest.TestCase):
    def setUp(self):
        resolver.names.clear()
        resolver.answers.update({"api.example.com": [ORIGIN], "proxy.corp.example": [ORIGIN2]})
        self.servers = [lab.Server(ORIGIN, 80, lab.forever(OK)), lab.Server(ORIGIN, 443, lab.echo)]
        self.gate = None

    def start(self, authorization):
        proxy = {"host": "proxy.corp.example", "port": PORT, "authorization": authorization}
        self.gate = lab.Gate([rule("*.example.com")], upstream={"http": proxy, "https": proxy})

    def tearDown(self):
        self.assertEqual(self.gate.close(), 0)
        for s in self.servers:
            s.close()

    def test_tunnels_and_requests_pass(self):
        self.start(GOOD)
        with self.gate.connect() as s:
            s.sendall(CONNECT)
            self.assertEqual(status(lab.read_head(s)), 200)
            data = os.urandom(300000)
            s.sendall(data)
            got = b""
            while len(got) < len(data):
                got += s.recv(65536)
            self.assertEqual(got, data)
        with self.gate.connect() as s:
            for _ in range(3):
                s.sendall(GET)
                self.assertEqual(lab.read_reply(s)[1], b"ok")
        self.assertEqual({r["address"] for r in self.gate.records(4)}, {"upstream"})
        self.assertNotIn(b"Proxy-Authorization", self.servers[0].received)

    def test_a_wrong_password_and_none_are_told(self):
        for authorization in (WRONG, None):
            with self.subTest(authorization=authorization):
                if self.gate:
                    self.assertEqual(self.gate.close(), 0)
                self.start(authorization)
                self.assertEqual(status(self.gate.ask(CONNECT)), 502)
                code = status(self.gate.ask(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")))
                reasons = ["upstream-auth", "rule", "upstream-auth"]
                if code == 401:  # tinyproxy's own, which looks as if it were the server's
                    self.assertEqual((KIND, authorization), ("tinyproxy", WRONG))
                    reasons.pop()
                else:
                    self.assertEqual(code, 502)
                self.assertEqual([r["reason"] for r in self.gate.records(len(reasons))], reasons)
        self.assertEqual([s.connections for s in self.servers], [0, 0])

    def test_what_the_proxy_cannot_reach_is_told(self):
        self.start(GOOD)
        resolver.answers["down.example.com"] = ["203.0.113.99"]
        reply = self.gate.ask(b"CONNECT nowhere.example.com:443 HTTP/1.1\r\n\r\n")
        self.assertEqual(status(reply), 502)
        self.assertIn(self.gate.records(1)[0]["reason"], ("upstream-failed", "upstream-refused"))

    def test_a_client_with_its_own_proxy_settings_works(self):
        self.start(GOOD)
        out = subprocess.run(["curl", "-sS", "-m", "10", "-x", "http://%s:%d" % lab.PROXY,
                              "http://api.example.com/x"], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(out, b"ok")


if __name__ == "__main__":
    if not shutil.which(KIND):
        lab.skip("%s is not installed" % KIND)
    lab.enter()
    resolver = lab.Resolver()
    real = Proxy()
    try:
        unittest.main(verbosity=2)
    finally:
        real.close()
