#!/bin/bash
# Long runs that are not for CI: fuzzing, kills at random times, benchmarks beside peers.
#
#   scripts/soak.sh fuzz [SECONDS]     each libFuzzer target for so long (default 600); new inputs stay in build/fuzz-corpus
#   scripts/soak.sh kills [N]          N times: kill -9 of `sbx create`/`rm` at a random time, then check that nothing is left (default 200)
#   scripts/soak.sh bench              create, exec and validate beside docker run, docker exec and runc
#   scripts/soak.sh bench-gate [N] [S] the gate beside squid, tinyproxy, mitmproxy, smokescreen and a bare relay: N rounds of S seconds
#   scripts/soak.sh bench-tls [N] [S] intercepted requests beside mitmproxy and smokescreen, and the memory of an intercepted connection
#   scripts/soak.sh oci                kits and images with every tool and registry that is to be had, also big ones
#   scripts/soak.sh bench-oci [N]      pushing and pulling beside skopeo, oras and umoci: N runs of each
#   scripts/soak.sh bench-kits         loading the kits of SBX_CORPUS_DIR beside libyaml and beside Go
#   scripts/soak.sh load [SECONDS]     the gate with 2,000 tunnels and with 10,000 stalled connections: leaks, stuck ones, a lone user's wait
#   scripts/soak.sh h2                 HTTP/2 of Go and node through the gate
#   scripts/soak.sh clients [R] [S]    curl, git, apt, npm, pip, Java, Go … inside a sandbox of runtime R; an event stream of S seconds (default oci, 300)
#   scripts/soak.sh clients-h2 [R]     HTTP/2 of curl, Go and node inside a sandbox of runtime R, to a host whose requests get a field (default oci)
#   scripts/soak.sh valgrind           the unit tests under valgrind
#   scripts/soak.sh coverage           which lines of spec/ its unit tests reach; fails below 95 %
set -euo pipefail
cd "$(dirname "$0")/.."

fuzz_one() { # TARGET SECONDS
    local name corpus
    name=$(basename "$1")
    corpus=build/fuzz-corpus/$name
    mkdir -p "$corpus"
    if ! "$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$corpus-crash-" \
        "$corpus" "$(cat "build/fuzz/fuzz-corpora/$name")" >"$corpus.log" 2>&1; then
        echo "$name: FOUND SOMETHING, see $corpus.log"
        tail -n 20 "$corpus.log"
        return 1
    fi
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$corpus.log") runs, no finding"
}
export -f fuzz_one

fuzz() {
    cmake --preset fuzz >/dev/null
    cmake --build --preset fuzz
    printf '%s\n' build/fuzz/bin/fuzz_* | xargs -P "${SBX_FUZZ_JOBS:-$(nproc)}" -I{} bash -c 'fuzz_one {} "$0"' "${1:-600}"
}

valgrind_units() {
    cmake --preset release >/dev/null
    cmake --build --preset release
    ctest --preset release -L unit -LE fuzz -j "$(nproc)" -T memcheck \
        --overwrite MemoryCheckCommandOptions="--leak-check=full --error-exitcode=99 --trace-children=no"
}

coverage() {
    command -v gcovr >/dev/null || { echo "soak: needs gcovr: scripts/install-deps.sh soak" >&2; exit 1; }
    cmake --preset coverage >/dev/null
    cmake --build --preset coverage --target spec/all
    find build/coverage -name '*.gcda' -delete
    ctest --test-dir build/coverage/spec -L unit -j "$(nproc)" --output-on-failure
    gcovr --root . --object-directory build/coverage build/coverage/spec --filter spec/ \
        --exclude '.*/(tests|fuzz|bench)/' --fail-under-line 95
}

bench_kits() {
    [ -n "${SBX_CORPUS_DIR:-}" ] || { echo "soak: needs SBX_CORPUS_DIR, with kits/ in it" >&2; exit 1; }
    spec/bench/run.sh "$SBX_CORPUS_DIR/kits"
}

bench_oci() {
    cmake --preset bench >/dev/null
    cmake --build --preset bench --target sbx pull_image
    exec scripts/soak/bench-oci.sh "$1"
}

case ${1:-} in
fuzz) fuzz "${2:-}" ;;
kills) exec scripts/soak/kills.sh "${2:-200}" ;;
bench) exec scripts/soak/bench.sh ;;
bench-gate) exec scripts/soak/bench-gate.sh "${2:-5}" "${3:-1}" ;;
bench-kits) bench_kits ;;
clients) exec scripts/soak/clients.sh "${2:-oci}" "${3:-300}" ;;
bench-tls) exec scripts/soak/bench-tls.sh "${2:-3}" "${3:-3}" ;;
load) exec scripts/soak/load.sh "${2:-60}" ;;
clients-h2) exec scripts/soak/clients-h2.sh "${2:-oci}" ;;
h2) exec python3 proxy/gate/tests/h2_clients.py ;;
oci) exec scripts/soak/oci.sh ;;
bench-oci) bench_oci "${2:-5}" ;;
valgrind) valgrind_units ;;
coverage) coverage ;;
*) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac
