#!/bin/bash
# The gate beside its peers, and the time of a verdict: at most six minutes, on a quiet machine.
#
#   scripts/soak/bench-gate.sh [ROUNDS] [SECONDS]      default 5 rounds of 1 s a phase; SBX_PEERS: where mitmdump and smokescreen are
set -euo pipefail
cd "$(dirname "$0")/../.."
peers=${SBX_PEERS:-$(scripts/soak/peers.sh | tail -n 1)}
cmake --preset bench >/dev/null
cmake --build build/bench --target bench_client bench_origin bench_relay bench_policy sbx-gate sbx-netns >/dev/null
export SBX_GATE=$PWD/build/bench/libexec/sbx/sbx-gate SBX_NETNS=$PWD/build/bench/libexec/sbx/sbx-netns SBX_PEERS=$peers
uptime
build/bench/bin/bench_policy
timeout 330 python3 proxy/gate/bench/bench.py build/bench/bin "${1:-5}" "${2:-1}"
