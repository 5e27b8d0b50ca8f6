#!/bin/bash
# Kits with every tool and registry that is to be had, and a kit of 1 GiB: too long, or too much to install, for CI.
# shellcheck disable=SC2034 # fail is for finish()
#
#   scripts/soak/oci.sh      ten minutes; SBX_BIN is what is tested (default: build/release/bin/sbx)
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

echo "--- faults x places, all of them"
SBX_MATRIX=all timeout 1200 "$here/engine/oci/tests/matrix.py" || bad=1
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

# other NAME SUBJECT COMMAND...: a registry that is not Debian's (@: its address): kits, images, referrers, deletes; with oras and
# skopeo beside ours. SUBJECT: it answers a push with OCI-Subject (yes or no).
other() {
    local name=$1 subject=$2
    shift 2
    echo "--- $name"
    command -v "$1" >/dev/null || { echo "not tried: $1 is not installed"; return 0; }
    (
        # shellcheck source=../../engine/oci/tests/registry.sh
        . "$here/engine/oci/tests/registry.sh"
        port=$(free_port)
        host=127.0.0.1:$port
        cat >other.yml <<YML
version: 0.1
log: { level: error, accesslog: { disabled: true } }
storage: { filesystem: { rootdirectory: $work/other }, delete: { enabled: true } }
http: { addr: $host }
YML
        env "${@/#@/$host}" >"$work/other.log" 2>&1 &
        pid=$!
        pids=$pid
        answers "$port" $pid || { cat "$work/other.log"; exit 1; }
        other=$host
        mkdir -p mix/files/home && printf 'schemaVersion: "2"\nkind: mixin\nname: mix\n' >mix/spec.yaml
        head -c 3M /dev/urandom >mix/files/home/noise
        echo '{"sbom":1}' >sbom.json
        kit=$host/team/mix
        t 0 Pushed kit push mix "$kit:1"
        ref=${out##* } digest=${out##*@}
        t 0 "@$digest" kit push mix "$kit:2" # nothing moves again
        t 0 "$ref" kit resolve "$kit:1"
        t 0 Pulled kit pull "$ref" back
        is "it is the same" "$(diff -r mix back)" ""
        is "tags" "$("$SBX_BIN" kit inspect "$kit" --tags | sort | paste -sd' ')" "1 2"
        is "skopeo reads it" "$(skopeo inspect --raw --tls-verify=false "docker://$kit:1" | sha256sum | cut -d' ' -f1)" "${digest#sha256:}"
        t 0 Attached kit attach "$ref" sbom.json --type application/vnd.example.sbom
        attached=${out##*@}
        t 0 Attached kit attach "$kit:1" sbom.json --type application/vnd.example.note
        attached=$(printf '%s\n' "$attached" "${out##*@}" | sort | paste -sd' ')
        others() { jq -r --arg own "$digest" '[.. | .digest? // empty] | unique | map(select(. != $own)) | sort | join(" ")'; }
        is "what is attached" "$("$SBX_BIN" kit inspect "$ref" --referrers --json | others)" "$attached"
        api=$(curl -s -o /dev/null -w '%{http_code}' "http://$host/v2/team/mix/referrers/$digest")
        tag=$(curl -s "http://$host/v2/team/mix/tags/list" | jq --arg t "${digest/:/-}" '[.tags[] | select(. == $t)] | length')
        echo "the referrers API answers $api, tags of referrers: $tag"
        # Without OCI-Subject the specification wants the tag too, API or not.
        is "the list has its tag" "$tag" "$([ "$subject" = yes ] && echo 0 || echo 1)"
        if command -v oras >/dev/null; then
            is "oras discovers ours" "$(oras discover --plain-http --format json "$kit:1" | others)" "$attached"
            echo signed >signature
            oras attach --plain-http --artifact-type application/vnd.example.signature "$kit:1" signature:text/plain >/dev/null || fail=1
            is "and we theirs" "$("$SBX_BIN" kit inspect "$ref" --referrers --json | others)" "$(oras discover --plain-http --format json "$kit:1" | others)"
            is "which are three" "$("$SBX_BIN" kit inspect "$ref" --referrers --json | others | wc -w)" 3
            is "oras pulls what is attached" "$(oras pull --plain-http -o attached "$kit@${attached##* }" >/dev/null && cat attached/sbom.json)" '{"sbom":1}'
            is "oras pulls ours" "$(oras manifest fetch --plain-http "$kit@$digest" | sha256sum | cut -d' ' -f1)" "${digest#sha256:}"
        fi
        index=$(python3 "$here/engine/oci/tests/image.py" image)
        skopeo copy -q --all --dest-tls-verify=false oci:image:1 "docker://$host/images/base:1" || fail=1
        mkdir agent && printf 'schemaVersion: "2"\nkind: sandbox\nname: agent\nsandbox: { image: "%s/images/base:1" }\n' "$host" >agent/spec.yaml
        t 0 Pushed kit push agent "$host/team/agent:1"
        is "the anchor" "$(skopeo inspect --raw --tls-verify=false "docker://$host/team/agent:_kit_1" | sha256sum | cut -d' ' -f1)" "${index#sha256:}"
        is "skopeo and its sync" "$(skopeo sync --scoped --src-tls-verify=false --src docker --dest dir "$kit" synced >/dev/null 2>&1; find synced -name manifest.json -exec sha256sum {} + | cut -d' ' -f1 | grep -c "${digest#sha256:}")" 2

        # copies: to another repository of it, from and to a layout and another registry
        t 0 "/copied/mix@$digest" kit push "$ref" "$host/copied/mix:1"
        t 0 "@$digest" kit push "$ref" oci-layout:lay:1
        t 0 "@$digest" kit push oci-layout:lay:1 "$host/from/layout:1"
        registry second
        t 0 "$host/from/other@$digest" kit push "$ref" "$host/from/other:1"
        t 0 "$other/from/second@$digest" kit push "$host/from/other:1" "$other/from/second:1"
        host=$other
        rm -rf "$XDG_CACHE_HOME"
        t 0 Pulled kit pull "$host/from/second@$digest" copied
        is "the copy is the same" "$(diff -r mix copied)" ""

        # two tags of one digest: one of them goes alone, or it is said that both would
        if "$SBX_BIN" kit delete "$kit:2" >deleted 2>&1; then
            is "one tag goes" "$("$SBX_BIN" kit inspect "$kit" --tags)" 1
        else
            is "both would go" "$(grep -c "(1) would go too" deleted)" 1
        fi
        t 0 "$ref" kit resolve "$kit:1"
        is "what is attached stays" "$("$SBX_BIN" kit inspect "$ref" --referrers --json | others | wc -w)" "$(command -v oras >/dev/null && echo 3 || echo 2)"
        t 0 Deleted kit delete "$host/team/agent:1" --force
        t 1 "404" kit resolve "$host/team/agent:1"
        t 1 "404" kit resolve "$host/team/agent:_kit_1"
        t 0 "$index" kit resolve "$host/images/base:1"
        t 0 Deleted kit delete "$kit:1" --force
        t 1 "404" kit resolve "$kit:1"
        t 0 "@$digest" kit push mix "$kit:1"
        rm -rf "$XDG_CACHE_HOME"
        t 0 Pulled kit pull "$ref" again
        finish
    ) || bad=1
}
other "a registry with the referrers API" no referrers @
other "a registry of OCI 1.1" yes olareg @ data
other "distribution 3" no registry serve other.yml
if command -v olareg >/dev/null; then
    SBX_REGISTRY="olareg @ data" timeout 300 "$here/engine/oci/tests/resume.py" || bad=1
fi
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
