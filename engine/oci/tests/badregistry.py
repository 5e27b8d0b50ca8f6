"""A registry in memory that reads and writes, and misbehaves at one place as its test says. For matrix.py."""
import base64
import hashlib
import re
import ssl
import threading
import time
from email.utils import formatdate
from http.server import ThreadingHTTPServer

from answers import Answers

LOGIN = "Basic " + base64.b64encode(b"hugo:s3cret").decode()
ERRORS = {401: "UNAUTHORIZED", 404: "MANIFEST_UNKNOWN", 429: "TOOMANYREQUESTS", 500: "UNKNOWN", 503: "UNAVAILABLE",
          400: "DIGEST_INVALID", 403: "DENIED", 416: "BLOB_UPLOAD_INVALID"}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass  # a client that was killed


class Registry:
    """blobs: digest -> bytes; manifests: reference -> (type, bytes). `fault` may be set between commands."""

    def __init__(self, certificate=None, away=None):
        """`certificate`: (file, key) of this registry, `away`: of where it redirects to; None: no TLS."""
        self.blobs, self.manifests, self.sessions = {}, {}, {}
        self.place = self.fault = None  # a digest, or "manifest"; a tuple: name and what it needs
        self.hook = None  # sees each request first: hook(handler) -> True, it was answered
        self.date, self.early = 0, 0  # when Retry-After allows the next request, and requests before that
        self.moved, self.asked, self.log = {}, {}, []  # digest -> body bytes; place -> requests; lines
        self.lock = threading.Lock()
        self.patience = 30  # seconds of a stall, at most
        self.stalled, self.release = threading.Event(), threading.Event()
        self.server = Server(("127.0.0.1", 0), self.handler())
        self.elsewhere = Server(("127.0.0.1", 0), self.handler())
        for server, files in ((self.server, certificate), (self.elsewhere, away)):
            if files:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(*files)
                server.socket = context.wrap_socket(server.socket, server_side=True)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.other = f"127.0.0.1:{self.elsewhere.server_port}"
        for s in (self.server, self.elsewhere):
            threading.Thread(target=s.serve_forever, daemon=True, args=(0.05,)).start()

    def close(self):
        self.release.set()
        for s in (self.server, self.elsewhere):
            s.shutdown()
            s.server_close()

    def misbehave(self, place, *fault):
        self.place, self.fault = place, fault
        self.forget()

    def behave(self):
        self.place = self.fault = self.hook = None
        self.release.set()

    def forget(self):
        self.moved, self.asked, self.log = {}, {}, []

    def first(self, place):
        """Cuts and stalls come once."""
        return self.count(self.asked, place) == 1

    def count(self, table, key, n=1):
        with self.lock:
            table[key] = table.get(key, 0) + n
            return table[key]

    def handler(self):
        registry = self

        class Bound(Handler):
            reg = registry
        return Bound


