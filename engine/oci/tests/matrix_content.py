"""Rows of matrix.py: content that is not what it should be, and images of every make that are."""
import gzip
import json
import os
import shutil
import subprocess
import tarfile

from matrix_world import (GOOD_NAME, LAYER, LAYER_BYTES, MACHINE, MANIFEST, MIB, PLACES, SBX, Pull, Push, image, kit, lying, pack, put,
                          row, sha, tar)

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
    "a directory where a file is": (pack(tar((GOOD_NAME, F, b"1"), (GOOD_NAME, D, b""))), "given twice"),
    "4 GiB header": (lying(), "larger than 268435456 bytes"),
    "bomb": (BOMB, "larger than 268435456 bytes"),
}
IMAGE_LAYERS = {
    "truncated gzip": (LAYER_BYTES[:len(LAYER_BYTES) // 2], "layer 1"),
    "..": (pack(tar(("a/../../x", F, b"x"))), "layer 1"),
    "symlink out, then through it": (pack(tar(("l", tarfile.SYMTYPE, b"/tmp"), ("l/x", F, b"x"))), "layer 1"),
    "hard link out": (pack(tar(("h", tarfile.LNKTYPE, b"../../etc/passwd"))), "layer 1"),
    "4 GiB header": (lying(), "layer 1"),
    "absolute": (pack(tar(("/etc/x", F, b"x"))), "layer 1"),
    "device of a whiteout": (pack(tar(("d", tarfile.CHRTYPE, b""))), "layer 1"),
}
# Others are what images have: symlinks and hard links within, devices, the same name twice (engine/store's test_import.c has each of
# them, and what of them is refused). A bomb is one behind 64 GiB, which takes minutes to reach: not here.
# None of this has a push: what is pushed is packed here, or copied as it is and looked at by who pulls it.


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


# --- a kit that others packed keeps its digest when it is pulled and pushed on
def pushed_on(r, change):
    t = Pull(r, "layer")
    t.succeeds()
    change(r)
    out = r.run([SBX, "--no-input", "kit", "push", "out", f"{r.reg.host}/y:2"], 0, "Pushed")
    return t.digest in out


def touch(r):
    with open(r.path("out/files/home/noise"), "ab") as f:
        f.write(b"more")


def forget(r):
    r.run([SBX, "cache", "prune", "--all"], 0, "Freed")


row("pull, then push: the digest is the same", lambda r: r.check("the same", pushed_on(r, lambda r: None)))
row("pull, change, then push: it is another", lambda r: r.check("the same", pushed_on(r, touch), False))
row("pull, another mode, then push: it is another", lambda r: r.check(
    "the same", pushed_on(r, lambda r: os.chmod(r.path("out/files/home/noise"), 0o755)), False))
row("pull, without the cache, then push: packed anew", lambda r: r.check("the same", pushed_on(r, forget), False))


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


# --- headers of archives by which others were fooled: what a name, a size or a kind is, said a second time
def pax(records, *after, kind=b"x"):
    """An extended header, then members as they are."""
    text = b""
    for key, value in records:
        line = b" %s=%s\n" % (key, value)
        n = len(line) + 1
        while len(b"%d" % n) + len(line) != n:
            n += 1
        text += b"%d" % n + line
    info = tarfile.TarInfo("pax")
    info.type, info.size = kind, len(text)
    head = info.tobuf(tarfile.USTAR_FORMAT)
    return pack(head + text + bytes(-len(text) % 512) + tar(*after))


def typed(kind, name=GOOD_NAME, data=b"x"):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, len(data), "/etc/passwd"
    return pack(info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512) + bytes(1024))


ONE = (GOOD_NAME, F, b"x")
SECOND = {
    "a pax path with ..": (pax([(b"path", b"home/agent/../../x")], ONE), "not a clean relative path"),
    "a pax path that is absolute": (pax([(b"path", b"/etc/x")], ONE), "not a clean relative path"),
    "a pax path elsewhere": (pax([(b"path", b"etc/x")], ONE), "neither below"),
    "a pax path with a zero byte": (pax([(b"path", b"home/agent/a\0/../../../x")], ONE), ""),
    "a pax size of 8 EiB": (pax([(b"size", b"9223372036854775807")], ONE), ""),
    "a pax size below zero": (pax([(b"size", b"-1")], ONE), ""),
    "a pax size of words": (pax([(b"size", b"many")], ONE), ""),
    "a pax path for all": (pax([(b"path", b"etc/x")], ONE, kind=b"g"), "for all entries"),
    "a pax header of 8 MiB": (pax([(b"comment", b"x" * (8 << 20))], ONE), ""),
    "a sparse file of GNU": (typed(b"S"), ""), "a file of another volume": (typed(b"M"), ""), "a name of a volume": (typed(b"V"), ""),
    "a kind nobody knows": (typed(b"Z"), ""), "a link with a size": (typed(tarfile.SYMTYPE), "no regular file"),
    "a directory with a size": (typed(D), ""),
    "a long name of GNU with ..": (pack(tar(("home/agent/" + "a/" * 100 + "../x", F, b"x"))), "not a clean relative path"),
    "a name of control characters": (pack(tar(("home/agent/\x1b[31m\n", F, b"x"))), None),
    "a name that is no UTF-8": (pack(tar(("home/agent/\udcff", F, b"x"))), ""),
    "a name of 300 bytes": (pack(tar(("home/agent/" + "x" * 300, F, b"x"))), ""),
    "a path of 5,000 bytes": (pack(tar(("home/agent/" + "x/" * 2500 + "x", F, b"x"))), ""),
    "another archive behind it": (pack(tar(ONE)) + pack(tar(("home/agent/../../x", F, b"x"))), None),  # not read, as by tar
    "words behind it": (pack(tar(ONE)) + b"words", None),
    "a header whose sum is wrong": (pack(tar(ONE).replace(b"ustar", b"ustaR", 1)), ""),
    "no end": (pack(tar(ONE)[:1024]), None), "half a file": (pack(tar((GOOD_NAME, F, b"x" * 5000))[:2048]), ""),
    "only zeros": (pack(bytes(10240)), None), "nothing in the gzip": (pack(b""), None),
}


def second(r, data, text):
    t = Pull(r, "layer")
    t.digest = kit(r.reg, data)
    out = r.run(t.argv(), 0 if text is None else 1, text or "")
    r.check("nothing of a terminal's in it", "\x1b" in out, False)
    r.clean(*([] if text is None else ["out"]))
    r.check("nothing beside it", [n for n in os.listdir(r.dir) if n not in ("cache", "state", "config", "docker", "out")], [])


for n, (data, text) in SECOND.items():
    row(f"pull layer: {n}", lambda r, d=data, x=text: second(r, d, x))
