#!/usr/bin/env python3
"""Faults x places: what a registry, the network, the disk and SIGKILL can do to a push and a pull, at the
manifest, the configuration, the layer and the layer of an image. For each: the error (or success, where
the fault passes), nothing half-made, and how many bytes the next run moves.

usage: matrix.py [PATTERN]    SBX_BIN, and pull_image beside it; rows whose name has PATTERN.
SBX_MATRIX=all: a run for each of the cuts too, not only one with them all.
"""
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from badregistry import LOGIN, Registry  # noqa: E402

SBX = os.environ["SBX_BIN"]
PULL_IMAGE = os.path.join(os.path.dirname(SBX), "pull_image")
MIB, STEP = 1 << 20, 65536
KIT_TYPE = "application/vnd.docker.sandbox.kit.v2"
MANIFEST, LAYER = "application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"
WORKERS = 12  # rows at once: they mostly wait


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def tar(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as t:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o644
            if kind == tarfile.REGTYPE:
                info.size = len(data)
                t.addfile(info, io.BytesIO(data))
            else:
                info.linkname = data.decode()
                t.addfile(info)
    return out.getvalue()


def pack(plain):
    return gzip.compress(plain, 1, mtime=0)


def lying():
    """A header that promises 4 GiB and more."""
    data = bytearray(tar((GOOD_NAME, tarfile.REGTYPE, b"x")))
    data[124:136] = b"77777777777\0"
    data[148:156] = b"        "
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return pack(bytes(data))


# Random bytes: the compressed layer is 1 MiB and a little, so that cuts lie in it.
NOISE = random.Random(7).randbytes(MIB)
GOOD_NAME = "home/agent/noise"
SPEC = b'schemaVersion: "2"\nkind: mixin\nname: tools\n'
LAYER_BYTES = pack(tar((GOOD_NAME, tarfile.REGTYPE, NOISE)))
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def describe(data, media, reg):
    reg.blobs[sha(data)] = data
    return {"mediaType": media, "digest": sha(data), "size": len(data)}


def put(reg, manifest, *references):
    data = json.dumps(manifest).encode()
    for r in (sha(data), *references):
        reg.manifests[r] = (manifest["mediaType"], data)
    return sha(data)


def kit(reg, layer=LAYER_BYTES, size=None):
    entry = describe(layer, LAYER, reg)
    if size is not None:
        entry["size"] = size
    return put(reg, {"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": KIT_TYPE,
                     "config": describe(SPEC, KIT_TYPE + ".spec+yaml", reg), "layers": [entry]}, "1")


def image(reg, layer=LAYER_BYTES, size=None, media=LAYER, plain=None):
    plain = plain or (gzip.decompress(layer) if layer == LAYER_BYTES else b"")
    config = json.dumps({"architecture": MACHINE, "os": "linux",
                         "rootfs": {"type": "layers", "diff_ids": [sha(plain)]}}).encode()
    entry = describe(layer, media, reg)
    if size is not None:
        entry["size"] = size
    return put(reg, {"schemaVersion": 2, "mediaType": MANIFEST,
                     "config": describe(config, "application/vnd.oci.image.config.v1+json", reg),
                     "layers": [entry]}, "1"), sha(config)


class Row:
    """One run in a world of its own."""

    def __init__(self, name):
        self.name, self.failures = name, []
        self.dir = tempfile.mkdtemp(prefix="sbx-matrix-")
        self.reg = None
        self.env = {"PATH": os.environ["PATH"], "HOME": self.dir, "LC_ALL": "C"}
        for key in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if key in os.environ:
                self.env[key] = os.environ[key]
        for key, sub in (("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"),
                         ("DOCKER_CONFIG", "docker")):
            self.env[key] = os.path.join(self.dir, sub)
            os.mkdir(self.env[key])

    def close(self):
        if self.reg:
            self.reg.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def registry(self, **options):
        self.reg = Registry(**options)
        return self.reg

    def log_in(self, host):
        with open(os.path.join(self.dir, "docker/config.json"), "w", encoding="utf-8") as f:
            json.dump({"auths": {host: {"auth": LOGIN.split()[1]}}}, f)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def check(self, what, got, want=True):
        if got != want:
            self.failures.append(f"{what}: {got!r}, not {want!r}")

    def run(self, argv, status, text, inside=None):
        if inside:  # a small disk: a mount in a namespace of its own
            argv = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size={inside[1]} none {inside[0]} && exec \"$@\"",
                    "sh", *argv]
        done = subprocess.run(argv, env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=100, check=False)
        out = done.stdout.decode(errors="replace")
        if done.returncode != status or text not in out:
            self.failures.append(f"{argv[-4:]}: status {done.returncode}, want {status} with [{text}]; it says {out[:600]}")
        return out

    def killed(self, argv, ready):
        """Start, wait for `ready`, SIGKILL."""
        with subprocess.Popen(argv, env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as p:
            end = time.monotonic() + 30
            while not ready() and p.poll() is None and time.monotonic() < end:
                time.sleep(0.005)  # poll interval
            self.check("it was on its way", p.poll(), None)
            p.send_signal(signal.SIGKILL)
        self.reg.behave()

    # --- nothing half-made
    def clean(self, *absent):
        for name in absent:
            self.check(f"{name} is not there", os.path.exists(self.path(name)), False)
        for sub in ("cache/sbx/kits", "state/layers"):
            if os.path.isdir(self.path(sub)):
                self.check(f"no half-made thing in {sub}", [n for n in os.listdir(self.path(sub)) if n.startswith(".")], [])
        for blobs in ("cache/sbx/blobs/sha256", "cache/blobs/sha256"):
            if os.path.isdir(self.path(blobs)):
                for n in os.listdir(self.path(blobs)):
                    with open(self.path(blobs, n), "rb") as f:
                        self.check(f"blob {n[:12]} is whole", sha(f.read()), "sha256:" + n)


# --- the places of a pull: what is asked for, and the command
class Pull:
    def __init__(self, row, place, **registry):
        self.row, reg = row, row.registry(**registry)
        self.place, self.layer = place, sha(LAYER_BYTES)
        if place == "image":
            self.digest, config = image(reg)
            self.at = self.layer
        else:
            self.digest = kit(reg)
            self.at = {"manifest": "manifest", "config": sha(SPEC), "layer": self.layer}[place]

    def argv(self):
        name = f"{self.row.reg.host}/x@{self.digest}"
        if self.place == "image":
            return [PULL_IMAGE, self.row.path("state"), self.row.path("cache"), name]
        return [SBX, "--no-input", "kit", "pull", f"oci://{name}", "out"]

    def partial(self):
        cache = "cache/partial" if self.place == "image" else "cache/sbx/partial"
        try:
            return os.stat(self.row.path(cache, self.at.split(":")[1])).st_size
        except (OSError, IndexError):
            return -1

    def fails(self, status, text, **more):
        self.row.run(self.argv(), status, text, **more)
        self.row.clean("out")

    def succeeds(self):
        self.row.run(self.argv(), 0, "")
        if self.place != "image" and not self.row.failures:
            with open(self.row.path("out/files/home/noise"), "rb") as f:
                self.row.check("the kit", f.read() == NOISE)
        self.row.clean()

    def size(self):
        return len(self.row.reg.blobs[self.at])


class Push:
    """A kit to a registry; place image: the layer of an image that is copied along as its anchor."""

    def __init__(self, row, place, **registry):
        self.row, self.place = row, place
        self.source = Registry() if place == "image" else None
        reg = row.registry(**registry)
        os.makedirs(row.path("kit/files/home"))
        if place == "image":
            image(self.source)
            spec = f'schemaVersion: "2"\nkind: sandbox\nname: tools\nsandbox: {{ image: "{self.source.host}/x:1" }}\n'
            with open(row.path("kit/spec.yaml"), "w", encoding="utf-8") as f:
                f.write(spec)
            self.at = sha(LAYER_BYTES)
        else:
            with open(row.path("kit/spec.yaml"), "wb") as f:
                f.write(SPEC)
            with open(row.path("kit/files/home/noise"), "wb") as f:
                f.write(NOISE)
            self.at = {"manifest": "manifest", "config": sha(SPEC), "layer": None}[place]
        if self.at is None:  # as our program packs it
            row.run([SBX, "--no-input", "kit", "push", "kit", "oci-layout:lay:1"], 0, "Pushed")
            with open(row.path("lay/index.json"), encoding="utf-8") as f:
                m = json.load(f)["manifests"][0]["digest"].split(":")[1]
            with open(row.path("lay/blobs/sha256", m), encoding="utf-8") as f:
                self.at = json.load(f)["layers"][0]["digest"]
        del reg

    def argv(self):
        return [SBX, "--no-input", "kit", "push", "--anchor=copy", "kit", f"{self.row.reg.host}/y:1"]

    def fails(self, status, text, **more):
        self.row.run(self.argv(), status, text, **more)
        self.row.check("no kit is there", "1" in self.row.reg.manifests, False)
        self.row.clean()

    def succeeds(self):
        self.row.run(self.argv(), 0, "Pushed")
        self.row.check("the kit is there", "1" in self.row.reg.manifests)
        self.row.clean()

    def size(self):
        if self.at == "manifest":
            return 0
        data = self.row.reg.blobs.get(self.at)
        return len(data) if data else len(LAYER_BYTES)


PLACES = ("manifest", "config", "layer", "image")
rows = []


def row(name, run):
    rows.append((name, run))


def both(name, run, places=PLACES):
    for way in (Pull, Push):
        for place in places:
            row(f"{way.__name__.lower()} {place}: {name}", lambda r, w=way, p=place: run(r, w(r, p)))


# --- cuts: go on where it was
def cut(r, t, at):
    r.reg.misbehave(t.at, "cut", at)
    t.succeeds()
    r.check("it was cut and asked again", r.reg.asked.get(t.at, 0) >= 2)
    if t.at != "manifest":
        r.check("each byte moves once", r.reg.moved.get(t.at), t.size())


def cuts(r, t):
    r.reg.misbehave(t.at, "cuts", STEP)
    t.succeeds()
    r.check("it was cut often", r.reg.asked.get(t.at, 0) >= MIB // STEP)
    r.check("each byte moves once", r.reg.moved.get(t.at), t.size())


for way in (Pull, Push):
    for p in ("layer", "image"):
        row(f"{way.__name__.lower()} {p}: cut at each 64 KiB", lambda r, w=way, p=p: cuts(r, w(r, p)))
    for k in range(1, MIB // STEP + 1) if os.environ.get("SBX_MATRIX") == "all" else ():
        for p in ("layer", "image"):
            row(f"{way.__name__.lower()} {p}: cut behind {k * 64} KiB",
                lambda r, w=way, p=p, k=k: cut(r, w(r, p), k * STEP))
    for p in ("manifest", "config"):
        row(f"{way.__name__.lower()} {p}: cut", lambda r, w=way, p=p: cut(r, w(r, p), 20))


# --- SIGKILL: nothing half-made, and the next run moves the rest
def kill(r, t):
    at = 5 * STEP if t.place in ("layer", "image") else 20
    r.reg.misbehave(t.at, "kill", at)
    if isinstance(t, Pull):
        r.killed(t.argv(), lambda: r.reg.stalled.is_set() and (t.at == "manifest" or t.partial() >= min(at, t.size() // 2)))
    else:
        r.killed(t.argv(), r.reg.stalled.is_set)
        r.check("no kit is there", "1" in r.reg.manifests, False)
    had = max(t.partial(), 0) if isinstance(t, Pull) else 0
    done = {d for d in r.reg.moved if d in r.reg.blobs} if isinstance(t, Push) else set()
    r.reg.forget()
    t.succeeds()
    if t.at != "manifest":
        r.check("the next run moves the rest", r.reg.moved.get(t.at, 0), t.size() - had)
    for d in done - {t.at}:
        r.check(f"what was there ({d[:15]}) is not sent again", r.reg.moved.get(d, 0), 0)


both("kill -9", kill)


# --- content that is not what it should be; the next run gets it anew
def content(kind, texts):
    def run(r, t):
        r.reg.misbehave(t.at, kind)
        t.fails(1, texts[type(t)])
        r.reg.behave()
        t.succeeds()
    return run


for p in PLACES:
    row(f"pull {p}: wrong digest", lambda r, p=p: content(
        "flip", {Pull: "whose digest is" if p == "manifest" else "as it should be"})(r, Pull(r, p)))
    row(f"push {p}: the registry has another digest", lambda r, p=p: content(
        "flip", {Push: "stored the manifest as" if p == "manifest" else "provided digest did not match"})(r, Push(r, p)))
    row(f"pull {p}: too short", lambda r, p=p: content(
        "short", {Pull: "whose digest is" if p == "manifest" else "bytes"})(r, Pull(r, p)))
for p in PLACES[1:]:
    row(f"pull {p}: too long", lambda r, p=p: content("long", {Pull: "more than the"})(r, Pull(r, p)))


# --- answers
def passes(kind):
    def run(r, t):
        r.reg.misbehave(t.at, kind)
        t.succeeds()
        r.check("it was asked again", r.reg.asked.get(t.at), 3)
    return run


both("429 twice", passes("429"))
both("500 twice", passes("500"))


def refused(kind, status, text, log_in=True):
    def run(r, t):
        if log_in:
            r.log_in(r.reg.host)
        r.reg.misbehave(t.at, kind)
        t.fails(1 if t.argv()[0] == PULL_IMAGE else status, text)
        r.check("it gives up soon", r.reg.asked.get(t.at, 0) <= 24)
        r.reg.behave()
        t.succeeds()
    return run


both("401 for ever", refused("401", 1, "answers 401, UNAUTHORIZED: never"))
both("401 without a log-in", refused("401", 3, "run docker login", log_in=False))
both("503 for ever", refused("503", 1, "answers 503, UNAVAILABLE: closed for today"))
both("redirects in a circle", refused("loop", 1, "redirected more than 10 times"))


def realm(r, t):
    refused("evilrealm", 1, "no log-in is sent there without TLS")(r, t)


both("a token server on another host, without TLS", realm)


def elsewhere(r, t):
    r.log_in(r.reg.host)
    r.reg.misbehave(t.at, "elsewhere")
    t.succeeds()
    away = [line for line in r.reg.log if line.startswith("away")]
    r.check("it was asked there", bool(away))
    r.check("without the log-in", {line.split()[-1] for line in away}, {"-"})


both("a redirect to another host", elsewhere)


def certificate(r, way, p):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    r.path("k"), "-out", r.path("c"), "-days", "2", "-subj", "/CN=x", "-addext",
                    "subjectAltName=DNS:other.example.com"], check=True, stderr=subprocess.DEVNULL)
    t = way(r, p, certificate=(r.path("c"), r.path("k")))
    t.fails(1, "certs.d")


for way in (Pull, Push):
    for p in ("manifest", "image") if way is Pull else ("layer",):
        row(f"{way.__name__.lower()} {p}: wrong certificate", lambda r, w=way, p=p: certificate(r, w, p))


# --- the disk is full, then it is not
def full(r, t):
    if isinstance(t, Push) and t.place in ("manifest", "config"):
        size = "64k"
    else:
        size = {"manifest": "8k", "config": "12k", "layer": "512k", "image": "512k"}[t.place]
    r.run(t.argv(), 1, "No space left on device", inside=(r.path("cache"), size))
    r.clean("out")
    if isinstance(t, Push):
        r.check("no kit is there", "1" in r.reg.manifests, False)
    t.succeeds()


if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 and os.geteuid() == 0:
    both("the disk is full", full, ("layer", "image"))
else:
    print("SKIPPED rows: a full disk needs mounts in a namespace")

# --- archives that are not what they should be (more of them: hostile.py, engine/store's tests)
F, D = tarfile.REGTYPE, tarfile.DIRTYPE
BOMB = pack(tar((GOOD_NAME, F, bytes(300 * MIB))))
KIT_LAYERS = {
    "truncated gzip": (LAYER_BYTES[:len(LAYER_BYTES) // 2], "no whole tar+gzip archive"),
    "no archive": (b"words " * 200, "no whole tar+gzip archive"),
    "..": (pack(tar(("home/agent/../../x", F, b"x"))), "not a clean relative path"),
    "absolute": (pack(tar(("/etc/x", F, b"x"))), "not a clean relative path"),
    "symlink": (pack(tar(("home/agent/l", tarfile.SYMTYPE, b"/etc/passwd"))), "no regular file"),
    "hard link": (pack(tar((GOOD_NAME, F, b"x"), ("home/agent/h", tarfile.LNKTYPE, GOOD_NAME.encode()))), "a hard link"),
    "device": (pack(tar(("home/agent/d", tarfile.CHRTYPE, b""))), "no regular file"),
    "duplicate": (pack(tar((GOOD_NAME, F, b"1"), (GOOD_NAME, F, b"2"))), "given twice"),
    "4 GiB header": (lying(), "larger than 268435456 bytes"),
    "bomb": (BOMB, "larger than 268435456 bytes"),
}
IMAGE_LAYERS = {
    "truncated gzip": (LAYER_BYTES[:len(LAYER_BYTES) // 2], "layer 1"),
    "..": (pack(tar(("a/../../x", F, b"x"))), "layer 1"),
    "symlink out, then through it": (pack(tar(("l", tarfile.SYMTYPE, b"/tmp"), ("l/x", F, b"x"))), "layer 1"),
    "hard link out": (pack(tar(("h", tarfile.LNKTYPE, b"../../etc/passwd"))), "layer 1"),
    "4 GiB header": (lying(), "layer 1"),
}


def hostile(r, data, text):
    t = Pull(r, "layer")
    t.digest = kit(r.reg, data)
    t.fails(1, text)


def hostile_image(r, data, text):
    t = Pull(r, "image")
    plain = b""
    try:
        plain = gzip.decompress(data)
    except EOFError:
        pass
    t.digest, _ = image(r.reg, data, plain=plain)
    t.fails(1, text)


def wrong_size(r, p):
    t = Pull(r, p)
    make = {"layer": lambda: kit(r.reg, size=len(LAYER_BYTES) - 7), "image": lambda: image(r.reg, size=len(LAYER_BYTES) - 7)[0]}
    t.digest = make[p]()
    t.fails(1, "more than the")


for n, (data, text) in KIT_LAYERS.items():
    row(f"pull layer: {n}", lambda r, d=data, x=text: hostile(r, d, x))
for n, (data, text) in IMAGE_LAYERS.items():
    row(f"pull image: {n}", lambda r, d=data, x=text: hostile_image(r, d, x))
for p in ("layer", "image"):
    row(f"pull {p}: the manifest says another size", lambda r, p=p: wrong_size(r, p))


# --- images of every make come
def image_of(r, data, media, manifest_type=MANIFEST):
    t = Pull(r, "image")
    t.digest, config = image(r.reg, data, media=media, plain=gzip.decompress(LAYER_BYTES))
    if manifest_type != MANIFEST:  # Docker's types
        m = json.loads(r.reg.manifests[t.digest][1])
        m["mediaType"], m["config"]["mediaType"] = manifest_type, "application/vnd.docker.container.image.v1+json"
        t.digest = put(r.reg, m)
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [
        {"mediaType": MANIFEST, "digest": sha(b"other"), "size": 5, "platform": {"os": "linux", "architecture": "mips64le"}},
        {"mediaType": MANIFEST, "digest": sha(b"proof"), "size": 5, "platform": {"os": "unknown", "architecture": "unknown"}},
        {"mediaType": manifest_type, "digest": t.digest, "size": len(r.reg.manifests[t.digest][1]),
         "platform": {"os": "linux", "architecture": MACHINE}}]}
    t.digest = put(r.reg, index)
    t.succeeds()
    found = [os.path.join(d, f) for d, _, files in os.walk(r.path("state/layers")) for f in files if f == "noise"]
    r.check("one layer is unpacked", len(found), 1)
    r.reg.forget()
    t.succeeds()  # pulled again: no blob moves
    r.check("nothing moves twice", r.reg.moved, {})
    r.check("the configuration is there", config in r.reg.blobs)


PLAIN = gzip.decompress(LAYER_BYTES)
row("pull image: gzip layer, chosen from an index", lambda r: image_of(r, LAYER_BYTES, LAYER))
row("pull image: plain layer", lambda r: image_of(r, PLAIN, LAYER[:-5]))
row("pull image: Docker's types", lambda r: image_of(
    r, LAYER_BYTES, "application/vnd.docker.image.rootfs.diff.tar.gzip", "application/vnd.docker.distribution.manifest.v2+json"))
if shutil.which("zstd"):
    row("pull image: zstd layer", lambda r: image_of(
        r, subprocess.run(["zstd", "-q", "-c"], input=PLAIN, stdout=subprocess.PIPE, check=True).stdout, LAYER[:-4] + "zstd"))
else:
    print("SKIPPED row: zstd is not installed")


def run_row(name, run):
    r = Row(name)
    try:
        run(r)
    except Exception as e:  # pylint: disable=broad-except # a row that breaks is a failure of that row
        r.failures.append(f"{type(e).__name__}: {e}")
    finally:
        r.close()
    return name, r.failures


def main():
    chosen = [x for x in rows if len(sys.argv) < 2 or sys.argv[1] in x[0]]
    bad = 0
    with ThreadPoolExecutor(WORKERS) as pool:
        for name, failures in pool.map(lambda x: run_row(*x), chosen):
            for f in failures:
                print(f"FAILED: {name}: {f}", flush=True)
            bad += bool(failures)
    print(f"{len(chosen) - bad} of {len(chosen)} rows hold")
    return 1 if bad or not chosen else 0


sys.exit(main())
