#!/bin/bash
# How long things take beside what users know, in turn (A B A B …), as medians and ratios.
#
#   scripts/soak/bench.sh [RUNS]      default 15
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
runs=${1:-15}
export SBX_BIN=${SBX_BIN:-$here/build/release/bin/sbx} SBX_SOURCE_DIR=$here

# pair LABEL A B: medians in ms of the shell commands A and B, run in turn, and A/B
pair() {
    python3 - "$runs" "$@" <<'PY'
import statistics, subprocess, sys, time
runs, label, a, b = int(sys.argv[1]), *sys.argv[2:5]
times = {a: [], b: []}
for turn in range(runs + 1):
    for command in (a, b):
        t = time.perf_counter()
        r = subprocess.run(["bash", "-c", command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        if r.returncode:
            sys.exit(f"{label}: exit {r.returncode} of {command}: {r.stderr.decode()[-400:]}")
        if turn:
            times[command].append((time.perf_counter() - t) * 1000)
x, y = statistics.median(times[a]), statistics.median(times[b])
print(f"{label:34} {x:9.1f} ms   peer {y:9.1f} ms   ratio {x / y:5.2f}")
PY
}

for runtime in oci docker; do
    (
        set -- "$runtime"
        # shellcheck source=../../engine/tests/e2e/lib.sh
        . "$here/engine/tests/e2e/lib.sh"
        ws=$work/ws
        mkdir "$ws"
        chown 1000:1000 "$ws"
        new_name
        cmd="$SBX_BIN --app-name $app --no-input"
        peer="docker run --rm --network none sbx.local/base:bookworm true"
        if [ "$runtime" = oci ]; then
            mkdir -p "$work/bundle/rootfs"
            tar -xf "${SBX_TEST_IMAGE:-/root/.cache/sbx-base/base-bookworm.tar}" -C "$work" --wildcards '*/layer.tar'
            tar -xf "$work"/*/layer.tar -C "$work/bundle/rootfs"
            (cd "$work/bundle" && runc spec && sed -i 's/"terminal": true/"terminal": false/; s/"sh"$/"true"/' config.json)
            peer="runc run --bundle $work/bundle bench-$$"
        fi
        pair "create, first exec, rm ($runtime)" \
            "$cmd create -q --runtime $runtime shell --name $name $ws && $cmd exec $name -- true && $cmd rm -f $name" "$peer"
        sbx create --runtime "$runtime" shell --name "$name" "$ws" >/dev/null 2>&1
        if [ "$runtime" = docker ]; then
            id=$(docker ps -q --filter "label=sbx.sandbox=$name")
            pair "exec (docker)" "$cmd exec $name -- true" "docker exec $id true"
        fi
        pair "validate (beside an empty process)" "$SBX_BIN kit validate $here/kits/mixins/hello" "/bin/true"
        pass "measured"
    )
done
