#!/bin/sh
# Install the library into an empty directory and build a program against it, shared and static.
# usage: installed.sh BUILD_DIR COMPILER
# shellcheck disable=SC2046 # pkg-config prints lists of words
set -eu
build=$1 cc=$2
here=$(cd "$(dirname "$0")" && pwd)
for tool in cmake pkg-config "$cc"; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cmake --install "$build" --component spec --prefix "$dir" >/dev/null
pc=$(find "$dir" -name sbx-spec.pc)
export PKG_CONFIG_PATH="${pc%/*}:${PKG_CONFIG_PATH:-}"
config="pkg-config --define-variable=prefix=$dir"

$cc -std=gnu17 -Wall -Werror "$here/installed.c" -o "$dir/shared" $($config --cflags --libs sbx-spec)
lib=$($config --variable=libdir sbx-spec)
LD_LIBRARY_PATH=$lib "$dir/shared"
LD_LIBRARY_PATH=$lib ldd "$dir/shared" | grep -q "$lib/libsbx-spec.so.0 " \
    || { echo "the shared library is not what the program loads"; exit 1; }

# the example of the documentation, with its kit
$cc -std=gnu17 -Wall -Werror "$here/../examples/load.c" -o "$dir/load" $($config --cflags --libs sbx-spec)
LD_LIBRARY_PATH=$lib "$dir/load" "$here/../examples/kit" >"$dir/out"
grep -q '^example (mixin)$' "$dir/out" && grep -q 'may reach api.example.com (line 7)' "$dir/out" \
    || { echo "examples/load.c says:"; cat "$dir/out"; exit 1; }
! LD_LIBRARY_PATH=$lib "$dir/load" /nonexistent 2>/dev/null || { echo "examples/load.c loads nothing"; exit 1; }

# the archive by its name (-lsbx-spec would take the shared library), with shared libraries of others
$cc -std=gnu17 -Wall -Werror "$here/installed.c" -o "$dir/static" $($config --cflags sbx-spec) \
    "$lib/libsbx-spec.a" $($config --libs $($config --print-requires --print-requires-private sbx-spec))
"$dir/static"

# every header stands on its own
for header in "$dir"/include/sbx/*.h; do
    echo "#include \"sbx/$(basename "$header")\"" | $cc -std=gnu17 -Wall -Werror -fsyntax-only \
        $($config --cflags sbx-spec) -x c - || { echo "$header does not stand on its own"; exit 1; }
done
echo "shared, static and headers work from $(basename "$dir")"
