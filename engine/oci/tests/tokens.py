#!/usr/bin/env python3
"""A token server for docker-registry, with signed tokens as the registry wants them.

usage: tokens.py CERTIFICATE KEY LOG    prints its port; LOG gets a line for each request: METHOD WHO SCOPES

hugo:s3cret may do all; nobody may pull what is below public/; the refresh token of hugo is "renewed".
"""
import base64
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

CERTIFICATE, KEY, LOG = sys.argv[1:4]
HUGO = "Basic " + base64.b64encode(b"hugo:s3cret").decode()
CHAIN = "".join(line for line in open(CERTIFICATE).read().splitlines() if "-----" not in line)
lock = threading.Lock()


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(who, service, scopes):
    access = []
    for scope in scopes:
        kind, name, actions = scope.split(":")
        may = actions.split(",") if who else ["pull"] if name.startswith("public/") else []
        access.append({"type": kind, "name": name, "actions": may})
    now = int(time.time())
    head = {"typ": "JWT", "alg": "RS256", "x5c": [CHAIN]}
    body = {"iss": "test", "sub": who, "aud": service, "exp": now + 300, "nbf": now - 10, "iat": now,
            "jti": str(time.monotonic_ns()), "access": access}
    signed = text(json.dumps(head).encode()) + "." + text(json.dumps(body).encode())
    mark = subprocess.run(["openssl", "dgst", "-sha256", "-sign", KEY], input=signed.encode(), stdout=subprocess.PIPE,
                          check=True).stdout
    return signed + "." + text(mark)


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        given = self.headers.get("Authorization")
        self.issue("hugo" if given == HUGO else "" if not given else None, urlsplit(self.path).query)

    def do_POST(self):
        form = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.issue("hugo" if parse_qs(form).get("refresh_token") == ["renewed"] else None, form)

    def issue(self, who, query):
        asked = parse_qs(query)
        scopes = [one for scope in asked.get("scope", []) for one in scope.split(" ") if one]
        with lock, open(LOG, "a") as f:
            f.write(f"{self.command} {'?' if who is None else who or '-'} {' '.join(scopes)}\n")
        if who is None:
            return self.answer(401, {"errors": [{"code": "UNAUTHORIZED", "message": "nobody of that name here"}]})
        made = token(who, asked["service"][0], scopes)
        return self.answer(200, {"access_token" if self.command == "POST" else "token": made, "expires_in": 300})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
