#!/usr/bin/env python3
"""git over http by git's own http-backend, and what else servers do.

usage: server.py ROOT LOG [CERTIFICATE KEY]    prints its port (and that of TLS); LOG gets a line for each request

/private/...  wants hugo:s3cret      /moved/...  is at /...      /away/...  is on another host, which wants a log-in
/error/...    403 with a text                    /cut/...    the reply with objects ends in its middle
"""
import base64
import os
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT, LOG = sys.argv[1:3]
WANT = "Basic " + base64.b64encode(b"hugo:s3cret").decode()
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def empty(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        given = self.headers.get("Authorization")
        with lock, open(LOG, "a") as f:
            f.write(f"{self.command} {self.headers.get('Host')} {self.path} {'log-in' if given else '-'}\n")
        _, kind, rest = (self.path + "/").split("/", 2)
        rest = "/" + rest.rstrip("/")
        if kind == "moved":
            return self.empty(301, Location=rest)
        if kind == "away":
            return self.empty(302, Location=f"http://localhost:{self.server.server_port}/private{rest}")
        if kind == "error":
            return self.empty(403)
        if kind == "private":
            if given != WANT:
                return self.empty(401, WWW_Authenticate='Basic realm="test"')
            return self.serve(rest)
        if kind == "cut":
            return self.serve(rest, self.command == "POST")
        return self.serve(self.path)

    def serve(self, path, cut=False):
        path, _, query = path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = {**os.environ, "GIT_PROJECT_ROOT": ROOT, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
               "QUERY_STRING": query, "REQUEST_METHOD": self.command,
               "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", "")}
        out = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        lines = [h.split(": ", 1) for h in head.decode().split("\r\n")]
        status = dict(lines).get("Status", "200").split()[0]
        self.send_response(int(status))
        for name, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[:len(rest) // 2] if cut else rest)
        self.close_connection = self.close_connection or cut

    do_POST = do_GET


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
ports = [server.server_port]
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    secure = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    threading.Thread(target=secure.serve_forever, daemon=True).start()
    ports.append(secure.server_port)
print(*ports, flush=True)
server.serve_forever()
