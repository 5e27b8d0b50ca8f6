#!/bin/bash
# HTTP/2 of real clients in a real sandbox to a host whose requests get a field of the gate's, by the proxy and by the transparent
# door: curl, Go, node, and gRPC's shape (trailers). The server is node's, in a namespace of its own; it says what it saw.
#
#   scripts/soak/clients-h2.sh [docker|oci]      default oci
#
# The image is that of scripts/soak/clients.sh (build/clients/image.tar), built if it is not there.
here=$(cd "$(dirname "$0")/../.." && pwd)
export SBX_SOURCE_DIR=$here
set -- "${1:-oci}"
# shellcheck source=../../engine/tests/e2e/lib.sh
. "$here/engine/tests/e2e/lib.sh"
# shellcheck disable=SC2154 # of lib.sh
: "$runtime" "$work" "$checks"
files=$here/scripts/soak/clients
ns=sbx-h2-$$ app=clients-h2 web=203.0.113.250 server=
secret=h2-secret-$$-$RANDOM
state=$XDG_STATE_HOME/sbx/apps/$app

cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null
    rm -f "$state/inject/${name:-none}.json" "$state/secrets/key"
    ip link del "sbxh2$$" 2>/dev/null
    ip netns del "$ns" 2>/dev/null
}
for program in node openssl; do
    command -v $program >/dev/null || skip "$program is not installed (scripts/install-deps.sh soak)"
done

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=h2 clients' -keyout "$work/ca.key" -out "$work/ca.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=h2' -keyout "$work/key" -out "$work/csr" 2>/dev/null
openssl x509 -req -in "$work/csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 2 -out "$work/cert" \
    -extfile <(echo subjectAltName=DNS:h2.example.com,DNS:other.example.com) 2>/dev/null

ip netns add "$ns"
ip link add "sbxh2$$" type veth peer name eth0 netns "$ns"
ip address add 203.0.113.249/29 dev "sbxh2$$"
ip link set "sbxh2$$" up
ip -n "$ns" address add $web/29 dev eth0
ip -n "$ns" link set lo up
ip -n "$ns" link set eth0 up
ip netns exec "$ns" node "$files/grpc.js" serve 443 "$work/cert" "$work/key" >"$work/server" 2>&1 </dev/null &
server=$!
await grep -q ready "$work/server" || die "the server does not start: $(tail -n 3 "$work/server")"

mkdir -p "$XDG_CONFIG_HOME/sbx/apps/$app" "$work/in" "$work/kit"
printf 'network:\n  hosts:\n    h2.example.com: ["%s"]\n    other.example.com: ["%s"]\n  publicTestRanges: ["203.0.113.248/29"]\n' $web $web \
    >"$XDG_CONFIG_HOME/sbx/apps/$app/settings.yaml"
cp "$files/grpc.js" "$work/ca.pem" "$work/in"
if command -v go >/dev/null; then
    (cd "$work" && CGO_ENABLED=0 GOCACHE=$work/go GOFLAGS=-mod=mod go build -o "$work/in/fetch-go" "$files/fetch.go") || die "go build"
fi
chown -R 1000:1000 "$work/in"
image=$here/build/clients/image.tar base=${SBX_TEST_IMAGE:-/root/.cache/sbx-base/base-bookworm.tar}
"$files/image.sh" "$base" "$image" || die "no image"
sbx template load --runtime "$runtime" "$image" >/dev/null || die "the image cannot be loaded"
printf 'schemaVersion: "2"\nkind: mixin\nname: h2\npermissions: { network: { allow: [h2.example.com, other.example.com] } }\n' >"$work/kit/spec.yaml"

new_name
(
    umask 077
    mkdir -p "$state/inject" "$state/secrets"
    printf '[{"to":"h2.example.com:443","header":"Authorization","secret":"key"}]\n' >"$state/inject/$name.json"
    printf 'Bearer %s\n' "$secret" >"$state/secrets/key"
)
sbx create --runtime "$runtime" --upstream-ca "$work/ca.pem" shell --template sbx.local/clients:bookworm --kit "$work/kit" \
    --name "$name" "$work/in" >"$work/create.log" 2>&1 || die "create: $(cat "$work/create.log")"

arrived() { grep -cF "/$1 Bearer $secret" "$work/server"; }
# try PATH WANTED COMMAND: as the agent, with the proxy's variables and without; WANTED is the last line. The value must arrive.
try() {
    local clean='unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY' way
    for way in proxy bare; do
        is "$1, $way" "$(timeout 120 "$SBX_BIN" --app-name $app --no-input exec "$name" -- bash -c "$([ $way = proxy ] || echo "$clean;") ${3//PATH_/$1-$way}" 2>&1 | tail -n 1)" "$2"
        is "$1, $way: the value arrived" "$(arrived "$1-$way")" 1
    done
}
url=https://h2.example.com bundle=/etc/ssl/certs/ca-certificates.crt
try curl "2 200" "curl -sS --http2 -d message -o /dev/null -w '%{http_version} %{http_code}\n' $url/PATH_"
try curl-trailers "grpc-status: 0" "curl -sS --http2 -d message -D - $url/PATH_ -o /dev/null | tr -d '\r' | grep grpc-status"
[ ! -e "$work/in/fetch-go" ] || try go "200 0 HTTP/2.0" "$work/in/fetch-go $url/PATH_"
# node's client of HTTP/2 knows no proxy: both ways are the transparent door
try node-grpc "message h2 0" "node $work/in/grpc.js ask $url/PATH_ $bundle"
log=$(cat "$state/sandboxes/$name"/log/log.jsonl)
has "both doors were used: the proxy" "$log" '"door":"proxy"'
has "and the transparent one" "$(grep '"door":"transparent"' <<<"$log")" h2.example.com
hasnt "the log has no value" "$log" "$secret"
is "a host without a rule is relayed: its own certificate, HTTP/2 all the same" "$(sbx exec "$name" -- curl -sS --http2 --cacert "$work/in/ca.pem" \
    -d message -o /dev/null -w '%{http_version} %{http_code}\n' https://other.example.com/relayed 2>&1 | tail -n 1)" "2 200"
is "and its requests have no value" "$(grep -cF "/relayed undefined" "$work/server")" 1
