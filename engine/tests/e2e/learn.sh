#!/bin/bash
# --learn: public hosts pass without a rule and are recorded with the step that asked; suggest makes a kit's list of it.
. "$(dirname "$0")/lib.sh"

mixin asker <<'SPEC'
permissions: { network: { allow: ["cdn.example.com:80"] } }
setup:
  install:
    - command: curl -sS -o /dev/null http://api.example.com/ && curl -sS -o /dev/null http://cdn.example.com/
SPEC
new_name
exits "create --learn: the install asks for what no rule allows" 0 \
    sbx create --learn --runtime "$runtime" shell --kit "$work/asker" --name "$name"
inside() { timeout 30 "$SBX_BIN" --app-name "$app" --no-input exec -u 0 "$name" -- "$@"; }
code() { inside curl -sS -m 30 -o /dev/null -w '%{http_code}' "$@" 2>&1; }
is "so may a program" "$(code http://git.example.com/)" 200
is "and one that knows no proxy" "$(inside env -u http_proxy -u HTTP_PROXY curl -sS -m 30 -o /dev/null -w '%{http_code}' http://denied.example.com/)" 200
exits "policy check knows it" 0 sbx policy check network git.example.com:80 --sandbox "$name"
has "and why" "$out" "made with --learn"
exits "policy check of this machine" 4 sbx policy check network host.docker.internal:9 --sandbox "$name"
is "but this machine stays closed" "$(code http://host.docker.internal:9/)" 403
is "and addresses" "$(code http://10.0.0.1/)" 403
has "three names below one parent are a wildcard" "$(sbx policy suggest "$name")" '- "*.example.com:80" # exec, install/asker/1'
exits "a deny rule counts" 0 sbx policy deny network git.example.com --sandbox "$name"
is "at once" "$(code http://git.example.com/)" 403
is "inspect says what it is" "$(sbx inspect "$name" --json | jq .learned)" true
sbx policy suggest "$name" >"$work/suggested" 2>"$work/notes"
has "the install step; no wildcard where a name was refused" "$(cat "$work/suggested")" '- "api.example.com:80" # install/asker/1'
has "what came later" "$(cat "$work/suggested")" '- "denied.example.com:80" # exec'
has "what was refused" "$(cat "$work/suggested")" "#   10.0.0.1:80 (private) exec"
has "and what was allowed before a rule denied it" "$(cat "$work/suggested")" "#   git.example.com:80 (rule) exec"
has "this machine too" "$(cat "$work/suggested")" "#   host.docker.internal:9 (default-deny) exec"
is "nothing to note" "$(cat "$work/notes")" ""
exits "on one that exists" 2 sbx run --learn --name "$name" -d
has "it does not count" "$out" "--learn only counts when one is made"

# The list is enough: the kit with it works without --learn under deny-all.
{ printf 'schemaVersion: "2"\nname: asker\nkind: mixin\n'; cat "$work/suggested"; sed -n '/^setup:/,$p' "$work/asker/spec.yaml"; } >"$work/learned.yaml"
cp "$work/learned.yaml" "$work/asker/spec.yaml"
exits "rm" 0 sbx rm -f "$name"
has "suggest after rm" "$(sbx policy suggest "$name")" "api.example.com:80"
new_name
exits "the kit with its list" 0 sbx create --runtime "$runtime" shell --kit "$work/asker" --name "$name"
is "reaches what it asked for" "$(code http://denied.example.com/)" 200
is "the log names steps" "$(sbx policy log "$name" --raw | jq -r 'select(.host == "api.example.com" and .event == null).step' | sort -u)" install/asker/1
