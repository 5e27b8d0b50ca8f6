#!/bin/bash
# Peers of the gate for its benchmark: squid and tinyproxy from Debian, mitmproxy from PyPI and smokescreen as a Go module into
# build/peers. What cannot be installed is left out, loudly. Prints the directory for SBX_PEERS on its last line.
set -u
cd "$(dirname "$0")/../.." || exit 1
peers=$PWD/build/peers
mkdir -p "$peers/bin"
scripts/install-deps.sh soak >&2 || echo "LOUD: not all Debian packages could be installed" >&2
if [ ! -x "$peers/bin/mitmdump" ]; then
    { python3 -m venv "$peers/venv" && timeout 300 "$peers/venv/bin/pip" install -q mitmproxy &&
        ln -sf ../venv/bin/mitmdump "$peers/bin/mitmdump"; } >&2 || echo "LOUD: mitmproxy could not be installed" >&2
fi
if [ ! -x "$peers/bin/smokescreen" ]; then
    { command -v go >/dev/null && GOBIN=$peers/bin timeout 300 go install github.com/stripe/smokescreen@v0.1.0; } >&2 ||
        echo "LOUD: smokescreen could not be installed" >&2
fi
if [ ! -x "$peers/bin/smokescreen-role" ]; then # the same for bench_tls.py
    { mkdir -p "$peers/role" && cp proxy/gate/bench/smokescreen_role.go "$peers/role/main.go" && cd "$peers/role" &&
        { [ -e go.mod ] || go mod init role; } && timeout 200 go get github.com/stripe/smokescreen@v0.1.0 &&
        timeout 300 go build -o "$peers/bin/smokescreen-role" .; } >&2 || echo "LOUD: smokescreen could not be built to intercept" >&2
fi
echo "$peers/bin"
