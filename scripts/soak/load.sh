#!/bin/bash
# The gate under load for so long (default 60 s), on a machine that does nothing else: proxy/gate/bench/load.py, about four times as long in all; then thieves of
# its doors while it dies 100 times, 200,000 names and a minute of denials (proxy/gate/tests/gate_life.py).
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset bench >/dev/null
cmake --build build/bench --target bench_client bench_origin bench_relay sbx-gate sbx-netns >/dev/null
export SBX_GATE=$PWD/build/bench/libexec/sbx/sbx-gate SBX_NETNS=$PWD/build/bench/libexec/sbx/sbx-netns
uptime
status=0
timeout 900 python3 proxy/gate/bench/load.py build/bench/bin "${1:-60}" || status=1
SBX_SOAK=1 timeout 600 python3 proxy/gate/tests/gate_life.py || status=1
exit $status
