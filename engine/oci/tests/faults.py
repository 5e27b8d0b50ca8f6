#!/usr/bin/env python3
"""A registry that misbehaves on request: /v2/FAULT/REPOSITORY/... serves an OCI layout with that fault.

usage: faults.py LAYOUT LOG    prints its port, then serves; LOG gets a line for each request
"""
import base64
import os
import sys
import threading
from http.server import ThreadingHTTPServer

from answers import Answers

LAYOUT, LOG = sys.argv[1:3]
PIECE = 65536
counts, lock, elsewhere = {}, threading.Lock(), 0


def count(key):
    with lock:
        counts[key] = counts.get(key, 0) + 1
        return counts[key]


def note(text):
    with lock, open(LOG, "a") as f:
        f.write(text + "\n")


def blob(digest):
    try:
        with open(os.path.join(LAYOUT, "blobs/sha256", digest.split(":")[1]), "rb") as f:
            return f.read()
    except (OSError, IndexError):
        return None


class Handler(Answers):
    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        auth = self.headers.get("Authorization", "")
        note(f"{self.server.server_port} {self.command} {self.path} {auth.split(' ')[0] or '-'} "
             f"{self.headers.get('Range', '-')}")
        if self.path == "/v2/":
            return self.answer(200)
        if self.path.startswith("/token"):
            return self.token(auth)
        if self.server.server_port == elsewhere:
            return self.answer(200, blob(self.path.rsplit("/", 1)[1]))
        parts = self.path.split("/")
        fault, kind, ref = parts[2], parts[-2], parts[-1]
        if not self.allowed(fault, auth):
            return None
        data = blob(ref)
        if data is None:
            return self.refuse(404, "MANIFEST_UNKNOWN", "not here\x1b[31m")
        if kind == "manifests":
            return self.manifest(fault, data)
        return self.blob(fault, ref, data)

    def token(self, auth):
        want = "Basic " + base64.b64encode(b"hugo:pa:ss").decode()
        if auth != want:
            return self.refuse(401, "DENIED", "who are you")
        return self.answer(200, b'{"token":"opensesame","expires_in":300}')

    def allowed(self, fault, auth):
        here = f"http://127.0.0.1:{self.server.server_port}"
        if fault == "loop401":
            self.refuse(401, "UNAUTHORIZED", "never", WWW_Authenticate='Basic realm="x"')
        elif fault in ("token", "redirect") and auth != "Bearer opensesame":
            self.refuse(401, "UNAUTHORIZED", "token, please",
                        WWW_Authenticate=f'Bearer realm="{here}/token",service="test"')
        elif fault == "evilrealm":
            self.refuse(401, "UNAUTHORIZED", "token, please",
                        WWW_Authenticate='Bearer realm="http://evil.example.com/token",service="test"')
        elif fault == "busy" and count(self.path) <= 2:
            self.refuse(429, "TOOMANYREQUESTS", "slow down", Retry_After="0")
        elif fault == "broken" and count(self.path) <= 2:
            self.answer(502, b"<html>bad gateway</html>")
        elif fault == "down":
            self.refuse(503, "UNAVAILABLE", "closed for today", Retry_After="0")
        elif fault == "nowhere":
            self.answer(302, Location=self.path)
        elif fault == "file":
            self.answer(302, Location="file:///etc/passwd")
        else:
            return True
        return False

    def manifest(self, fault, data):
        if fault == "twisted":
            data = data.replace(b"tools", b"fools")
        self.answer(200, data, Content_Type="application/vnd.oci.image.manifest.v1+json")

    def blob(self, fault, digest, data):
        big = len(data) > PIECE
        start, status, extra = 0, 200, {}
        wanted = self.headers.get("Range", "")
        if wanted.startswith("bytes=") and fault not in ("norange", "always"):
            start, status = int(wanted[6:].rstrip("-")), 206
            extra["Content_Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if fault == "redirect":
            return self.answer(307, Location=f"http://127.0.0.1:{elsewhere}/away/{digest}")
        if fault == "flipped" and big:
            data = data[:1000] + bytes([data[1000] ^ 1]) + data[1001:]
        if fault == "short" and big:
            data = data[:-100]
        if fault == "long" and big:
            data = data + b"more"
        rest = data[start:]
        if fault in ("cut", "norange", "always") and big and len(rest) > PIECE and (
                fault != "norange" or count(self.path) == 1):
            self.answer(status, rest[:PIECE], length=len(rest), **extra)
            self.close_connection = True
            return None
        return self.answer(status, rest, **extra)


def main():
    global elsewhere
    second = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    elsewhere = second.server_port
    threading.Thread(target=second.serve_forever, daemon=True).start()
    first = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(first.server_port, flush=True)
    first.serve_forever()


main()
