#!/bin/bash
# Run every test: install what they need, start the services they talk to (and stop what was started), build
# release and asan, and run ctest for both. Ends with ctest's own summary.
#
#   ./scripts/test.sh [--only release|asan] [CTEST ARGUMENT...]     e.g. ./scripts/test.sh --only release -R gate
set -euo pipefail
cd "$(dirname "$0")/.."

builds=(release asan)
if [ "${1:-}" = --only ]; then
    builds=("${2:?--only needs release or asan}")
    shift 2
fi
if [ "$(id -u)" != 0 ]; then
    echo "test: the end-to-end tests make namespaces and containers, which needs root: run sudo $0" >&2
    exit 1
fi

./scripts/install-deps.sh test

# Everything that this run starts lives below one folder and ends with it.
run=$(mktemp -d /tmp/sbx-test.XXXXXX)
started=()
stop_services() {
    ./scripts/fixture/fixture.sh down 2>/dev/null || true
    for pid in "${started[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in "${started[@]}"; do
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
    done
    rm -rf "$run"
}
trap stop_services EXIT
trap 'exit 130' INT TERM

wait_for() { # what command...
    local what=$1
    shift
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    echo "test: $what does not answer after 30 s" >&2
    return 1
}

start_engine() {
    if docker version >/dev/null 2>&1; then
        echo "test: a Docker Engine is running; it is used and left alone"
        return
    fi
    # Sandboxes have no network of the Engine's, so it needs neither a bridge nor packet filter rules.
    dockerd --bridge=none --iptables=false --ip6tables=false --exec-root "$run/docker-exec" \
        --pidfile "$run/dockerd.pid" >"$run/dockerd.log" 2>&1 &
    started+=($!)
    if ! wait_for "Docker Engine" docker version; then
        tail -n 20 "$run/dockerd.log" >&2
        echo "test: WITHOUT a Docker Engine; the tests that need it will be counted as skipped" >&2
    fi
}

start_registry() {
    export SBX_TEST_REGISTRY=127.0.0.1:5000
    if curl -fsS "http://$SBX_TEST_REGISTRY/v2/" >/dev/null 2>&1; then
        return
    fi
    mkdir "$run/registry"
    cat >"$run/registry.yml" <<CONFIG
version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: $run/registry}}
http: {addr: $SBX_TEST_REGISTRY}
CONFIG
    docker-registry serve "$run/registry.yml" >"$run/registry.log" 2>&1 &
    started+=($!)
    wait_for "docker-registry" curl -fsS "http://$SBX_TEST_REGISTRY/v2/"
}

start_engine
start_registry
./scripts/fixture/fixture.sh up
./scripts/base-image.sh
export SBX_TEST_IMAGE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/sbx-base/base-bookworm.tar
docker image inspect sbx.local/base:bookworm >/dev/null 2>&1 || docker load -qi "$SBX_TEST_IMAGE" || true

status=0
for build in "${builds[@]}"; do
    cmake --preset "$build" -DSBX_WERROR=ON >"$run/configure.log" 2>&1 || { cat "$run/configure.log"; exit 1; }
    cmake --build --preset "$build" >"$run/build.log" 2>&1 || { tail -n 60 "$run/build.log"; exit 1; }
    echo "== tests of the $build build"
    ctest --preset "$build" -j "$(nproc)" "$@" || status=1
done
exit $status
