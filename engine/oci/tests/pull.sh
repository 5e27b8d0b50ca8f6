#!/bin/bash
# --pull always|missing|never of a runtime, from the command line: what is pulled when, offline, for another platform, with log-ins.
#   pull.sh docker|oci
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
here=$SBX_SOURCE_DIR/engine/oci/tests
runtime=${1:?docker or oci}
skip() { echo "SKIPPED pull ($runtime): $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root"
busybox=$(command -v busybox) || skip "busybox is not installed"
case $runtime in
docker) docker version >/dev/null 2>&1 || skip "no Docker Engine is running" ;;
oci) command -v runc >/dev/null || command -v crun >/dev/null || skip "neither runc nor crun is installed" ;;
esac
made=() open=none
images=()
clean() {
    for s in "${made[@]}"; do "$SBX_BIN" rm -f "$s" >/dev/null 2>&1; done
    if [ $runtime = docker ]; then # those too that a tag has left behind
        docker rmi -f "${images[@]}" >/dev/null 2>&1
        docker images --digests --format '{{.Repository}}@{{.Digest}}' | grep -e "^$open/" -e "^$host/" | xargs -r docker rmi -f >/dev/null 2>&1
    fi
    for p in $pids; do kill "$p" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$work"
}
trap clean EXIT
# A static busybox is a sandbox's whole system.
"$busybox" --help >/dev/null && ! ldd "$busybox" >/dev/null 2>&1 || skip "busybox is not static"
python3 "$here/image.py" one one "$busybox" >/dev/null
python3 "$here/image.py" two two "$busybox" >/dev/null
arch=$(dpkg --print-architecture)
mkdir ws && chown 1000:1000 ws

registry open
open=$host openpid=$pid
put() { skopeo copy -q --all --dest-tls-verify=false ${3:-} "oci:$1:1" "docker://$2" || fail=1; }
put one "$open/x/box:1"

n_sandbox=0
# create STATUS TEXT IMAGE OPTIONS...: and what the sandbox stands on, in $stands
create() {
    local status=$1 text=$2 image=$3 name=pull-$runtime-$$-$((n_sandbox++))
    shift 3
    made+=("$name")
    images+=("$image")
    t "$status" "$text" create --runtime $runtime shell --template "$image" --name "$name" "$@" ws
    stands=$("$SBX_BIN" exec "$name" -- cat "/etc-$arch" 2>/dev/null)
    is "only what was made is there" "$("$SBX_BIN" ls -aq)" "$([ "$status" != 0 ] || echo "$name")"
    "$SBX_BIN" rm -f "$name" >/dev/null 2>&1
}

# --- a tag that moves
create 1 "pulling was not allowed" "$open/x/box:1" --pull never
create 0 "" "$open/x/box:1"
is "what is missing is pulled" "$stands" one
put two "$open/x/box:1"
create 0 "" "$open/x/box:1"
is "what is there is taken" "$stands" one
create 0 "" "$open/x/box:1" --pull missing
is "also when that is said" "$stands" one
create 0 "" "$open/x/box:1" --pull never
is "and when nothing else is allowed" "$stands" one
create 0 "" "$open/x/box:1" --pull always
is "always means always" "$stands" two
create 0 "" "$open/x/box:1" --pull never
is "and the new one stays" "$stands" two
digest=$(skopeo inspect --tls-verify=false --format '{{.Digest}}' "docker://$open/x/box:1")
create 0 "" "$open/x/box@$digest"
is "by digest" "$stands" two
create 2 "want one of always, missing, never" "$open/x/box:1" --pull sometimes

# --- what is not there, or not for this machine
create 1 "manifest unknown" "$open/x/box:none"
create 1 "image $open/x/none:1: " "$open/x/none:1"
python3 - one foreign <<'PY'
import hashlib, json, os, shutil, sys
source, to = sys.argv[1:]
shutil.copytree(source, to)
def blob(digest):
    with open(f"{to}/blobs/sha256/{digest[7:]}", "rb") as f:
        return json.load(f)
with open(f"{to}/index.json") as f:
    top = json.load(f)
