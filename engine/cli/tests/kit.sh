#!/bin/bash
# kit migrate, kit schema and kit inspect --output yaml, as a user calls them: what they print, where, and with
# which status.
set -u
sbx=${SBX_BIN:?the sbx to test}
dir=$(mktemp -d /tmp/sbx-kit.XXXXXX)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
fail=0
t() { # STATUS TEXT COMMAND...: the status, and a text in what it says
    local want=$1 text=$2 got out
    shift 2
    out=$("$@" 2>&1)
    got=$?
    if [ $got != "$want" ] || ! grep -qF -- "$text" <<<"$out"; then
        echo "FAILED: $*: status $got, want $want with [$text]; it says: $out"
        fail=1
    fi
}
same() { cmp -s "$1" "$2" || { echo "FAILED: $1 and $2 differ"; fail=1; }; }

mkdir old new
cat >old/spec.yaml <<'EOF'
# a kit of version 1
schemaVersion: "1"
kind: agent
name: old
agent:
  image: x:1
  entrypoint: { run: [a], pipeMode: prepend }
credentials: { sources: { foo: { env: [FOO_KEY], file: { path: ~/.foo } } } }
network: { serviceDomains: { api.foo.example: foo }, allowedDomains: [api.foo.example] }
EOF
cp old/spec.yaml original
printf 'schemaVersion: "2" # kept\nkind: mixin\nname: new\n' >new/spec.yaml

t 2 "DIR" "$sbx" kit migrate
t 2 "usage" "$SBX_SOURCE_DIR/scripts/migrate-v1-to-v2.sh"
t 1 "No such file" "$sbx" kit migrate nowhere
t 1 "no spec.yaml" "$sbx" kit migrate .
t 0 "no changes needed in new/spec.yaml" "$sbx" kit migrate new
[ ! -e new/spec.yaml.bak ] || { echo "FAILED: a backup of a kit of version 2"; fail=1; }

t 0 'schemaVersion: "2"' "$sbx" kit migrate --dry-run old
same old/spec.yaml original
t 0 '"changed": false' "$sbx" kit migrate --dry-run --json old
t 0 "migrated old/spec.yaml (backup at old/spec.yaml.bak)" env SBX="$sbx" \
    "$SBX_SOURCE_DIR/scripts/migrate-v1-to-v2.sh" old
same old/spec.yaml.bak original
t 0 "VALID: old (sandbox)" "$sbx" kit validate ./old
t 0 "no changes needed" "$sbx" kit migrate old

cp original old/spec.yaml
t 1 "refusing to clobber an existing backup" "$sbx" kit migrate old
same old/spec.yaml original
rm old/spec.yaml.bak
t 0 "sandbox.entrypoint.pipeMode: is lost" "$sbx" kit migrate old
cp original old/spec.yaml
rm old/spec.yaml.bak
t 0 '"bindings": "bindings:\n  foo:' "$sbx" kit migrate --json old
[ "$("$sbx" kit inspect ./old --json | jq -c .warnings)" = null ] || { echo "FAILED: warnings are left"; fail=1; }

"$sbx" kit inspect --output yaml ./old >again.yaml || fail=1
same old/spec.yaml again.yaml
"$sbx" kit inspect --output yaml ./again.yaml >twice.yaml || fail=1
same again.yaml twice.yaml

t 0 "https://json-schema.org/draft/2020-12/schema" "$sbx" kit schema
t 0 "schemaVersion 1" "$sbx" kit schema --version 1
t 2 "3" "$sbx" kit schema --version 3
"$sbx" kit schema | jq -e '.properties.setup.properties.install' >/dev/null || { echo "FAILED: schema"; fail=1; }
exit $fail
