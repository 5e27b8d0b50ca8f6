#!/bin/bash
# Kits with every tool and registry that is to be had, and a kit of 1 GiB: too long, or too much to install, for CI.
# shellcheck disable=SC2034 # fail is for finish()
#
#   scripts/soak/oci.sh      some minutes; SBX_BIN is what is tested (default: build/release/bin/sbx)
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
export SBX_BIN=${SBX_BIN:-$here/build/release/bin/sbx} SBX_SOURCE_DIR=$here
PATH=$("$here/scripts/soak/peers-oci.sh" | tail -1):$PATH
export PATH
bad=0
for script in tools logins kits images hostile refer; do
    echo "--- $script"
    timeout 600 "$here/engine/oci/tests/$script.sh" || bad=1
done

echo "--- a kit of 1 GiB"
(
    # shellcheck source=../../engine/oci/tests/registry.sh
    . "$here/engine/oci/tests/registry.sh"
    # most WHAT COMMAND...: it works, in at most 16 MiB
    most() {
        local what=$1
        shift
        local kib cpu
        read -r _ kib cpu < <("$work/used" "$@" 3>&1 >/dev/null </dev/null)
        echo "$what: $((${kib:-99999} / 1024)) MiB, ${cpu:-?} s of CPU"
        [ "${kib:-99999}" -le 16384 ] || fail=1
    }
    cc -O2 -static -D_GNU_SOURCE -o "$work/used" "$here/engine/oci/bench/used.c" || exit 1
    mkdir -p big/files/home
    printf 'schemaVersion: "2"\nkind: mixin\nname: big\n' >big/spec.yaml
    for ((i = 0; i < 8; i++)); do head -c 128M /dev/urandom >big/files/home/$i; done
    registry plain
    most push "$SBX_BIN" kit push big "$host/team/big:1"
    ref=$("$SBX_BIN" kit resolve "$host/team/big:1")
    rm -rf "$XDG_CACHE_HOME"
    most pull "$SBX_BIN" kit pull "$ref" back
    is "it is the same" "$(diff -rq big back)" ""
    most "push again" "$SBX_BIN" kit push back "$host/team/big:2"
    is "with the same digest" "$("$SBX_BIN" kit resolve "$host/team/big:2")" "$ref"
    rm -rf back
    most pack "$SBX_BIN" kit pack big -o big.tar
    most "push to a layout" "$SBX_BIN" kit push big oci-layout:lay:1
    most "push from a layout" "$SBX_BIN" kit push oci-layout:lay:1 "$host/again/big:1"
    is "skopeo takes the archive" "$(skopeo inspect --raw oci-archive:big.tar | sha256sum | cut -d' ' -f1)" "${ref##*@sha256:}"
    if command -v oras >/dev/null; then
        oras cp --from-plain-http "$host/team/big:1" --to-oci-layout oraslay:1 >/dev/null || fail=1
        t 0 "@${ref##*@}" kit resolve oci-layout:oraslay:1
    fi
    finish
) || bad=1

echo "--- docker"
(
    # shellcheck source=../../engine/oci/tests/registry.sh
    . "$here/engine/oci/tests/registry.sh"
    if ! docker version >/dev/null 2>&1; then
        echo "not tried: no Docker Engine is running"
        exit 0
    fi
    registry plain
    digest=$(python3 "$here/engine/oci/tests/image.py" image)
    skopeo copy -q --all --dest-tls-verify=false oci:image:1 "docker://$host/images/base:1" || fail=1
    mkdir kit && printf 'schemaVersion: "2"\nkind: sandbox\nname: agent\nsandbox: { image: "%s/images/base:1" }\n' "$host" >kit/spec.yaml
    t 0 Pushed kit push kit "$host/team/agent:1"
    is "docker pulls what a kit's image is pinned to" "$(docker pull -q "$host/images/base@$digest" >/dev/null && echo yes)" yes
    is "and its anchor" "$(docker pull -q "$host/team/agent:_kit_1" >/dev/null && echo yes)" yes
    is "a kit is no image for it" "$(docker pull -q "$host/team/agent:1" 2>&1 | grep -c 'unsupported\|cannot\|no matching\|invalid\|unknown')" 1
    docker rmi -f "$host/images/base@$digest" "$host/team/agent:_kit_1" >/dev/null 2>&1
    finish
) || bad=1
exit $bad
