"""A laboratory for the gate: own network and mount namespace, recording servers, a fake helper.

The gate runs as an unprivileged uid, as in real use; its doors are ordinary listeners on 198.18.0.1.
Everything is Python's standard library. Needs root for the namespaces.
"""
import array
import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

GATE = os.environ.get("SBX_GATE") or os.path.join(
    os.path.dirname(os.environ.get("SBX_BIN", "build/release/bin/sbx")), "../libexec/sbx/sbx-gate")
HELPER = os.environ.get("SBX_NETNS") or os.path.join(os.path.dirname(GATE), "sbx-netns")
UID = 64997  # nobody's: never 0, never 1000
ORIGIN, ORIGIN2, RESOLVER, PRIVATE = "203.0.113.10", "203.0.113.11", "203.0.113.53", "10.9.9.9"
PROXY = ("198.18.0.1", 3128)
WAIT = 20  # seconds until a test gives up on something that must happen

_libc = ctypes.CDLL(None, use_errno=True)


def skip(why):
    print("SKIP: " + why, flush=True)
    sys.exit(77)


def _check(rc, what):
    if rc:
        skip("%s: %s" % (what, os.strerror(ctypes.get_errno())))


def _add_address(index, address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    name = b"lo:%d" % index

    def ifreq(value):
        return struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(value))
    fcntl.ioctl(s, 0x8916, ifreq(address))            # SIOCSIFADDR
    fcntl.ioctl(s, 0x891C, ifreq("255.255.255.255"))  # SIOCSIFNETMASK
    s.close()


def enter():
    """Leave the host's network: only lo, with the addresses of the tests; a resolver of our own."""
    if os.geteuid() != 0:
        skip("the gate's end-to-end tests need root (namespaces)")
    _check(_libc.unshare(0x40000000 | 0x00020000), "unshare(NEWNET|NEWNS)")
    _check(_libc.mount(b"none", b"/", None, (1 << 18) | (1 << 14), None), "mount private")
    conf = tempfile.NamedTemporaryFile("w", prefix="sbx-resolv", delete=False)
    conf.write("nameserver %s\noptions timeout:2 attempts:2\n" % RESOLVER)
    conf.close()
    os.chmod(conf.name, 0o644)
    target = os.path.realpath("/etc/resolv.conf").encode()
    _check(_libc.mount(conf.name.encode(), target, None, 1 << 12, None), "mount resolv.conf")
    os.unlink(conf.name)
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x49))  # SIOCSIFFLAGS: up, running
    s.close()
    for i, address in enumerate((PROXY[0], ORIGIN, ORIGIN2, RESOLVER, PRIVATE)):
        _add_address(i + 1, address)


def enter_netns(fd):
    """For a child before it becomes another program."""
    if _libc.setns(fd, 0x40000000):
        os._exit(99)


def use_up_inotify(uid):
    """Hold all inotify instances of a user; returns what ends that."""
    ready, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
        while _libc.inotify_init1(0) >= 0:
            pass
        os.write(told, b"x")
        while True:
            signal.pause()
    os.close(told)
    os.read(ready, 1)
    os.close(ready)

    def end():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return end


