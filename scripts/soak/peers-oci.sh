#!/bin/bash
# Tools that the long runs of kits and images compare with, as Go modules into build/peers/bin: oras, crane and the token server of
# distribution, and two registries with the referrers API (distribution 3 has many dependencies: who has its `registry` in PATH has it tried too). What cannot be installed is left out, loudly. Prints the directory on its last line.
set -u
cd "$(dirname "$0")/../.." || exit 1
bin=$PWD/build/peers/bin
mkdir -p "$bin"
scripts/install-deps.sh soak >&2 || echo "LOUD: not all Debian packages could be installed" >&2
while read -r name module; do
    [ -x "$bin/$name" ] && continue
    { command -v go >/dev/null && GOBIN=$bin CGO_ENABLED=0 timeout 600 go install "$module"; } >&2 ||
        echo "LOUD: $name could not be installed" >&2
done <<'TOOLS'
oras oras.land/oras/cmd/oras@v1.2.3
crane github.com/google/go-containerregistry/cmd/crane@v0.20.6
token-server github.com/docker/distribution/contrib/token-server@v2.8.3+incompatible
TOOLS
# server NAME MODULE: clients/NAME.go, which serves with that module
server() {
    [ -x "$bin/$1" ] && return
    (
        set -e
        src=$(mktemp -d)
        trap 'rm -rf "$src"' EXIT
        cp "scripts/soak/clients/$1.go" "$src/main.go"
        cd "$src"
        go mod init "$1"
        go get "$2"
        CGO_ENABLED=0 timeout 600 go build -o "$bin/$1" .
    ) >&2 || echo "LOUD: $1 could not be built" >&2
}
server referrers github.com/google/go-containerregistry@v0.20.6
server olareg github.com/olareg/olareg@v0.1.2
echo "$bin"
