#!/bin/bash
# Loading kits beside libyaml alone and beside the Go module that the public implementation reads YAML with, in turn.
#
#   spec/bench/run.sh DIRECTORY [TURNS]    every .yaml and .yml file below DIRECTORY; 5 turns
#
# Prints what each turn measured and, at the end, the middle of the turns. Go is left out, with a line, where there is none.
set -euo pipefail
dir=$(realpath "${1:?usage: spec/bench/run.sh DIRECTORY [TURNS]}")
turns=${2:-5}
rounds=40
cd "$(dirname "$0")/../.."

cmake --preset bench >/dev/null
cmake --build --preset bench --target bench_load >/dev/null
go=build/bench/bin/bench_go
if ! (cd spec/bench/go && go build -o "$OLDPWD/$go" .); then
    echo "NOT MEASURED: Go (no toolchain, or the module cannot be had)"
    go=true
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for _ in $(seq "$turns"); do
    build/bench/bin/bench_load "$dir" $rounds
    $go "$dir" $rounds
done | tee "$log"

middle() { # NAME FIELD: of that line, over the turns
    awk -v name="$1" -v field="$2" '$1 == name { print $field }' "$log" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
ratio() { # LABEL A B, names of lines
    [ -z "$(middle "$2" 2)" ] || [ -z "$(middle "$3" 2)" ] ||
        awk -v label="$1" -v a="$(middle "$2" 2)" -v b="$(middle "$3" 2)" -v x="$(middle "$2" 6)" -v y="$(middle "$3" 6)" \
            'BEGIN { printf "%-58s %5.2f  processor time %5.2f\n", label, a / b, x / y }'
}
echo "middle of $turns turns:"
ratio "load beside libyaml's events (aim: at most 2)" load events
ratio "check of the file beside libyaml's events from memory" check events
ratio "Go, parsing alone, beside load" parse load
ratio "Go, version and then values, beside load (aim: at least 5)" twice load
