#!/bin/bash
# Kits to a registry and back, through layouts and archives, and into a plan; read and written by skopeo too.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"

mkdir -p mix/files/home/bin mix/files/workspace/docs "mix/files/home/with space"
cat >mix/spec.yaml <<'KIT'
schemaVersion: "2"
kind: mixin
name: tools # a comment
displayName: Tools
version: "1.2"
description: Tools for all
sourceURL: https://example.com/tools
environment:
  variables: { TOOLS: "yes" }
KIT
printf '#!/bin/sh\necho hi\n' >mix/files/home/bin/hi
chmod 751 mix/files/home/bin/hi
printf 'text' >mix/files/workspace/docs/read.me
: >"mix/files/home/with space/empty"
long=mix/files/home/$(printf 'd%.0s' {1..90})/$(printf 'é%.0s' {1..60})
mkdir -p "$(dirname "$long")"
printf 'long' >"$long"
chmod 600 "$long"

registry plain
plain=$host

# --- push: what is printed is the reference, and what lies there is what the specification says
t 0 "Pushed oci://$plain/team/tools@sha256:" kit push mix "$plain/team/tools:1.0"
ref=${out##* }
digest=${ref##*@}
t 0 "$ref" kit resolve "$plain/team/tools:1.0"
t 0 "$ref" kit resolve "$ref"
manifest=$(skopeo inspect --raw --tls-verify=false "docker://$plain/team/tools:1.0")
is "digest of the manifest" "sha256:$(printf '%s' "$manifest" | sha256sum | cut -d' ' -f1)" "$digest"
is "artifact type" "$(jq -r .artifactType <<<"$manifest")" application/vnd.docker.sandbox.kit.v2
is "config type" "$(jq -r .config.mediaType <<<"$manifest")" application/vnd.docker.sandbox.kit.v2.spec+yaml
is "config is the spec" "$(jq -r .config.digest <<<"$manifest")" "sha256:$(sha256sum <mix/spec.yaml | cut -d' ' -f1)"
is "one layer" "$(jq -r '.layers | map(.mediaType) | join(",")' <<<"$manifest")" \
    application/vnd.oci.image.layer.v1.tar+gzip
is "annotations" "$(jq -cS .annotations <<<"$manifest")" \
    '{"org.opencontainers.image.created":"1970-01-01T00:00:00Z","org.opencontainers.image.description":"Tools for all","org.opencontainers.image.source":"https://example.com/tools","org.opencontainers.image.title":"Tools","vnd.docker.sandbox.kit.kind":"mixin","vnd.docker.sandbox.kit.name":"tools","vnd.docker.sandbox.kit.version":"1.2"}'
rm -rf "$XDG_CACHE_HOME"
is "annotations, as inspect shows them" "$("$SBX_BIN" kit inspect "$plain/team/tools:1.0" --annotations --json | jq -cS '[.annotations, .digest]')" \
    "$(jq -cS --arg digest "$digest" '[.annotations, $digest]' <<<"$manifest")"
t 0 "vnd.docker.sandbox.kit.version         1.2" kit inspect "$ref" --annotations
is "of which no blob is fetched" "$(find "$XDG_CACHE_HOME" -type f -path '*blobs*' 2>/dev/null)" ""
t 2 "one of --annotations, --referrers and --tags" kit inspect "$ref" --annotations --tags
layer=$(jq -r '.layers[0].digest' <<<"$manifest")
curl -s "http://$plain/v2/team/tools/blobs/$layer" >layer.gz
is "gzip header without time, name and system" "$(head -c 10 layer.gz | od -An -tx1 | tr -d ' \n')" 1f8b08000000000000ff
is "entries" "$(tar --numeric-owner --full-time -tvzf layer.gz 2>/dev/null | awk '{print $1, $2, $4, $5}' | sort -u)" \
    "$(printf '%s\n' '-rw-r--r-- 1000/1000 1970-01-01 00:00:00' '-rwxr-xr-x 1000/1000 1970-01-01 00:00:00')"

# --- equal kits have equal digests, whatever the clock, the umask, the zone
(
    umask 077
    export TZ=Asia/Tokyo
    cp -r mix mix2
    "$SBX_BIN" kit push mix2 "$plain/team/tools:2.0" >second 2>&1
)
is "the same digest again" "$(sed 's/.*@//' second)" "$digest"
SOURCE_DATE_EPOCH=86400 t 0 sha256: kit push mix "$plain/team/tools:dated" --json
is "SOURCE_DATE_EPOCH counts" "$(jq -r .digest <<<"$out" | grep -c "$digest")" 0

# --- pull, and push again
t 0 "Pulled" kit pull "$ref" pulled
diff -r mix pulled >/dev/null || { echo "FAILED: pulled is not what was pushed"; diff -r mix pulled; fail=1; }
is "mode of a program" "$(stat -c %a pulled/files/home/bin/hi)" 755
is "mode of a file" "$(stat -c %a "pulled/${long#mix/}")" 644
t 0 "@$digest" kit push pulled "$plain/other/tools:1.0"
(umask 0177 && "$SBX_BIN" kit pull "$ref" masked >/dev/null 2>&1 && "$SBX_BIN" kit push masked "$plain/other/tools:2" >third 2>&1)
is "the same digest after a pull under a umask" "$(sed 's/.*@//' third)" "$digest"
t 1 "exists and is not an empty directory" kit pull "$ref" pulled
t 1 "there is a file in the way" kit pull "$ref" mix/spec.yaml/copy
t 0 Pulled kit pull "$ref" new/below/pulled
diff -r mix new/below/pulled || fail=1
t 1 "hello is neither in a registry nor in git: write HOST/REPOSITORY@sha256:" kit pull hello no
t 1 "is neither in a registry nor in git" kit pull ./mix no
t 1 "can move: kits are taken by digest or commit only; write what it is now: $ref" kit pull "$plain/team/tools:1.0" no
t 1 "MANIFEST_UNKNOWN" kit pull "oci://$plain/team/tools@sha256:$(printf '0%.0s' {1..64})" no
t 1 "404, MANIFEST_UNKNOWN: manifest unknown" kit resolve "$plain/team/tools:none"
[ ! -e no ] || { echo "FAILED: a refused pull left something"; fail=1; }

# --- many files
mkdir -p many/files/home
printf 'schemaVersion: "2"\nkind: mixin\nname: many\n' >many/spec.yaml
python3 - <<'PY'
import os
for i in range(5000):
    os.makedirs(f"many/files/home/{i % 50}", exist_ok=True)
    with open(f"many/files/home/{i % 50}/{i}", "w") as f:
        f.write(f"file {i}")
PY
t 0 Pushed kit push many "$plain/team/many:1"
many=${out##* }
rm -rf "$XDG_CACHE_HOME/sbx/kits"
t 0 Pulled kit pull "$many" many2
diff -r many many2 || fail=1
t 0 "@${many##*@}" kit push many2 "$plain/other/many:1"

mkdir ws child
# --- in a plan: by digest, in both spellings; tags are refused with the reference to paste
t 0 '"TOOLS"' plan shell ws --kit "$ref" --output json
t 0 '"TOOLS"' plan shell ws --kit "${ref#oci://}" --output json
t 1 "write what it is now: $ref" plan shell ws --kit "oci://$plain/team/tools:1.0"
t 1 "a registry reference must name a digest" plan shell ws --kit "$plain/team/tools"
t 0 "tools" kit inspect "$plain/team/tools:1.0"
[[ $out == *"Digest         $digest"* ]] || { echo "FAILED: kit inspect names no digest: $out"; fail=1; }
is "the digest as JSON" "$("$SBX_BIN" kit inspect "$ref" --json | jq -r .digest)" "$digest"
is "no digest of a directory" "$("$SBX_BIN" kit inspect ./mix --json | jq -r .digest)" null
t 0 "VALID: tools (mixin)" kit validate "$ref"
cat >child/spec.yaml <<KIT
schemaVersion: "2"
kind: sandbox
name: child
sandbox: { image: "x:1" }
mixins: [ "$ref" ]
KIT
t 0 '"TOOLS"' plan ./child ws --output json

# --- offline from here on
kill "$pid" && wait "$pid" 2>/dev/null
t 0 '"TOOLS"' plan shell ws --kit "$ref" --output json
t 0 '"TOOLS"' plan ./child ws --output json
t 0 "Pulled" kit pull "$ref" offline
t 1 "a registry reference must name a digest" plan shell ws --kit "oci://$plain/team/tools:1.0"
[[ $out == *"could not be looked up: "*"$plain"* ]] || { echo "FAILED: not told why: $out"; fail=1; }
rm -rf "$XDG_CACHE_HOME/sbx/kits"
t 0 '"TOOLS"' plan shell ws --kit "$ref" --output json # from the blobs

# --- the cache: shown, checked, cleaned
t 0 "kit    $plain/team/tools   ${digest:7:12} " cache ls --filter "reference=$plain/team/*"
t 0 "kit    $ref   $digest " cache ls --no-trunc
is "its files" "$("$SBX_BIN" cache ls --json | jq -r --arg ref "$ref" '.entries[] | select(.references == [$ref]) | .kind, (.files | length)' | xargs)" \
    "kit 4"
is "all of the cache is listed" "$("$SBX_BIN" cache ls --json | jq '[.entries[].files[]] | unique | length')" \
    "$(find "$XDG_CACHE_HOME"/sbx/{blobs/sha256,kits,git,partial} -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)"
is "its size" "$("$SBX_BIN" cache ls --json | jq .size)" \
    "$(find "$XDG_CACHE_HOME"/sbx/{blobs,kits} -type f -printf '%s\n' | awk '{n += $1} END {print n}')"
is "digests only" "$("$SBX_BIN" cache ls -q --filter reference="$ref")" "$digest"
is "nothing of that kind" "$("$SBX_BIN" cache ls -q --filter kind=git)" ""
t 2 "want kind=KIND or reference=PATTERN" cache ls --filter name=x
t 0 "blobs are whole" cache verify
blob=$(find "$XDG_CACHE_HOME/sbx/blobs/sha256" -type f | head -1)
printf x >>"$blob"
exec 9>>"$XDG_CACHE_HOME/sbx/use.lock"
flock -s 9 # another command fetches
t 1 "are damaged: another command is fetching" cache verify
t 1 "another command is fetching" cache prune --all
exec 9>&-
t 1 "blobs, kits and commits were damaged" cache verify
t 0 "blobs are whole" cache verify

# --- an unpacked kit that was edited goes, and comes again from the blobs; offline
t 0 "Would remove kit $plain/team/tools ${digest:7:12} (" cache prune --all --dry-run
t 0 "kit    $plain/team/tools" cache ls
t 0 "Removed kit $plain/team/tools ${digest:7:12} (" cache prune --all
is "nor are their names left" "$(ls "$XDG_CACHE_HOME/sbx/names")" ""
t 0 Pushed kit push mix oci-layout:held:1.0
held="oci-layout:held@${out##*@}" unpacked="$XDG_CACHE_HOME/sbx/kits/${out##*sha256:}"
t 0 '"TOOLS"' plan shell ws --kit "$held" --output json
mv held away # from now on only the cache has it
t 0 "1 kits are as they were unpacked" cache verify
for change in 'echo "# evil" >>spec.yaml' 'touch files/home/more' 'rm files/home/bin/hi' 'chmod 700 files/home/bin/hi' \
    'printf TEXT >files/workspace/docs/read.me' 'rm spec.yaml; ln -s /dev/null spec.yaml' 'mkdir .git' \
    'mv files/home files/x; ln -s x files/home'; do
    (cd "$unpacked" && eval "$change")
    t 1 "differs from its blobs, removed: kit ${held##*@}" cache verify
    is "removed after: $change" "$(ls "$XDG_CACHE_HOME/sbx/kits")" ""
    t 0 '"TOOLS"' plan shell ws --kit "$held" --output json
    diff -r mix "$unpacked" || { echo "FAILED: not unpacked anew after: $change"; fail=1; }
done
echo "# evil" >>"$unpacked/spec.yaml"
exec 9<"$unpacked"
flock -s 9 # another command reads it
t 1 "is in use" cache verify
exec 9<&-
t 1 "" cache verify --json
t 0 '"TOOLS"' plan shell ws --kit "$held" --output json
printf x >>"$XDG_CACHE_HOME/sbx/blobs/sha256/${held##*:}" # both, so that they would agree
t 1 "2 of 4 blobs, kits and commits were damaged" cache verify
mv away held
t 0 '"TOOLS"' plan shell ws --kit "$held" --output json
rm "$XDG_CACHE_HOME/sbx/blobs/sha256/${held##*:}"
t 0 "1 unpacked kits were not checked: a blob is not here any more" cache verify
mkdir "$XDG_CACHE_HOME/sbx/kits/.tmp-killed"
t 0 "Freed 0B" cache prune
is "leftovers" "$(find "$XDG_CACHE_HOME/sbx/kits" -name ".tmp*")" ""
t 0 '"TOOLS"' plan shell ws --kit "$ref" --output json
t 2 "not a size" cache prune --max many
is "what would go" "$("$SBX_BIN" cache prune --max 100b --json --dry-run | jq -r '.removed[] | select(.kind == "kit") | .kind + " " + .references[0]')" \
    "kit oci-layout:$PWD/${held#oci-layout:}"
t 0 "Removed kit oci-layout:" cache prune --max 100b
t 0 "Freed" cache prune --all
is "everything is gone" "$("$SBX_BIN" cache ls --json | jq '.entries | length')" 0

# --- past cache.max what was used longest ago goes by itself; what a command uses stays
mkdir -p "$XDG_CONFIG_HOME/sbx"
printf 'cache: { max: 1k }\n' >"$XDG_CONFIG_HOME/sbx/settings.yaml"
t 0 "Pushed" kit push mix oci-layout:grow:1.0
for side in a b; do
    mkdir -p "side-$side/files/home"
    printf 'schemaVersion: "2"\nkind: mixin\nname: %s\n' $side >"side-$side/spec.yaml"
    head -c 100000 /dev/urandom >"side-$side/files/home/noise"
    t 0 Pushed kit push "side-$side" "oci-layout:grow:$side"
    t 0 '"kits"' plan shell ws --kit "oci-layout:grow@${out##*@}" --output json
    find "$XDG_CACHE_HOME/sbx" -depth -exec touch -h -d '1 hour ago' {} +
done
is "one kit and its blobs are left" "$("$SBX_BIN" cache ls --json | jq -c '.entries | map([.kind, (.files | length)])')" '[["kit",4]]'
rm "$XDG_CONFIG_HOME/sbx/settings.yaml"

# --- what is refused ends what is sent beside it: this server reads the layer when it was given up
mkdir -p large/files/home
head -c 33554432 /dev/urandom >large/files/home/noise
printf 'schemaVersion: "2"\nkind: sandbox\nname: large\nextends: shell\nmixins: [ "%s" ]\n' "$ref" >large/spec.yaml
cat >refuses.py <<'PY'
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

layer = threading.Event()  # it is on its way
given_up = threading.Event()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def do_GET(self):
        self.answer(200 if self.path == "/v2/" else 404)

    def do_HEAD(self):
        self.answer(404)

    def do_POST(self):
        self.answer(202, Location="/v2/a/blobs/uploads/1")

    def do_DELETE(self):
        self.answer(204)
        given_up.set()

    def do_PUT(self):
        length = int(self.headers["Content-Length"])
        if length < 10000:
            self.rfile.read(length)
            layer.wait(50)
            self.answer(403)
            return
        layer.set()
        self.close_connection = True
        given_up.wait(50)
        while part := self.rfile.read1(1 << 20):
            length -= len(part)
        with open("sent.new", "w") as f:
            f.write("in part" if length else "whole")
        os.rename("sent.new", "sent")

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.serve_forever()
PY
port=$(free_port)
python3 refuses.py "$port" &
pids+=" $!"
answers "$port" $!
t 3 "403" kit push large "127.0.0.1:$port/a:1"
for ((i = 0; i < 1000; i++)); do [ -s sent ] && break; sleep 0.01; done # until the server saw it too
is "the layer's upload" "$(cat sent)" "in part"
is "a warning of mixins" "$(grep -c "not-applied\|mixins" <<<"$out")" 0

# --- layouts and archives, without a registry
t 0 "Pushed oci-layout:lay@$digest" kit push mix oci-layout:lay:1.0
t 0 "oci-layout:lay@$digest" kit resolve oci-layout:lay:1.0
t 0 "Pulled" kit pull "oci-layout:lay@$digest" fromlayout
diff -r mix fromlayout >/dev/null || { echo "FAILED: a layout changes the kit"; fail=1; }
t 0 '"TOOLS"' plan shell ws --kit "oci-layout:lay@$digest" --output json
t 1 "write what it is now: oci-layout:lay@$digest" plan shell ws --kit oci-layout:lay:1.0
t 0 "Packed oci-layout:mix.tar@$digest" kit pack mix -o mix.tar -t 1.0
t 0 "Packed oci-layout:again.tar@$digest" kit pack mix2 -o again.tar -t 1.0
cmp mix.tar again.tar || { echo "FAILED: an archive is not the same twice"; fail=1; }
for archive in mix.tar other.tar; do # ours, and another tool's
    [ -e $archive ] || skopeo copy -q oci-archive:mix.tar:1.0 oci-archive:other.tar:1.0 || fail=1
    rm -rf "$XDG_CACHE_HOME" "from-$archive"
    t 0 "oci-layout:$archive@$digest" kit resolve "oci-layout:$archive:1.0"
    t 1 "write what it is now: oci-layout:$archive@$digest" plan shell ws --kit "oci-layout:$archive:1.0"
    t 0 "Pulled" kit pull "oci-layout:$archive@$digest" "from-$archive"
    diff -r mix "from-$archive" >/dev/null || { echo "FAILED: $archive changes the kit"; fail=1; }
    t 0 '"TOOLS"' plan shell ws --kit "oci-layout:$archive@$digest" --output json
    is "nothing unpacked stays" "$(find "$XDG_CACHE_HOME/sbx/kits" -name ".tmp*")" ""
done
t 0 "1.0" kit inspect --tags oci-layout:mix.tar
t 2 "is a file" kit push mix oci-layout:mix.tar:2.0
t 2 "an archive is not changed" kit delete oci-layout:mix.tar:1.0
t 2 "an archive is not changed" kit attach oci-layout:mix.tar:1.0 mix/spec.yaml --type a/b
gzip -k mix.tar && mv mix.tar.gz packed.tar
head -c 3000 mix.tar >cut.tar
t 1 "packed.tar: not a whole OCI archive" kit resolve oci-layout:packed.tar:1.0
t 1 "cut.tar: not a whole OCI archive" kit resolve oci-layout:cut.tar:1.0
tar -cf none.tar mix
t 1 "none.tar is not an OCI layout" kit resolve oci-layout:none.tar:1.0
is "nothing unpacked stays behind a failure" "$(find "$XDG_CACHE_HOME/sbx/kits" -name ".tmp*")" ""
ln -s /dev/full full.tar
mkfifo fifo.tar
for device in /dev/full full.tar fifo.tar; do # nothing takes a device's place
    t 2 "$device exists and is no regular file" kit pack mix -o $device
done
is "what a link leads to stays" "$(stat -Lc %F full.tar)" "character special file"
ln -s again.tar link.tar
t 0 "Packed oci-layout:link.tar@" kit pack mix -o link.tar
is "a link to an archive stays one" "$(stat -c %F link.tar)" "symbolic link"
# FIFOs wherever the cache has something: nobody waits for who would write into them
rm -rf "$XDG_CACHE_HOME"
planted=$XDG_CACHE_HOME/sbx
plant() {
    mkdir -p "$planted"/{blobs/sha256,kits,git,partial,names}
    mkfifo "$planted"/{blobs/sha256,kits,partial}/"${digest#sha256:}" "$planted/git/$(printf %040d 1)" "$planted/names/$digest" "$planted/index.json"
}
plant
t 0 "partial" cache ls
t 1 "3 of 3 blobs, kits and commits were damaged" cache verify
t 0 "Removed partial" cache prune
rm -rf "$XDG_CACHE_HOME"
plant
t 0 "Removed kit" cache prune --all
is "all of it went" "$(find "$planted" -type p -not -path '*/names/*' -not -name index.json)" ""
registry other
t 0 "Pushed oci://$host/by/archive@$digest" kit push oci-layout:mix.tar:1.0 "$host/by/archive:1.0"
skopeo copy -q --dest-tls-verify=false oci-archive:mix.tar:1.0 "docker://$host/by/skopeo:1.0" || fail=1
rm -rf "$XDG_CACHE_HOME"
t 0 "oci://$host/by/skopeo@$digest" kit resolve "$host/by/skopeo:1.0"
t 0 "Pulled" kit pull "$host/by/skopeo@$digest" fromskopeo
diff -r mix fromskopeo >/dev/null || { echo "FAILED: skopeo's copy is another kit"; fail=1; }
skopeo copy -q --src-tls-verify=false "docker://$host/by/skopeo:1.0" oci:lay2:1.0 || fail=1
t 0 "Pulled" kit pull "oci-layout:lay2@$digest" fromlay2
t 0 "Deleted oci-layout:lay:1.0@$digest" kit delete oci-layout:lay:1.0
t 1 "no tag 1.0" kit resolve oci-layout:lay:1.0

# --- what is not a kit, and bad input
mkdir bad && printf 'schemaVersion: "2"\nkind: mixin\nname: bad\nnonsense: 1\n' >bad/spec.yaml
t 1 "nonsense" kit push bad "$host/team/bad:1"
t 1 "404, MANIFEST_UNKNOWN: manifest unknown" kit resolve "$host/team/bad:1"
t 2 "a push has a tag, not a digest" kit push mix "$host/team/bad@$digest"
t 1 "names no registry" kit push mix somewhere
t 1 "names no registry; write HOST/REPOSITORY:TAG" kit push mix me/kit:1
t 1 "names no registry; write HOST/REPOSITORY:TAG" kit push mix kit:1
t 1 "names no registry; write HOST/REPOSITORY:TAG" kit delete kit:1
t 1 'write the place without "https://"' kit push mix "https://$host/team/bad:1"
t 1 "push to 127.0.0.1:1/team/bad:1: " kit push mix 127.0.0.1:1/team/bad:1
: >kit.zip
t 1 "sbx kit migrate" kit validate kit.zip
t 1 "sbx kit migrate" kit inspect ./kit.zip
for zip in ./kit.zip https://example.com/kit.zip https://example.com/kit.ZIP?x=1; do
    t 1 "ZIP archives are of version 1" plan shell ws --kit "$zip"
done
t 1 "write git+ssh://git@example.com/kits#ref=" plan shell ws --kit ssh://git@example.com/kits
t 1 "No such file" kit push nowhere "$host/team/bad:1"
t 2 "give the directory" kit push mix/spec.yaml "$host/team/bad:1"
t 2 "Add -o FILE" kit pack mix
finish
