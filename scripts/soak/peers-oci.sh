#!/bin/bash
# Tools that the long runs of kits and images compare with, as Go modules into build/peers/bin: oras, crane and the token server of
# distribution, and a registry with the referrers API (distribution 3 has many dependencies: who has its `registry` in PATH has it tried too). What cannot be installed is left out, loudly. Prints the directory on its last line.
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
if [ ! -x "$bin/referrers" ]; then
    (
        set -e
        src=$(mktemp -d)
        trap 'rm -rf "$src"' EXIT
        cp scripts/soak/clients/referrers.go "$src/main.go"
        cd "$src"
        go mod init referrers
        go get github.com/google/go-containerregistry@v0.20.6
        CGO_ENABLED=0 timeout 600 go build -o "$bin/referrers" .
    ) >&2 || echo "LOUD: referrers could not be built" >&2
fi
echo "$bin"
