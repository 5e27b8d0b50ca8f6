#!/bin/sh
# Compare the loader with the public corpus of kit specs, which lives outside this tree.
# usage: corpus.sh PROGRAM
# SBX_CORPUS_DIR names the folder with kits/ and expected.jsonl; else SBX_SHARED/corpus, else ../shared/corpus beside
# the sources is tried.
set -u
program=$1
here=$(cd "$(dirname "$0")" && pwd)
corpus=${SBX_CORPUS_DIR:-${SBX_SHARED:-$SBX_SOURCE_DIR/../shared}/corpus}
if [ ! -f "$corpus/expected.jsonl" ]; then
    echo "SKIPPED: no corpus in $corpus (set SBX_CORPUS_DIR to the folder that holds kits/ and expected.jsonl)"
    exit 77
fi
python3 "$here/corpus.py" "$program" "$corpus" || exit 1
check=$corpus/../tools/corpus-check # the corpus's own tool, where it comes with it
[ ! -x "$check" ] || exec "$check" "$program" --known "$here/../../tests/corpus-known.tsv" \
    --kits "$corpus/expected.jsonl" "$corpus/kits" --vectors "$here/vectors.jsonl"
