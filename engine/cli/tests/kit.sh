#!/bin/bash
# kit migrate, kit schema and kit inspect --output yaml, as a user calls them: what they print, where, and with
# which status.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
sbx=$SBX_BIN

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

check 2 "DIR" "$sbx" kit migrate
check 2 "usage" "$SBX_SOURCE_DIR/scripts/migrate-v1-to-v2.sh"
check 1 "No such file" "$sbx" kit migrate nowhere
check 1 "no spec.yaml" "$sbx" kit migrate .
check 0 "no changes needed in new/spec.yaml" "$sbx" kit migrate new
[ ! -e new/spec.yaml.bak ] || bad "a backup of a kit of version 2"

check 0 'schemaVersion: "2"' "$sbx" kit migrate --dry-run old
same old/spec.yaml original
check 0 '"changed": false' "$sbx" kit migrate --dry-run --json old
check 0 "migrated old/spec.yaml (backup at old/spec.yaml.bak)" env SBX="$sbx" \
    "$SBX_SOURCE_DIR/scripts/migrate-v1-to-v2.sh" old
same old/spec.yaml.bak original
check 0 "VALID: old (sandbox)" "$sbx" kit validate ./old
check 0 "no changes needed" "$sbx" kit migrate old

cp original old/spec.yaml
check 1 "refusing to clobber an existing backup" "$sbx" kit migrate old
same old/spec.yaml original
rm old/spec.yaml.bak
check 0 "sandbox.entrypoint.pipeMode: is lost" "$sbx" kit migrate old
cp original old/spec.yaml
rm old/spec.yaml.bak
check 0 '"bindings": "bindings:\n  foo:' "$sbx" kit migrate --json old
[ "$("$sbx" kit inspect ./old --json | jq -c .warnings)" = null ] || bad "warnings are left"

"$sbx" kit inspect --output yaml ./old >again.yaml || bad "inspect --output yaml"
same old/spec.yaml again.yaml
"$sbx" kit inspect --output yaml ./again.yaml >twice.yaml || bad "inspect --output yaml"
same again.yaml twice.yaml

check 0 "https://json-schema.org/draft/2020-12/schema" "$sbx" kit schema
check 0 "schemaVersion 1" "$sbx" kit schema --version 1
check 2 "3" "$sbx" kit schema --version 3
"$sbx" kit schema | jq -e '.properties.setup.properties.install' >/dev/null || bad "schema"
finish 15
