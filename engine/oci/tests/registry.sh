#!/bin/bash
# Sourced by the tests of this folder: a work directory, registries on free ports, and checks.
# shellcheck disable=SC2034 # what is set here is for the script that sources it
set -u
[ -x "${SBX_BIN:?the sbx to test}" ] || { echo "$SBX_BIN is not built"; exit 1; }
for tool in docker-registry skopeo htpasswd openssl python3 jq; do
    command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
fail=0 n=0 pids=''
work=$(mktemp -d) || exit 1
trap 'for p in $pids; do kill "$p" 2>/dev/null; done; wait 2>/dev/null; rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config XDG_CACHE_HOME=$work/cache
export HOME=$work/home DOCKER_CONFIG=$work/docker
unset SOURCE_DATE_EPOCH http_proxy https_proxy HTTP_PROXY HTTPS_PROXY SSL_CERT_FILE SSL_CERT_DIR
mkdir -p "$HOME" "$DOCKER_CONFIG"
cd "$work" || exit 1

t() { # STATUS TEXT ARGUMENTS...
    local status=$1 text=$2 got
    shift 2
    out=$(timeout 60 "$SBX_BIN" --no-input "$@" 2>&1 </dev/null)
    got=$?
    n=$((n + 1))
    if [ $got != "$status" ] || [[ $out != *"$text"* ]]; then
        echo "FAILED: sbx $*: status $got, want $status with [$text]; it says: ${out:0:900}"
        fail=1
    fi
}

is() { # WHAT GOT WANT
    n=$((n + 1))
    [ "$2" = "$3" ] && return
    echo "FAILED: $1: [$2], not [$3]"
    fail=1
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

answers() { # PORT PID
    for ((i = 0; i < 6000; i++)); do
        (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.01 # poll interval; the loop ends when the server answers
    done
    return 1
}

# registry NAME [YAML]: $host is "127.0.0.1:PORT"; YAML goes below http:, more of it to the end
registry() {
    local name=$1 port
    port=$(free_port)
    cat >"$work/$name.yml" <<YML
version: 0.1
log: { level: error, accesslog: { disabled: ${quiet:-true} } }
storage: { filesystem: { rootdirectory: $work/$name }, delete: { enabled: ${deletes:-false} } }
http:
  addr: 127.0.0.1:$port
${2:-}
YML
    docker-registry serve "$work/$name.yml" >"$work/$name.log" 2>&1 &
    pid=$!
    pids="$pids $pid"
    host=127.0.0.1:$port
    answers "$port" $pid || { echo "SKIPPED: docker-registry does not start"; cat "$work/$name.log"; exit 77; }
}

finish() {
    [ $fail = 0 ] && echo "$n checks passed"
    exit $fail
}
