#!/usr/bin/env python3
"""Write OCI layouts with artifacts that break the rules of kits, one tag a case; prints "TAG DIGEST" lines.

usage: hostile.py LAYOUT
"""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

ROOT = sys.argv[1]
KIT = "application/vnd.docker.sandbox.kit.v2"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
SPEC = b'schemaVersion: "2"\nkind: mixin\nname: odd\n'
os.makedirs(os.path.join(ROOT, "blobs/sha256"), exist_ok=True)


def put(data):
    name = hashlib.sha256(data).hexdigest()
    with open(os.path.join(ROOT, "blobs/sha256", name), "wb") as f:
        f.write(data)
    return {"digest": "sha256:" + name, "size": len(data)}


def tar(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as t:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mode = 0 if name.endswith("/none") else 0o6755
            if kind == tarfile.REGTYPE:
                info.size = len(data)
                t.addfile(info, io.BytesIO(data))
            else:
                info.linkname = data.decode()
                t.addfile(info)
    return out.getvalue()


def kit(layers, spec=SPEC, **changes):
    m = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": KIT,
         "config": {"mediaType": KIT + ".spec+yaml", **put(spec)},
         "layers": [x if isinstance(x, dict) else {"mediaType": LAYER, **put(x)} for x in layers]}
    m.update(changes)
    return {k: v for k, v in m.items() if v is not None}


F, D = tarfile.REGTYPE, tarfile.DIRTYPE
good = gzip.compress(tar(("home/agent/a", F, b"hello")))
lying = bytearray(tar(("home/agent/a", F, b"x")))
lying[124:136] = b"77777777777\0"
lying[148:156] = b"        "
lying[148:156] = b"%06o\0 " % sum(lying[:512])


def one(name, kind=F, data=b"x"):
    return kit([gzip.compress(tar((name, kind, data)))])


CASES = {
    "good": kit([good]),
    "no-layer": kit([]),
    "no-type": kit([good], artifactType=None),
    "other-layers": kit([{"mediaType": "x/y", **put(b"z")}, good]),
    "modes": kit([gzip.compress(tar(("home/agent/s", F, b"x"), ("home/agent/none", F, b"x")))]),
    "directories": kit([gzip.compress(tar(("home/agent/d/", D, b""), ("home/agent/d/f", F, b"x")))]),
    "dotdot": one("home/agent/../../etc/passwd"),
    "absolute": one("/home/agent/x"),
    "dot": one("./home/agent/x"),
    "double-slash": one("home/agent//x"),
    "elsewhere": one("etc/passwd"),
    "prefix": one("home/agent2/x"),
    "bare": one("home/agent", D, b""),
    "symlink": one("home/agent/l", tarfile.SYMTYPE, b"/etc/passwd"),
    "hardlink": kit([gzip.compress(tar(("home/agent/a", F, b"x"), ("home/agent/b", tarfile.LNKTYPE, b"home/agent/a")))]),
    "device": one("home/agent/d", tarfile.CHRTYPE, b""),
    "fifo": one("home/agent/p", tarfile.FIFOTYPE, b""),
    "twice": kit([gzip.compress(tar(("home/agent/a", F, b"1"), ("home/agent/a", F, b"2")))]),
    "file-as-directory": kit([gzip.compress(tar(("home/agent/a", F, b"1"), ("home/agent/a/b", F, b"2")))]),
    "truncated": kit([good[:len(good) // 2]]),
    "not-gzip": kit([b"this is no archive at all, only text that is long enough to be one" * 20]),
    "huge-header": kit([gzip.compress(bytes(lying))]),
    "bomb": kit([gzip.compress(tar(("home/agent/zeros", F, bytes(300 << 20))), 9)]),
    "two-layers": kit([good, gzip.compress(tar(("home/agent/b", F, b"x")))]),
    "image": kit([good], artifactType=None, config={"mediaType": "application/vnd.oci.image.config.v1+json", **put(b"{}")}),
    "other-artifact": kit([good], artifactType="application/vnd.example"),
    "version-one": kit([{"mediaType": "application/vnd.docker.sandbox.kit.v1.content.zip", **put(b"PK")}],
                       artifactType=None, config={"mediaType": "application/vnd.oci.empty.v1+json", **put(b"{}")}),
    "wrong-version": kit([], spec=b'schemaVersion: "1"\nkind: mixin\nname: odd\n'),
    "invalid-spec": kit([], spec=b'schemaVersion: "2"\nkind: mixin\nname: odd\nnonsense: 1\n'),
    "wrong-size": kit([{"mediaType": LAYER, **put(good), "size": len(good) + 1}]),
    "big-spec": kit([], config={"mediaType": KIT + ".spec+yaml", **put(SPEC), "size": 2 << 20}),
    "bad-digest": kit([{"mediaType": LAYER, "digest": "sha256:../../x", "size": 1}]),
}

entries = []
for tag, manifest in CASES.items():
    d = put(json.dumps(manifest).encode())
    entries.append({"mediaType": "application/vnd.oci.image.manifest.v1+json", **d,
                    "annotations": {"org.opencontainers.image.ref.name": tag}})
    print(tag, d["digest"])
with open(os.path.join(ROOT, "index.json"), "w") as f:
    json.dump({"schemaVersion": 2, "manifests": entries}, f)
with open(os.path.join(ROOT, "oci-layout"), "w") as f:
    f.write('{"imageLayoutVersion": "1.0.0"}')
