#!/usr/bin/env python3
"""What is on stderr while blobs come: bars on terminals of every width, lines elsewhere, events with --output json.

usage: progress.py    SBX_BIN; the images of `create` and `run` need root, a static busybox and a runtime
"""
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from badregistry import Registry  # noqa: E402
from matrix_world import SBX, Row, image_layout, kit, sha, NOISE, pack, tar, GOOD_NAME  # noqa: E402
import tarfile  # noqa: E402

SIZE = r"\d+(\.\d)?(kB|MB|B)"
NAME = r"(sha256:)?[0-9a-f]{12}"
BAR = re.compile(rf"^{NAME}  \[=*> *\]  {SIZE} of {SIZE}(  {SIZE}/s  \d+ s left)?$")
RATED = re.compile(rf"^{NAME}  (\[=*> *\]  )?{SIZE} of {SIZE}  {SIZE}/s  \d+ s left$")
NO_BAR = re.compile(rf"^{NAME}  {SIZE} of {SIZE}(  {SIZE}/s  \d+ s left)?$")
OVER = re.compile(rf"^{NAME}  {SIZE}(  {SIZE}/s)?$")
LAYER = pack(tar((GOOD_NAME, tarfile.REGTYPE, NOISE + NOISE[::-1])))  # 2 MiB: some hundred milliseconds