def quiet():
    return {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Sandbox:
    """A network namespace with the real helper in it."""

    def __init__(self, program):
        self.dir = tempfile.mkdtemp(prefix="sbx-gate-netns")
        self.path = os.path.join(self.dir, "netns.sock")
        self.resolv_conf = os.path.join(self.dir, "resolv.conf")
        with open(self.resolv_conf, "w") as f:
            f.write("nameserver %s\n" % PROXY[0])
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.path)
        listener.listen(8)
        status_r, status_w = os.pipe()
        self.process = subprocess.Popen(
            [program, "--mode", "create", "--socket-fd", str(listener.fileno()),
             "--status-fd", str(status_w)], pass_fds=(listener.fileno(), status_w), **quiet())
        os.close(status_w)
        listener.close()
        with os.fdopen(status_r) as f:
            self.status = f.read()
        self.netns = os.open("/proc/%d/ns/net" % self.process.pid, os.O_RDONLY)

    def connect(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(self.path)
        return s

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, proto=0):
        """A socket as one made inside: it stays in the namespace of the thread that made it."""
        made = []

        def make():
            if not _libc.setns(self.netns, 0x40000000):
                made.append(socket.socket(family, kind, proto))
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        made[0].settimeout(WAIT)
        return made[0]

    def _enter(self):
        """In the child: the namespace, and the resolver that a sandbox has."""
        target = os.path.realpath("/etc/resolv.conf").encode()
        if _libc.setns(self.netns, 0x40000000) or _libc.unshare(0x00020000) or \
                _libc.umount2(target, 2) or _libc.mount(self.resolv_conf.encode(), target, None, 1 << 12, None):
            os._exit(99)

    def run(self, *args, proxy=True, **more):
        """Run a program inside, as a sandbox would."""
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.dir,
               "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
        if proxy:
            url = "http://%s:%d" % PROXY
            env.update(http_proxy=url, https_proxy=url, HTTP_PROXY=url, HTTPS_PROXY=url)
        return subprocess.run(args, preexec_fn=self._enter, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WAIT, **more)

    def close(self):
        self.process.terminate()
        self.process.wait(WAIT)
        os.close(self.netns)
        subprocess.run(["rm", "-rf", self.dir], check=True)


