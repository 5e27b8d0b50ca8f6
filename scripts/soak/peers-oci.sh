#!/bin/bash
# Tools that the long runs of kits and images compare with, as Go modules into build/peers/bin: oras, crane and the token server of
# distribution. What cannot be installed is left out, loudly. Prints the directory on its last line.
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
echo "$bin"