class Handler(Answers):
    reg = None

    def refuse(self, status, message, **headers):  # pylint: disable=arguments-differ # the code follows from the status
        self.drain()
        super().refuse(status, ERRORS[status], message, **headers)

    def drain(self):
        left = self.left
        while left:
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                break
            left -= len(piece)
        self.left = 0

    def raw(self, data):
        """An answer byte by byte, and no other one on this connection."""
        self.drain()
        self.wfile.write(data)
        self.close_connection = True

    def cut(self):
        self.close_connection = True
        try:
            self.connection.shutdown(2)
        except OSError:
            pass

    # --- a fault before anything else. True: the request was answered
    def faulty(self, place):
        reg, fault = self.reg, self.reg.fault
        if not fault or reg.place != place or self.away or fault[0] in ("cut", "cuts", "kill", "flip", "short", "long", "slow"):
            return False
        kind, n = fault[0], reg.count(reg.asked, place)
        auth = self.headers.get("Authorization", "")
        if kind == "401":
            self.refuse(401, "never", WWW_Authenticate='Basic realm="x"')
        elif kind == "evilrealm":
            self.refuse(401, "token, please", WWW_Authenticate='Bearer realm="http://evil.example.com/t"')
        elif kind in ("429", "500") and n <= 2:
            self.refuse(int(kind), "a little later", Retry_After="0")
        elif kind == "429date" and n <= 2:
            reg.early += time.time() < reg.date
            reg.date = int(time.time()) + 2
            self.refuse(429, "at a time", Retry_After=formatdate(reg.date, usegmt=True))
        elif kind == "429long":
            self.refuse(429, "too often", Retry_After=fault[1])
        elif kind == "503":
            self.refuse(503, "closed for today", Retry_After="0")
        elif kind == "elsewhere" and auth:
            self.drain()
            self.answer(307, Location=f"http://{reg.other}{self.path}")
        elif kind == "away":  # fault[1] is the scheme
            self.drain()
            self.answer(307, Location=f"{fault[1]}://{reg.other}{self.path}")
        elif kind == "realm":
            self.refuse(401, "token, please", WWW_Authenticate=f'Bearer realm="{fault[1]}://{reg.other}/token"')
        elif kind == "loop":
            self.drain()
            self.answer(307, Location=self.path)
        else:
            return False
        return True

    def handle_one(self):
        reg = self.reg
        self.away = self.server is reg.elsewhere
        self.left = int(self.headers.get("Content-Length") or 0)
        auth = self.headers.get("Authorization", "")
        reg.log.append(f"{'away' if self.away else 'home'} {self.command} {self.path} {auth.split(' ')[0] or '-'}")
        if reg.hook and reg.hook(self):
            return None
        if self.path == "/v2/":
            return self.answer(200)
        if not self.away and auth != LOGIN and reg.fault and reg.fault[0] == "elsewhere":
            return self.refuse(401, "log in", WWW_Authenticate='Basic realm="x"')
        m = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/([^?]+)(?:\?(.*))?", self.path)
        if not m:
            return self.refuse(404, "no such address")
        _, kind, ref, query = m.groups()
        if kind == "manifests":
            return self.put_manifest(ref) if self.command == "PUT" else self.get_manifest(ref)
        if ref.startswith("uploads/"):
            return self.upload(ref[8:], query or "")
        return self.get_blob(ref)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    # --- manifests
    def get_manifest(self, ref):
        reg = self.reg
        if ref not in reg.manifests:
            return self.refuse(404, "not here")
        kind, data = reg.manifests[ref]
        here = reg.place == "manifest" and kind.endswith("manifest.v1+json")
        if here and self.faulty("manifest"):
            return None
        if here and reg.fault and reg.fault[0] == "flip":
            data = data[:20] + bytes([data[20] ^ 1]) + data[21:]
        if here and reg.fault and reg.fault[0] in ("cut", "short", "kill"):
            return self.broken(data, "manifest", reg.fault, {"Content_Type": kind})
        return self.answer(200, data, Content_Type=kind,
                           Docker_Content_Digest="sha256:" + hashlib.sha256(data).hexdigest())

    def put_manifest(self, ref):
        reg = self.reg
        if reg.place == "manifest" and self.faulty("manifest"):
            return None
        if reg.place == "manifest" and reg.fault and reg.fault[0] in ("cut", "kill"):
            if reg.first("manifest"):
                self.rfile.read(min(self.left, 100))
                return self.stall() if reg.fault[0] == "kill" else self.cut()
        data = self.rfile.read(self.left)
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        if reg.place == "manifest" and reg.fault and reg.fault[0] == "flip":
            return self.answer(201, Location="/x", Docker_Content_Digest="sha256:" + "0" * 64)
        reg.manifests[ref] = reg.manifests[digest] = (self.headers["Content-Type"], data)
        return self.answer(201, Location=f"/v2/x/manifests/{digest}", Docker_Content_Digest=digest)

    # --- blobs
    def get_blob(self, digest):
        reg = self.reg
        if digest not in reg.blobs:
            return self.refuse(404, "no such blob")
        if self.command != "HEAD" and self.faulty(digest):
            return None
        data, fault = reg.blobs[digest], reg.fault if reg.place == digest else None
        if self.command == "HEAD" or not fault or fault[0] not in ("cut", "cuts", "flip", "short", "long", "kill", "slow"):
            return self.send(data, digest)
        return self.broken(data, digest, fault, {})

    def send(self, data, digest, status=200, length=None, **headers):
        wanted, start = self.headers.get("Range", ""), 0
        if wanted.startswith("bytes=") and self.command != "HEAD":
            start, status = int(wanted[6:].rstrip("-")), 206
            headers["Content_Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        rest = data[start:]
        if self.command != "HEAD":
            self.reg.count(self.reg.moved, digest, len(rest))
        return self.answer(status, rest, None if length is None else length - start, **headers)

    def broken(self, data, place, fault, headers):
        reg = self.reg
        if fault[0] == "flip":
            return self.send(data[:9] + bytes([data[9] ^ 1]) + data[10:], place, **headers)
        if fault[0] == "short":
            return self.send(data[:-10], place, **headers)
        if fault[0] == "long":
            return self.send(data + b"more", place, **headers)
        if fault[0] == "slow":
            return self.slow(data)
        if fault[0] == "cuts":  # each answer, until the rest is short
            return self.piece(data, place, fault[1])
        if reg.first(place):  # cut and kill: behind so many bytes
            at = min(fault[1], len(data) // 2 if len(data) < 65536 else len(data))
            reg.count(reg.moved, place, at)
            self.answer(200, data[:at], len(data), **headers)
            self.wfile.flush()
            return self.stall() if fault[0] == "kill" else self.cut()
        return self.send(data, place, **headers)

    def slow(self, data):
        """A line of 3 MB/s, so that there is something to see on the way."""
        self.answer(200, b"", len(data))
        for at in range(0, len(data), 65536):
            time.sleep(0.02)
            self.wfile.write(data[at:at + 65536])

    def piece(self, data, place, n):
        reg, wanted = self.reg, self.headers.get("Range", "")
        start = int(wanted[6:].rstrip("-")) if wanted else 0
        reg.count(reg.asked, place)
        if len(data) - start <= n:
            return self.send(data, place)
        reg.count(reg.moved, place, n)
        extra = {"Content_Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if wanted else {}
        self.answer(206 if wanted else 200, data[start:start + n], len(data) - start, **extra)
        self.wfile.flush()
        return self.cut()

    def stall(self):
        self.reg.stalled.set()
        self.reg.release.wait(self.reg.patience)
        self.cut()

    def upload(self, name, query):
        reg = self.reg
        if self.command == "POST":
            self.drain()
            name = str(len(reg.sessions) + 1)
            reg.sessions[name] = {"data": b"", "digest": None}
            return self.answer(202, Location=f"/v2/x/blobs/uploads/{name}", Range="0-0")
        session = reg.sessions[name]
        where = {"Location": f"/v2/x/blobs/uploads/{name}"}
        if self.command == "GET":
            return self.answer(204, Range=f"0-{max(len(session['data']) - 1, 0)}", **where)
        if self.command == "DELETE":
            return self.answer(204)
        m = re.search(r"digest=(sha256:[0-9a-f]+)", query)
        session["digest"] = m.group(1) if m else session["digest"]
        place = session["digest"]
        if self.faulty(place):
            return None
        fault = reg.fault if reg.place == place and not self.away else None
        if fault and fault[0] in ("cut", "kill") and reg.first(place):
            self.take(session, min(fault[1], self.left // 2 if self.left < 65536 else self.left))
            return self.stall() if fault[0] == "kill" else self.cut()
        if fault and fault[0] == "cuts":
            reg.count(reg.asked, place)
            if self.left > fault[1]:
                self.take(session, fault[1])
                return self.cut()
        begin = self.headers.get("Content-Range", "").split("-")[0]
        if begin and int(begin) != len(session["data"]):
            self.drain()
            return self.answer(416, Range=f"0-{len(session['data']) - 1}", **where)
        self.take(session, self.left)
        if self.command == "PATCH":
            return self.answer(202, Range=f"0-{len(session['data']) - 1}", **where)
        digest = "sha256:" + hashlib.sha256(session["data"]).hexdigest()
        if digest != place or (fault and fault[0] == "flip"):
            return self.refuse(400, "provided digest did not match uploaded content")
        reg.blobs[digest] = session["data"]
        return self.answer(201, Location=f"/v2/x/blobs/{digest}", Docker_Content_Digest=digest)

    def take(self, session, n):
        data = b""
        while len(data) < n:
            piece = self.rfile.read1(n - len(data))
            if not piece:
                break
            data += piece
        self.left -= len(data)
        session["data"] += data
        if session["digest"]:
            self.reg.count(self.reg.moved, session["digest"], len(data))
