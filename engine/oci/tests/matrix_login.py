"""Rows of matrix.py: challenges and tokens that no registry would send, and log-ins that cannot be read. A log-in goes nowhere else."""
import json
import os
import socket
import threading

from badregistry import LOGIN
from matrix_strange import ALL, fails_then_succeeds
from matrix_tls import directory, make
from matrix_world import Pull, Push, row


def ours(h):
    return h.path.startswith("/v2/x")


def challenge(h, *lines):
    """401 with these challenges."""
    h.raw(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n" +
          b"".join(b"WWW-Authenticate: " + x.encode("latin-1") + b"\r\n" for x in lines) + b"\r\n")
    return True


def nothing_away(r):
    r.check("nobody else was asked", [x for x in r.reg.log if x.startswith("away")], [])


# --- where a log-in does not go
def identity_redirected(r):
    t = Pull(r, "layer")
    r.env["DOCKER_CONFIG"] = r.path("docker")
    with open(r.path("docker/config.json"), "w", encoding="utf-8") as f:
        json.dump({"auths": {r.reg.host: {"auth": "", "identitytoken": "s3cret"}}}, f)

    def hook(h):
        if h.path == "/token":
            h.drain()
            h.answer(307, Location=f"http://{r.reg.other}/token")
            return True
        return ours(h) and challenge(h, f'Bearer realm="http://{r.reg.host}/token"')
    r.reg.hook = hook
    t.fails(1, "no log-in is sent there")
    nothing_away(r)


def realm_with_a_login(r):
    t = Pull(r, "layer")
    r.log_in(r.reg.host)
    fails_then_succeeds(r, t, lambda h: ours(h) and challenge(h, f'Bearer realm="http://127.0.0.1:x@{r.reg.other}/token"'),
                        "not an address of http or https")
    nothing_away(r)


def interim(r):
    t = Pull(r, "layer")
    r.log_in(r.reg.host)

    def hook(h):
        if not ours(h) or h.headers.get("Authorization") == LOGIN:
            return False
        h.wfile.write(f'HTTP/1.1 103 Early\r\nWWW-Authenticate: Bearer realm="http://{r.reg.other}/token"\r\n\r\n'.encode())
        return challenge(h, 'Basic realm="x"')
    r.reg.hook = hook
    t.succeeds()
    nothing_away(r)


def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        s.close()


