"""Rows of matrix.py: connections that are cut, answers that are refusals, redirects; SIGKILL meanwhile."""
import os

from matrix_world import MIB, PULL_IMAGE, SPEC, STEP, Pull, Push, both, kit, row, sha

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


# Configurations and manifests are small; these have 1 MiB. (Pushed, a manifest that is so large is no kit of ours.)
def large_config(r, way):
    spec = (SPEC + b"# " + b"x" * MIB)[:MIB]
    t = way(r, "config")
    t.at = sha(spec)
    if way is Pull:
        t.digest = kit(r.reg, spec=spec)
    else:
        with open(r.path("kit/spec.yaml"), "wb") as f:
            f.write(spec)
        t.size = lambda: MIB
    return t


def large_manifest(r):
    t = Pull(r, "manifest")
    t.digest = kit(r.reg, annotations={"x": "x" * MIB})
    return t


for way in (Pull, Push):
    row(f"{way.__name__.lower()} config: cut at each 64 KiB", lambda r, w=way: cuts(r, large_config(r, w)))
for k in range(1, MIB // STEP + 1) if os.environ.get("SBX_MATRIX") == "all" else (8,):
    row(f"pull manifest: cut behind {k * 64} KiB", lambda r, k=k: cut(r, large_manifest(r), k * STEP))


# --- no byte comes any more: the connection is given up after a minute, and it goes on with another one
def stall(r, t):
    r.reg.misbehave(t.at, "kill", 5 * STEP if t.place in ("layer", "image") else 20)
    r.reg.patience = 200
    t.succeeds()
    if t.at != "manifest":
        r.check("each byte moves once", r.reg.moved.get(t.at), t.size())


if os.environ.get("SBX_MATRIX") == "all":
    both("stalled for good", stall)


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


# --- answers
def passes(kind):
    def run(r, t):
        r.reg.misbehave(t.at, kind)
        t.succeeds()
        r.check("it was asked again", r.reg.asked.get(t.at), 3)
    return run


both("429 twice", passes("429"))


def until_a_date(r, t):
    passes("429date")(r, t)
    r.check("no request came before the date of Retry-After", (r.reg.early, r.reg.date > 0), (0, True))


both("429 until a date, twice", until_a_date, ("manifest", "layer"))
both("500 twice", passes("500"))


def much_later(r, t, when):
    """Longer than anybody waits for: it is said when, at once."""
    r.reg.misbehave(t.at, "429long", when)
    t.fails(1, "answers 429, TOOMANYREQUESTS: too often; ask again in ")
    r.check("it is asked once", r.reg.asked.get(t.at), 1)
    r.reg.behave()
    t.succeeds()


both("429 for an hour", lambda r, t: much_later(r, t, "3600"))
for when in ("9" * 30, "Fri, 31 Dec 9999 23:59:59 GMT"):
    row(f"pull manifest: 429 until {when[:20]}", lambda r, w=when: much_later(r, Pull(r, "manifest"), w))


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


both("401 for ever", refused("401", 3, "answers 401, UNAUTHORIZED: never"))
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
