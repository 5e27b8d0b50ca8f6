#!/bin/bash
# Real clients inside a sandbox, each with the proxy's variables and without them: curl, wget, git over http, https and ssh, apt,
# npm, pip, node, Python requests, Java, Go (both resolvers), musl, redis-cli, openssl, WebSockets, HTTP/2 with trailers as gRPC has, 1 GiB both
# ways at once, an event stream of five minutes, and a deny that closes a connection by each door. Their servers stand in a namespace of their own; nothing outside is asked.
#
#   scripts/soak/clients.sh [docker|oci] [SECONDS-OF-THE-EVENT-STREAM]      default oci, 300
#
# The image is built once, of Debian packages (build/clients/image.tar). What this machine cannot build or serve is named and left out.
here=$(cd "$(dirname "$0")/../.." && pwd)
export SBX_SOURCE_DIR=$here
seconds=${2:-300}
set -- "${1:-oci}"
# shellcheck source=../../engine/tests/e2e/lib.sh
. "$here/engine/tests/e2e/lib.sh"
# shellcheck disable=SC2154 # of lib.sh
: "$runtime" "$work" "$checks"
files=$here/scripts/soak/clients
image=$here/build/clients/image.tar
ns=sbx-clients-$$
app=clients
web=203.0.113.242 # a narrow range: whatever else of 203.0.113.0/24 this machine uses stays reachable
pids=()

cleanup() {
    for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
    ip netns pids "$ns" 2>/dev/null | xargs -r kill 2>/dev/null
    ip link del "sbxcl$$" 2>/dev/null
    ip netns del "$ns" 2>/dev/null
}
without() { echo "LOUD: left out: $*"; }
have() { command -v "$1" >/dev/null || { without "$2 ($1 is not installed: scripts/install-deps.sh soak)"; return 1; }; }
outside() { ip netns exec "$ns" "$@"; }
# start NAME COMMAND...: a server that says "ready"
start() {
    local name=$1
    shift
    outside "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null &
    pids+=($!)
    for _ in $(seq 200); do
        grep -q ready "$work/$name.out" && return 0
        sleep 0.05
    done
    die "$name does not start: $(tail -n 3 "$work/$name.err")"
}

certificates() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=clients CA' \
        -keyout "$work/ca.key" -out "$work/ca.pem" 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=example.com' -keyout "$work/key" -out "$work/csr" 2>/dev/null
    printf 'subjectAltName=DNS:web.example.com,DNS:grpc.example.com\n' >"$work/ext"
    openssl x509 -req -in "$work/csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 2 -extfile "$work/ext" \
        -out "$work/cert" 2>/dev/null
}

network() {
    ip netns add "$ns"
    ip link add "sbxcl$$" type veth peer name eth0 netns "$ns"
    ip address add 203.0.113.241/29 dev "sbxcl$$"
    ip link set "sbxcl$$" up
    ip -n "$ns" address add $web/29 dev eth0
    ip -n "$ns" link set lo up
    ip -n "$ns" link set eth0 up
}

