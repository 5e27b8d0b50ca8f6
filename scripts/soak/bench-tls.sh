#!/bin/bash
# Intercepted requests through the gate beside mitmproxy and smokescreen, and the memory of an intercepted connection: two minutes.
#
#   scripts/soak/bench-tls.sh [ROUNDS] [SECONDS]      default 3 rounds of 3 s
set -euo pipefail
cd "$(dirname "$0")/../.."
peers=$(scripts/soak/peers.sh | tail -n 1)
cmake --preset bench >/dev/null
cmake --build build/bench --target sbx-gate sbx-netns bench_connect bench_tls_floor >/dev/null
export SBX_GATE=$PWD/build/bench/libexec/sbx/sbx-gate SBX_NETNS=$PWD/build/bench/libexec/sbx/sbx-netns SBX_PEERS=$peers
export SBX_BENCH_BIN=$PWD/build/bench/bin
uptime
timeout 200 python3 -W ignore proxy/gate/bench/bench_tls.py "${1:-3}" "${2:-3}"
