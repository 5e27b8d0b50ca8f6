#!/bin/bash
# A kit's wish for this machine: closed until the user approves it, remembered for the kit as it is, taken back by policy rm.
. "$(dirname "$0")/lib.sh"

# Others of this build read and write the same policy.yaml; approvals are of kits, and these are named after the test.
kit=host$$
ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
perl -MIO::Socket::INET -e '
    $l = IO::Socket::INET->new(Listen => 16, LocalAddr => "127.0.0.1:0") or die; $| = 1; print $l->sockport, "\n";
    $SIG{CHLD} = "IGNORE";
    while ($c = $l->accept) { next if fork; syswrite $c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n"; 1 while sysread $c, $d, 4096; exit 0 }' >"$work/port" &
server=$!
cleanup() {
    kill $server 2>/dev/null
    for id in $(sbx policy ls --json | jq -r ".rules[] | select(.applies_to == \"kit $kit\") | .id"); do sbx policy rm network --id "$id" >/dev/null; done
}
await [ -s "$work/port" ]
port=$(cat "$work/port")
body() { printf 'permissions: { network: { allow: ["localhost:%s", "localhost:%s", "api.example.com"] } }\n' "$1" "$2"; }
mixin $kit < <(body "$port" 9)
create() { sbx create --runtime "$runtime" shell --kit "$work/$kit" --name "$name" "$@" "$ws" >"$work/create.log" 2>&1 || die "create: $(cat "$work/create.log")"; }
inside() { timeout 20 "$SBX_BIN" --app-name "$app" --no-input exec -u 0 "$@"; }
code() { inside "$1" -- curl -sS -m 8 -o /dev/null -w '%{http_code}' "http://host.docker.internal:$2/" 2>&1; }
status() { sbx policy ls "$1" --json | jq -r ".rules[] | select(.origin == \"kit\" and .resources == [\"localhost:$2\"]) | .status"; }

new_name
first=$name
create
has "what is withheld is told" "$(cat "$work/create.log")" "to allow it, add --approve localhost:$port"
is "closed" "$(code "$first" "$port")" 403
is "and shown so" "$(status "$first" "$port")" needs-approval

new_name
second=$name
create --approve "host.docker.internal:$port"
is "open once approved, in either spelling" "$(code "$second" "$port")" 200
is "the kit's other port is not" "$(code "$second" 9)" 403
is "nor the sandbox that was made without" "$(code "$first" "$port")" 403
has "policy ls shows the approval" "$(sbx policy ls)" "kit $kit"
id=$(sbx policy ls --json | jq -r ".rules[] | select(.applies_to == \"kit $kit\") | .id")
has "with an id of its own" "$id" a-

new_name
third=$name
create
hasnt "another sandbox with the kit asks no more" "$(cat "$work/create.log")" "--approve localhost:$port"
has "but for the other port" "$(cat "$work/create.log")" "--approve localhost:9"
is "open there too" "$(code "$third" "$port")" 200
has "plan says so" "$(sbx plan shell --kit "$work/$kit" "$ws" --json | jq -c '.gate.rules[] | select(.source == "kit" and .consented)')" "localhost:$port"

# Another digest, another port: asked anew.
cp -r "$work/$kit" "$work/as-it-was"
body "$port" 10 >"$work/body"
sed -i '/^permissions/d' "$work/$kit/spec.yaml"
cat "$work/body" >>"$work/$kit/spec.yaml"
new_name
create
has "a changed kit asks anew" "$(cat "$work/create.log")" "--approve localhost:$port"
is "and is closed" "$(code "$name" "$port")" 403
is "the others are as they were" "$(code "$third" "$port")" 200

# Taken back: at once, an open tunnel too, over stop and start; the advice names what to do.
inside "$third" -- bash -c 'exec 3<>/dev/tcp/host.docker.internal/$0; read -r line <&3; echo "$line"; cat <&3 >/dev/null; echo closed' "$port" >"$work/raw" 2>&1 &
raw=$!
await grep -q 200 "$work/raw"
exits "taken back" 0 sbx policy rm network "host.docker.internal:$port"
is "what, and of which kit" "$out" "Removed: localhost:$port for kit $kit (approval $id)"
wait $raw
has "the open connection is closed" "$(cat "$work/raw")" closed
is "closed in the second" "$(code "$second" "$port")" 403
is "and in the third" "$(code "$third" "$port")" 403
is "shown so" "$(status "$third" "$port")" needs-approval
is "inspect agrees" "$(sbx inspect "$third" --json | jq -r ".network_rules[] | select(.resource == \"localhost:$port\") | .status")" needs-approval
has "why" "$(inside "$third" -- curl -sS "http://host.docker.internal:$port/")" "--approve localhost:$port"
exits "stop" 0 sbx stop "$third"
exits "start" 0 sbx start "$third"
is "still closed" "$(code "$third" "$port")" 403
exits "it is not there twice" 1 sbx policy rm network --id "$id"
exits "given again to one that was made with it" 0 sbx run -d --name "$third" --approve "localhost:$port"
is "open again" "$(code "$third" "$port")" 200
exits "not to one that was made without" 2 sbx run -d --name "$first" --approve "localhost:$port"
exits "one of several by its id" 0 sbx policy rm network --id "$id"
is "closed again" "$(code "$third" "$port")" 403
