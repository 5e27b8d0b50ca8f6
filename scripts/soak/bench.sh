#!/bin/bash
# How long things take beside what users know, in turn (A B A B …), as medians and ratios.
#
#   scripts/soak/bench.sh [RUNS]      default 15; the machine should be quiet
#
# The first command: a sandbox without customization steps is created and runs `true`, beside `docker run` or `runc run` of the
# same image (bare, and with the seccomp profile, masked paths and capabilities that the sandbox has). What is made is removed
# outside the time. A step: how much longer a create with four install steps takes than one with none, a step, beside one exec.
set -u
here=$(cd "$(dirname "$0")/../.." && pwd)
runs=${1:-15}
export SBX_BIN=${SBX_BIN:-$here/build/release/bin/sbx} SBX_SOURCE_DIR=$here

# pair LABEL A B [CLEAN]: medians in ms of the shell commands A and B, run in turn, and A/B; CLEAN after each, not timed
pair() {
    python3 - "$runs" "$@" <<'PY'
import statistics, subprocess, sys, time
runs, label, a, b = int(sys.argv[1]), *sys.argv[2:5]
clean = sys.argv[5] if len(sys.argv) > 5 else None
times = {a: [], b: []}
quiet = dict(stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
for turn in range(runs + 1):
    for command in (a, b):
        t = time.perf_counter()
        r = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, **quiet)
        took = (time.perf_counter() - t) * 1000
        if r.returncode:
            sys.exit(f"{label}: exit {r.returncode} of {command}: {r.stderr.decode()[-400:]}")
        if clean:
            subprocess.run(["sh", "-c", clean], stderr=subprocess.DEVNULL, **quiet)
        if turn:
            times[command].append(took)
x, y = statistics.median(times[a]), statistics.median(times[b])
print(f"{label:42} {x:9.1f} ms   peer {y:9.1f} ms   ratio {x / y:5.2f}   (best {min(times[a]):.1f}, {min(times[b]):.1f})")
PY
}

# step LABEL STEPS EXEC CREATE CREATE_WITH CLEAN: the time a step adds, beside one exec
step() {
    python3 - "$runs" "$@" <<'PY'
import statistics, subprocess, sys, time
runs, label, steps, execute, plain, with_steps, clean = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:8]
def timed(command):
    t = time.perf_counter()
    subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return (time.perf_counter() - t) * 1000
added, one = [], []
for _ in range(runs):
    a = timed(plain)
    one.append(timed(execute))
    timed(clean)
    added.append((timed(with_steps) - a) / steps)
    timed(clean)
x, y = statistics.median(added), statistics.median(one)
print(f"{label:42} {x:9.1f} ms   exec {y:9.1f} ms   ratio {x / y:5.2f}")
PY
}

# An ordinary user whose only group is docker, with the programs where it can read them; $as runs one of its commands.
ordinary_user() {
    user=sbxbench$$
    useradd --uid $((61000 + $$ % 3000)) --no-user-group --gid docker --create-home --home-dir "$work/home" "$user" || return 1
    chgrp docker /var/run/docker.sock
    cleanup() { sh -c "$as --no-input reset --force" >/dev/null 2>&1; pkill -9 -u "$user"; userdel "$user"; } 2>/dev/null
    chmod 755 "$work"
    mkdir -p "$work/home/ws"
    for part in bin libexec share; do
        [ ! -d "$here/build/release/$part" ] || cp -r "$here/build/release/$part" "$work/"
    done
    chmod -R a+rX "$work"
    chown -R "$user:docker" "$work/home"
    as="cd $work/home && setpriv --reuid $user --regid docker --clear-groups env -i HOME=$work/home PATH=$PATH $work/bin/sbx"
}

bundle() { # NAME: the image as runc wants it
    mkdir -p "$work/$1/rootfs"
    tar -xf "${SBX_TEST_IMAGE:-/root/.cache/sbx-base/base-bookworm.tar}" -C "$work" --wildcards '*/layer.tar'
    tar -xf "$work"/*/layer.tar -C "$work/$1/rootfs"
    (cd "$work/$1" && runc spec && sed -i 's/"terminal": true/"terminal": false/; s/"sh"$/"true"/' config.json)
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
        mkdir -p "$work/four"
        printf 'schemaVersion: "2"\nkind: mixin\nname: four\nsetup: { install: [ %s ] }\n' \
            '{ command: "true" }, { command: "true", user: "1000" }, { command: "true" }, { command: "true", user: "1000" }' >"$work/four/spec.yaml"
        create="$cmd create -q --runtime $runtime shell --name $name $ws"
        remove="$cmd rm -f $name"
        if [ "$runtime" = oci ]; then
            bundle bare
            pair "create to first command (oci)" "$create && $cmd exec $name -- true" "runc run --bundle $work/bare bench-$$" "$remove"
            # The closed bundle of a sandbox, with `true` in a network namespace of its own.
            $create >/dev/null
            cp -r "$work/bare" "$work/closed"
            python3 - "$XDG_STATE_HOME/sbx/apps/$app/containers"/*-"$name"/config.json "$work/closed/config.json" <<'PY'
import json, sys
ours, spec = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
for key in ("seccomp", "maskedPaths", "readonlyPaths"):
    spec["linux"][key] = ours["linux"][key]
spec["process"]["capabilities"] = ours["process"]["capabilities"]
json.dump(spec, open(sys.argv[2], "w"))
PY
            $remove >/dev/null
            pair "the same beside runc, as closed" "$create && $cmd exec $name -- true" "runc run --bundle $work/closed bench-$$" "$remove"
        else
            pair "create to first command (docker)" "$create && $cmd exec $name -- true" \
                "docker run --name $name-peer --network none sbx.local/base:bookworm true" "$remove; docker rm -f $name-peer"
            $create >/dev/null
            id=$(docker ps -q --filter "label=sbx.sandbox=$name")
            pair "exec (docker)" "$cmd exec $name -- true" "docker exec $id true"
            $remove >/dev/null
            if ordinary_user; then
                pair "create to first command (docker group)" "$as create -q --runtime docker shell --name $name $work/home/ws && $as exec $name -- true" \
                    "docker run --name $name-peer --network none sbx.local/base:bookworm true" "$as rm -f $name; docker rm -f $name-peer"
            fi
        fi
        step "an install step ($runtime)" 4 "$cmd exec $name -- true" "$create" "$create --kit $work/four" "$remove"
        [ "$runtime" = docker ] || pair "kit validate (beside an empty process)" "$SBX_BIN kit validate $here/kits/mixins/hello" "/bin/true"
        pass "measured"
    )
done
