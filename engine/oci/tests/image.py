#!/usr/bin/env python3
"""Write an OCI layout with an image for two platforms (tag "1"); prints the digest of its index.

usage: image.py LAYOUT [TEXT [BUSYBOX]]    TEXT makes another image; with a static BUSYBOX a sandbox can stand on it
"""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile

ROOT, TEXT = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "one").encode()
BUSYBOX = sys.argv[3] if len(sys.argv) > 3 else None
os.makedirs(os.path.join(ROOT, "blobs/sha256"), exist_ok=True)
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def put(data, media):
    name = hashlib.sha256(data).hexdigest()
    with open(os.path.join(ROOT, "blobs/sha256", name), "wb") as f:
        f.write(data)
    return {"mediaType": media, "digest": "sha256:" + name, "size": len(data)}


def layer(arch):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        info = tarfile.TarInfo("etc-" + arch)
        info.size = len(TEXT)
        t.addfile(info, io.BytesIO(TEXT))
        if BUSYBOX and arch == MACHINE:
            add_system(t)
    return out.getvalue()


def add_system(t):
    """A shell, its commands, and the user agent."""
    for name in ("bin", "etc", "home", "home/agent", "tmp"):
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        info.uid = info.gid = 1000 if name == "home/agent" else 0
        t.addfile(info)
    t.add(BUSYBOX, "bin/busybox")
    for name in ("sh", "cat", "id", "sleep", "env", "chown", "mkdir", "ls"):
        info = tarfile.TarInfo("bin/" + name)
        info.type, info.linkname = tarfile.SYMTYPE, "busybox"
        t.addfile(info)
    for name, text in (("passwd", b"root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n"),
                       ("group", b"root:x:0:\nagent:x:1000:\n")):
        info = tarfile.TarInfo("etc/" + name)
        info.size, info.mode = len(text), 0o644
        t.addfile(info, io.BytesIO(text))


manifests = []
for arch in (MACHINE, "mips64le"):
    plain = layer(arch)
    config = {"architecture": arch, "os": "linux", "config": {"Env": ["IMAGE=" + TEXT.decode()]},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]}}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": put(json.dumps(config).encode(), "application/vnd.oci.image.config.v1+json"),
                "layers": [put(gzip.compress(plain, mtime=0), "application/vnd.oci.image.layer.v1.tar+gzip")]}
    manifests.append({**put(json.dumps(manifest).encode(), manifest["mediaType"]),
                      "platform": {"architecture": arch, "os": "linux"}})
index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
entry = put(json.dumps(index).encode(), index["mediaType"])
print(entry["digest"])
entry["annotations"] = {"org.opencontainers.image.ref.name": "1"}
with open(os.path.join(ROOT, "index.json"), "w") as f:
    json.dump({"schemaVersion": 2, "manifests": [entry]}, f)
with open(os.path.join(ROOT, "oci-layout"), "w") as f:
    f.write('{"imageLayoutVersion": "1.0.0"}')