def on_terminal(row, argv, columns, **env):
    """Run on a terminal of so many columns; all that was written there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(argv, env={**row.env, "TERM": "xterm", **env}, cwd=row.dir, stdin=slave, stdout=slave,
                          stderr=slave) as p:
        os.close(slave)
        out = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            out += piece
        row.check("status", p.wait(100), 0)
    os.close(master)
    return out.decode()


def blob_lines(text):
    plain = re.sub(r"\x1b\[[0-9]*[A-Za-z]", "", text).replace("\r\n", "\n")
    return [line for line in plain.split("\n") if re.match(rf"^{NAME}  ", line)]


class Pull:
    """A kit whose layer comes slowly."""

    def __init__(self, row):
        self.row, reg = row, row.registry()
        self.name = f"{reg.host}/x@{kit(reg, LAYER)}"
        reg.misbehave(sha(LAYER), "slow")

    def argv(self, *more):
        return [SBX, "--no-input", "kit", "pull", f"oci://{self.name}", "out", *more]


def bars(row):
    out = on_terminal(row, Pull(row).argv(), 100)
    lines = blob_lines(out)
    row.check("drawn over and over", len(lines) > 3 and "\x1b[1A" in out)
    row.check("bars", [x for x in lines if not BAR.match(x) and not OVER.match(x)], [])
    row.check("with rate and time left", any(RATED.match(x) for x in lines))
    row.check("the last line stays", bool(OVER.match(lines[-1])))
    row.check("it grows", [x.count("=") for x in lines[:-1]] == sorted(x.count("=") for x in lines[:-1]))


def narrow(row, columns, shape):
    lines = blob_lines(on_terminal(row, Pull(row).argv(), columns))
    row.check("lines", len(lines) > 1)
    row.check("none wraps", [x for x in lines if len(x) >= columns], [])
    if shape:
        row.check("no bar", [x for x in lines if not shape.match(x) and not OVER.match(x)], [])


def lines_only(row, out):
    row.check("no cursor moves", "\x1b" in out, False)
    row.check("one line a blob", [bool(OVER.match(x)) for x in blob_lines(out)], [True])


def dumb(row):
    lines_only(row, on_terminal(row, Pull(row).argv(), 100, TERM="dumb"))


def no_color(row):
    out = on_terminal(row, Pull(row).argv(), 100, NO_COLOR="1")
    row.check("bars, which have no colour", any(BAR.match(x) for x in blob_lines(out)) and not re.search(r"\x1b\[[0-9;]*m", out))


def unknown_width(row):
    lines = blob_lines(on_terminal(row, Pull(row).argv(), 0))
    row.check("as with 80 columns", any(BAR.match(x) for x in lines) and all(len(x) < 80 for x in lines))


def no_terminal(row):
    lines_only(row, row.run(Pull(row).argv(), 0, ""))


def events(row, argv, layer, total):
    p = subprocess.run(argv, env=row.env, cwd=row.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False)
    row.check("status", p.returncode, 0)
    json.loads(p.stdout)
    said = [json.loads(x) for x in p.stderr.decode().splitlines()]
    told = [x for x in said if x["event"] == "blob"]
    row.check("events", bool(told) and all(set(x) == {"event", "digest", "done", "total"} for x in told))
    row.check("the last one", told[-1] if told else None, {"event": "blob", "digest": layer, "done": total, "total": total})
    return said


def failed_events(row):
    """What fails says so as an event too, the last one; the value on stdout has the whole."""
    pull = Pull(row)
    row.reg.misbehave(sha(LAYER), "flip")
    p = subprocess.run(pull.argv("--json"), env=row.env, cwd=row.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=100,
                       check=False)
    said = [json.loads(x) for x in p.stderr.decode().splitlines()]
    told = json.loads(p.stdout)["diagnostics"]
    row.check("status", p.returncode, 1)
    row.check("the error", said[-1]["event"], "error")
    row.check("the value", [x["message"] for x in told], [said[-1]["text"]])


def inspect_events(row):
    events(row, [SBX, "--no-input", "kit", "inspect", f"oci://{Pull(row).name}", "--json"], sha(LAYER), len(LAYER))


def push_events(row):
    os.makedirs(row.path("kit/files/home"))
    with open(row.path("kit/spec.yaml"), "w", encoding="utf-8") as f:
        f.write('schemaVersion: "2"\nkind: mixin\nname: tools\n')
    with open(row.path("kit/files/home/noise"), "wb") as f:
        f.write(NOISE + NOISE[::-1])
    reg = row.registry()
    argv = [SBX, "--no-input", "kit", "push", "kit", f"{reg.host}/x:1", "--json"]
    p = subprocess.run(argv, env=row.env, cwd=row.dir, stdin=subprocess.DEVNULL, capture_output=True, timeout=100, check=False)
    row.check("status", p.returncode, 0)
    digest = json.loads(p.stdout)["digest"]
    layer = json.loads(reg.manifests[digest][1])["layers"][0]
    said = [json.loads(x) for x in p.stderr.decode().splitlines()]
    row.check("the last one", said[-1] if said else None,
              {"event": "blob", "digest": layer["digest"], "done": layer["size"], "total": layer["size"]})


rows = [("bars", bars), ("60 columns", lambda r: narrow(r, 60, NO_BAR)), ("30 columns", lambda r: narrow(r, 30, None)),
        ("1 column", lambda r: row_of_one(r)), ("TERM=dumb", dumb), ("NO_COLOR", no_color), ("a width of 0", unknown_width),
        ("no terminal", no_terminal),
        ("--output json of a failure", failed_events), ("inspect --json", inspect_events), ("push --json", push_events),
        ("--output json", lambda r: events(r, Pull(r).argv("--output", "json"), sha(LAYER), len(LAYER)))]


def row_of_one(row):
    on_terminal(row, Pull(row).argv(), 1)
    row.check("it came", os.path.exists(row.path("out/spec.yaml")))


# --- the image of a sandbox
class Create:
    def __init__(self, row, runtime, verb="create"):
        self.row, self.runtime, self.verb, reg = row, runtime, verb, row.registry()
        self.layer, self.image = image_layout(row, reg, shutil.which("busybox"))
        reg.misbehave(self.layer, "slow")
        os.mkdir(row.path("ws"))
        os.chown(row.path("ws"), 1000, 1000)
        self.name = f"progress-{runtime}-{os.getpid()}-{reg.server.server_port}"

    def argv(self, *more):
        return [SBX, "--no-input", self.verb, "--runtime", self.runtime, "shell", "--template", self.image, "--name", self.name,
                *more, "ws"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.row.run([SBX, "rm", "-f", self.name], 0, "")
        if self.runtime == "docker":
            subprocess.run(["docker", "rmi", "-f", self.image], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def create(row, runtime, verb, *more):
    with Create(row, runtime, verb) as c:
        out = on_terminal(row, c.argv(*more), 100)
        lines = blob_lines(out)
        row.check("a layer", bool(lines) and bool(OVER.match(lines[-1])))
        if runtime == "oci":
            row.check("bars", any(BAR.match(x) for x in lines) and any(RATED.match(x) for x in lines))
        row.check("the other steps", "* Create the container" in out)


def quiet(row, runtime):
    with Create(row, runtime) as c:
        row.check("nothing but the name", on_terminal(row, c.argv("-q"), 100).strip(), c.name)


def create_lines(row, runtime):
    with Create(row, runtime) as c:
        lines_only(row, row.run(c.argv(), 0, "Get image"))


def create_events(row, runtime, verb, *more):
    with Create(row, runtime, verb) as c:
        said = events(row, c.argv("--json", *more), c.layer, len(row.reg.blobs[c.layer]))
        steps = {kind: [x["step"] for x in said if x["event"] == kind] for kind in ("step", "done")}
        row.check("steps begin and end", sorted(steps["step"]) == sorted(steps["done"]) and "container" in steps["done"])


def runtimes():
    if os.geteuid() != 0 or not shutil.which("busybox"):
        print("SKIPPED rows: images of sandboxes need root and busybox")
        return []
    found = ["oci"] if shutil.which("runc") or shutil.which("crun") else []
    if subprocess.run(["docker", "version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
        found.append("docker")
    return found


for one in runtimes():
    rows.append((f"create ({one})", lambda r, x=one: create(r, x, "create")))
    rows.append((f"run -d ({one})", lambda r, x=one: create(r, x, "run", "-d")))
    rows.append((f"create -q ({one})", lambda r, x=one: quiet(r, x)))
    rows.append((f"create without a terminal ({one})", lambda r, x=one: create_lines(r, x)))
    if one == "oci":
        rows.append((f"create --json ({one})", lambda r, x=one: create_events(r, x, "create")))
        rows.append((f"run -d --json ({one})", lambda r, x=one: create_events(r, x, "run", "-d")))

if __name__ == "__main__":
    from matrix_world import run_rows
    sys.exit(run_rows(rows, 4))
