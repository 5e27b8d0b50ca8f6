# shellcheck shell=bash
# Common ground of the end-to-end tests. Source it with the runtime as the first argument of the test:
#   . "$(dirname "$0")/lib.sh"
# Gives: $runtime, $sbx (with the test's app), $work (a folder that goes with the test), sandbox names that go too.
set -uo pipefail

runtime=${1:-oci}
SBX_SOURCE_DIR=${SBX_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)}
SBX_BIN=${SBX_BIN:-$SBX_SOURCE_DIR/build/release/bin/sbx}
test_name=$(basename "$0" .sh)
unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY # a sandbox's gate heeds them

skip() { echo "SKIPPED $test_name ($runtime): $*"; exit 77; }
[ -x "$SBX_BIN" ] || skip "$SBX_BIN is not built"
[ "$(id -u)" = 0 ] || skip "needs root"
case $runtime in
docker) docker version >/dev/null 2>&1 || skip "no Docker Engine is running" ;;
oci) command -v runc >/dev/null || command -v crun >/dev/null || skip "neither runc nor crun is installed" ;;
esac

# One state for all tests of a build, so that the image is unpacked once; names keep the tests apart.
home=$(dirname "$(dirname "$SBX_BIN")")/e2e
work=$(mktemp -d -t "sbx-e2e-$test_name.XXXXXX")
mkdir -p "$home"
export XDG_STATE_HOME=$home/state XDG_CACHE_HOME=$home/cache XDG_CONFIG_HOME=$home/config HOME=$home/home
mkdir -p "$XDG_CONFIG_HOME" "$HOME"
export SBX_NO_COLOR=1
app=e2e-$(basename "$(dirname "$(dirname "$SBX_BIN")")")
sbx() { "$SBX_BIN" --app-name "$app" --no-input "$@"; }
names=()
failures=0
checks=0

on_exit() {
    local status=$?
    for n in "${names[@]}"; do
        sbx rm -f "$n" >/dev/null 2>&1
    done
    if declare -F cleanup >/dev/null; then cleanup; fi
    [ "${SBX_E2E_KEEP:-}" ] || rm -rf --one-file-system "$work"
    if [ "$status" = 0 ]; then
        echo "$test_name ($runtime): $checks checks, $failures failed"
        [ "$failures" = 0 ] && [ "$checks" -gt 0 ] || exit 1
    fi
}
trap on_exit EXIT

# A name of this test's own, in $name; removed at the end.
new_name() { name="$test_name-$runtime-$$-${#names[@]}"; name=${name//_/-}; names+=("$name"); }

pass() { checks=$((checks + 1)); echo "ok   $*"; }
fail() { checks=$((checks + 1)); failures=$((failures + 1)); echo "FAIL $*"; }
die() { echo "FAIL $*"; exit 1; }

# is WHAT GOT WANT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1: got [$2], want [$3]"; fi; }
# has WHAT TEXT PART
has() { if [[ $2 == *"$3"* ]]; then pass "$1"; else fail "$1: [$3] is not in [${2:0:1500}]"; fi; }
hasnt() { if [[ $2 != *"$3"* ]]; then pass "$1"; else fail "$1: [$3] is in [${2:0:1500}]"; fi; }
# exits WHAT WANTED_STATUS COMMAND... ; its output in $out
exits() {
    local what=$1 want=$2 got
    shift 2
    out=$("$@" 2>&1)
    got=$?
    if [ "$got" = "$want" ]; then pass "$what"; else fail "$what: exit $got, want $want: ${out:0:1500}"; fi
}

# await COMMAND...: until it succeeds; a minute at most, since another test may have the machine
await() { for _ in $(seq 600); do "$@" && return; sleep 0.1; done; return 1; }
ended() { ! kill -0 "$1" 2>/dev/null; } # PID

# The image and the names of the test origins, once for the build.
(
    flock 9
    mkdir -p "$XDG_CONFIG_HOME/sbx/apps/$app"
    "$SBX_SOURCE_DIR/scripts/fixture/fixture.sh" settings >"$XDG_CONFIG_HOME/sbx/apps/$app/settings.yaml"
    image=${SBX_TEST_IMAGE:-/root/.cache/sbx-base/base-bookworm.tar}
    if [ ! -e "$home/loaded-$runtime" ]; then
        [ -s "$image" ] || "$SBX_SOURCE_DIR/scripts/base-image.sh" --output "$image" || exit 1
        "$SBX_BIN" --app-name "$app" template load --runtime "$runtime" "$image" >/dev/null || exit 1
        touch "$home/loaded-$runtime"
    fi
    # What a killed test left: the name says its process. New ones are made only by tests that live.
    for left in "$XDG_STATE_HOME/sbx/apps/$app/sandboxes"/*; do
        [[ $(basename "$left") =~ -(docker|oci)-([0-9]+)-[0-9]+$ ]] && ! kill -0 "${BASH_REMATCH[2]}" 2>/dev/null &&
            sbx rm -f "$(basename "$left")" >/dev/null 2>&1
    done
    true
) 9>"$home/lock" || die "the base image could not be loaded"

# A mixin of the test's own: mixin NAME <<spec-body
mixin() {
    mkdir -p "$work/$1"
    { printf 'schemaVersion: "2"\nkind: mixin\nname: %s\ndisplayName: %s\ndescription: test\n' "$1" "$1"; cat; } \
        >"$work/$1/spec.yaml"
}
