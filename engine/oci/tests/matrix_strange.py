"""Rows of matrix.py: answers in another order, answers that no registry would send, manifests that no tool would write."""
import json
import os
import shutil
import subprocess
import tarfile

from matrix_world import (GOOD_NAME, KIT_TYPE, LAYER, LAYER_BYTES, MANIFEST, MIB, NOISE, SBX, SPEC, STEP, Pull, Push, describe, image,
                          pack, put, row, sha, tar)


def wanted(h, t, method="GET"):
    """This request is for the place of `t`."""
    if h.command != method:
        return False
    return "/manifests/" in h.path if t.at == "manifest" else h.path.endswith(t.at)


def fails_then_succeeds(r, t, hook, text, status=1):
    r.reg.hook = hook
    t.fails(t.fail_status(status), text)
    r.reg.behave()
    r.reg.forget()
    t.succeeds()


# --- swapped: what was asked for is answered with something else that is there, too
def swapped(r, place):
    t = Pull(r, place)
    layer = describe(pack(tar((GOOD_NAME, tarfile.REGTYPE, b"another"))), LAYER, r.reg)["digest"]
    other = put(r.reg, {"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": KIT_TYPE,
                        "config": describe(SPEC, KIT_TYPE + ".spec+yaml", r.reg), "layers": []})

    def hook(h):
        if not wanted(h, t):
            return False
        kind, data = r.reg.manifests[other] if place == "manifest" else ("x/y", r.reg.blobs[layer])
        h.answer(200, data, Content_Type=kind)
        return True
    fails_then_succeeds(r, t, hook, {"manifest": "whose digest is", "config": "more than the"}.get(place, "bytes came"))


# --- the rest of a blob, asked for by Range behind a cut: a part of it that was not asked for. Then it is asked for as a whole
def other_range(r, place, answer):
    t = Pull(r, place)
    data = r.reg.blobs[t.at]

    def hook(h):
        if not wanted(h, t):
            return False
        if "Range" in h.headers:
            n = int(h.headers["Range"][6:].rstrip("-"))
            status, at, told = answer(n)
            body = data[at:at + len(data) - n] if status == 206 else data
            told = {} if told is None else {"Content_Range": f"bytes {told}-{told + len(body) - 1}/{len(data)}"}
            h.answer(status, body, **told)
        elif r.reg.first(t.at):
            h.answer(200, data[:STEP], len(data))
            h.cut()
        else:
            h.answer(200, data)
        return True
    r.reg.hook = hook
    t.succeeds()


RANGES = {  # status, where the body begins, where the header says so
    "a part before it": lambda n: (206, n - 100, n - 100),
    "a part behind it": lambda n: (206, n + 100, n + 100),
    "a part before it that says it is the right one": lambda n: (206, n - 100, n),
    "a part that does not say which": lambda n: (206, n, None),
    "the whole": lambda n: (200, 0, None),
}


def forgets(r, place):
    """It never has the rest, and never all of it: not for ever."""
    t = Pull(r, place)
    data = r.reg.blobs[t.at]

    def hook(h):
        if not wanted(h, t):
            return False
        r.reg.count(r.reg.asked, t.at)
        if "Range" in h.headers:
            h.refuse(416, "no such part")
        else:
            h.answer(200, data[:STEP], len(data))
            h.cut()
        return True
    r.reg.hook = hook
    t.fails(1, "")
    r.check("it gives up soon", r.reg.asked[t.at] <= 12)
    r.reg.behave()
    t.succeeds()


for p in ("manifest", "config", "layer", "image"):
    row(f"pull {p}: another thing of the registry", lambda r, p=p: swapped(r, p))
for p in ("layer", "image"):
    for name, answer in RANGES.items():
        row(f"pull {p}: asked for the rest, {name}", lambda r, p=p, a=answer: other_range(r, p, a))
    row(f"pull {p}: has no rest and no whole", lambda r, p=p: forgets(r, p))

