"""What the tests of interception need: authorities and certificates (openssl), a TLS origin, a broker."""
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading

import lab

DAY = 86400
CA_EXTENSIONS = """basicConstraints=critical,CA:TRUE,pathlen:0
keyUsage=critical,keyCertSign
extendedKeyUsage=serverAuth
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid:always
"""


def openssl(*args, check=True, **more):
    return subprocess.run(("openssl",) + args, check=check, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=lab.WAIT, **more)


class Authority:
    """A certificate authority in a directory; path + ".crt", ".key"."""

    def __init__(self, name):
        self.dir = tempfile.mkdtemp(prefix="sbx-gate-ca")
        os.chmod(self.dir, 0o755)
        self.path = os.path.join(self.dir, "ca")
        self.certs = {}
        conf = os.path.join(self.dir, "ca.conf")
        with open(conf, "w") as f:
            f.write("[req]\ndistinguished_name=dn\nx509_extensions=ext\nprompt=no\n[dn]\nCN=%s\n[ext]\n%s"
                    % (name, CA_EXTENSIONS))
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3650",
                "-keyout", self.path + ".key", "-out", self.path + ".crt", "-config", conf)
        with open(self.path + ".crt") as f:
            self.pem = f.read()

    def leaf(self, names, days=30, subject="/CN=origin", issuer=True, san=True):
        """A server's certificate: the paths of certificate and key."""
        key = (tuple(names), days, subject, issuer, san)
        if key in self.certs:
            return self.certs[key]
        base = os.path.join(self.dir, "leaf%d" % len(self.certs))
        ext = base + ".ext"
        with open(ext, "w") as f:
            f.write("basicConstraints=critical,CA:FALSE\n")
            if san:
                f.write("subjectAltName=%s\n" % ",".join(
                    ("IP:" if n.replace(".", "").isdigit() else "DNS:") + n for n in names))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject,
                "-keyout", base + ".key", "-out", base + ".csr")
        sign = ("-CA", self.path + ".crt", "-CAkey", self.path + ".key", "-CAcreateserial") if issuer \
            else ("-signkey", base + ".key")
        openssl("x509", "-req", "-in", base + ".csr", *sign, "-out", base + ".crt", "-days", str(days),
                "-extfile", ext)
        self.certs[key] = base + ".crt", base + ".key"
        return self.certs[key]

    def close(self):
        shutil.rmtree(self.dir)


class Origin(lab.Server):
    """A TLS server; keeps what it received in plain text, and how each handshake ended."""

    def __init__(self, address, port, behave, cert, alpn=("http/1.1",), version=None, ask_client=False):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*cert)
        if alpn:
            self.context.set_alpn_protocols(list(alpn))
        if version:
            self.context.minimum_version = self.context.maximum_version = version
            if version < ssl.TLSVersion.TLSv1_2:
                self.context.set_ciphers("ALL:@SECLEVEL=0")
        if ask_client:
            self.context.verify_mode = ssl.CERT_OPTIONAL
            self.context.load_default_certs()
        self.names, self.chosen, self.peers, self.errors = [], [], [], []
        self.context.sni_callback = lambda sock, name, context: self.names.append(name)
        super().__init__(address, port, behave)

    def _serve(self, conn):
        conn.settimeout(lab.WAIT)
        try:
            tls = self.context.wrap_socket(conn, server_side=True)
        except OSError as e:
            self.errors.append(str(e))
            conn.close()
            return
        self.chosen.append(tls.selected_alpn_protocol())
        self.peers.append(tls.getpeercert())
        super()._serve(tls)


MASK = b"\x11\x22\x33\x44"


def frame(payload=b"", opcode=1, masked=True, first=0x80, length=None):
    """A frame of a WebSocket. `first`: FIN and RSV bits; `length`: what it says, whatever is there."""
    n = len(payload) if length is None else length
    size = bytes([n]) if n < 126 else b"\x7e" + n.to_bytes(2, "big") if n < 65536 else b"\x7f" + n.to_bytes(8, "big")
    if not masked:
        return bytes([first | opcode]) + size + payload
    hidden = bytes(b ^ MASK[i % 4] for i, b in enumerate(payload))
    return bytes([first | opcode, size[0] | 0x80]) + size[1:] + MASK + hidden


def upgraded(extra=b""):
    return (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Accept: x\r\n" + extra + b"\r\n")


def read_exactly(s, n):
    data = b""
    while len(data) < n:
        part = s.recv(n - len(data))
        assert part, "it ended after %d of %d bytes" % (len(data), n)
        data += part
    return data


class H2Origin:
    """nghttpd; `received` is what it says of the frames that came."""

    def __init__(self, address, port, cert, *options, quiet=False):
        self.dir = tempfile.mkdtemp(prefix="sbx-gate-h2")
        with open(os.path.join(self.dir, "index.html"), "w") as f:
            f.write("hello from h2\n")
        with open(os.path.join(self.dir, "big"), "wb") as f:
            f.write(b"z" * (4 << 20))
        self.log = open(os.path.join(self.dir, "log"), "w+b")
        self.process = subprocess.Popen(
            ["nghttpd", *(() if quiet else ("-v",)), "--no-content-length", "--address=" + address, "--htdocs=" + self.dir, *options,
             str(port), cert[1], cert[0]], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        while quiet or b"listen" not in self.received:
            assert self.process.poll() is None, self.received
            try:
                if quiet:
                    socket.create_connection((address, port), 1).close()
                    break
            except OSError:
                pass

    @property
    def received(self):
        with open(self.log.name, "rb") as f:
            return f.read()

    def close(self):
        self.process.terminate()
        self.process.wait(lab.WAIT)
        self.log.close()
        shutil.rmtree(self.dir)


class Broker:
    """The other end of the gate's questions for values."""

    def __init__(self, gate, **values):
        self.values, self.asked = values, []
        self.sock, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        threading.Thread(target=self._run, daemon=True).start()
        answer = gate.control(fds=[other.fileno()], op="broker")
        assert answer == {"ok": True}, answer
        other.close()

    def tell(self, name):
        value = self.values.get(name)
        if value is None:
            self.sock.send(b"gone %s\n" % name.encode())
        else:
            self.sock.send(b"value %s\n%s" % (name.encode(), value.encode("latin-1")))

    def set(self, name, value):
        self.values[name] = value
        self.tell(name)

    def _run(self):
        while True:
            try:
                msg = self.sock.recv(4096)
            except OSError:
                return
            if not msg:
                return
            name = msg.split()[1].decode()
            self.asked.append(name)
            try:
                self.tell(name)
            except OSError:
                return  # closed meanwhile, by a test

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)  # a thread waits in it
        except OSError:
            pass
        self.sock.close()


def client(gate_socket, name, ca, alpn=None, sni=True, version=None):
    """TLS over a connection that a CONNECT has opened, or that came through the transparent door."""
    context = ssl.create_default_context(cafile=ca)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if version:
        context.minimum_version = context.maximum_version = version
        if version < ssl.TLSVersion.TLSv1_2:
            context.set_ciphers("ALL:@SECLEVEL=0")
    if not sni:
        context.check_hostname = False
    return context.wrap_socket(gate_socket, server_hostname=name if sni else None,
                               suppress_ragged_eofs=False)
