#!/bin/bash
# The verbs on real sandboxes: what a user may combine, re-attaching, options of exec, several names, JSON, the log of
# a sandbox that is gone. (The life of a sandbox itself is tested in engine/tests/e2e.)
. "$(dirname "$0")/../../tests/e2e/lib.sh"

ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
one_value() { # WHAT COMMAND...: exactly one JSON value on stdout; it is in $value
    local what=$1
    shift
    value=$("$@" 2>/dev/null)
    if python3 -c 'import json, sys; json.loads(sys.stdin.read())' <<<"$value" 2>/dev/null; then pass "$what"; else
        fail "$what: not one JSON value: ${value:0:300}"
    fi
}

# create and run know the same sandbox by agent and path.
new_name
one_value "create --json" sbx create --runtime "$runtime" shell --name "$name" -e FROM_CREATE=1 "$ws" --json
is "names it" "$(jq -r .name <<<"$value")" "$name"
cd "$ws" || exit 1
is "run in the same directory attaches" "$(sbx run shell -- -c 'hostname' 2>/dev/null)" "$name"
is "run . too" "$(sbx run shell . -- -c 'hostname' 2>/dev/null)" "$name"
is "run alone, in the sandbox's directory" "$(echo hostname | sbx run 2>/dev/null)" "$name"
is "the older spelling, run NAME" "$(sbx run "$name" -- -c 'hostname' 2>/dev/null)" "$name"
is "run --name" "$(sbx run --name "$name" -- -c 'hostname' 2>/dev/null)" "$name"
is "run -d again prints the name" "$(sbx run -d shell 2>/dev/null)" "$name"
is "-e of create is everywhere" "$(sbx exec "$name" printenv FROM_CREATE)" 1
is "-e of run is of this session" "$(sbx run --name "$name" -e SESSION=2 -- -c 'echo $FROM_CREATE$SESSION' 2>/dev/null)" 12
is "and of no other" "$(sbx exec "$name" printenv SESSION)" ""
for flag in "--template x" "--memory 1g" "--cpus 1" "--pull never" --allow-privileged; do
    # shellcheck disable=SC2086
    exits "run $flag on one that exists" 2 sbx run shell $flag
done
other=oci
[ "$runtime" = docker ] || other=docker
exits "run --runtime that it has not" 2 sbx run --name "$name" --runtime "$other"
mixin extra <<<'environment: { variables: { EXTRA: "1" } }'
mkdir "$work/ws2"
for line in "--kit $work/extra" "$ws $work/ws2"; do
    # shellcheck disable=SC2086
    exits "run --name with other: $line" 2 sbx run --name "$name" shell $line
    has "says that it does not count" "$out" "only count when one is made"
done
first=$name
new_name
other=$name name=$first
exits "a second one in the same directory, with another kit" 0 \
    sbx create -q --runtime "$runtime" shell --kit "$work/extra" --name "$other" "$ws"
is "of its own" "$(sbx exec "$other" printenv EXTRA)" 1
exits "the same line attaches" 0 sbx run shell --kit "$work/extra" -- -c 'hostname'
has "and says so" "$out" "attaching to $other"
exits "without the kit neither is taken in silence" 0 sbx run shell -- -c 'hostname'
has "the other one" "$out" "attaching to $name"
exits "rm of it" 0 sbx rm -f "$other"
exits "run with another agent and this name" 125 sbx run claude --name "$name"
has "says which agent it has" "$out" "its agent is shell, not claude"
exits "run --name of none" 125 sbx run --name nobody-here
has "says so" "$out" "not found"
exits "run -d that cannot make one" 125 sbx run -d --runtime "$runtime" --pull never -t sbx.local/none:1 shell --name none-such
exits "run -d with arguments for an agent" 2 sbx run -d shell -- -c x
exits "run --json without -d" 2 sbx run shell --json
exits "the agent's status" 41 sbx run shell -- -c 'exit 41'
exits "--task" 42 sbx run --task shell -- -c 'exit 42'

# Options of exec.
is "-u root" "$(sbx exec -u root "$name" id -u)" 0
is "-u 1000:0" "$(sbx exec -u 1000:0 "$name" -- sh -c 'id -u; id -g' | tr '\n' :)" "1000:0:"
is "-w" "$(sbx exec -w /etc "$name" pwd)" /etc
printf 'A=file\nB=file\n' >"$work/env"
is "--env-file and -e" "$(sbx exec --env-file "$work/env" -e B=flag "$name" -- sh -c 'echo $A $B')" "file flag"
is "flags of the command are its own" "$(sbx exec "$name" printf '%s,' -e -u x)" "-e,-u,x,"
is "two dashes of the command too" "$(sbx exec "$name" -- echo -- x)" "-- x"
is "without -i standard input is empty" "$(echo lost | sbx exec "$name" cat)" ""
exits "stderr and status come through" 3 sbx exec "$name" -- sh -c 'echo to-stderr >&2; exit 3'
is "stderr apart from stdout" "$(sbx exec "$name" -- sh -c 'echo no >&2; echo yes' 2>/dev/null)" yes
exits "a signal that ends the command" 137 sbx exec "$name" -- sh -c 'kill -9 $$'
exits "no such directory: cannot be run" 126 sbx exec -w /no/such "$name" true
exits "-it without a terminal" 2 sbx exec -it "$name" true
exits "-d is refused" 1 sbx exec -d "$name" true
exits "no such sandbox" 125 sbx exec nobody-here true

