#!/bin/bash
# The gate's life: a dead gate means reset and comes back; a restart by other means stays closed until sbx acts.
. "$(dirname "$0")/lib.sh"

mixin net <<'SPEC'
permissions: { network: { allow: ["api.example.com", "*.names.example.com"] } }
SPEC
ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
new_name
began=$(date +%s)
sbx create --runtime "$runtime" shell --kit "$work/net" --name "$name" "$ws" >"$work/create.log" 2>&1 ||
    die "create: $(cat "$work/create.log")"
code() { sbx exec "$name" -- curl -sS -m 30 -o /dev/null -w '%{http_code}' "$@" 2>/dev/null; }
dir=$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$name
[ -d "$dir" ] || die "no state at $dir"
gate_pid() { jq -r .pid "$dir/net/gate.pid.json"; }
helper_pid() { jq -r .pid "$dir/net/helper.json"; }
gone() { await ended "$1"; }

is "a request passes" "$(code http://api.example.com/)" 200
is "the gate is not root" "$(awk '/^Uid:/ {print ($2 != 0 && $2 != 1000)}' "/proc/$(gate_pid)/status")" 1
is "the gate has no capability" "$(awk '/^CapEff:/ {print $2}' "/proc/$(gate_pid)/status")" 0000000000000000
[[ $SBX_BIN == */asan/* ]] || # sanitizers need calls that the filter refuses
    is "the gate is confined by seccomp" "$(awk '/^Seccomp:/ {print $2}' "/proc/$(gate_pid)/status")" 2
is "the helper gave its capabilities up" "$(awk '/^CapEff:/ {print $2}' "/proc/$(helper_pid)/status")" 0000000000000000

address() { sbx exec "$name" -- getent ahostsv4 "$1" 2>/dev/null | awk '{print $1; exit}'; }
unconnected=$(address one.names.example.com)
connected=$(address api.example.com)
has "names have addresses" "$unconnected $connected" "198.19."
is "one of them is connected, without the proxy" "$(code --noproxy '*' http://api.example.com/)" 200

old=$(gate_pid)
kill -9 "$old"
gone "$old" || fail "the gate did not die"
is "the next command brings the gate back" "$(code http://api.example.com/)" 200
is "names keep their addresses when a gate dies" "$(address api.example.com) $(address one.names.example.com)" "$connected $unconnected"
is "and their connections work" "$(code --noproxy '*' "http://api.example.com/")" 200
[ "$(gate_pid)" != "$old" ] && pass "by another process" || fail "by another process"

# A killed gate is there for some more milliseconds: who comes then does not take it for one that serves.
answers=
for _ in $(seq 10); do
    kill -9 "$(gate_pid)"
    answers="$answers $(code http://api.example.com/)"
done
is "nor does a command right after the kill notice" "$answers" "$(printf ' 200%.0s' $(seq 10))"

helper=$(helper_pid) gate=$(gate_pid)
if [ "$runtime" = docker ]; then
    container=$(docker ps -q --filter "label=sbx.sandbox=$name")
    [ -n "$container" ] || die "no container with the label sbx.sandbox=$name"
    is "the files of the create came through PID 1, without an exec" \
        "$(docker events --since "$began" --until "$(date +%s)" --filter "container=$container" | grep -c 'init batch')" 0
    docker restart -t 1 "$container" >/dev/null
    gone "$helper" && pass "docker restart ends the helper" || fail "docker restart ends the helper"
    gone "$gate" && pass "docker restart ends the gate" || fail "docker restart ends the gate"
    out=$(docker exec -u 0 "$container" curl -sS -m 3 http://198.51.100.10/ 2>&1) && fail "closed after docker restart: $out" ||
        pass "closed after docker restart"
    is "the next command opens it again" "$(code http://api.example.com/)" 200
fi
helper=$(helper_pid) gate=$(gate_pid)
sbx stop "$name" >/dev/null 2>&1
gone "$helper" && pass "stop ends the helper" || fail "stop ends the helper"
gone "$gate" && pass "stop ends the gate" || fail "stop ends the gate"
sbx start "$name" >/dev/null 2>&1
is "after stop and start" "$(code http://api.example.com/)" 200
is "a name that was connected keeps its address over stop and start" "$(address api.example.com)" "$connected"
[ "$(address two.names.example.com)" != "$connected" ] && pass "and no other name gets it" || fail "and no other name gets it"

# As one is that an older sbx made: its init knows nothing of the socket.
sbx stop "$name" >/dev/null 2>&1
rm "$dir/run/steps"
sbx start "$name" >/dev/null 2>&1
is "where PID 1 does not ask, its steps come by exec" "$(code http://api.example.com/)" 200

# Descriptors: a command whose output is piped ends at once though the gate stays.
new_name
timeout 30 bash -c "'$SBX_BIN' --app-name '$app' create --runtime $runtime shell --name $name '$ws' 2>&1 | cat >/dev/null"
is "create | cat ends" "$?" 0
(code http://api.example.com/ >/dev/null) &
(code http://api.example.com/ >/dev/null) &
wait
gates=$(pgrep -x sbx-gate | while read -r p; do readlink "/proc/$p/cwd"; done | wc -l)
[ "$gates" -ge 1 ] && pass "gates run" || fail "gates run"
