#!/bin/bash
# The image of a sandbox from a registry that wants Docker's log-in; then, with the registry gone, from this machine.
. "$(dirname "$0")/lib.sh"
for tool in docker-registry skopeo htpasswd; do command -v $tool >/dev/null || skip "$tool is not installed"; done
tar=${SBX_TEST_IMAGE:-/root/.cache/sbx-base/base-bookworm.tar}
[ -f "$tar" ] || skip "no base image (scripts/base-image.sh)"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
host=127.0.0.1:$port
image=$host/private/base:1
htpasswd -Bbc "$work/htpasswd" hugo s3cret 2>/dev/null
cat >"$work/registry.yml" <<CONF
version: 0.1
log: { level: error, accesslog: { disabled: true } }
storage: { filesystem: { rootdirectory: $work/data } }
http: { addr: $host }
auth: { htpasswd: { realm: test, path: $work/htpasswd } }
CONF
docker-registry serve "$work/registry.yml" >/dev/null 2>&1 &
registry=$!
cleanup() {
    kill $registry 2>/dev/null
    [ "$runtime" != docker ] || docker rmi -f "$image" >/dev/null 2>&1
    sbx template rm --runtime "$runtime" "$image" >/dev/null 2>&1
}
answers() { (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
await answers || die "the registry does not answer"
skopeo copy -q --dest-tls-verify=false --dest-creds hugo:s3cret "docker-archive:$tar" "docker://$image" ||
    die "push the base image"

ws=$work/ws
mkdir "$ws" "$work/docker"
chown 1000:1000 "$ws"
export DOCKER_CONFIG=$work/docker
new_name
out=$(sbx create --runtime "$runtime" shell --template "$image" --name "$name" "$ws" 2>&1)
is "without a log-in nothing is made" "$?" 3
has "it says what to do" "$out" "docker login $host"
mkdir "$work/kit"
printf 'schemaVersion: "2"\nkind: mixin\nname: packed-%s\n' $port >"$work/kit/spec.yaml"
kit=$(sbx kit push "$work/kit" "oci-layout:$work/layout:1")
kit=${kit#Pushed }
printf '{"auths":{"%s":{"auth":"%s"}}}' "$host" "$(printf hugo:s3cret | base64)" >"$DOCKER_CONFIG/config.json"
out=$(sbx create --runtime "$runtime" shell --template "$image" --kit "$kit" --name "$name" "$ws" 2>&1)
is "with Docker's log-in it is" "$?" 0
is "it works" "$(sbx exec "$name" -- id -un 2>/dev/null)" agent
used() { sbx cache ls --json | jq -r --arg name "$1" '.entries[] | select(.references | index($name)) | .kind, .sandboxes[]' | xargs; }
is "the cache names the kit and who uses it" "$(used "$kit")" "kit $name"
[ "$runtime" != oci ] || is "and the image" "$(used "$image")" "image $name" # the Engine has its own images
sbx rm -f "$name" >/dev/null 2>&1

kill $registry && wait $registry 2>/dev/null
rm "$DOCKER_CONFIG/config.json"
new_name
out=$(sbx create --runtime "$runtime" shell --template "$image" --name "$name" "$ws" 2>&1)
is "an image of this machine needs no registry" "$?" 0
new_name
out=$(sbx create --runtime "$runtime" shell --template "$image" --pull always --name "$name" "$ws" 2>&1)
is "unless that is asked for" "$?" 1
has "and then it is named" "$out" "$host"
