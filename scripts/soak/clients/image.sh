#!/bin/bash
# The image of scripts/soak/clients.sh: the base image with programs from Debian's packages, and this machine's node and npm.
#
#   scripts/soak/clients/image.sh BASE.tar OUTPUT.tar      needs root and a Debian mirror
set -euo pipefail
base=$1 output=$2 tag=sbx.local/clients:bookworm
[ ! -s "$output" ] || exit 0
work=$(mktemp -d /tmp/sbx-clients-image.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$work/save" "$work/root" "$(dirname "$output")"
tar -xf "$base" -C "$work/save"
tar -xpf "$work"/save/*/layer.tar -C "$work/root" --numeric-owner --xattrs --xattrs-include='security.*'
mkdir -p "$work/root/tmp/apt"
cp -r /etc/apt/sources.list* /etc/apt/apt.conf.d "$work/root/tmp/apt" 2>/dev/null || true
export root=$work/root
unshare -m --propagation private bash -euc '
    mount -t proc proc "$root/proc"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    mknod -m 666 "$root/dev/null" c 1 3
    mknod -m 666 "$root/dev/urandom" c 1 9
    mknod -m 666 "$root/dev/random" c 1 8
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    [ ! -e /etc/hosts ] || cp /etc/hosts "$root/tmp/hosts"
    list=$([ -s "$root/tmp/apt/sources.list" ] && echo /tmp/apt/sources.list || echo /dev/null)
    apt="chroot $root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dir::Etc::sourcelist=$list
        -o Dir::Etc::sourceparts=/tmp/apt/sources.list.d -o Dir::Etc::parts=/tmp/apt/apt.conf.d -o Dpkg::Options::=--force-unsafe-io"
    $apt update
    $apt install -y --no-install-recommends openjdk-17-jre-headless ca-certificates-java python3-requests python3-pip redis-tools wget \
        openssl openssh-client </dev/null
' >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; echo "image: the packages could not be installed" >&2; exit 1; }
if command -v node >/dev/null && [ -d /usr/lib/node_modules/npm ]; then
    install -D "$(readlink -f "$(command -v node)")" "$root/usr/bin/node"
    mkdir -p "$root/usr/lib/node_modules"
    cp -r /usr/lib/node_modules/npm "$root/usr/lib/node_modules/npm"
    ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/bin/npm"
fi
rm -rf "$root"/tmp/* "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/archives/*.deb "$root/etc/resolv.conf"
tar -C "$root" --numeric-owner --one-file-system --xattrs --xattrs-include='security.*' -cf "$work/layer.tar" .
rm -rf --one-file-system "$root"
python3 - "$work" "$output" "$tag" <<'PY'
import hashlib, json, os, subprocess, sys
work, output, tag = sys.argv[1:]
old = json.load(open(work + "/save/manifest.json"))[0]
config = json.load(open(work + "/save/" + old["Config"]))
digest = hashlib.sha256()
with open(work + "/layer.tar", "rb") as f:
    while piece := f.read(1 << 20):
        digest.update(piece)
layer = digest.hexdigest()
config["rootfs"]["diff_ids"] = ["sha256:" + layer]
text = json.dumps(config).encode()
name = hashlib.sha256(text).hexdigest() + ".json"
out = work + "/out"
os.makedirs(out + "/" + layer)
os.rename(work + "/layer.tar", out + "/" + layer + "/layer.tar")
open(out + "/" + name, "wb").write(text)
json.dump([{"Config": name, "RepoTags": [tag], "Layers": [layer + "/layer.tar"]}], open(out + "/manifest.json", "w"))
subprocess.run(["tar", "-C", out, "-cf", output + ".part", "."], check=True)
os.rename(output + ".part", output)
PY
