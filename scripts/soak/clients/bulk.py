"""Bytes both ways at once over one raw connection: bulk.py HOST PORT MIB; prints "whole" or what is wrong.

Greeted by the server first, as ssh does; then each side sends MIB, this one ends its half, and the server's last bytes are the digest of
what it got. Through http_proxy by CONNECT where it is set.
"""
import hashlib
import os
import socket
import sys
import threading
import urllib.parse

host, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) << 20
proxy = os.environ.get("http_proxy")
if proxy:
    p = urllib.parse.urlsplit(proxy)
    s = socket.create_connection((p.hostname, p.port), 20)
    s.sendall(b"CONNECT %s:%d HTTP/1.1\r\nHost: x\r\n\r\n" % (host.encode(), port))
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += s.recv(1) or sys.exit("the proxy closed")
    assert answer.split()[1] == b"200", answer
else:
    s = socket.create_connection((host, port), 20)
s.settimeout(60)
f = s.makefile("rb")
banner = f.readline()
assert banner == b"bulk\n", banner
s.sendall(b"%d\n" % size)
block = os.urandom(1 << 20)
sent = hashlib.sha256()


def upload():
    for _ in range(size >> 20):
        s.sendall(block)
        sent.update(block)
    s.shutdown(socket.SHUT_WR)


thread = threading.Thread(target=upload)
thread.start()
got = 0
while got < size:
    data = f.read(min(1 << 20, size - got))
    if not data:
        sys.exit("ended after %d of %d bytes" % (got, size))
    got += len(data)
thread.join()
rest = f.read()
print("whole" if rest == sent.digest() else "the server got other bytes")
