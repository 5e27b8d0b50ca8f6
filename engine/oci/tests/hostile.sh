#!/bin/bash
# Artifacts that break the rules, and registries that misbehave: a clear error, nothing half-made, and where
# the fault passes, success.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
here=$SBX_SOURCE_DIR/engine/oci/tests

declare -A digest
while read -r tag d; do digest[$tag]=$d; done < <(python3 "$here/hostile.py" lay)
[ -n "${digest[good]:-}" ] || { echo "FAILED: no cases"; exit 1; }

# c TAG STATUS TEXT: pull that case
c() {
    t "$2" "$3" kit pull "oci-layout:lay@${digest[$1]}" "out-$1"
    [ "$2" = 0 ] || [ ! -e "out-$1" ] || { echo "FAILED: $1 left something"; fail=1; }
}
c good 0 Pulled
is "content" "$(cat out-good/files/home/a)" hello
c no-layer 0 Pulled
c no-type 0 Pulled
c other-layers 0 Pulled
c directories 0 Pulled
c modes 0 Pulled
is "no setuid comes out" "$(stat -c %a out-modes/files/home/s)" 755
is "no mode is 0644" "$(stat -c %a out-modes/files/home/none)" 644
c dotdot 1 'entry "home/agent/../../etc/passwd" of the layer: not a clean relative path'
c absolute 1 "not a clean relative path"
c dot 1 "not a clean relative path"
c double-slash 1 "not a clean relative path"
c elsewhere 1 "neither below home/agent/ nor below workspace/"
c prefix 1 "neither below home/agent/"
c bare 1 "the target directory itself"
c symlink 1 "no regular file"
c hardlink 1 "a hard link"
c device 1 "no regular file"
c fifo 1 "no regular file"
c twice 1 "given twice"
c file-as-directory 1 "home/a"
c truncated 1 "no whole tar+gzip archive"
c not-gzip 1 "no whole tar+gzip archive"
c huge-header 1 "larger than 268435456 bytes"
c bomb 1 "larger than 268435456 bytes"
c two-layers 1 "two layers with files"
c image 1 "not a kit"
c other-artifact 1 "an artifact of type application/vnd.example, not a kit"
c version-one 1 "sbx kit migrate"
c wrong-version 1 'not of schemaVersion "2"'
c invalid-spec 1 "nonsense"
c wrong-size 1 "but the manifest says"
c big-spec 1 "more than 1048576"
c bad-digest 1 "is not sha256:<64 hex digits>"
is "no half-made kit is left" "$(find "$XDG_CACHE_HOME/sbx/kits" -maxdepth 1 -name '.*' -type d | grep -vc '/kits$')" 0

# --- registries that misbehave
mkdir -p big/files/home
cp "$here/../../../LICENSE" big/files/home/text
head -c 1048576 /dev/urandom >big/files/home/random
printf 'schemaVersion: "2"\nkind: mixin\nname: tools\n' >big/spec.yaml
t 0 Pushed kit push big oci-layout:lay:big
big=${out##*@}
python3 "$here/faults.py" lay requests >port &
pid=$!
pids="$pids $pid"
for ((i = 0; i < 6000; i++)); do
    [ -s port ] && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.01 # poll interval; the loop ends when the port is told
done
host=127.0.0.1:$(cat port)

f() { # FAULT STATUS TEXT
    rm -rf "$XDG_CACHE_HOME"
    t "$2" "$3" kit pull "$host/$1/kit@$big" "fault-$1"
    [ "$2" = 0 ] || [ ! -e "fault-$1" ] || { echo "FAILED: $1 left something"; fail=1; }
    [ "$2" != 0 ] || diff -r big "fault-$1" || { echo "FAILED: $1 changes the kit"; fail=1; }
}
f cut 0 Pulled
is "a cut download goes on where it was" "$(grep -c 'cut/kit/blobs.* bytes=65536-' requests)" 1
f norange 0 Pulled
f always 1 "blob sha256:"
f flipped 1 "as it should be"
f short 1 "blob sha256:"
f long 1 "more than the"
f busy 0 Pulled
f broken 0 Pulled
f down 1 "answers 503, UNAVAILABLE: closed for today"
f twisted 1 "whose digest is"
f nowhere 1 "redirected more than 10 times"
f file 1 "not an address"
f loop401 3 "no credentials for $host; run docker login $host"
f token 3 "no credentials for $host; run docker login $host"
t 1 'not here\x1b[31m' kit pull "$host/none/kit@sha256:$(printf '0%.0s' {1..64})" no

printf '{"auths":{"%s":{"auth":"%s"}}}' "$host" "$(printf 'hugo:pa:ss' | base64)" >"$DOCKER_CONFIG/config.json"
f token 0 Pulled
f loop401 3 "answers 401, UNAUTHORIZED: never"
f evilrealm 1 "no log-in is sent there without TLS"
is "and none was" "$(grep -c evil.example.com requests)" 0
: >requests
f redirect 0 Pulled
is "a redirect elsewhere gets no log-in" "$(grep ' /away/' requests | awk '{print $4}' | sort -u)" -
is "what is half here goes on in the next command" "$(
    rm -rf "$XDG_CACHE_HOME"
    "$SBX_BIN" kit pull "$host/always/kit@$big" no >/dev/null 2>&1
    : >requests
    "$SBX_BIN" kit pull "$host/none/kit@$big" resumed >/dev/null 2>&1 && diff -r big resumed && grep -c 'bytes=65536-' requests
)" 1

# --- killed in the middle: nothing half-made, and the next command succeeds
rm -rf "$XDG_CACHE_HOME"
for ((i = 0; i < 5; i++)); do
    timeout -s KILL "0.0$i" "$SBX_BIN" kit pull "$host/cut/kit@$big" killed
done >/dev/null 2>&1
rm -rf killed
t 0 Pulled kit pull "$host/cut/kit@$big" killed
diff -r big killed || fail=1
finish
