#!/bin/bash
# From a fresh Debian 12 to an agent at work in a sandbox: install, build, make the base image, run one sandbox
# shaped by a kit, and show what happened. Works with a running Docker Engine and without one (then runc).
#
#   ./scripts/quickstart.sh [--runtime auto|docker|oci] [--keep]
#
# --keep leaves the sandbox up, to look around in: build/quickstart/bin/sbx --app-name quickstart exec -it quickstart bash
set -euo pipefail
cd "$(dirname "$0")/.."

runtime=auto keep=no
while [ $# -gt 0 ]; do
    case $1 in
    --runtime) runtime=${2:-}; [ -n "$runtime" ] || { echo "quickstart: --runtime needs auto, docker or oci" >&2; exit 2; }; shift 2 ;;
    --keep) keep=yes; shift ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "quickstart: unknown argument $1 (see --help)" >&2; exit 2 ;;
    esac
done
if [ "$(id -u)" != 0 ]; then
    echo "quickstart: it makes a base image and test servers, which needs root: run sudo $0" >&2
    exit 1
fi

step() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

step "Install what the build needs"
./scripts/install-deps.sh build

step "Build (about two minutes)"
cmake -S . -B build/quickstart -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF >build-quickstart.log 2>&1 &&
    cmake --build build/quickstart >>build-quickstart.log 2>&1 ||
    { tail -n 30 build-quickstart.log; echo "quickstart: the build failed (build-quickstart.log)" >&2; exit 1; }
mv build-quickstart.log build/quickstart/build.log
sbx=$PWD/build/quickstart/bin/sbx
run "$sbx" version

step "Make the base image and load it"
app=(--app-name quickstart)
./scripts/base-image.sh
image=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sbx-base/base-bookworm.tar
run "$sbx" "${app[@]}" template load --runtime "$runtime" "$image"

step "Start two test servers that the sandbox may and may not reach"
workspace=$(mktemp -d /tmp/sbx-quickstart.XXXXXX)
settings=${XDG_CONFIG_HOME:-${HOME:-/root}/.config}/sbx/apps/quickstart/settings.yaml
cleanup() {
    if [ "$keep" = no ]; then
        "$sbx" "${app[@]}" rm -f quickstart >/dev/null 2>&1 || true
        ./scripts/fixture/fixture.sh down || true
        rm -rf "$workspace" "$settings"
    fi
}
trap cleanup EXIT
./scripts/fixture/fixture.sh up
mkdir -p "$(dirname "$settings")"
./scripts/fixture/fixture.sh settings >"$settings"
chown 1000:1000 "$workspace"
echo "hello from the host" >"$workspace/note.txt"
"$sbx" "${app[@]}" rm -f quickstart >/dev/null 2>&1 || true

step "Run an agent in a sandbox that the kit kits/mixins/hello shaped"
# The agent of the kit `shell` is a shell: what comes behind -- is what a coding agent would do.
agent=$(cat <<'AGENT'
echo "I am $(id -un) (uid $(id -u)); my host is $(hostname); sudo gives $(sudo id -un)"
echo "my workspace holds: $(ls -m)"
echo "note.txt says: $(cat note.txt)"
echo "written by the agent" >answer.txt
echo "interfaces: $(ls /sys/class/net | tr '\n' ' ')"
echo "the kit set: $(env | grep '^HELLO' | tr '\n' ' ')"
echo "the kit's files: $(ls -m ~/.hello 2>/dev/null)"
printf 'allowed:  http://api.example.com/     -> '; curl -sS -o /dev/null -w '%{http_code}\n' http://api.example.com/
printf 'allowed:  https://api.example.com/    -> '; curl -sSk -o /dev/null -w '%{http_code}\n' https://api.example.com/
printf 'denied:   http://denied.example.com/  -> '; curl -sS http://denied.example.com/
printf 'around the gate, straight to its address: '; curl -sS --noproxy '*' -m 3 http://198.51.100.11/ 2>&1 || true
AGENT
)
agent=${agent//198.51.100/${SBX_FIXTURE_NET:-198.51.100}}
printf '$ sbx run shell --kit kits/mixins/hello --name quickstart %s -- -c "…"\n' "$workspace"
"$sbx" "${app[@]}" run --runtime "$runtime" shell --kit ./kits/mixins/hello --name quickstart "$workspace" -- -c "$agent"

step "What the agent left on the host, and what the gate saw"
run cat "$workspace/answer.txt"
run "$sbx" "${app[@]}" ls
run "$sbx" "${app[@]}" policy log quickstart

if [ "$keep" = yes ]; then
    step "Kept. Look around:"
    echo "$sbx --app-name quickstart exec -it quickstart bash"
else
    step "Remove it"
    run "$sbx" "${app[@]}" rm -f quickstart
    echo
    echo "Done. For sandboxes of your own:"
    echo "  ./scripts/base-image.sh --load $sbx --runtime $runtime"
    echo "  $sbx run --runtime $runtime shell --kit ./kits/mixins/hello"
    echo "  $sbx --help"
fi
