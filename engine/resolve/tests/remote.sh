#!/bin/bash
# Kits that stand on kits elsewhere: extends, mixins, --kit and the agent, from a registry and from git over https, in a plan and in a
# sandbox; then the same in a network namespace without any network.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
# shellcheck source=engine/git/tests/repo.sh
. "$SBX_SOURCE_DIR/engine/git/tests/repo.sh"
alone="unshare -n"
[ "$(id -u)" = 0 ] || alone="unshare -rn"
$alone true 2>/dev/null || { echo "SKIPPED: no network namespace can be made here"; exit 77; }
sbx=$SBX_BIN
offline() { # STATUS TEXT ARGUMENTS...: without a network, not even loopback
    SBX_BIN=$work/alone t "$@"
}
printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$alone" "$sbx" >alone
chmod +x alone

# --- a repository over https, with a mixin and a base that names its neighbour; a registry
git clone -q --bare repo served.git
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
export SSL_CERT_FILE=$work/tls.crt
serve tls.crt tls.key
gitpid=${pids##* }
git=git+https://localhost:$tls/served.git
tools="$git#ref=$two&dir=kits/tools" # environment TOOLS: two
registry plain
busybox=$(command -v busybox)
python3 "$SBX_SOURCE_DIR/engine/oci/tests/image.py" image one ${busybox:+"$busybox"} >/dev/null
skopeo copy -q --all --dest-tls-verify=false oci:image:1 "docker://$host/images/box:1" || fail=1

kit() { # NAME KIND, the rest of spec.yaml on stdin; pushed: $ref
    mkdir -p "$1"
    { printf 'schemaVersion: "2"\nkind: %s\nname: %s\n' "$2" "$1"; cat; } >"$1/spec.yaml"
    t 0 "Pushed" kit push "$1" "$host/kits/$1:1"
    ref=${out##* }
    ref=${ref%%$'\n'*}
}
kit mix mixin <<<'environment: { variables: { MIX: mixed } }'
mix=$ref
kit base sandbox <<KIT
sandbox: { image: "$host/images/box:1", command: [sh] }
environment: { variables: { BASE: based } }
KIT
base=$ref
kit child sandbox <<KIT
extends: "$base"
mixins: [ "$mix", "$tools" ]
environment: { variables: { CHILD: grown } }
KIT
child=$ref
kit grand sandbox <<KIT
extends: "$child"
environment: { variables: { GRAND: old } }
KIT
grand=$ref
mkdir -p here && printf 'schemaVersion: "2"\nkind: sandbox\nname: here\nextends: "%s"\nmixins: [ "%s" ]\n' "$git#ref=$one&dir=kits/agent" "$mix" >here/spec.yaml

# all STATUS-FUNCTION: every position
vars() { jq -r '[.. | objects | select(has("name") and has("value")) | "\(.name)=\(.value)"] | map(select(test("^(BASE|MIX|TOOLS|CHILD|GRAND)="))) | unique | join(" ")' <<<"$out"; }
everywhere() {
    local run=$1
    $run 0 "" plan "$child" ws --output json
    is "$run: the agent by oci" "$(vars)" "BASE=based CHILD=grown MIX=mixed TOOLS=two"
    $run 0 "" plan "${child#oci://}" ws --output json
    is "$run: without the scheme" "$(vars)" "BASE=based CHILD=grown MIX=mixed TOOLS=two"
    $run 0 "" plan "$grand" ws --output json
    is "$run: extends of extends" "$(vars)" "BASE=based CHILD=grown GRAND=old MIX=mixed TOOLS=two"
    $run 0 "" plan "$git#ref=$one&dir=kits/agent" ws --kit "$mix" --output json
    is "$run: the agent by git, with its neighbour" "$(vars)" "MIX=mixed TOOLS=one"
    $run 0 "" plan ./here ws --output json
    is "$run: a directory that extends git" "$(vars)" "MIX=mixed TOOLS=one"
    $run 0 "" plan shell ws --kit "$tools" --kit "$mix" --output json
    is "$run: --kit" "$(vars)" "MIX=mixed TOOLS=two"
    $run 0 "VALID: child (sandbox)" kit validate "$child"
}
offline 1 "$base" plan "$base" ws
everywhere t

# --- what does not go: a tag inside a kit, a neighbour of a kit in a registry, a mixin as base
for what in 'extends: oci://HOST/kits/base:1' 'mixins: [ oci://HOST/kits/mix:1 ]'; do
    printf 'schemaVersion: "2"\nkind: sandbox\nname: tag\nsandbox: { image: x }\n%s\n' "${what/HOST/$host}" | sed '/extends/{x;s/.*//;x}' >spec
    mkdir -p tag && grep -v "$([[ $what = extends* ]] && echo ^sandbox: || echo ^never)" spec >tag/spec.yaml
    t 1 "digest" plan ./tag ws
done
mkdir -p near && printf 'schemaVersion: "2"\nkind: sandbox\nname: near\nsandbox: { image: x }\nmixins: [ ../mix ]\n' >near/spec.yaml
t 1 "mixins: kit reference \"../mix\": a registry kit has no directory around it" kit push near oci-layout:lay:near
t 1 "mixins: kit reference \"oci://$host/kits/mix:1\": a registry reference must name a digest" kit push tag oci-layout:lay:tag
t 1 "must name a digest" kit validate ./tag
is "validate says no more than what is wrong" "$(grep -c "^sbx:" <<<"$out")" 0
printf 'schemaVersion: "2"\nkind: sandbox\nname: odd\nextends: "%s"\n' "$mix" >near/spec.yaml
t 1 "mixin" plan ./near ws

# --- a sandbox of it, on the runtime that needs no daemon
sandbox() { # FUNCTION NAME
    $1 0 "" create --runtime oci "$child" ws --name "$2"
    is "$1: what is inside" "$("$sbx" exec "$2" -- sh -c 'echo $BASE $MIX $TOOLS $CHILD' 2>&1)" "based mixed two grown"
    "$sbx" rm -f "$2" >/dev/null 2>&1
}
real=
if [ "$(id -u)" = 0 ] && [ "$busybox" ] && { command -v runc || command -v crun; } >/dev/null; then
    real=yes
    chown 1000:1000 ws
    sandbox t remote-online-$$
fi

# --- the servers are gone, and so is the network
kill "$gitpid" "$pid"
: >requests
everywhere offline
[ ! "$real" ] || sandbox offline remote-offline-$$
is "nobody was asked" "$(wc -l <requests)" 0
finish
