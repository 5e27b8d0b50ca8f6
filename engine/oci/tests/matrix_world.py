"""What the rows of matrix.py share: kits and images, a world of one run, and the two ways, pull and push."""
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

from badregistry import LOGIN, Registry

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


def kit(reg, layer=LAYER_BYTES, size=None, spec=SPEC, **more):
    entry = describe(layer, LAYER, reg)
    if size is not None:
        entry["size"] = size
    return put(reg, {"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": KIT_TYPE,
                     "config": describe(spec, KIT_TYPE + ".spec+yaml", reg), "layers": [entry], **more}, "1")


def image_layout(row, reg, busybox):
    """An image that a sandbox can stand on, in `reg`: the digest of its layer, and its reference."""
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run([sys.executable, os.path.join(here, "image.py"), "image", f"only {reg.host}", busybox], cwd=row.dir, check=True,
                   stdout=subprocess.DEVNULL)
    with open(row.path("image/index.json"), encoding="utf-8") as f:
        index = json.load(f)["manifests"][0]["digest"]
    for name in os.listdir(row.path("image/blobs/sha256")):
        with open(row.path("image/blobs/sha256", name), "rb") as f:
            reg.blobs["sha256:" + name] = f.read()
    entries = [json.loads(reg.blobs[index])]
    reg.manifests[index] = reg.manifests["1"] = (entries[0]["mediaType"], reg.blobs[index])
    for m in entries[0]["manifests"]:
        reg.manifests[m["digest"]] = (m["mediaType"], reg.blobs[m["digest"]])
        if m["platform"]["architecture"] == MACHINE:
            layer = json.loads(reg.blobs[m["digest"]])["layers"][0]["digest"]
    return layer, f"{reg.host}/x:1"


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
        self.name, self.failures, self.left = name, [], []
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
        if inside:  # a small disk: a mount in a namespace of its own; what is left there is listed in self.left
            argv = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size={inside[1]} none {inside[0]} && {{ \"$@\"; s=$?; "
                    f"ls -A {inside[0]} >{self.path('left')}; exit $s; }}", "sh", *argv]
        done = subprocess.run(argv, env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=100, check=False)
        out = done.stdout.decode(errors="replace")
        if inside:
            with open(self.path("left"), encoding="utf-8") as f:
                self.left = f.read().split()
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

    def fail_status(self, status):
        """pull_image knows only 1."""
        return 1 if self.place == "image" else status

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

    def fail_status(self, status):
        return status

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


def run_row(name, run):
    r = Row(name)
    try:
        run(r)
    except Exception as e:  # pylint: disable=broad-except # a row that breaks is a failure of that row
        r.failures.append(f"{type(e).__name__}: {e}")
    finally:
        r.close()
    return name, r.failures


def run_rows(chosen, workers=WORKERS):
    bad = 0
    with ThreadPoolExecutor(workers) as pool:
        for name, failures in pool.map(lambda x: run_row(*x), chosen):
            for f in failures:
                print(f"FAILED: {name}: {f}", flush=True)
            bad += bool(failures)
    print(f"{len(chosen) - bad} of {len(chosen)} rows hold")
    return 1 if bad or not chosen else 0
