#!/bin/bash
# The gate under load for so long (default 60 s): proxy/gate/bench/load.py, about three times as long in all.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset bench >/dev/null
cmake --build build/bench --target bench_client bench_origin sbx-gate sbx-netns >/dev/null
export SBX_GATE=$PWD/build/bench/libexec/sbx/sbx-gate SBX_NETNS=$PWD/build/bench/libexec/sbx/sbx-netns
uptime
exec timeout 900 python3 proxy/gate/bench/load.py build/bench/bin "${1:-60}"
