#!/bin/bash
# The folder of a build's temporary files, before its tests: what killed tests left goes, what another run of now
# may use stays.
#
#   testtmp.sh FOLDER
set -euo pipefail

dir=${1:?names no folder}
longest_min=15 # minutes; no test may take longer (SBX_TEST_TIMEOUT is 600 s), so what is older is nobody's

mkdir -p "$dir"
chmod 1777 "$dir"
cd "$dir"
find . -mindepth 1 -maxdepth 1 -mmin "+$longest_min" -print0 | while IFS= read -r -d '' left; do
    left=$dir/${left#./}
    # Mounts first, the innermost before those it lies on: nothing that is mounted may be removed through them.
    awk -v at="$left" '{ if ($5 == at || index($5, at "/") == 1) print $5 }' /proc/self/mountinfo | sort -r |
        while IFS= read -r mounted; do umount -l "$mounted" || true; done
    rm -rf --one-file-system "$left" || echo "testtmp: $left stays" >&2
done
