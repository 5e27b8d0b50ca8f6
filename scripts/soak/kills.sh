#!/bin/bash
# N times: `sbx create` is killed with SIGKILL at a random moment of its life, then `sbx rm -f` must leave nothing, and the name
# must be usable. Alternates the runtimes that work here.
#
#   scripts/soak/kills.sh [N]
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
count=${1:-200}
runtimes=()
command -v runc >/dev/null && runtimes+=(oci)
docker version >/dev/null 2>&1 && runtimes+=(docker)
[ ${#runtimes[@]} -gt 0 ] || { echo "kills: no runtime works here" >&2; exit 1; }
SBX_BIN=${SBX_BIN:-$here/build/release/bin/sbx}
export SBX_BIN SBX_SOURCE_DIR=$here
bad=0
for runtime in "${runtimes[@]}"; do
    (
        # shellcheck disable=SC2030
        set -- "$runtime"
        # shellcheck source=../../engine/tests/e2e/lib.sh
        . "$here/engine/tests/e2e/lib.sh"
        ws=$work/ws
        mkdir "$ws"
        chown 1000:1000 "$ws"
        name=kills-$runtime-$$
        names+=("$name")
        start=$(date +%s%N)
        sbx create --runtime "$runtime" shell --kit "$here/kits/mixins/hello" --name "$name" "$ws" >/dev/null 2>&1 || die "create fails without a kill"
        whole=$((($(date +%s%N) - start) / 1000000))
        sbx rm -f "$name" >/dev/null 2>&1
        each=$((count / ${#runtimes[@]}))
        for i in $(seq "$each"); do
            "$SBX_BIN" --app-name "$app" --no-input create --runtime "$runtime" shell --kit "$here/kits/mixins/hello" --name "$name" "$ws" \
                >/dev/null 2>&1 &
            victim=$!
            after=$((RANDOM * (whole + 20) / 32768))
            sleep "$(printf '%d.%03d' $((after / 1000)) $((after % 1000)))"
            kill -9 $victim 2>/dev/null
            wait $victim 2>/dev/null
            sbx rm -f "$name" >/dev/null 2>&1
            rest=$([ ! -e "$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$name" ] || echo state
                pgrep -af "sandboxes/$name/"
                grep "sandboxes/$name/" /proc/self/mounts
                [ "$runtime" != docker ] || docker ps -aq --filter "label=sbx.sandbox=$name"
                [ "$runtime" != docker ] || docker volume ls -q --filter "label=sbx.sandbox=$name")
            [ -z "$rest" ] || fail "kill $i after $after ms: $rest"
        done
        exits "after $each kills the name can be used" 0 sbx create --runtime "$runtime" shell --name "$name" "$ws"
    ) || bad=1
done
exit $bad
