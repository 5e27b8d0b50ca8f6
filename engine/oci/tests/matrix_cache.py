"""Rows of matrix.py: caches that cannot be used, that others share or clean up, and links in them."""
import os
import shutil
import subprocess
import tarfile

from matrix_world import NOISE, SBX, Pull, kit, pack, row, sha, tar

NOBODY = 65534


def cache_of(t):
    return "cache" if t.place == "image" else "cache/sbx"


def as_nobody(t, argv):
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *argv]


def give(r, *names):
    for name in names:
        for d, _, files in os.walk(r.path(name)):
            for x in (d, *(os.path.join(d, f) for f in files)):
                os.chown(x, NOBODY, NOBODY, follow_symlinks=False)


def stranger(r, t):
    """The row's directory belongs to nobody but the cache, which is another user's."""
    os.chmod(r.dir, 0o777)
    give(r, "state", "config", "docker")
    argv = t.argv()
    t.argv = lambda: as_nobody(t, argv)
    return t


def others(r, place):
    t = stranger(r, Pull(r, place))
    t.fails(1, "Permission denied")
    r.check("nothing is there", os.listdir(r.path("cache")), [])
    give(r, "cache")
    t.succeeds()


def shared(r, place):
    """Filled by root, for root: another user is told, and breaks nothing."""
    t = Pull(r, place)
    t.succeeds()
    shutil.rmtree(r.path("out"), ignore_errors=True)
    stranger(r, t)
    t.fails(1, "Permission denied")
    r.clean()


def read_only(r, place):
    t = Pull(r, place)
    t.fails(1, "Read-only file system", inside=(r.path("cache"), "64m,ro"))
    t.succeeds()


def linked(r, place):
    """The cache lies on another disk: a link to it is as good."""
    t = Pull(r, place)
    os.rmdir(r.path("cache"))
    os.mkdir(r.path("far"))
    os.symlink("far", r.path("cache"))
    t.succeeds()
    r.check("it is there", "blobs" in os.listdir(r.path("far/sbx" if place == "layer" else "far")))


def planted(r, place):
    """A half blob that is a link, a directory or a FIFO: what it leads to is not written, and it is said."""
    t = Pull(r, place)
    half = r.path(cache_of(t), "partial", t.at.split(":")[1])
    os.makedirs(os.path.dirname(half), 0o700)
    with open(r.path("precious"), "w", encoding="utf-8") as f:
        f.write("precious")
    for make, text in ((lambda: os.symlink(r.path("precious"), half), "partial"), (lambda: os.mkdir(half), "partial"),
                       (lambda: os.mkfifo(half), "partial")):
        make()
        t.fails(1, text)
        if os.path.lexists(half):
            (os.rmdir if os.path.isdir(half) and not os.path.islink(half) else os.unlink)(half)
    with open(r.path("precious"), encoding="utf-8") as f:
        r.check("what a link led to", f.read(), "precious")
    t.succeeds()


def no_directory(r, place):
    t = Pull(r, place)
    os.rmdir(r.path("cache"))
    with open(r.path("cache"), "wb"):
        pass
    t.fails(1, "Not a directory")
    os.unlink(r.path("cache"))
    t.succeeds()


def homeless(r):
    """Neither HOME nor XDG directories: it is said which is missing."""
    t = Pull(r, "layer")
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        r.env.pop(name)
    t.fails(1, "HOME")


ROOT = os.geteuid() == 0 and shutil.which("setpriv")
for p in ("layer", "image"):
    if ROOT:
        if p == "layer":  # only root unpacks images: their files have owners
            row(f"pull {p}: the cache is another user's", lambda r, p=p: others(r, p))
        row(f"pull {p}: the cache was filled by another user", lambda r, p=p: shared(r, p))
    if ROOT and subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        row(f"pull {p}: the cache cannot be written", lambda r, p=p: read_only(r, p))
    row(f"pull {p}: the cache is a link", lambda r, p=p: linked(r, p))
    row(f"pull {p}: the cache is a file", lambda r, p=p: no_directory(r, p))
    row(f"pull {p}: a half blob is something else", lambda r, p=p: planted(r, p))
row("pull: no HOME", homeless)
if not ROOT:
    print("SKIPPED rows: other users need root and setpriv")


# --- sixteen pulls of four kits at once, while others clean up and check
def crowd(r):
    t = Pull(r, "layer")
    digests = [kit(r.reg, pack(tar(("home/agent/noise", tarfile.REGTYPE, NOISE[n:] + NOISE[:n])))) for n in range(4)]
    argv = [[*t.argv()[:4], f"oci://{r.reg.host}/x@{digests[n % 4]}", f"out{n}"] for n in range(16)]
    quiet = {"env": r.env, "cwd": r.dir, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    pulls = [subprocess.Popen(a, **quiet) for a in argv]  # pylint: disable=consider-using-with
    while any(p.poll() is None for p in pulls):
        done = subprocess.run([SBX, "cache", "verify"], timeout=100, check=False, **quiet)
        r.check(f"it is whole: {done.stdout[:300]}", done.returncode, 0)
        done = subprocess.run([SBX, "cache", "prune", "--all"], timeout=100, check=False, **quiet)
        r.check(f"it is cleaned, or in use: {done.stdout[:300]}", done.returncode == 0 or b"another command" in done.stdout)
    for n, p in enumerate(pulls):
        out = p.communicate(timeout=100)[0]
        r.check(f"pull {n}: {out[:300]}", p.returncode, 0)
        with open(r.path(f"out{n}/files/home/noise"), "rb") as f:
            r.check(f"kit {n}", sha(f.read()), sha(NOISE[n % 4:] + NOISE[:n % 4]))
    r.clean()


row("pull layer: sixteen at once, and the cache is cleaned and checked meanwhile", crowd)
