#!/bin/bash
# Pushing and pulling of kits and images beside skopeo, oras and umoci, in turn (A B A B ...), as medians and ratios; memory; what a
# warm pull asks for.
#
#   scripts/soak/bench-oci.sh [RUNS]      default 5 (2 for the kit of 1 GiB); SBX_BENCH_DIR is where it works (default: /tmp),
#   SBX_BENCH_KITS what it measures (default: "one many big"; "" leaves the image)
set -u
# mounts of its own: the authorities of the system get one more
[ -n "${SBX_BENCH_MOUNTS:-}" ] || SBX_BENCH_MOUNTS=1 exec unshare -m --propagation private "$0" "$@"
here=$(cd "$(dirname "$0")/../.." && pwd)
runs=${1:-5}
export SBX_BIN=${SBX_BIN:-$here/build/bench/bin/sbx} SBX_SOURCE_DIR=$here
export TMPDIR=${SBX_BENCH_DIR:-/tmp}
PATH=$("$here/scripts/soak/peers-oci.sh" | tail -1):$PATH
# shellcheck source=../../engine/oci/tests/registry.sh
. "$here/engine/oci/tests/registry.sh"
pull_image=$(dirname "$SBX_BIN")/pull_image
used=$work/used
cc -O2 -static -D_GNU_SOURCE -o "$used" "$here/engine/oci/bench/used.c" || exit 1

# pair RUNS LABEL PREPARE A B: medians in ms of the commands A and B, run in turn with PREPARE before each; the most memory of A
pair() {
    python3 - "$used" "$@" <<'PY'
import os, shlex, statistics, subprocess, sys
used, runs, label, prepare, a, b = sys.argv[1], int(sys.argv[2]), *sys.argv[3:7]
times, memory = {a: [], b: []}, {a: 0, b: 0}
warm = runs > 2 # a turn before, that does not count; where each takes a minute there is none
for turn in range(not warm, runs + 1):
    for command in (a, b):
        subprocess.run(["bash", "-c", prepare], check=True)
        if turn == warm:
            os.sync()
        took = 0
        for part in command.split(" && "):
            p = subprocess.run(["bash", "-c", 'exec "$@" 3>&1 >/dev/null', "used", used, *shlex.split(part)],
                               capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if p.returncode:
                sys.exit(f"{label}: exit {p.returncode} of {part}: {p.stderr[-400:]}")
            ms, kib, _ = map(float, p.stdout.split())
            took += ms
            memory[command] = max(memory[command], kib)
        if turn:
            times[command].append(took)
x, y = statistics.median(times[a]), statistics.median(times[b])
print(f"{label:44} {x:9.1f} ms {memory[a] / 1024:6.1f} MiB   peer {y:9.1f} ms {memory[b] / 1024:6.1f} MiB   ratio {x / y:5.2f}", flush=True)
PY
}

kits=${SBX_BENCH_KITS-one many big}
mkdir -p one many/files/home big/files/home
for k in one many big; do printf 'schemaVersion: "2"\nkind: mixin\nname: tools\n' >$k/spec.yaml; done
mkdir -p one/files/home && printf hello >one/files/home/hello
for ((i = 0; i < 5000; i++)); do mkdir -p many/files/home/d$((i % 70)) && seq "$i" $((i + 300)) | head -c 1000 >many/files/home/d$((i % 70))/$i; done
# half of it compresses, as programs and data do
[[ $kits != *big* ]] || for ((i = 0; i < 8; i++)); do { head -c 64M /dev/urandom; head -c 48M /dev/urandom | base64; } >big/files/home/$i; done
echo "kits: $(du -sh --apparent-size one many big | tr '\n\t' '  ')"

quiet=false registry plain
sbx="$SBX_BIN --no-input kit"
caches=$XDG_CACHE_HOME
empty="rm -rf $work/plain/docker"
for k in $kits; do
    n=$runs
    [ $k != big ] || n=2
    "$SBX_BIN" kit push $k "oci-layout:$work/lay:$k" >/dev/null || exit 1
    pair "$n" "push from a layout ($k / skopeo copy)" "$empty" \
        "$sbx push oci-layout:$work/lay:$k $host/kits/$k:1" \
        "skopeo copy -q --dest-tls-verify=false oci:$work/lay:$k docker://$host/kits/$k:1"
    pair "$n" "push from a directory ($k / oras push)" "$empty" \
        "$sbx push $work/$k $host/kits/$k:1" \
        "oras push --plain-http --disable-path-validation $host/oras/$k:1 $k/"
    rm -rf "$work/plain/docker"
    ref=$("$SBX_BIN" kit push "$work/$k" "$host/kits/$k:1" 2>/dev/null | sed 's/^Pushed //')
    oras push --plain-http --disable-path-validation "$host/oras/$k:1" $k/ >/dev/null || exit 1
    pair "$n" "pull ($k / oras pull)" "rm -rf $caches out out2" \
        "$sbx pull $ref $work/out" "oras pull --plain-http -o $work/out2 $host/oras/$k:1"
    rm -rf out out2
    "$SBX_BIN" kit pull "$ref" out >/dev/null 2>&1 || exit 1
    before=$(wc -c <plain.log)
    rm -rf out
    "$SBX_BIN" kit pull "$ref" out >/dev/null 2>&1 || exit 1
    rm -rf out
    echo "warm pull ($k): $(tail -c +$((before + 1)) plain.log | grep -c '"GET ') requests at the registry"
    rm -rf "$caches" "$work/lay"
done

# as from a public registry: TLS by an authority of the system
if [[ $kits == *one* ]]; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -days 2 -subj /CN=bench -addext subjectAltName=IP:127.0.0.1 2>/dev/null
    cp -a /etc/ssl/certs trusted && cat tls.crt >>trusted/ca-certificates.crt && cp tls.crt "trusted/$(openssl x509 -hash -noout -in tls.crt).0" &&
        mount --bind trusted /etc/ssl/certs || exit 1
    plain=$host
    registry tls "  tls: { certificate: $work/tls.crt, key: $work/tls.key }"
    ref=$("$SBX_BIN" kit push "$work/one" "$host/kits/one:1" 2>/dev/null | sed 's/^Pushed //')
    oras push --disable-path-validation "$host/oras/one:1" one/ >/dev/null || exit 1
    pair "$runs" "pull over TLS (one / oras pull)" "rm -rf $caches out out2" \
        "$sbx pull $ref $work/out" "oras pull -o $work/out2 $host/oras/one:1"
    rm -rf "$caches" out out2
    host=$plain
fi

tar=${SBX_TEST_IMAGE:-/root/.cache/sbx-base/base-bookworm.tar}
if [ -x "$pull_image" ] && [ -f "$tar" ]; then
    skopeo copy -q --dest-tls-verify=false "docker-archive:$tar" "docker://$host/images/base:1" || exit 1
    pair "$runs" "image: pull and unpack (skopeo + umoci)" "rm -rf $work/i $work/u; mkdir $work/u" \
        "$pull_image $work/i/state $work/i/cache $host/images/base:1" \
        "skopeo copy -q --src-tls-verify=false docker://$host/images/base:1 oci:$work/u/lay:1 && umoci unpack --image $work/u/lay:1 $work/u/bundle"
fi
