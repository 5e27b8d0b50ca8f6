#!/bin/bash
# What a sandbox does on the host: owners of workspace files, mounts, processes, pipes.
#   host.sh docker|oci
# shellcheck source=../../tests/e2e/lib.sh
. "$(dirname "$0")/../../tests/e2e/lib.sh"

ws=$work/foreign ref=$work/ref
mkdir -m 700 "$ws" "$ref"
chown 1234:4321 "$ws"
echo hi >"$ref/file.txt"
new_name
id=$name
state=$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$id
mounts() { grep -c "sandboxes/$id/mnt" /proc/self/mounts; }

start=$SECONDS
got=$(sbx create --runtime "$runtime" shell --name "$id" "$ws" "$ref:ro" 2>"$work/log" | cat)
is "create into a pipe prints the name and ends" "$got" "$id"
[ $((SECONDS - start)) -lt 60 ] || fail "the pipe stayed open"

is "the agent may write a workspace of another user" "$(sbx exec "$id" -- sh -c 'touch made && stat -c %u:%g made')" 1000:1000
is "whose files belong to that user outside" "$(stat -c %u:%g "$ws/made")" 1234:4321
is "root's files stay root's" "$(sbx exec -u 0 "$id" -- touch "$ws/root" && stat -c %u:%g "$ws/root")" 0:0
is "a root's private directory can be read" "$(sbx exec "$id" -- cat "$ref/file.txt")" hi
out=$(sbx exec "$id" -- touch "$ref/x" 2>&1) && fail "a :ro workspace was written" || has "a :ro workspace is read-only" "$out" "Read-only"
is "two mounts while it runs" "$(mounts)" 2
sbx stop "$id" >/dev/null 2>&1
is "none when it is stopped" "$(mounts)" 0
is "no process either" "$(pgrep -fc "sandboxes/$id/")" 0
is "they are made again" "$(sbx exec "$id" -- sh -c 'touch again && stat -c %u again')" 1000
is "with the same owner" "$(stat -c %u "$ws/again")" 1234

# A gate that dies under an attached exec is back before the command's next request.
gate() { grep -o '"pid":[0-9]*' "$state/net/gate.pid.json" | cut -d: -f2; }
first=$(gate)
mkfifo "$work/go"
sbx exec -i "$id" -- sh -c 'read -r _; curl -s -m 30 -o /dev/null -w "%{http_code}" http://denied.example.com/' \
    <"$work/go" >"$work/code" 2>/dev/null &
exec 8>"$work/go"
attached() { [ -n "$(ls "$state/sessions" 2>/dev/null)" ]; }
await attached
kill -9 "$first"
another() { [ "$(gate)" != "$first" ]; }
await another
echo go >&8
exec 8>&-
wait $!
is "a dead gate is back within an attached exec" "$(cat "$work/code")" 403
has "and the history says so" "$(cat "$state/records.jsonl")" gate-restarted

# The container is killed by other means, its mounts are gone: as after a power failure.
if [ "$runtime" = docker ]; then
    docker kill "$(docker ps -q --filter "label=sbx.sandbox=$id" --filter label=sbx.role=sandbox)" >/dev/null
    await ended "$(gate)"
    umount -l "$state"/mnt/*
    is "it is brought up again by an exec" "$(sbx exec "$id" -- ls again)" again
fi

mixin filed </dev/null
mkdir -p "$work/filed/files/workspace"
echo kit >"$work/filed/files/workspace/made"
new_name
chown 1000:1000 "$ref"
exits "a kit's file into a read-only workspace fails the create" 1 sbx create --runtime "$runtime" shell --kit "$work/filed" --name "$name" "$ref:ro"
has "and is named" "$out" "$ref/made"
is "nothing is left of it" "$(ls -d "$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$name" 2>/dev/null)" ""
new_name
out=$(sbx create --runtime "$runtime" shell --kit "$work/filed" --name "$name" "$ws" 2>&1)
has "a kit's file over one of the user's is announced" "$out" "overwrites $ws/made"
is "and overwrites it" "$(cat "$ws/made")" kit