# A Debian package, a wheel, an npm package, a git repository: each small, made here.
registries() {
    mkdir -p "$work/web/apt" "$work/deb/DEBIAN" "$work/deb/usr/bin" "$work/web/simple/hello-clients" "$work/npm/package"
    head -c 1000000 /dev/zero | tr '\0' x >"$work/web/file"
    printf 'Package: hello-clients\nVersion: 1.0\nArchitecture: all\nMaintainer: A <a@example.com>\nDescription: a test\n' >"$work/deb/DEBIAN/control"
    printf '#!/bin/sh\necho hello from apt\n' >"$work/deb/usr/bin/hello-clients"
    chmod 755 "$work/deb/usr/bin/hello-clients"
    dpkg-deb --root-owner-group -b "$work/deb" "$work/web/apt/hello-clients.deb" >/dev/null
    (cd "$work/web/apt" && {
        sed '/^$/d' "$work/deb/DEBIAN/control"
        printf 'Filename: ./hello-clients.deb\nSize: %s\nSHA256: %s\n\n' "$(stat -c %s hello-clients.deb)" "$(sha256sum hello-clients.deb | cut -d' ' -f1)"
    } >Packages)
    python3 - "$work/web/simple/hello-clients" <<'PY'
import sys, zipfile
name = "hello_clients-1.0-py3-none-any.whl"
with zipfile.ZipFile(sys.argv[1] + "/" + name, "w") as z:
    z.writestr("hello_clients.py", "print('hello from pip')\n")
    z.writestr("hello_clients-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hello-clients\nVersion: 1.0\n")
    z.writestr("hello_clients-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("hello_clients-1.0.dist-info/RECORD", "")
open(sys.argv[1] + "/index.html", "w").write('<a href="%s">%s</a>' % (name, name))
PY
    printf '{"name":"hello-clients","version":"1.0.0","main":"x.js"}' >"$work/npm/package/package.json"
    echo "console.log('hello from npm')" >"$work/npm/package/x.js"
    tar -C "$work/npm" -czf "$work/web/hello-clients.tgz" package
    for scheme in http https; do
        mkdir -p "$work/web/$scheme/hello-clients"
        printf '{"name":"hello-clients","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"hello-clients","version":"1.0.0","dist":{"tarball":"%s://web.example.com/hello-clients.tgz","integrity":"sha512-%s"}}}}' \
            $scheme "$(openssl dgst -sha512 -binary "$work/web/hello-clients.tgz" | base64 -w0)" >"$work/web/$scheme/hello-clients/index.html"
    done
    git init -q "$work/repo"
    git -C "$work/repo" -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
    git clone -q --bare "$work/repo" "$work/web/repo.git"
    git -C "$work/web/repo.git" update-server-info
}

servers() {
    start web python3 "$files/origin.py" "$work/web" "$work/cert" "$work/key"
    ! have node "HTTP/2 with trailers" || start grpc node "$files/grpc.js" serve 8443 "$work/cert" "$work/key"
    if have redis-server redis-cli; then
        outside redis-server --bind $web --port 6379 --save '' --protected-mode no --dir "$work" >/dev/null 2>&1 &
        pids+=($!)
        redis=1
    fi
    if have sshd "git over ssh"; then
        ssh-keygen -q -t ed25519 -N '' -f "$work/hostkey"
        ssh-keygen -q -t ed25519 -N '' -f "$work/userkey"
        mkdir -p /run/sshd
        printf 'Port 22\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nPermitRootLogin prohibit-password\nUsePAM no\n' \
            "$work/hostkey" "$work/userkey.pub" >"$work/sshd.conf"
        outside "$(command -v sshd)" -D -f "$work/sshd.conf" >"$work/sshd.log" 2>&1 &
        pids+=($!)
        ssh=1
    fi
}

programs() {
    mkdir -p "$work/in"
    cp "$files"/{bulk.py,ws.py,grpc.js} "$work/ca.pem" "$work/in"
    [ -z "${ssh:-}" ] || cp "$work/userkey" "$work/in"
    if have javac Java; then javac -d "$work/in" "$files/Fetch.java" && java=1; fi
    if have go Go; then (cd "$work" && CGO_ENABLED=0 GOCACHE=$here/build/clients/go GOFLAGS=-mod=mod go build -o "$work/in/fetch-go" "$files/fetch.go" &&
        CGO_ENABLED=1 GOCACHE=$here/build/clients/go GOFLAGS=-mod=mod go build -tags netcgo -o "$work/in/fetch-cgo" "$files/fetch.go") && go=1; fi
    if have musl-gcc musl; then musl-gcc -static -o "$work/in/fetch-musl" "$files/fetch.c" && musl=1; fi
    chown -R 1000:1000 "$work/in"
    chmod 600 "$work/in/userkey" 2>/dev/null
}

image() {
    local base=${SBX_TEST_IMAGE:-/root/.cache/sbx-base/base-bookworm.tar}
    [ -s "$base" ] || "$here/scripts/base-image.sh" --output "$base" || die "no base image"
    "$files/image.sh" "$base" "$image" || die "no image"
    sbx template load --runtime "$runtime" "$image" >/dev/null || die "the image cannot be loaded"
}

# try WHAT WANTED COMMAND: in the sandbox, as the agent, with the proxy's variables and without; WANTED is the last line
try() {
    local what=$1 want=$2 clean='unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY JAVA_TOOL_OPTIONS npm_config_proxy npm_config_https_proxy'
    is "$what" "$(timeout 120 "$SBX_BIN" --app-name $app --no-input exec "$name" -- bash -c "$3" 2>&1 | tail -n 1)" "$want"
    is "$what, without the variables" "$(timeout 120 "$SBX_BIN" --app-name $app --no-input exec "$name" -- bash -c "$clean; $3" 2>&1 | tail -n 1)" "$want"
}

clients() {
    local w=web.example.com in=$work/in n=1000000
    try "curl http" "200 $n 1.1" "curl -sS -o /dev/null -w '%{http_code} %{size_download} %{http_version}\n' http://$w/file"
    try "curl https" "200 $n 1.1" "curl -sS -o /dev/null -w '%{http_code} %{size_download} %{http_version}\n' https://$w/file"
    try "curl uploads" $n "head -c $n /dev/zero | curl -sS -T - -H 'Expect: 100-continue' https://$w/x | wc -c"
    try "wget" $n "wget -qO- https://$w/file | wc -c"
    for scheme in http https; do
        try "git $scheme" "one" "rm -rf /tmp/c && git clone -q $scheme://$w/repo.git /tmp/c && git -C /tmp/c log --format=%s"
        try "pip $scheme" "hello from pip" "rm -rf /tmp/p && pip install -q --disable-pip-version-check --no-cache-dir --trusted-host $w --cert /etc/ssl/certs/ca-certificates.crt --index-url $scheme://$w/simple --target /tmp/p hello-clients && PYTHONPATH=/tmp/p python3 -m hello_clients"
        try "npm $scheme" "hello from npm" "rm -rf /tmp/n && mkdir /tmp/n && cd /tmp/n && npm install --silent --no-audit --no-fund --no-update-notifier --cache /tmp/n/.c --registry $scheme://$w/$scheme hello-clients >/dev/null && node -e 'require(\"hello-clients\")'"
        try "node fetch $scheme" "200 $n" "node -e 'fetch(\"$scheme://$w/file\").then(async r => console.log(r.status, (await r.text()).length))'"
        try "Python requests $scheme" "200 $n" "python3 -c 'import requests; r = requests.get(\"$scheme://$w/file\"); print(r.status_code, len(r.content))'"
        [ -z "${java:-}" ] || try "Java $scheme" "200 $n HTTP_1_1" "java -cp $in Fetch $scheme://$w/file"
        [ -z "${go:-}" ] || try "Go $scheme" "200 $n HTTP/1.1" "$in/fetch-go $scheme://$w/file"
        [ -z "${go:-}" ] || try "Go with the C library's resolver, $scheme" "200 $n HTTP/1.1" "GODEBUG=netdns=cgo $in/fetch-cgo $scheme://$w/file"
    done
    local apt="apt-get -q -o Dir::Etc::sourcelist=/tmp/l -o Dir::Etc::sourceparts=-"
    try "apt" "hello from apt" "sudo -E sh -c 'dpkg -P hello-clients; echo deb [trusted=yes] http://$w/apt ./ >/tmp/l; $apt update && $apt -y install hello-clients' >/tmp/apt.log 2>&1; hello-clients || tail -n 3 /tmp/apt.log"
    [ -z "${ssh:-}" ] || try "git ssh" "one" "rm -rf /tmp/s && GIT_SSH_COMMAND='ssh -i $in/userkey -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null' git clone -q root@$w:$work/web/repo.git /tmp/s && git -C /tmp/s log --format=%s"
    [ -z "${musl:-}" ] || try "musl" whole "$in/fetch-musl $w"
    [ -z "${redis:-}" ] || try "redis-cli" "v" "redis-cli -h $w set k v >/dev/null && redis-cli -h $w get k"
    try "glibc asks by TCP" "198.19." "RES_OPTIONS=use-vc getent ahostsv4 $w | cut -c1-7 | tail -n 1"
    try "getaddrinfo with AI_ADDRCONFIG" "198.19." "python3 -c 'import socket; print(socket.getaddrinfo(\"$w\", 443, 0, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)[0][4][0][:7])'"
    try "1 GiB each way at once, raw" whole "python3 $in/bulk.py $w 9000 1024"
    try "openssl s_client" "Verify return code: 0 (ok)" "openssl s_client -connect $w:443 -servername $w </dev/null 2>/dev/null | grep -o 'Verify return code.*' | tail -n 1"
    try "WebSocket ws" hello "python3 $in/ws.py ws://$w/ws"
    try "WebSocket wss" hello "python3 $in/ws.py wss://$w/ws $in/ca.pem"
    [ ! -s "$work/grpc.out" ] || {
        try "curl HTTP/2 with trailers" "grpc-status: 0" "curl -sS --http2 -d message -D - https://grpc.example.com:8443/x -o /dev/null | tr -d '\r' | grep grpc-status"
        try "node as gRPC" "message h2 0" "node $in/grpc.js ask https://grpc.example.com:8443/x $in/ca.pem"
    }
}

events() {
    local took
    timeout $((seconds + 60)) "$SBX_BIN" --app-name $app --no-input exec "$name" -- \
        python3 -u -c "
import time, urllib.request
late, n = [], 0
for line in urllib.request.urlopen('http://web.example.com/events?$seconds'):
    if line.startswith(b'data: '):
        n += 1
        late.append(time.time() - float(line.split()[2]))
print(n, sum(x >= 1 for x in late), max(late))" >"$work/events" 2>&1
    read -r n bad took <"$work/events"
    is "an event stream of $seconds s: every event" "$n" "$seconds"
    is "each within a second (the slowest after ${took:-?} s)" "$bad" 0
}

# An open connection by each door, each a command that ends when it is closed; a deny closes all within a second.
closing() {
    local w=web.example.com ca="--cacert $work/in/ca.pem" bare="env -u http_proxy -u https_proxy -u HTTP_PROXY -u HTTPS_PROXY" i=0 start last
    local doors=("curl -sSN http://$w/events?600" "$bare curl -sSN http://$w/events?600" "curl -sSN $ca https://$w/events?600"
        "$bare curl -sSN $ca https://$w/events?600" "$bare bash -c 'exec 3<>/dev/tcp/$w/9000; cat <&3'"
        "bash -c 'exec 3<>/dev/tcp/gateway.docker.internal/3128; printf \"CONNECT $w:9000 HTTP/1.1\r\nHost: x\r\n\r\n\" >&3; cat <&3'")
    for door in "${doors[@]}"; do
        { timeout 60 "$SBX_BIN" --app-name $app --no-input exec "$name" -- bash -c "$door; date +%s%3N >&2" >"$work/open.$i" 2>"$work/closed.$i"; } &
        i=$((i + 1))
    done
    for _ in $(seq 200); do [ "$(grep -lE 'data: |bulk' "$work"/open.* | wc -l)" = ${#doors[@]} ] && break; sleep 0.1; done
    is "a connection by each door" "$(grep -lE 'data: |bulk' "$work"/open.* | wc -l)" ${#doors[@]}
    start=$(date +%s%3N) # inside it is the same clock
    exits "a deny" 0 sbx policy deny network $w --sandbox "$name"
    for _ in $(seq 100); do [ "$(grep -hcx '[0-9]*' "$work"/closed.* | grep -c 1)" = ${#doors[@]} ] && break; sleep 0.1; done
    is "closes each" "$(grep -hx '[0-9]*' "$work"/closed.* | wc -l)" ${#doors[@]}
    last=$(grep -hx '[0-9]*' "$work"/closed.* | sort -n | tail -n 1)
    [ $((last - start)) -le 1000 ] && pass "within a second ($((last - start)) ms)" || fail "the last after $((last - start)) ms"
    exits "and may be taken back" 0 sbx policy rm network $w --sandbox "$name"
}

denied() {
    exits "a name without a rule" 6 sbx exec "$name" -- env -u http_proxy curl -sS http://evil.example.com/
    has "and the log says so" "$(sbx policy log "$name" --raw)" '"host":"evil.example.com"'
    hasnt "nothing of a client was refused" "$(sbx policy log "$name" --raw | grep '"decision":"deny"' | grep -v evil.example)" example.com
}

[ "$(id -u)" = 0 ] || skip "needs root"
certificates
network
registries
servers
programs
mkdir -p "$XDG_CONFIG_HOME/sbx/apps/$app"
printf 'network:\n  hosts:\n    web.example.com: ["%s"]\n    grpc.example.com: ["%s"]\n  publicTestRanges: ["203.0.113.240/29"]\n' $web $web \
    >"$XDG_CONFIG_HOME/sbx/apps/$app/settings.yaml"
image
mkdir "$work/kit"
cat >"$work/kit/spec.yaml" <<'KIT'
schemaVersion: "2"
kind: mixin
name: clients
permissions: { network: { allow: [web.example.com, grpc.example.com] } }
KIT
new_name
sbx create --runtime "$runtime" shell --template sbx.local/clients:bookworm --kit "$work/kit" --name "$name" \
    -e NODE_EXTRA_CA_CERTS="$work/in/ca.pem" "$work/in" >"$work/create.log" 2>&1 ||
    die "create: $(cat "$work/create.log")"
sbx exec -u 0 "$name" -- sh -c "cp $work/in/ca.pem /usr/local/share/ca-certificates/clients.crt && update-ca-certificates" \
    >"$work/trust.log" 2>&1 || die "trust: $(tail -n 3 "$work/trust.log")"
clients
denied
events
closing
pass "measured"
