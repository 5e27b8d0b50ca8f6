#!/usr/bin/env python3
"""Uploads to a real registry (docker-registry) through a relay that cuts them: they go on in the same session, and the registry has what
was sent. The same when the command is killed in between.

usage: resume.py    SBX_BIN
SBX_REGISTRY="COMMAND": another registry that serves at its argument @ and keeps things in its directory data.
"""
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from matrix_world import MIB, NOISE, SBX, SPEC, run_rows  # noqa: E402


class Relay:
    """TCP to `port`; the connection whose client sends the n-th MiB after another is cut, `cuts` times."""

    def __init__(self, port, cuts=0, every=MIB, hold=False, between=False):
        self.port, self.cuts, self.every, self.hold, self.between = port, cuts, every, hold, between
        self.sent, self.done, self.lock = 0, 0, threading.Lock()
        self.held, self.release = threading.Event(), threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.release.set()
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            over = threading.Event()
            threading.Thread(target=self.forward, args=(client, server, over), daemon=True).start()
            threading.Thread(target=self.back, args=(server, client, over), daemon=True).start()

    def cut(self, n):
        """Does a cut come behind these bytes?"""
        with self.lock:
            self.sent += n
            if self.done < self.cuts and self.sent >= (self.done + 1) * self.every:
                self.done += 1
                return True
        return False

    def forward(self, client, server, over):
        try:
            while True:
                data = client.recv(65536)
                if not data or over.is_set():
                    break
                server.sendall(data)
                if self.cut(len(data)):
                    if self.hold:
                        self.held.set()
                        self.release.wait(30)
                    break
        except OSError:
            pass
        for s in (client, server):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def back(self, server, client, over):
        try:
            while True:
                data = server.recv(65536)
                if not data:
                    break
                if self.between and b" 202 " in data[:20] and b"\r\nRange: 0-" in data and b"\r\nRange: 0-0\r\n" not in data:
                    self.done += 1  # a chunk is there
                    over.set()  # before the client knows: nothing of its next request may reach the registry
                client.sendall(data)
                if over.is_set():
                    break
        except OSError:
            pass
        try:
            client.shutdown(socket.SHUT_RDWR if self.between else socket.SHUT_WR)
        except OSError:
            pass


REGISTRY = os.environ.get("SBX_REGISTRY", "docker-registry serve registry.yml").split()


class Real:
    """A registry and a kit whose layer has so many MiB."""

    def __init__(self, row, size):
        self.row = row
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        with open(row.path("registry.yml"), "w", encoding="utf-8") as f:
            f.write("version: 0.1\nlog: { level: error, accesslog: { disabled: true } }\n"
                    f"storage: {{ filesystem: {{ rootdirectory: {row.path('data')} }} }}\nhttp: {{ addr: 127.0.0.1:{self.port} }}\n")
        self.log = open(row.path("registry.log"), "wb")
        self.process = subprocess.Popen([f"127.0.0.1:{self.port}" if x == "@" else x for x in REGISTRY], cwd=row.dir, stdout=self.log, stderr=self.log)
        for _ in range(3000):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            threading.Event().wait(0.01)  # poll interval
        os.makedirs(row.path("kit/files/home"))
        with open(row.path("kit/spec.yaml"), "wb") as f:
            f.write(SPEC)
        for i in range(size):
            with open(row.path(f"kit/files/home/{i}"), "wb") as f:
                f.write(hashlib.sha256(b"%d" % i).digest() + NOISE[i:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def push(self, relay):
        return [SBX, "--no-input", "kit", "push", "kit", f"{relay.host}/x:1"]

    def comes_back(self):
        host = f"127.0.0.1:{self.port}"
        out = self.row.run([SBX, "kit", "resolve", f"{host}/x:1"], 0, "oci://").strip()
        self.row.run([SBX, "kit", "pull", out, "back"], 0, "Pulled")
        self.row.check("what comes back", subprocess.run(["diff", "-r", "kit", "back"], cwd=self.row.dir, check=False).returncode, 0)


def cut(row, cuts):
    """Of a request that is cut docker-registry 2.8 does not tell how far it came: the blob is begun anew."""
    with Real(row, 4) as real:
        relay = Relay(real.port, cuts)
        row.run(real.push(relay), 0, "Pushed")
        row.check("cuts", relay.done, cuts)
        real.comes_back()
        row.check(f"a cut costs the bytes before it ({relay.sent})", relay.sent < (cuts + 5) * MIB)
        relay.close()


def between(row):
    """Once in one piece, which is cut, then in chunks of 8 MiB; the connection ends behind each."""
    with Real(row, 20) as real:
        relay = Relay(real.port, 1, between=True)
        row.run(real.push(relay), 0, "Pushed")
        row.check("cuts", relay.done, 4)
        real.comes_back()
        row.check(f"each byte of the chunks moves once ({relay.sent})", relay.sent < 22 * MIB)
        relay.close()


def killed(row):
    with Real(row, 4) as real:
        relay = Relay(real.port, 1, 2 * MIB, hold=True)
        with subprocess.Popen(real.push(relay), env=row.env, cwd=row.dir, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
            row.check("it is on its way", relay.held.wait(60))
            p.send_signal(signal.SIGKILL)
        relay.close()
        row.run([SBX, "kit", "resolve", f"127.0.0.1:{real.port}/x:1"], 1, "404")
        again = Relay(real.port)
        row.run(real.push(again), 0, "Pushed")
        real.comes_back()
        again.close()


rows = [("cut once", lambda r: cut(r, 1)), ("cut three times", lambda r: cut(r, 3)), ("cut between chunks", between),
        ("kill -9", killed)]

if __name__ == "__main__":
    if not shutil.which(REGISTRY[0]):
        print(f"SKIPPED: {REGISTRY[0]} is not installed")
        sys.exit(77)
    sys.exit(run_rows(rows, 3))
