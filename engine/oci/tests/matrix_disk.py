"""Rows of matrix.py: a full disk, SIGKILL at each step on it, and other commands that clean up meanwhile."""
import os
import shutil
import signal
import subprocess
import threading

from matrix_world import NOISE, SBX, STEP, Pull, Push, both, row


# --- the disk is full, then it is not
def full(r, t):
    size = "512k"
    r.run(t.argv(), 1, "No space left on device", inside=(r.path("cache"), size))
    r.clean("out")
    if isinstance(t, Push):
        r.check("no kit is there", "1" in r.reg.manifests, False)
    t.succeeds()


def full_at(r, where, argv, text="No space left on device"):
    """A disk of 512 KiB at `where` (and not for the cache): nothing half-made is left there."""
    os.makedirs(r.path(where), exist_ok=True)
    r.run(argv, 1, text, inside=(r.path(where), "512k"))
    return r.left


def full_target(r):
    t = Pull(r, "layer")
    r.check("nothing is left at the target", full_at(r, "small", [*t.argv()[:-1], "small/out"]), [])
    t.succeeds()


def full_layout(r):
    t = Push(r, "layer")
    argv = [SBX, "--no-input", "kit"]
    full_at(r, "small", ["sh", "-c", f'{SBX} --no-input kit push kit oci-layout:small:1; s=$?; '
                         f'{SBX} kit resolve oci-layout:small:1 && exit 99; exit $s'])
    r.check("no archive is left", full_at(r, "small", [*argv, "pack", "kit", "-o", "small/kit.tar"]), [])
    r.run([*argv, "pack", "kit", "-o", "kit.tar"], 0, "Packed")
    t.succeeds()


def full_state(r):
    t = Pull(r, "image")
    left = full_at(r, "state", t.argv())
    r.check("it was begun", "layers" in left)
    t.succeeds()


def full_tmpdir(r, t):
    """TMPDIR is not used: nobody needs room there."""
    r.env["TMPDIR"] = r.path("tmp")
    os.mkdir(r.path("tmp"))
    r.run(t.argv(), 0, "", inside=(r.path("tmp"), "4k"))
    r.check("nothing is there", r.left, [])
    t.succeeds() if isinstance(t, Push) else r.clean()


if subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0 and os.geteuid() == 0:
    both("the disk is full", full, ("layer", "image"))
    both("TMPDIR is full", full_tmpdir, ("layer",))
    row("pull layer: the target's disk is full", full_target)
    row("push layer: the disk of a layout or an archive is full", full_layout)
    row("pull image: the state's disk is full", full_state)
else:
    print("SKIPPED rows: a full disk needs mounts in a namespace")

# --- SIGKILL at the n-th system call; without SBX_MATRIX=all at every fifth of those that change the disk
ALL = os.environ.get("SBX_MATRIX") == "all"
STEPS = "all" if ALL else "rename,renameat,renameat2,link,linkat,mkdir,mkdirat,unlink,unlinkat,rmdir,fsync,fdatasync,syncfs,ftruncate,fchmod,chmod"


def kill_at(r, t, n):
    """False: it ended before that."""
    argv = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={STEPS}", "-e", f"inject={STEPS}:signal=KILL:when={n}", *t.argv()]
    done = subprocess.run(argv, env={**r.env, "LSAN_OPTIONS": "detect_leaks=0"}, cwd=r.dir, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=100, check=False)
    if done.returncode == 0:
        return False
    r.check(f"killed at step {n}", done.returncode, -signal.SIGKILL)
    return True


def kill_each(r, t):
    every = 1 if ALL else 5
    first = 1 + hash(r.name) % every if every > 1 else 1
    n = first
    while kill_at(r, t, n):
        if os.path.exists(r.path("out")):  # it came so far: then it is whole
            with open(r.path("out/files/home/noise"), "rb") as f:
                r.check("what has its name is whole", f.read() == NOISE)
            shutil.rmtree(r.path("out"))
        t.succeeds()  # whatever was left
        for made in ("out", "cache", "state"):
            shutil.rmtree(r.path(made), ignore_errors=True)
        for made in ("cache", "state"):
            os.mkdir(r.path(made))
        if isinstance(t, Push):
            r.reg.blobs.clear()
            r.reg.manifests.clear()
        n += every
    r.check("there were such steps", n > first)


if shutil.which("strace"):
    row("pull layer: kill -9 at each step", lambda r: kill_each(r, Pull(r, "layer")))
    row("pull image: kill -9 at each step", lambda r: kill_each(r, Pull(r, "image")))
    row("push layer: kill -9 at each step", lambda r: kill_each(r, Push(r, "layer")))
else:
    print("SKIPPED rows: strace is not installed")


# --- others clean up, or want the same, while a pull is on its way (it stands still in the middle of a blob)
def start(r, t):
    r.reg.misbehave(t.at, "kill", 5 * STEP)  # stalls until it is released, then the connection is cut
    p = subprocess.Popen(t.argv(), env=r.env, cwd=r.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    r.check("it is on its way", r.reg.stalled.wait(30))
    return p


def end(r, p):
    out = p.communicate(timeout=100)[0].decode(errors="replace")
    r.check(f"it goes on ({out[:300]})", p.returncode, 0)


def cleaned(r, place):
    t = Pull(r, place)
    if place == "image":  # pull_image names its directories itself
        r.env["XDG_CACHE_HOME"] = r.path("above")
        os.mkdir(r.path("above"))
        os.symlink(r.path("cache"), r.path("above/sbx"))
    with start(r, t) as p:
        r.run([SBX, "cache", "prune", "--all"], 1, "another command is fetching")
        r.run([SBX, "cache", "verify"], 0, "whole")
        r.reg.behave()
        end(r, p)
    r.check("each byte moves once", r.reg.moved.get(t.at), t.size())
    r.clean()
    shutil.rmtree(r.path("out"), ignore_errors=True)
    r.run([SBX, "cache", "prune", "--all"], 0, "Freed")
    t.succeeds()


def twice(r, place):
    t = Pull(r, place)
    other = t.argv()
    if place != "image":
        other[-1] = "out2"
    with start(r, t) as p, subprocess.Popen(other, env=r.env, cwd=r.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT) as q:
        threading.Timer(0.2, r.reg.behave).start()  # the other one has most likely come to the lock; right either way
        end(r, p)
        end(r, q)
    r.check("each byte moves once", r.reg.moved.get(t.at), t.size())
    r.clean()


for place in ("layer", "image"):
    row(f"pull {place}: the cache is cleaned meanwhile", lambda r, p=place: cleaned(r, p))
    row(f"pull {place}: two at once", lambda r, p=place: twice(r, p))