# A signal to sbx reaches the command, and sbx ends with its status.
sbx exec "$name" -- sh -c 'trap "exit 55" TERM; echo ready; while :; do sleep 0.1; done' >"$work/out" 2>&1 &
pid=$!
await grep -q ready "$work/out"
pkill -TERM -P $pid 2>/dev/null || kill -TERM $pid
wait $pid
is "SIGTERM reaches the command" $? 55

# Lists and several names.
first=$name
new_name
mixin web <<<'ports: [ { container: 8000, name: web } ]
permissions: { network: { allow: [ "10.99.0.0/16:1", "10.98.0.0/16:1" ] } }'
exits "a second sandbox" 0 sbx create --runtime "$runtime" shell --kit "$work/web" --approve 10.98.0.0/16:1 \
    --name "$name" -q
second=$name
one_value "ls --json" sbx ls --json
is "has both" "$(jq -r '.sandboxes[].name' <<<"$value" | grep -cx -e "$first" -e "$second")" 2
is "ls -q" "$(sbx ls -q | grep -cx -e "$first" -e "$second")" 2
one_value "inspect --json" sbx inspect "$first" --json
is "state" "$(jq -r .state <<<"$value")" running
is "kits" "$(jq -r '.kits[].name' <<<"$value")" shell
one_value "inspect --json, the other" sbx inspect "$second" --json
is "its port" "$(jq -r '.ports[0].sandbox_port' <<<"$value")" 8000
is "what is closed" "$(jq -r '.network_rules[] | select(.kit == "web") | .status' <<<"$value" | tr '\n' ' ')" \
    "needs-approval active "
has "in words" "$(sbx inspect "$second")" "->8000/tcp4 (kit web)"
exits "run with another approval" 2 sbx run -d --name "$second" --approve 10.99.0.0/16:1
has "says what to do" "$out" "sbx policy allow network 10.99.0.0/16:1 --sandbox $second"
exits "run with its own" 0 sbx run -d --name "$second" --approve 10.98.0.0/16:1
has "closed, in words" "$(sbx inspect "$second")" "allow 10.99.0.0/16:1 (kit web): closed"
has "the preset" "$(sbx inspect "$second")" "Policy         $(jq -r .policy_preset <<<"$value")"
has "yaml" "$(sbx inspect "$first" --output yaml)" "state: running"
exits "stop two and one that is not there" 1 sbx stop "$first" nobody-here "$second"
has "the missing one is named" "$out" "nobody-here"
is "both stopped" "$(sbx ls --json | jq -r --arg a "$first" --arg b "$second" \
    '.sandboxes[] | select(.name == $a or .name == $b) | .status' | sort -u)" stopped
is "exec starts a stopped one" "$(sbx exec "$first" echo up 2>/dev/null)" up
exits "stop again" 0 sbx stop "$first" "$second"
one_value "start --json" sbx start "$first" nobody-here --json
is "of each" "$(jq -r '.sandboxes[] | "\(.name) \(.done)"' <<<"$value" | tr '\n' ' ')" "$first true nobody-here false "
one_value "stop --json" sbx stop "$first" --json
is "run --name starts a stopped one" "$(sbx run --name "$first" -- -c 'echo up' 2>/dev/null)" up
exits "rm asks, and without a terminal says how" 2 sbx rm "$first"
has "the command to run" "$out" "sbx rm --force $first"
exits "rm asks for those that are there" 2 sbx rm nobody-here "$first"
exits "rm of one that is not there" 1 sbx rm nobody-here
has "not found, without a question" "$out" "not found"
one_value "rm --json" sbx rm -f "$second" --json
is "the one" "$(jq -r '.sandboxes[0].name' <<<"$value")" "$second"
exits "rm -f" 0 sbx rm -f "$first"
exits "rm of what is gone" 1 sbx rm -f "$first"
has "not found" "$out" "not found"

# The log, also of a sandbox that is gone.
new_name
exits "a third one" 0 sbx create --runtime "$runtime" shell --name "$name" -q
sbx exec "$name" curl -s -o /dev/null http://denied.example.com/ >/dev/null 2>&1
one_value "policy log --json" sbx policy log "$name" --json
is "has the host" "$(jq -r '.blocked_hosts[0].host' <<<"$value")" "denied.example.com:80"
is "the sandbox" "$(jq -r '.blocked_hosts[0].vm_name' <<<"$value")" "$name"
has "two sections" "$(sbx policy log "$name")" "Blocked requests"
is "--raw is JSON lines" "$(sbx policy log "$name" --raw --limit 1 | jq -r .decision)" deny
is "-q" "$(sbx policy log "$name" -q)" "denied.example.com:80"
exits "rm" 0 sbx rm -f "$name"
has "the log of what is gone" "$(sbx policy log "$name")" "denied.example.com:80"

# Images.
one_value "template ls --json" sbx template ls --runtime "$runtime" --json
is "has the base image" "$(jq -r '.images[] | select(.repository == "sbx.local/base") | .tag' <<<"$value" | head -n 1)" bookworm
is "no image of our own" "$(jq -r '.images[].repository' <<<"$value" | grep -c sbx.local/netns)" 0
is "dates or null" "$(jq -r '.images[].created_at' <<<"$value" | grep -cvE '^(null|20[0-9]{2}-.*Z)$')" 0
exits "template rm of none" 1 sbx template rm --runtime "$runtime" sbx.local/none:1
exits "template load of rubbish" 1 sbx template load --runtime "$runtime" "$work/env"
exits "template load of nothing" 1 sbx template load --runtime "$runtime" "$work/nowhere.tar"
