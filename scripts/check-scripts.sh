#!/bin/sh
# Every shell script of the tree passes shellcheck. Run by ctest as `scripts_shellcheck`.
set -eu
cd "$(dirname "$0")/.."
command -v shellcheck >/dev/null || { echo "SKIPPED: shellcheck is not installed"; exit 77; }
scripts=$(grep -rlIE --exclude-dir=__pycache__ '^#!/bin/(ba)?sh' scripts .ci engine proxy spec kits 2>/dev/null | grep -v '/files/' || true)
[ -n "$scripts" ] || { echo "no scripts found"; exit 1; }
# shellcheck disable=SC2086 # a list of paths without blanks
shellcheck -x -S warning -e SC2154 $scripts
echo "checked $(echo "$scripts" | wc -l) scripts"