index = blob(top["manifests"][0]["digest"])
index["manifests"] = [m for m in index["manifests"] if m["platform"]["architecture"] == "mips64le"]
data = json.dumps(index).encode()
name = hashlib.sha256(data).hexdigest()
with open(f"{to}/blobs/sha256/{name}", "wb") as f:
    f.write(data)
top["manifests"][0].update(digest="sha256:" + name, size=len(data))
single = {**index["manifests"][0], "annotations": {"org.opencontainers.image.ref.name": "single"}}
del single["platform"]
top["manifests"].append(single)
with open(f"{to}/index.json", "w") as f:
    json.dump(top, f)
PY
put foreign "$open/x/foreign:1"
skopeo copy -q --dest-tls-verify=false oci:foreign:single "docker://$open/x/foreign:single" || fail=1
case $runtime in
oci)
    create 1 "no image for linux/$arch in it" "$open/x/foreign:1"
    create 1 "the image is for linux/mips64le, this is linux/$arch" "$open/x/foreign:single"
    ;;
docker)
    create 1 "no matching manifest for linux/$arch" "$open/x/foreign:1"
    create 1 "the image is for mips64le, this Engine is $arch" "$open/x/foreign:single"
    ;;
esac

# --- TLS and log-ins, wrong and right, from a file and from a helper
htpasswd -Bbc htpasswd hugo s3cret 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days 2 \
    -subj /CN=test -addext "subjectAltName=IP:127.0.0.1" 2>/dev/null
registry locked "  tls: { certificate: $work/tls.crt, key: $work/tls.key }
auth: { htpasswd: { realm: test, path: $work/htpasswd } }"
put one "$host/x/box:1" "--dest-creds=hugo:s3cret"
login() { printf '{"auths":{"%s":{"auth":"%s"}}}' "$host" "$(printf '%s' "$1" | base64)" >"$DOCKER_CONFIG/config.json"; }
if [ $runtime = oci ]; then # the Engine takes any certificate of a registry on this machine
    create 1 "put it into /etc/docker/certs.d/$host/ca.crt" "$host/x/box:1"
    mkdir -p "$XDG_CONFIG_HOME/docker/certs.d/$host"
    cp tls.crt "$XDG_CONFIG_HOME/docker/certs.d/$host/ca.crt"
fi
create 3 "no credentials for $host; run docker login $host" "$host/x/box:1"
login hugo:wrong
create 3 "$host" "$host/x/box:1"
login hugo:s3cret
create 0 "" "$host/x/box:1"
is "with the log-in of config.json" "$stands" one
mkdir bin
printf '#!/bin/sh\nread -r host\n[ "$1 $host" = "get %s" ] && echo "{\\"Username\\":\\"hugo\\",\\"Secret\\":\\"s3cret\\"}"\n' "$host" >bin/docker-credential-test
chmod +x bin/docker-credential-test
printf '{"credHelpers":{"%s":"test"}}' "$host" >"$DOCKER_CONFIG/config.json"
PATH=$work/bin:$PATH create 0 "" "$host/x/box:1" --pull always
is "and of a helper" "$stands" one
rm "$DOCKER_CONFIG/config.json"
is "no secret is kept" "$(grep -rl s3cret "$XDG_CACHE_HOME" "$XDG_STATE_HOME" 2>/dev/null)" ""

# --- mirrors of the user's settings, for the client that is ours
if [ $runtime = oci ]; then
    mkdir -p "$XDG_CONFIG_HOME/sbx"
    printf 'registries: { docker.io: { mirrors: ["http://127.0.0.1:1", "http://%s"] } }\n' "$open" >"$XDG_CONFIG_HOME/sbx/settings.yaml"
    create 0 "mirror 127.0.0.1:1 has it not" "x/box:1"
    is "an image from a mirror" "$stands" two
    rm "$XDG_CONFIG_HOME/sbx/settings.yaml"
fi

# --- offline
kill $openpid && wait $openpid 2>/dev/null
create 0 "" "$open/x/box:1"
is "what is here works offline" "$stands" two
create 1 "$open" "$open/x/box:1" --pull always
create 1 "$open" "$open/x/other:1"
create 1 "pulling was not allowed" "$open/x/other:1" --pull never
finish
