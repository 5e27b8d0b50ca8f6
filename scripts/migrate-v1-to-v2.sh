#!/bin/sh
# Rewrite a kit of version 1 in version 2: spec.yaml in place, the old one as spec.yaml.bak. The same as
# `sbx kit migrate DIR`, with the program of $SBX, of the PATH, or of this tree's build directory.
if [ $# -ne 1 ]; then
    echo "usage: $0 KIT_DIR" >&2
    exit 2
fi
tree=$(cd "$(dirname "$0")/.." && pwd)
for sbx in ${SBX:+"$SBX"} "$(command -v sbx)" "$tree"/build/*/bin/sbx; do
    if [ -x "$sbx" ]; then
        exec "$sbx" kit migrate "$1"
    fi
done
echo "error: no sbx program; build it, or name it in \$SBX" >&2
exit 1
