"""Rows of matrix.py: certificates that are wrong, and TLS where there is none, at every place that is spoken to."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile
import threading

from matrix_world import PLACES, Pull, Push, row

CA = """[ca]
default_ca = own
[own]
new_certs_dir = .
database = index
serial = serial
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""
lock = threading.Lock()


@functools.lru_cache(maxsize=None)
def directory():
    path = tempfile.mkdtemp(prefix="sbx-matrix-tls-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    for name, text in (("ca.cnf", CA), ("index", ""), ("serial", "01\n")):
        with open(os.path.join(path, name), "w", encoding="utf-8") as f:
            f.write(text)
    for ca in ("ca", "unknown"):
        openssl(path, "req", "-x509", *KEY, "-keyout", f"{ca}.key", "-out", f"{ca}.crt", "-days", "2", "-subj", f"/CN={ca}")
    return path


KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def openssl(path, *words):
    subprocess.run(["openssl", *words], cwd=path, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def make(kind):
    """(certificate, key) of a server on this machine; "good" is what the rows trust."""
    with lock:  # made once, by the first row that needs it
        return made(kind)


@functools.lru_cache(maxsize=None)
def made(kind):
    path = directory()
    name = "DNS:other.example.com" if kind == "name" else "IP:127.0.0.1"
    dates = ("200101000000Z", "210101000000Z") if kind == "expired" else ("200101000000Z", "490101000000Z")
    ca = "unknown" if kind == "issuer" else "ca"
    openssl(path, "req", "-new", *KEY, "-keyout", f"{kind}.key", "-out", f"{kind}.csr", "-subj", f"/CN={kind}",
            "-addext", f"subjectAltName={name}")
    openssl(path, "ca", "-batch", "-config", "ca.cnf", "-cert", f"{ca}.crt", "-keyfile", f"{ca}.key", "-in", f"{kind}.csr",
            "-out", f"{kind}.crt", "-startdate", dates[0], "-enddate", dates[1])
    return os.path.join(path, f"{kind}.crt"), os.path.join(path, f"{kind}.key")


def trust(r):
    make("good")
    r.env["SSL_CERT_FILE"] = os.path.join(directory(), "ca.crt")


# what is wrong: the server's certificate (None: no TLS), the scheme it is called by, what is said
WRONG = {
    "an expired certificate": ("expired", "https", "expired"),
    "another name's certificate": ("name", "https", "match"),
    "an unknown issuer": ("issuer", "https", "certificate"),
    "HTTP on a TLS port": (None, "https", "127.0.0.1"),
    "TLS on an HTTP port": ("good", "http", "127.0.0.1"),
}


def own(kind):
    return make(kind) if kind else None


# --- the registry itself, from the first word on
def at_home(r, way, p, wrong):
    kind, _, text = WRONG[wrong]
    trust(r)
    t = way(r, p, certificate=own(kind))
    t.fails(1, text)
    r.check("no request got through", [x for x in r.reg.log if not x.startswith("home GET /v2/ ")], [])


for what in list(WRONG)[:3]:
    for w in (Pull, Push):
        row(f"{w.__name__.lower()}: {what}", lambda r, w=w, x=what: at_home(r, w, "layer", x))
    row(f"pull image: {what}", lambda r, x=what: at_home(r, Pull, "image", x))


def plain_asked(r, w):
    """--plain-http at a registry that speaks TLS."""
    trust(r)
    t = w(r, "layer", certificate=make("good"))
    argv = t.argv()
    t.argv = lambda: argv[:4] + ["--plain-http"] + argv[4:]
    t.fails(1, "127.0.0.1")
    t.argv = lambda: argv
    t.succeeds()


for w in (Pull, Push):
    row(f"{w.__name__.lower()}: --plain-http at a TLS port", lambda r, w=w: plain_asked(r, w))


# --- where it sends us, for each thing that is asked for: a store of blobs, a token server
def away(r, w, p, wrong, fault):
    kind, scheme, text = WRONG[wrong]
    trust(r)
    t = w(r, p, away=own(kind))
    r.log_in(r.reg.host)
    r.reg.misbehave(t.at, fault, scheme)
    t.fails(1, text)
    r.check("nothing got through", [x for x in r.reg.log if x.startswith("away")], [])
    r.check("it gives up soon", r.reg.asked.get(t.at, 0) <= 6)
    r.reg.behave()
    t.succeeds()


# Without SBX_MATRIX=all each place has one kind, and each kind the places that differ in our program.
for what in WRONG:
    for w in (Pull, Push):
        for p in PLACES:
            if what != "an unknown issuer" and p in ("manifest", "config") and os.environ.get("SBX_MATRIX") != "all":
                continue
            row(f"{w.__name__.lower()} {p}: redirect to {what}", lambda r, w=w, p=p, x=what: away(r, w, p, x, "away"))
        row(f"{w.__name__.lower()}: token server with {what}", lambda r, w=w, x=what: away(r, w, "manifest", x, "realm"))


# --- from TLS to where there is none: not even when all else is right
def down(r, w, p):
    trust(r)
    t = w(r, p, certificate=make("good"))
    r.reg.misbehave(t.at, "away", "http")
    t.fails(1, "redirected from https to plain http")
    r.check("nothing got through", [x for x in r.reg.log if x.startswith("away")], [])
    r.reg.behave()
    t.succeeds()


def upload_down(r):
    trust(r)
    t = Push(r, "config", certificate=make("good"))

    def hook(h):
        if h.command == "POST":
            h.drain()
            h.answer(202, Location=f"http://{r.reg.other}/v2/x/blobs/uploads/1")
        return h.command == "POST"
    r.reg.hook = hook
    t.fails(1, "sent without TLS")
    r.check("nothing got through", [x for x in r.reg.log if x.startswith("away")], [])


for w, p in ((Pull, "manifest"), (Pull, "layer"), (Pull, "image"), (Push, "manifest"), (Push, "layer")):
    row(f"{w.__name__.lower()} {p}: redirect from TLS to plain HTTP", lambda r, w=w, p=p: down(r, w, p))
row("push: an upload from TLS to plain HTTP", upload_down)
