#!/usr/bin/env python3
"""Servers for real clients: files over HTTP and HTTPS, POST echo, event streams, WebSockets, bytes both ways.

usage: origin.py DIRECTORY CERTIFICATE KEY      on ports 80, 443 and 9000 of every address; prints "ready"

/events?N sends one event a second, N times; /ws is a WebSocket that sends text back; PUT and POST answer with what they got;
everything else is a file of DIRECTORY (a folder's index.html; an encoded slash is one, as in an npm registry).
"""
import base64
import hashlib
import http.server
import os
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse

root, certificate, key = sys.argv[1:4]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, data, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def do_POST(self):
        self.reply(200, self.body())
    do_PUT = do_POST

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/events":
            self.events(int(query))
        elif path == "/ws":
            self.websocket()
        else:
            self.file(urllib.parse.unquote(path))
    do_HEAD = do_GET

    def file(self, path):
        name = os.path.normpath(root + "/" + path)
        if os.path.isdir(name):
            name += "/index.html"
        if not name.startswith(root) or not os.path.exists(name):
            self.reply(404, b"no such file\n")
            return
        with open(name, "rb") as f:
            data = f.read()
        kind = {"html": "text/html", "json": "application/json"}.get(name.rsplit(".", 1)[-1], "application/octet-stream")
        self.reply(200, data, kind)

    def events(self, n):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for i in range(n):
            data = b"data: %d %f\n\n" % (i, time.time())
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            time.sleep(1)
        self.wfile.write(b"0\r\n\r\n")

    def websocket(self):
        accept = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.end_headers()
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return
            size = head[1] & 127
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(size)))
            self.wfile.write(bytes([0x81, len(data)]) + data)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 128


class TlsServer(Server):
    """The handshake is the connection's own thread's: a client that stalls in it holds nobody up."""

    def finish_request(self, request, client_address):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        try:
            request = context.wrap_socket(request, server_side=True)
        except OSError:
            return
        Handler(request, client_address, self)


class Bulk(socketserver.StreamRequestHandler):
    """The other end of bulk.py: greets, is told how much, sends that while it reads, then says what it read."""

    def handle(self):
        self.wfile.write(b"bulk\n")
        line = self.rfile.readline()
        if not line:
            return
        sender = threading.Thread(target=self.send, args=(int(line),))
        sender.start()
        digest = hashlib.sha256()
        while data := self.rfile.read1(1 << 20):
            digest.update(data)
        sender.join()
        self.wfile.write(digest.digest())

    def send(self, size):
        block = bytes(1 << 20)
        for _ in range(size >> 20):
            self.wfile.write(block)


threading.Thread(target=Server(("0.0.0.0", 9000), Bulk).serve_forever, daemon=True).start()
threading.Thread(target=Server(("0.0.0.0", 80), Handler).serve_forever, daemon=True).start()
tls = TlsServer(("0.0.0.0", 443), Handler)
print("ready", flush=True)
tls.serve_forever()
