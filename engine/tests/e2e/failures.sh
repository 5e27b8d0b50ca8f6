#!/bin/bash
# What goes wrong leaves nothing behind: failing installs, interruption, a full disk, a fault at every step.
. "$(dirname "$0")/lib.sh"

ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
state=$XDG_STATE_HOME/sbx/apps/$app/sandboxes
left() { # NAME: what is left of a sandbox
    [ ! -e "$state/$1" ] || echo "state"
    [ "$runtime" != docker ] || docker ps -aq --filter "label=sbx.sandbox=$1"
    [ "$runtime" != docker ] || docker volume ls -q --filter "label=sbx.sandbox=$1"
    pgrep -af "sandboxes/$1/" | grep -v failures.sh
    grep "sandboxes/$1/" /proc/self/mounts
}
nothing_left() { is "$1: nothing is left" "$(left "$name")" ""; }
create() { sbx create --runtime "$runtime" shell --name "$name" "$@" "$ws"; }

mixin bad <<'SPEC'
permissions: { network: { allow: ["api.example.com"] } }
setup:
  install:
    - { command: "echo first", description: one }
    - { command: "echo about to fail; curl -fsS http://denied.example.com/tool; echo the reason >&2; exit 9", description: two }
SPEC
new_name
exits "a failing install fails the create" 1 create --kit "$work/bad"
has "it names the kit" "$out" "bad"
has "it names the status" "$out" "exit"
has "it shows the last lines" "$out" "the reason"
has "it names the host that was blocked" "$out" "denied.example.com:80"
nothing_left "failing install"
exits "--keep-failed keeps it" 1 create --kit "$work/bad" --keep-failed
is "for a look inside" "$(sbx exec "$name" -- echo inside 2>/dev/null)" inside
exits "and it can be removed" 0 sbx rm -f "$name"
nothing_left "kept and removed"

mixin slow <<'SPEC'
setup: { install: [ { command: "echo started; sleep 60" } ] }
SPEC
new_name
sbx create --runtime "$runtime" shell --name "$name" --kit "$work/slow" "$ws" >"$work/slow.log" 2>&1 &
pid=$!
await grep -q started "$work/slow.log"
pkill -INT -P $pid 2>/dev/null || kill -INT $pid
wait $pid
is "SIGINT during install: exit 130" "$?" 130
nothing_left "interrupted"

mixin start <<'SPEC'
setup:
  startup:
    - { command: ["sh", "-c", "echo boom >&2; exit 3"] }
    - { command: ["sh", "-c", "echo ok > /tmp/two"] }
    - { command: ["sh", "-c", "sleep 60"], background: true }
SPEC
new_name
exits "a failing startup does not fail the create" 0 create --kit "$work/start"
has "it is told" "$out" "startup failed: kit start, command 1, exit 3: boom"
is "later startup commands run" "$(sbx exec "$name" -- cat /tmp/two)" ok
new_name
exits "--strict-startup makes it fatal" 1 create --kit "$work/start" --strict-startup
nothing_left "strict startup"

new_name
exits "a missing workspace" 1 sbx create --runtime "$runtime" shell --name "$name" "$work/nowhere"
has "is named" "$out" "$work/nowhere"
nothing_left "missing workspace"
exits "a missing image" 1 create --template sbx.local/none:1 --pull never
has "is named" "$out" "sbx.local/none:1"
nothing_left "missing image"
exits "two sandboxes composed" 1 create --kit "$SBX_SOURCE_DIR/kits/agents/claude"
nothing_left "two sandboxes"
exits "privileged needs consent" 3 bash -c "mkdir -p $work/priv && printf 'schemaVersion: \"2\"\nkind: mixin\nname: priv\nsecurity: { privileged: true }\n' >$work/priv/spec.yaml; '$SBX_BIN' --app-name '$app' --no-input create --runtime $runtime shell --name $name --kit $work/priv $ws"
has "and says how" "$out" "--allow-privileged"
nothing_left "privileged"

# A disk that is full: state on a small tmpfs.
mkdir "$work/small"
mount -t tmpfs -o size=256k tmpfs "$work/small"
out=$(XDG_STATE_HOME=$work/small "$SBX_BIN" --app-name full --no-input create --runtime "$runtime" shell --name full \
    --template sbx.local/base:bookworm --pull never "$ws" 2>&1)
status=$?
if [ "$status" -ge 1 ] && [ "$status" -lt 126 ]; then pass "a full disk fails cleanly ($status)"; else fail "a full disk: exit $status: $out"; fi
XDG_STATE_HOME=$work/small "$SBX_BIN" --app-name full --no-input rm -f full >/dev/null 2>&1
is "a full disk leaves no mounts" "$(grep "$work/small/" /proc/self/mounts)" ""
umount -l "$work/small"

# Stop dead before and after each step; then the same name again.
steps=$(sbx plan shell --output json "$ws" | jq '.steps | length')
[ "$steps" -gt 3 ] || fail "plan says $steps steps"
new_name
for n in $(seq 1 "$steps"); do
    for fault in "step:$n" "step:$n+"; do
        SBX_FAULT=$fault sbx create --runtime "$runtime" shell --name "$name" "$ws" >/dev/null 2>&1
        sbx rm -f "$name" >/dev/null 2>&1
        rest=$(left "$name")
        [ -z "$rest" ] || fail "after $fault and rm: $rest"
    done
done
pass "a fault at each of $steps steps, then rm"
SBX_FAULT=step:2 sbx create --runtime "$runtime" shell --name "$name" "$ws" >/dev/null 2>&1
exits "after a fault the name can be used at once" 0 create
is "and works" "$(sbx exec "$name" -- echo works)" works
