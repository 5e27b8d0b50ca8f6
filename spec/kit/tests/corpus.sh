#!/bin/sh
# Compare the loader with the public corpus of kit specs, which lives outside this tree, and write each as YAML.
# usage: corpus.sh PROGRAM; SBX_SHARED names the folder, else ../shared beside the sources is tried.
set -u
program=$1
here=$(cd "$(dirname "$0")" && pwd)
shared=${SBX_SHARED:-$SBX_SOURCE_DIR/../shared}
if [ ! -x "$shared/tools/corpus-check" ]; then
    echo "SKIPPED: no corpus in $shared (set SBX_SHARED to the folder that holds tools/corpus-check)"
    exit 77
fi
python3 "$here/rewrite.py" "$program" "$shared/corpus/kits" || exit 1
exec "$shared/tools/corpus-check" "$program" --known "$here/corpus-known.tsv" \
    --kits "$shared/corpus/expected.jsonl" "$shared/corpus/kits" --vectors "$shared/corpus/vectors.jsonl"
