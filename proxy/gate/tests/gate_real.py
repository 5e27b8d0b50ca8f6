"""The gate with the real helper, and real clients in the namespace behind it: curl, git, Python."""
import functools
import http.server
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lab  # noqa: E402
from lab import ORIGIN, ORIGIN2, rule  # noqa: E402

HELPER = os.environ.get("SBX_NETNS") or os.path.join(os.path.dirname(lab.GATE), "sbx-netns")
DENIED = 'import socket, sys\ntry:\n  s = socket.create_connection(("%s", %d), 10)\n  s.send(b"x"); s.recv(1)\n' \
         'except ConnectionResetError:\n  sys.exit(42)\n'


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        if self.path != "/events":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for i in range(10):
            self.wfile.write(b"data: %d %f\n\n" % (i, time.time()))
            time.sleep(1)
        self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Web(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def git(*args, cwd):
    env = dict(os.environ, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a",
               GIT_COMMITTER_EMAIL="a@b", GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1")
    subprocess.run(("git",) + args, cwd=cwd, env=env, check=True, **lab.quiet())


def need(program):
    return unittest.skipUnless(shutil.which(program), program + " is not installed")


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="sbx-gate-web")
        with open(os.path.join(cls.dir, "file"), "wb") as f:
            f.write(b"content\n" * 100_000)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout",
                        cls.dir + "/key", "-out", cls.dir + "/cert", "-subj", "/CN=api.example.com",
                        "-addext", "subjectAltName=DNS:api.example.com"], check=True, **lab.quiet())
        handler = functools.partial(Quiet, directory=cls.dir)
        cls.web = [Web((ORIGIN, 80), handler), Web((ORIGIN, 443), handler)]
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(cls.dir + "/cert", cls.dir + "/key")
        cls.web[1].socket = tls.wrap_socket(cls.web[1].socket, server_side=True)
        for web in cls.web:
            threading.Thread(target=web.serve_forever, daemon=True).start()
        cls.sandbox = lab.Sandbox(HELPER)
        if not cls.sandbox.status.startswith("ok"):
            lab.skip("the helper cannot work here: " + cls.sandbox.status)

    @classmethod
    def tearDownClass(cls):
        cls.sandbox.close()
        for web in cls.web:
            web.shutdown()
            web.server_close()
        shutil.rmtree(cls.dir)

    def start(self):
        gate = lab.Gate([rule("api.example.com")], {"api.example.com": [ORIGIN]},
                        netns=self.sandbox.connect())
        self.addCleanup(lambda: self.assertEqual(gate.close(), 0))
        return gate

    def setUp(self):
        self.gate = self.start()

    def run_in(self, *args, **more):
        r = self.sandbox.run(*args, **more)
        return r.returncode, r.stdout

    def last(self):
        return self.gate.records()[-1]

    @need("curl")
    def test_curl_http_and_https(self):
        code, out = self.run_in("curl", "-sS", "http://api.example.com/file")
        self.assertEqual((code, len(out)), (0, 800_000), out[:300])
        code, out = self.run_in("curl", "-sS", "--cacert", self.dir + "/cert", "https://api.example.com/file")
        self.assertEqual((code, len(out)), (0, 800_000), out[:300])
        self.assertEqual([(r["proxy"], r["port"], r["decision"]) for r in self.gate.records()],
                         [("forward", 80, "allow"), ("forward-bypass", 443, "allow")])

    @need("curl")
    def test_curl_uploads_and_reuses_its_connection(self):
        code, out = self.run_in("curl", "-sS", "--data-binary", "@" + self.dir + "/file",
                                "http://api.example.com/a", "--next", "-sS", "http://api.example.com/file",
                                "--next", "-sS", "-I", "http://api.example.com/file")
        self.assertEqual(code, 0, out[-300:])
        self.assertEqual(out.count(b"content\n"), 200_000)

    @need("curl")
    def test_curl_is_told_what_to_allow(self):
        code, out = self.run_in("curl", "-sS", "http://evil.example.com/")
        self.assertIn(b"sbx policy allow network evil.example.com:80", out)
        code, out = self.run_in("curl", "-sS", "https://evil.example.com/")
        self.assertIn(b"403", out)
        self.assertNotEqual(code, 0)

    @need("git")
    def test_git_clones_over_http_and_https_with_the_proxy_and_without(self):
        bare, work = self.dir + "/repo.git", self.dir + "/work"
        git("init", "-q", work, cwd=self.dir)
        shutil.copy(self.dir + "/file", work)
        git("add", "file", cwd=work)
        git("commit", "-qm", "x", cwd=work)
        git("clone", "-q", "--bare", work, bare, cwd=self.dir)
        git("update-server-info", cwd=bare)
        for url, proxy in (("http", True), ("https", True), ("http", False), ("https", False)):
            to = "%s/%s-%s" % (self.sandbox.dir, url, proxy)
            code, out = self.run_in("git", "-c", "http.sslCAInfo=" + self.dir + "/cert", "clone", "-q",
                                    url + "://api.example.com/repo.git", to, proxy=proxy)
            self.assertEqual(code, 0, out)
            self.assertTrue(os.path.exists(to + "/file"))

    def test_python_through_the_proxy(self):
        text = ("import ssl, urllib.request as u\n"
                "c = ssl.create_default_context(cafile='%s/cert')\n"
                "print(len(u.urlopen('http://api.example.com/file').read()),"
                " len(u.urlopen('https://api.example.com/file', context=c).read()))" % self.dir)
        code, out = self.run_in(sys.executable, "-c", text)
        self.assertEqual((code, out), (0, b"800000 800000\n"))

    def test_E17_an_event_stream_of_ten_seconds_with_the_proxy_and_without(self):
        text = ("import time, urllib.request as u\n"
                "late = [time.time() - float(x.split()[2]) for x in u.urlopen('http://api.example.com/events') if x.strip()]\n"
                "print(len(late), sum(x >= 1 for x in late))")
        out = []

        def listen(proxy):
            out.append(self.run_in(sys.executable, "-c", text, proxy=proxy))
        threads = [threading.Thread(target=listen, args=(proxy,)) for proxy in (True, False)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(out, [(0, b"10 0\n")] * 2)  # none came as late as the next one

    def test_past_the_proxy_is_reset_and_logged_with_its_destination(self):
        for address, port in ((ORIGIN2, 4443), (ORIGIN, 80), ("198.18.0.1", 22)):
            code, out = self.run_in(sys.executable, "-c", DENIED % (address, port), proxy=False)
            self.assertEqual(code, 42, out)
            r = self.last()
            self.assertEqual((r["door"], r["host"], r["port"]), ("transparent", address, port))
        code, out = self.run_in(sys.executable, "-c", DENIED % ("2001:db8::1", 443), proxy=False)
        self.assertEqual((code, self.last()["host"]), (42, "2001:db8::1"), out)

    @need("curl")
    def test_G11_curl_without_a_proxy(self):
        for url in ("http://api.example.com/file", "https://api.example.com/file"):
            code, out = self.run_in("curl", "-sS", "--cacert", self.dir + "/cert", url, proxy=False)
            self.assertEqual((code, len(out)), (0, 800_000), out[:300])
        self.assertEqual([(r["door"], r["proxy"], r["protocol"], r["port"]) for r in self.gate.records(2)],
                         [("transparent", "transparent", "http", 80), ("transparent", "transparent", "tls", 443)])
        code, out = self.run_in("curl", "-sS", "http://evil.example.com/", proxy=False)
        self.assertEqual(code, 6, out)  # the name does not resolve
        code, out = self.run_in("curl", "-sS", "-k", "--connect-to", "evil.example.com:443:api.example.com:443",
                                "https://evil.example.com/", proxy=False)
        self.assertIn(code, (35, 56), out)
        code, out = self.run_in("curl", "-sS", "http://%s/file" % ORIGIN, proxy=False)
        self.assertNotEqual(code, 0, out)

    @need("curl")
    def test_G11_no_proxy_star_changes_no_verdict(self):
        for variables in (["NO_PROXY=*", "no_proxy=*"], ["NO_PROXY=api.example.com", "no_proxy=.example.com"]):
            code, out = self.run_in("env", *variables, "curl", "-sS", "http://api.example.com/file")
            self.assertEqual((code, len(out)), (0, 800_000), out[:300])
            self.assertEqual((self.last()["door"], self.last()["decision"]), ("transparent", "allow"))
            code, out = self.run_in("env", *variables, "curl", "-sS", "http://evil.example.com/")
            self.assertNotEqual(code, 0, out)
            self.assertEqual((self.last()["decision"], self.last()["host"]), ("deny", "evil.example.com"))

    @need("getent")
    def test_getent_and_AI_ADDRCONFIG(self):
        code, out = self.run_in("getent", "ahosts", "api.example.com", proxy=False)
        self.assertEqual((code, out[:7]), (0, b"198.19."), out)
        text = ("import socket as s\n"
                "print(s.getaddrinfo('api.example.com', 443, 0, s.SOCK_STREAM, 0, s.AI_ADDRCONFIG)[0][4][0])")
        code, out = self.run_in(sys.executable, "-c", text, proxy=False)
        self.assertEqual((code, out[:7]), (0, b"198.19."), out)
        code, out = self.run_in("getent", "ahosts", "evil.example.com", proxy=False)
        self.assertEqual((code, out), (2, b""))
        self.assertEqual({r["host"] for r in self.gate.records()}, {"evil.example.com"})

    def test_python_without_a_proxy(self):
        text = ("import ssl, urllib.request as u\n"
                "c = ssl.create_default_context(cafile='%s/cert')\n"
                "print(len(u.urlopen('http://api.example.com/file').read()),"
                " len(u.urlopen('https://api.example.com/file', context=c).read()))" % self.dir)
        code, out = self.run_in(sys.executable, "-c", text, proxy=False)
        self.assertEqual((code, out), (0, b"800000 800000\n"))

    @need("bash")
    def test_bash_without_a_proxy(self):
        text = 'exec 3<>/dev/tcp/api.example.com/80; printf "GET /file HTTP/1.0\\r\\n\\r\\n" >&3; wc -c <&3'
        code, out = self.run_in("bash", "-c", text, proxy=False)
        self.assertEqual(code, 0, out)
        self.assertGreater(int(out), 800_000)

    @need("openssl")
    def test_openssl_without_a_proxy(self):
        base = ("openssl", "s_client", "-verify_return_error", "-CAfile", self.dir + "/cert", "-connect",
                "api.example.com:443")
        code, out = self.run_in(*base, proxy=False)
        self.assertEqual(code, 0, out)
        self.assertIn(b"Verify return code: 0", out)
        code, out = self.run_in(*base, "-noservername", proxy=False)
        self.assertNotEqual(code, 0, out)
        self.assertEqual(self.gate.records(2)[1]["reason"], "no-server-name")

    @need("wget")
    def test_wget_without_a_proxy(self):
        code, out = self.run_in("wget", "-q", "-O", "/dev/null", "http://api.example.com/file", proxy=False)
        self.assertEqual(code, 0, out)

    def test_a_dead_gate_fails_closed_and_the_next_one_serves(self):
        self.gate.kill()
        text = "import socket, sys\ntry:\n  s = socket.create_connection(('198.18.0.1', 3128), 5)\n" \
               "  s.send(b'x'); sys.exit(0 if s.recv(1) else 42)\nexcept OSError:\n  sys.exit(42)"
        code, out = self.run_in(sys.executable, "-c", text)
        self.assertEqual(code, 42, out)
        self.gate = self.start()
        code, out = self.run_in(sys.executable, "-c",
                                "import urllib.request as u\n"
                                "print(len(u.urlopen('http://api.example.com/file').read()))")
        self.assertEqual((code, out), (0, b"800000\n"))


if __name__ == "__main__":
    lab.enter()
    if not os.path.exists(HELPER):
        lab.skip("no sbx-netns at " + HELPER)
    resolver = lab.Resolver()
    unittest.main(verbosity=2)