def by_proxy(r):
    """A proxy's word is not the registry's: it names a token server in its answer to CONNECT."""
    t = Pull(r, "layer", certificate=make("name"), away=make("name"))
    port = int(r.reg.host.split(":")[1])
    r.env.update(SSL_CERT_FILE=os.path.join(directory(), "ca.crt"))
    r.log_in(f"other.example.com:{port}")

    def serve(listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if b"CONNECT other.example.com:%d " % port in client.recv(65536):
                client.sendall(b'HTTP/1.1 200 Yes\r\nWWW-Authenticate: Bearer realm="https://' +
                               r.reg.other.replace("127.0.0.1", "other.example.com").encode() + b'/token"\r\n\r\n')
                server = socket.create_connection(("127.0.0.1", port))
                threading.Thread(target=pump, args=(client, server), daemon=True).start()
                threading.Thread(target=pump, args=(server, client), daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        r.env["HTTPS_PROXY"] = "http://127.0.0.1:%d" % listener.getsockname()[1]
        r.reg.hook = lambda h: ours(h) and h.headers.get("Authorization") != LOGIN and challenge(h, 'Basic realm="x"')
        argv = t.argv()
        argv[4] = argv[4].replace("127.0.0.1", "other.example.com")
        r.run(argv, 0, "Pulled")
        listener.shutdown(socket.SHUT_RDWR)
    nothing_away(r)


row("pull: an identity token, and the token server redirects", identity_redirected)
row("pull: a token server with a log-in in its address", realm_with_a_login)
row("pull: an interim answer names a token server", interim)
row("pull: a proxy names a token server", by_proxy)

# --- challenges
CHALLENGES = {  # and the exit status: 3 where it is no more than a refusal
    "none": ([], 3), "an empty one": ([""], 3), "of no known kind": (["Negotiate", "NTLM abc==", 'Digest realm="x"'], 3),
    "a thousand": (["Negotiate"] * 999 + ['Basic realm="x"'], 3), "garbage": (['\xff\x01"', "====", ', , ,"', 'Bearer realm="unclosed'], 3),
    "Bearer of nothing": (["Bearer"], 1), "a realm that is no address": (['Bearer realm="x"'], 1),
    "a realm that is a file": (['Bearer realm="file:///etc/passwd"'], 1),
    "a scope of 20 KiB": (['Bearer realm="http://127.0.0.1:1/t",scope="' + "a" * 20000 + '"'], 1),
    "a hundred schemes in a line": ([", ".join(f'S{i} a="b"' for i in range(100))], 3),
}


def challenged(r, way, lines, status):
    t = way(r, "config")
    r.log_in(r.reg.host)
    fails_then_succeeds(r, t, lambda h: h.path != "/v2/" and challenge(h, *lines), r.reg.host, status)


for name, (lines, status) in CHALLENGES.items():
    for w in (Pull, Push) if ALL else (Pull,):
        row(f"{w.__name__.lower()}: challenges: {name}", lambda r, w=w, x=lines, s=status: challenged(r, w, x, s))

# --- token servers
TOKENS = {
    "10 MiB": (b'{"token":"' + b"x" * (10 << 20) + b'"}', "more than 65536 bytes"), "binary": (bytes(range(256)) * 10, "no token"),
    "no JSON": (b"token", "no token"), "a number": (b'{"token":5}', "no token"), "nothing": (b"", "no token"),
    "a list": (b'[{"token":"x"}]', "no token"), "line breaks in it": (rb'{"token":"a\r\nX-Y: z"}', "no token"),
    "an empty one": (b'{"token":""}', "UNAUTHORIZED"), "60 KiB": (b'{"token":"' + b"x" * 60000 + b'"}', "UNAUTHORIZED"),
    "a zero byte in it": (rb'{"token":"a\u0000b"}', "no token"), "nested 30,000 deep": (b"[" * 30000, "no token"),
}


def token(r, data, text):
    t = Pull(r, "config")
    r.log_in(r.reg.host)

    def hook(h):
        if h.path.startswith("/token"):
            h.answer(200, data)
            return True
        if ours(h) and "Authorization" in h.headers:
            h.refuse(401, "never", WWW_Authenticate=f'Bearer realm="http://{r.reg.host}/token"')
            return True
        return ours(h) and challenge(h, f'Bearer realm="http://{r.reg.host}/token"')
    fails_then_succeeds(r, t, hook, text, 3 if text == "UNAUTHORIZED" else 1)


for name, (data, text) in TOKENS.items():
    row(f"pull: a token: {name}", lambda r, d=data, x=text: token(r, d, x))


# --- where log-ins are kept
def needs_login(h):
    if h.path == "/v2/" or h.headers.get("Authorization") == LOGIN:
        return False
    return challenge(h, 'Basic realm="x"')


def kept(r, prepare, status, text):
    """`prepare` makes config.json (and what it needs); then a registry that wants a log-in."""
    t = Pull(r, "config")
    prepare(r, r.path("docker/config.json"))
    r.reg.hook = needs_login
    if status:
        t.fails(status, text)
        r.reg.behave()
    t.succeeds()


def put_text(text):
    def prepare(_, path):
        with open(path, "wb") as f:
            f.write(text)
    return prepare


def helper(script):
    def prepare(r, path):
        os.mkdir(r.path("bin"))
        with open(r.path("bin/docker-credential-own"), "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + script)
        os.chmod(r.path("bin/docker-credential-own"), 0o755)
        r.env["PATH"] = r.path("bin") + ":" + r.env["PATH"]
        put_text(b'{"credsStore":"own"}')(r, path)
    return prepare


def linked(r, path):
    r.log_in(r.reg.host)
    os.rename(path, r.path("real.json"))
    os.symlink(r.path("real.json"), path)


def without(*names):
    def prepare(r, _):
        for name in names:
            r.env.pop(name)
    return prepare


CANNOT, NOBODY = "cannot be ", "run docker login"
KEPT = {
    "config.json is a FIFO": (lambda r, p: os.mkfifo(p), 3, CANNOT), "config.json is a directory": (lambda r, p: os.mkdir(p), 3, CANNOT),
    "config.json is a link": (linked, 0, ""), "config.json is a link to itself": (lambda r, p: os.symlink(p, p), 3, CANNOT),
    "config.json is a device": (lambda r, p: os.symlink("/dev/zero", p), 3, CANNOT),
    "config.json of 2 MiB": (put_text(b" " * (2 << 20)), 3, CANNOT), "config.json is empty": (put_text(b""), 3, CANNOT),
    "config.json nested 100,000 deep": (put_text(b"[" * 100000), 3, CANNOT), "config.json is a list": (put_text(b"[]"), 3, NOBODY),
    "auths is a number": (put_text(b'{"auths":5,"credHelpers":"x","credsStore":{}}'), 3, NOBODY),
    "no HOME": (without("HOME"), 3, NOBODY), "no HOME and no DOCKER_CONFIG": (without("HOME", "DOCKER_CONFIG"), 3, NOBODY),
    "a helper prints megabytes": (helper("exec cat /dev/zero\n"), 3, "too long"),
    "a helper is killed": (helper("kill -9 $$\n"), 3, "gave no log-in"), "a helper prints garbage": (helper("echo '{]'\n"), 3, "gave no log-in"),
    "a helper prints control characters": (helper("printf '\\033[31m'; exit 1\n"), 3, "\\x1b[31m"),
    "a helper reads nothing": (helper("exec <&-; echo '{\"Username\":\"hugo\",\"Secret\":\"s3cret\"}'\n"), 0, ""),
    "a helper knows nobody": (helper("echo 'credentials not found in native keychain'; exit 1\n"), 3, NOBODY),
    "a helper that is not there": (put_text(b'{"credsStore":"none"}'), 3, "no such program"),
    "a helper by its path": (put_text(b'{"credsStore":"../../bin/sh"}'), 3, "not the name of a helper"),
}
if ALL:
    KEPT["a helper hangs"] = (helper("exec sleep 90\n"), 3, "no answer within 30 s")
for name, (make_it, status, text) in KEPT.items():
    row(f"pull: log-ins: {name}", lambda r, m=make_it, s=status, x=text: kept(r, m, s, x))
