#!/bin/bash
# The power fails as soon as an image was loaded: what the disk has by then is whole. A file system of its own in a file stands
# for the disk; a copy of that file is what is found after the cut, without what was only in memory.
set -u
skip() { echo "SKIPPED: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root to mount"
command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not installed"
[ -e /dev/loop-control ] || skip "no loop devices"
[ "${1:-}" = inside ] || exec unshare -m --propagation private "$0" inside
work=$(mktemp -d) || exit 1
trap 'umount "$work/disk" "$work/found" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
fail=0
bad() { echo "FAILED: $*"; fail=1; }
sbx() { XDG_STATE_HOME=$work/$1/state XDG_CACHE_HOME=$work/$1/cache XDG_CONFIG_HOME=$work timeout 60 "$SBX_BIN" --no-input "${@:2}" </dev/null; }

mkdir "$work/disk" "$work/found"
truncate -s 96M "$work/file"
mkfs.ext4 -q "$work/file" && mount -o loop "$work/file" "$work/disk" || skip "no file system in a file can be mounted"
python3 - "$work/image.tar" <<'PY' || exit 1
import hashlib, io, json, random, sys, tarfile
def member(tar, name, data=b"", **more):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))
made = io.BytesIO()
with tarfile.open(fileobj=made, mode="w") as layer:
    for d in range(20):
        member(layer, f"d{d}", type=tarfile.DIRTYPE, mode=0o750)
        for f in range(30):
            member(layer, f"d{d}/f{f}", random.randbytes(random.choice((0, 100, 5000, 70000))), mode=0o4755 if f == 3 else 0o600)
        member(layer, f"d{d}/link", type=tarfile.SYMTYPE, linkname="f1")
        member(layer, f"d{d}/hard", type=tarfile.LNKTYPE, linkname=f"d{d}/f2")
digest = hashlib.sha256(made.getvalue()).hexdigest()
config = json.dumps({"os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]}}).encode()
with tarfile.open(sys.argv[1], "w") as image:
    member(image, "config.json", config)
    member(image, "layer.tar", made.getvalue())
    member(image, "manifest.json", json.dumps([{"Config": "config.json", "RepoTags": ["cut:1"], "Layers": ["layer.tar"]}]).encode())
PY
sync -f "$work/disk"
sbx disk template load --runtime oci "$work/image.tar" >/dev/null || bad "not loaded"
echo "only in memory" >"$work/disk/control"
cp --sparse=always "$work/file" "$work/cut" # the moment of the cut
mount -o loop "$work/cut" "$work/found" || bad "what is left cannot be mounted"
grep -q memory "$work/found/control" 2>/dev/null && bad "the copy has what nobody waited for: it shows nothing"
names() { (cd "$work/$1/state" && find . -path '*/layers/*' -printf '%P %y %m %s %n %l\n' | grep -v '^[^ ]* d' | sort); }
[ "$(names disk | wc -l)" -ge 640 ] || bad "only $(names disk | wc -l) files in the layers"
diff <(names disk) <(names found) >"$work/diff" || bad "names or modes differ: $(head -5 "$work/diff")"
diff -r --no-dereference "$work"/{disk,found}/state >"$work/diff" || bad "content differs: $(head -5 "$work/diff")"
sbx found template ls --runtime oci | grep -q '^cut  *1 ' || bad "the image is not listed after the cut"
[ $fail = 0 ] && echo "ok: the image is whole after a cut"
exit $fail