# --- two answers to one request: the second is not taken for the answer to the next request, or what it says is found wrong. (Answers that
# are swapped on one connection are the same thing: HTTP/1.1 has one request at a time on it; on several they are "another thing" above.)
def early(r, way, place):
    t = way(r, place)
    bad = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nDocker-Content-Digest: sha256:" + b"0" * 64 + b"\r\n\r\nevil"

    def hook(h):
        if h.path == "/v2/":
            return False
        h.reg.hook = None
        h.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" if h.command == "HEAD" else
                      b"HTTP/1.1 500 Later\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n")
        h.wfile.write(bad)
        h.drain()
        return True
    r.reg.hook = hook
    done = subprocess.run(t.argv(), env=r.env, cwd=r.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=100, check=False)
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace")
        r.check(f"it says why ({said[:300]})", r.reg.host in said and ("whose digest is" in said or "answers 200" in said))
    r.clean()
    r.reg.behave()
    shutil.rmtree(r.path("out"), ignore_errors=True)
    t.succeeds()


for w, p in ((Pull, "layer"), (Pull, "image"), (Push, "layer")):
    row(f"{w.__name__.lower()} {p}: an answer more than was asked for", lambda r, w=w, p=p: early(r, w, p))


# --- an upload that is refused before its body was read: the registry's words are shown
def refused_early(r, place, status, text):
    t = Push(r, place)

    def hook(h):
        if h.command != "PUT":
            return False
        h.wfile.write(f"HTTP/1.1 {status} No\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())
        h.wfile.flush()
        h.drain()
        h.close_connection = True
        return True
    fails_then_succeeds(r, t, hook, "DENIED: no room for you")


for p in ("manifest", "layer", "image"):
    row(f"push {p}: refused before it is sent", lambda r, p=p: refused_early(
        r, p, 413, '{"errors":[{"code":"DENIED","message":"no room for you"}]}'))

# --- answers that no registry would send. To a request for a manifest, and for an upload
HEAD = b"HTTP/1.1 200 OK\r\n"
ODD = {
    "many headers": (HEAD + b"".join(b"X-%d: %s\r\n" % (i, b"x" * 100) for i in range(2000)) + b"\r\n", "headers are too long"),
    "one header of 300 KiB": (HEAD + b"X: " + b"x" * 300000 + b"\r\n\r\n", ""),
    "a header without an end": (HEAD + b"X: y", ""),
    "interim answers without an end": (b"HTTP/1.1 103 Early\r\nX: y\r\n\r\n" * 8000, "headers are too long"),
    "HTTP/0.9": (b"hello, who is there?", "HTTP/0.9"),
    "nothing": (b"", "Empty reply"),
    "zeros": (bytes(100000), ""),
    "a negative length": (HEAD + b"Content-Length: -5\r\n\r\nhello", ""),
    "a length of 2^63": (HEAD + b"Content-Length: 9223372036854775808\r\n\r\nhello", ""),
    "a chunk of 2^64": (HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n0\r\n\r\n", ""),
    "a status of 999": (b"HTTP/1.1 999 What\r\nContent-Length: 0\r\n\r\n", "answers 999"),
    "an error of another planet": (b"HTTP/1.1 418 \r\nContent-Length: 13\r\n\r\n\x1b[31m\xff\x00{}[]{}", "answers 418"),
    "an error with control characters": (b"HTTP/1.1 400 No\r\nConnection: close\r\n\r\n" + json.dumps(
        {"errors": [{"code": "\x1b[31m", "message": "\x07\u202e\x1b]0;x\x07"}]}).encode(), r"\x1b[31m"),
    "an error of 10 MiB": (b"HTTP/1.1 400 No\r\nContent-Length: 10485760\r\n\r\n" + b'{"errors":[' * (10485760 // 11 + 1), "answers 400"),
    "an error nested 100,000 deep": (b"HTTP/1.1 400 No\r\nContent-Length: 100000\r\n\r\n" + b"[" * 100000, "answers 400"),
    "a gzip of zeros that was not asked for": (HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(pack(bytes(MIB))) +
                                               pack(bytes(MIB)), ""),
}
WHERE = {
    "file:": b"file:///etc/passwd", "gopher:": b"gopher://127.0.0.1/x", "a log-in": b"http://u:p@127.0.0.1:1/x", "nothing": b"",
    "a port of 99999": b"http://127.0.0.1:99999/x", "70 KiB": b"/" + b"x" * 70000, "no host": b"http:///x", "a line break": b"/a\rX-Y: z",
}
for name, where in WHERE.items():
    ODD["to " + name] = (b"HTTP/1.1 307 There\r\nContent-Length: 0\r\nLocation: " + where + b"\r\n\r\n", "")


def odd(r, way, data):
    t = way(r, "manifest" if way is Pull else "config")
    text = data[1]

    def hook(h):
        if (h.command != "POST" and way is Push) or "/v2/x" not in h.path and way is Pull:
            return False
        h.raw(data[0])
        return True
    r.reg.hook = hook
    out = r.run(t.argv(), 1, text)
    r.check("nothing of a terminal's in it", any(x in out for x in "\x1b\x07\x00"), False)
    r.clean("out")
    r.reg.behave()
    t.succeeds()


ALL = os.environ.get("SBX_MATRIX") == "all"  # one place is enough for what one function reads
for n, d in ODD.items():
    for w in (Pull, Push) if ALL else (Pull,):
        row(f"{w.__name__.lower()}: answered with {n}", lambda r, w=w, d=d: odd(r, w, d))


def resolved(r, data, text):
    """A tag without a digest in a header: what it leads to is read, and must be a manifest."""
    reg = r.registry()

    def hook(h):
        h.raw(data)
        return True
    reg.hook = hook
    r.run([SBX, "--no-input", "kit", "resolve", f"{reg.host}/x:1"], 1, text)


for name, data, text in (("an answer that is cut in its head", HEAD + b"Content-", "answers with nothing"),
                         ("a length of 10^20", HEAD + b"Content-Length: 99999999999999999999\r\n\r\n", "answers with nothing"),
                         ("a portal's page", HEAD + b"Content-Length: 13\r\n\r\n<html></html>", "what is no manifest"),
                         ("half a manifest", HEAD + b'\r\n{"schemaVersion":2,', "what is no manifest")):
    row(f"resolve: {name}", lambda r, d=data, x=text: resolved(r, d, x))


# --- where an upload is to go
def located(r, where):
    t = Push(r, "config")

    def hook(h):
        if h.command != "POST":
            return False
        h.drain()
        h.wfile.write(b"HTTP/1.1 202 Yes\r\nContent-Length: 0\r\nLocation: " + where + b"\r\n\r\n")
        return True
    fails_then_succeeds(r, t, hook, "")


for name, where in WHERE.items():
    row(f"push: an upload to {name}", lambda r, x=where: located(r, x))


# --- the same warning with each answer, and very many of them: each is told once, and not all
def warned(r, way, place, texts):
    t = way(r, place)

    def hook(h):
        end = type(h).end_headers

        def more():
            for text in texts:
                h.send_header("Warning", f'299 - "{text}"')
            end(h)
        h.end_headers = more
        return False
    r.reg.hook = hook
    out = r.run(t.argv(), 0, "")
    r.check("told", 0 < out.count("says: ") <= min(len(texts), 16) if place != "image" else True)
    for text in texts[:1] if place != "image" else ():
        r.check("once", out.count(f"says: {text}\n"), 1)


for w, p in ((Pull, "layer"), (Pull, "image"), (Push, "layer")):
    row(f"{w.__name__.lower()} {p}: a warning with each answer", lambda r, w=w, p=p: warned(r, w, p, ["this kit is old"]))
    row(f"{w.__name__.lower()} {p}: a thousand warnings", lambda r, w=w, p=p: warned(r, w, p, [f"warning {i}" for i in range(1000)]))