class Server:
    """A TCP server that keeps all it received; `behave(conn, server)` answers each connection."""

    def __init__(self, address, port, behave):
        self.behave, self.received, self.connections = behave, b"", 0
        self.lock = threading.Lock()
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.sock.bind((address, port))
        self.sock.listen(4096)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        conn.settimeout(WAIT)
        try:
            self.behave(conn, self)
        except OSError:
            pass
        finally:
            conn.close()

    def read(self, conn, n=65536):
        data = conn.recv(n)
        with self.lock:
            self.received += data
        return data

    def head(self, conn):
        """Read up to the end of a request head; what came behind it is returned too."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = self.read(conn)
            if not more:
                break
            data += more
        return data

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.sock.close()


def replies(*answers):
    """Answer the requests of a connection one after another with these bytes, then close."""
    def behave(conn, server):
        for answer in answers:
            if not server.head(conn):
                return
            conn.sendall(answer)
    return behave


def forever(answer):
    def behave(conn, server):
        while server.head(conn):
            conn.sendall(answer)
    return behave


def echo(conn, server):
    while True:
        data = server.read(conn)
        if not data:
            return
        conn.sendall(data)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Resolver:
    """A DNS server that keeps the names it was asked for. answers: name -> addresses, "fail", None."""

    def __init__(self):
        self.names, self.answers = [], {}
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((RESOLVER, 53))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                msg, peer = self.sock.recvfrom(2048)
            except OSError:
                return
            labels, at = [], 12
            while msg[at]:
                labels.append(msg[at + 1:at + 1 + msg[at]].decode("latin-1"))
                at += 1 + msg[at]
            name, kind = ".".join(labels), struct.unpack(">H", msg[at + 1:at + 3])[0]
            self.names.append(name)
            answer = self.answers.get(name, [])
            if answer is None:
                continue
            found = [] if answer == "fail" else [
                a for a in answer if (":" in a) == (kind == 28) and kind in (1, 28)]
            code = 2 if answer == "fail" else 0 if name in self.answers else 3
            out = msg[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
            out += msg[12:at + 5]
            for a in found:
                raw = socket.inet_pton(socket.AF_INET6 if ":" in a else socket.AF_INET, a)
                out += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 1, len(raw)) + raw
            self.sock.sendto(out, peer)

    def close(self):
        self.sock.close()


def rule(pattern, decision="allow", source="user", origin="user", consented=False, name=None):
    return {"id": name or "%s:%s:%s" % (source, decision, pattern), "decision": decision,
            "pattern": pattern, "source": source, "origin": origin, "consented": consented}


class Gate:
    """A running gate with a fake helper."""

    def __init__(self, rules=(), hosts=None, limits=None, expect="ok", text=None, uid=UID,
                 generation=1, wait=True, netns=None, names=None, fresh=False, log=None, log_text="", ca=None,
                 more=None, upstream=None, learn=None):
        self.dir = tempfile.mkdtemp(prefix="sbx-gate-test")
        os.chmod(self.dir, 0o755)
        self.config_dir = os.path.join(self.dir, "state", "gate")
        self.generation, self.hosts, self.limits, self.learn = generation, hosts or {}, limits, learn
        self.ca, self.more = ca, more or {}  # more: further keys of gate.json
        self.write(rules, text=text)
        self.log_dir = None if log else os.path.join(self.dir, "log")
        self.log_path = log or os.path.join(self.log_dir, "log.jsonl")
        if self.log_dir:
            os.mkdir(self.log_dir, 0o700)
            os.chown(self.log_dir, uid, uid)
            with open(self.log_path, "w") as f:
                f.write(log_text)
            os.chown(self.log_path, uid, uid)
        self.map_path = os.path.join(self.dir, "addresses")
        self.listeners, self.code, self.upstream = [], None, upstream
        if names is not None:
            with open(self.map_path, "w") as f:
                f.write(names)
        self._start(uid, netns, fresh)
        self.status = self._status(expect) if wait else None

    def write(self, rules, text=None, generation=None):
        config = {"version": 1, "sandbox": "demo", "rules": list(rules), "hosts": self.hosts,
                  "generation": self.generation if generation is None else generation,
                  "publicTestRanges": ["203.0.113.0/24"], "upstream": None}
        if self.limits:
            config["limits"] = self.limits
        if self.learn is not None:
            config["learn"] = self.learn
        config.update(self.more)
        os.makedirs(self.config_dir, exist_ok=True)
        os.chmod(self.dir + "/state", 0o700)  # as in real use: only a descriptor leads there
        path = os.path.join(self.config_dir, "gate.json")
        with open(path + ".new", "w") as f:
            f.write(json.dumps(config) if text is None else text)
        os.rename(path + ".new", path)

    def _listen(self, kind, address, port):
        s = socket.socket(socket.AF_INET, kind)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((address, port))
        if kind == socket.SOCK_STREAM:
            s.listen(4096)
        self.listeners.append(s)

    def _helper(self):
        while True:
            try:
                msg = self.helper.recv(256)
            except OSError:
                return
            if msg != b"doors":
                return
            fds = array.array("i", [s.fileno() for s in self.listeners])
            self.helper.sendmsg([b"ok tcp4 tcp4 tcp4 udp4"],
                                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])

    def _fake_helper(self):
        self._listen(socket.SOCK_STREAM, *PROXY)
        self._listen(socket.SOCK_STREAM, PROXY[0], 53)
        self._listen(socket.SOCK_STREAM, ORIGIN2, 4443)  # stands for a transparent destination
        self._listen(socket.SOCK_DGRAM, PROXY[0], 53)
        self.helper, netns = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        threading.Thread(target=self._helper, daemon=True).start()
        return netns

    def _start(self, uid, netns, fresh):
        if netns is None:
            netns = self._fake_helper()
        else:
            self.helper = netns
        self.control_path = os.path.join(self.dir, "gate.sock")
        control = socket.socket(socket.AF_UNIX)
        control.bind(self.control_path)
        control.listen(8)
        status_r, status_w = os.pipe()
        self.ended_path = os.path.join(self.dir, "ended")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        fds = {"config-dir-fd": os.open(self.config_dir, os.O_RDONLY),
               "log-fd": os.open(self.log_path, flags),
               "map-fd": os.open(self.map_path, os.O_RDWR | os.O_CREAT | os.O_APPEND), "netns-fd": netns.fileno(),
               "control-fd": control.fileno(), "status-fd": status_w,
               "ended-fd": os.open(self.ended_path, flags)}
        if self.upstream is not None:
            fds["upstream-fd"] = os.memfd_create("upstream")
            os.write(fds["upstream-fd"], json.dumps(self.upstream).encode())
            os.lseek(fds["upstream-fd"], 0, os.SEEK_SET)
        if self.log_dir:
            fds["log-dir-fd"] = os.open(self.log_dir, os.O_RDONLY)
        self.watched = subprocess.Popen(["sleep", "1000"], **quiet())
        fds["pidfd"] = os.pidfd_open(self.watched.pid)
        if self.ca:
            fds["ca-cert-fd"] = os.open(self.ca + ".crt", os.O_RDONLY)
            fds["ca-key-fd"] = os.open(self.ca + ".key", os.O_RDONLY)
        program = os.path.join(self.dir, "sbx-gate")  # the build tree may be closed to others
        shutil.copy(GATE, program)
        args = [program]
        for name, fd in fds.items():
            args += ["--" + name, str(fd)]
        if fresh:
            args.append("--fresh")
        self.errors = tempfile.TemporaryFile()  # what a sanitizer says; never the test's own pipes
        self.process = subprocess.Popen(args, pass_fds=fds.values(), env={}, user=uid, group=uid,
                                        extra_groups=[], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=self.errors)
        for name, fd in fds.items():
            if name not in ("netns-fd", "control-fd"):
                os.close(fd)
        if netns is not self.helper:
            netns.close()
        control.close()
        self.status_r = status_r

    def _status(self, expect):
        with os.fdopen(self.status_r) as f:
            text = f.read()
        assert text.startswith(expect), text
        return text

    def records(self, n=None, event=None):
        """The decisions in the log, or its events ("close", "start", "end"); waits until there are n."""
        end = time.monotonic() + WAIT
        while True:
            with open(self.log_path, "rb") as f:
                whole = f.read().rpartition(b"\n")[0] # a record may be half there while it is written
            lines = whole.decode("utf-8", "strict").splitlines()
            found = [r for r in map(json.loads, lines) if r.get("event") == event]
            if n is None or len(found) >= n or time.monotonic() > end:
                return found
            time.sleep(0.01)

    def control(self, fds=(), **request):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(WAIT)
            s.connect(self.control_path)
            passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            s.sendmsg([json.dumps(request).encode() + b"\n"], passed)
            return json.loads(s.makefile().readline())

    def ended(self):
        with open(self.ended_path) as f:
            return f.read()

    def connect(self, address=PROXY):
        s = socket.create_connection(address, timeout=WAIT)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def ask(self, data, half_close=False):
        """Send bytes to the proxy door and read until it closes."""
        with self.connect() as s:
            try:
                s.sendall(data)
                if half_close:
                    s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            return read_all(s)

    def kill(self):
        """End it as a crash would; close() is content with that."""
        self.process.kill()
        self.process.wait(WAIT)
        self._release()
        self.code = 0

    def _release(self):
        self.errors.close()
        self.watched.kill()
        self.watched.wait()
        self.helper.close()
        for s in self.listeners:
            s.close()
        subprocess.run(["rm", "-rf", self.dir], check=True)

    def close(self):
        if self.code is not None:
            return self.code
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "did not end"
        self.errors.seek(0)
        sys.stderr.write(self.errors.read().decode("utf-8", "replace"))
        self._release()
        self.code = code
        return code


def read_file(path):
    with open(path, "rb") as f:
        return f.read()


def read_all(s):
    data = b""
    while True:
        try:
            more = s.recv(65536)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


def read_head(s):
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(1)
        if not more:
            break
        data += more
    return data


def read_reply(s):
    """One reply with Content-Length."""
    head = read_head(s)
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    body = b""
    while len(body) < length:
        more = s.recv(length - len(body))
        if not more:
            break
        body += more
    return head, body


def status(reply):
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.") else None
