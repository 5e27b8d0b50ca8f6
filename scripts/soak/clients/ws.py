"""A WebSocket client: ws.py URL [CA]; says hello, prints what comes back. Through http_proxy/https_proxy where they are set."""
import base64
import os
import socket
import ssl
import sys
import urllib.parse

url = urllib.parse.urlsplit(sys.argv[1])
secure = url.scheme == "wss"
port = url.port or (443 if secure else 80)
proxy = os.environ.get("https_proxy" if secure else "http_proxy")
if proxy:
    p = urllib.parse.urlsplit(proxy)
    s = socket.create_connection((p.hostname, p.port), 20)
    if secure:
        s.sendall(b"CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n\r\n" % (url.hostname.encode(), port))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += s.recv(1) or sys.exit("the proxy closed")
        assert answer.split()[1] == b"200", answer
else:
    s = socket.create_connection((url.hostname, port), 20)
if secure:
    s = ssl.create_default_context(cafile=sys.argv[2]).wrap_socket(s, server_hostname=url.hostname)
target = sys.argv[1].replace("ws://", "http://") if proxy and not secure else url.path
s.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: %s\r\n\r\n" % (target, url.hostname, base64.b64encode(os.urandom(16)).decode())).encode())
head = b""
while b"\r\n\r\n" not in head:
    head += s.recv(1) or sys.exit("closed: %r" % head)
assert head.split()[1] == b"101", head
mask = os.urandom(4)
s.sendall(b"\x81\x85" + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(b"hello")))
frame = b""
while len(frame) < 7:
    frame += s.recv(100) or sys.exit("closed")
print(frame[2:].decode())
