#!/bin/bash
# Rules change under a running sandbox: the next request sees it, an open tunnel without right is closed.
. "$(dirname "$0")/lib.sh"

mixin net <<'SPEC'
permissions: { network: { allow: ["api.example.com"] } }
SPEC
ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
config=$XDG_CONFIG_HOME/sbx/apps/$app/policy.yaml
new_name
sbx create --runtime "$runtime" shell --kit "$work/net" --name "$name" "$ws" >"$work/create.log" 2>&1 ||
    die "create: $(cat "$work/create.log")"
inside() { timeout 60 "$SBX_BIN" --app-name "$app" --no-input exec -u 0 "$name" -- "$@"; }
code() { inside curl -sS -m 30 -o /dev/null -w '%{http_code}' "$@" 2>&1; }

# Where rules stand.
has "ls counts the kit's rules" "$(sbx policy ls "$name")" "kit net"
has "ls --wide names file and line" "$(sbx policy ls --wide "$name")" "kit net/spec.yaml:6:"
has "ls of all has the sandbox" "$(sbx policy ls --source kit)" "$name"
exits "check: allowed" 0 sbx policy check network --sandbox "$name" api.example.com
has "check names rule and origin" "$out" "Rule: kit:net:1 (kit net/spec.yaml:6:"
exits "check: denied is 4" 4 sbx policy check network --sandbox "$name" denied.example.com
has "and has the nearest rule" "$out" "Nearest rule: api.example.com (kit:net:1"
has "explain names file and line" "$(sbx policy explain --sandbox "$name" api.example.com)" "kit net/spec.yaml:6:"

# Rules that come with the sandbox, and go with it; a create that fails leaves none.
first=$name
new_name
exits "create with rules" 0 sbx create --runtime "$runtime" shell --name "$name" "$ws" --allow-network git.example.com:80 \
    --allow-network cdn.example.com,api.example.com --deny-network api.example.com
own() { timeout 60 "$SBX_BIN" --app-name "$app" --no-input exec -u 0 "$name" -- curl -sS -m 30 -o /dev/null -w '%{http_code}' "$1"; }
is "allowed from the start" "$(own http://git.example.com/)" 200
is "denied from the start: deny wins" "$(own http://api.example.com/)" 403
has "they are the user's" "$(sbx policy ls --wide "$name")" "user policy.yaml:"
exits "on one that exists" 2 sbx run -d --name "$name" --deny-network x.example.com
has "they do not count" "$out" "--deny-network only counts when one is made"
exits "rm" 0 sbx rm -f "$name"
is "policy.yaml is as it was" "$(grep -c "sandbox: \"$name\"" "$config")" 0
new_name
mixin broken <<'SPEC'
setup: { install: [ { command: "exit 7" } ] }
SPEC
exits "a create that fails" 1 sbx create --runtime "$runtime" shell --kit "$work/broken" --name "$name" "$ws" --deny-network x.example.com
is "leaves no rule" "$(grep -c "sandbox: \"$name\"" "$config")" 0
name=$first

# The advice of a refusal works as it stands.
is "denied before" "$(code http://denied.example.com/)" 403
advice=$(inside curl -sS http://denied.example.com/ | grep -o 'sbx policy allow network [^,]*')
is "a refusal says what to type" "$advice" "sbx policy allow network denied.example.com:80 --sandbox $name"
# shellcheck disable=SC2086
exits "what it says can be typed" 0 $advice
is "the next request passes" "$(code http://denied.example.com/)" 200
is "the file has the rule for this sandbox" "$(grep -c "sandbox: \"$name\"" "$config")" 1

# An open tunnel: the program inside says when it is open, and when it ended.
tunnel() { # HOST PORT FILE
    inside bash -c 'exec 3<>/dev/tcp/gateway.docker.internal/3128
        printf "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n" $0 $1 $0 $1 >&3
        read -r line <&3; echo "$line"; cat <&3 >/dev/null; echo closed' "$1" "$2" >"$3" 2>&1
}
waited() { await grep -q "$1" "$2" || fail "no $1 in $2: $(cat "$2")"; }
tunnel api.example.com 443 "$work/kept" &
kept=$!
exits "allow for a tunnel" 0 sbx policy allow network denied.example.com:443 --sandbox "$name"
tunnel denied.example.com 443 "$work/cut" &
waited "200 Connection" "$work/kept"
waited "200 Connection" "$work/cut"
exits "deny" 0 sbx policy deny network denied.example.com --sandbox "$name"
has "says for whom" "$out" "Denied: denied.example.com for sandbox $name"
waited closed "$work/cut"
pass "the tunnel without right is closed"
hasnt "the other tunnel stays" "$(cat "$work/kept")" closed
is "denied at once" "$(code http://denied.example.com/)" 403
has "the log says why the tunnel ended" "$(sbx policy log "$name")" "policy-changed"
exits "an allow under a deny is told" 0 sbx policy allow network denied.example.com:8080 --sandbox "$name"
has "as a warning" "$out" "stays denied by rule"
exits "rm of what is not there" 1 sbx policy rm network other.example.com --sandbox "$name"
exits "rm" 0 sbx policy rm network denied.example.com --sandbox "$name"
is "the allow rule counts again" "$(code http://denied.example.com/)" 200

# The log, followed: what was, what comes, and the end with the sandbox.
sbx policy log "$name" --follow --json >"$work/follow.json" 2>&1 &
following=$!
sbx policy log "$name" --follow --limit 1 >"$work/follow" 2>&1 &
await [ -s "$work/follow" ] && await [ -s "$work/follow.json" ]
is "one of before" "$(wc -l <"$work/follow")" 1
code "http://denied.example.com/followed" >/dev/null
waited "allow denied.example.com:80 rule r-" "$work/follow"
code "http://other$$.example.com/" >/dev/null
waited "deny  other$$.example.com:80 default-deny" "$work/follow"
waited "other$$.example.com" "$work/follow.json"
is "JSON Lines" "$(jq -r 'select(.host == "other'$$'.example.com") | .decision' "$work/follow.json")" deny
has "--since has the late ones" "$(sbx policy log "$name" --since 1h)" "other$$.example.com"
hasnt "and no others" "$(sbx policy log "$name" --since "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)")" "example.com"
is "--raw --limit" "$(sbx policy log "$name" --raw --limit 2 | wc -l)" 2
has "-q prints hosts" "$(sbx policy log "$name" -q)" "denied.example.com:80"

# Rules of one sandbox are no other's, stay over a stop and go with the sandbox.
first=$name
new_name
exits "a second sandbox" 0 sbx create --runtime "$runtime" shell --name "$name" "$ws"
is "has no rule of the first" "$(code http://denied.example.com/)" 403
exits "deny for all" 0 sbx policy deny network "p$$.example.com"
has "arrives at the one" "$(sbx policy ls --wide "$first")" "p$$.example.com"
has "and the other" "$(sbx policy ls --wide "$name")" "p$$.example.com"
exits "rm for all" 0 sbx policy rm network "p$$.example.com"
hasnt "is gone from the gate" "$(sbx policy ls --wide "$first")" "p$$.example.com"
name=$first
exits "stop" 0 sbx stop "$name"
wait $kept
exits "a rule while it is stopped" 0 sbx policy allow network cdn.example.com --sandbox "$name"
exits "start" 0 sbx start "$name"
is "the rules stayed" "$(code http://denied.example.com/)" 200
is "the new one counts" "$(code http://cdn.example.com/)" 200
exits "rm of the sandbox" 0 sbx rm -f "$name"
is "takes its rules along" "$(grep -c "sandbox: \"$name\"" "$config")" 0
wait $following
is "following it has ended" "$?" 0
has "its log is still there" "$(sbx policy log "$name")" "denied.example.com:80"

# A rule that comes while a create is at work counts for it.
mixin wait <<'SPEC'
setup: { install: [ { command: "until curl -fsS http://denied.example.com/ >/dev/null; do sleep 0.1; done" } ] }
SPEC
new_name
sbx create --runtime "$runtime" shell --kit "$work/wait" --name "$name" "$ws" >"$work/wait.log" 2>&1 &
creating=$!
asked() { sbx policy log "$name" 2>/dev/null | grep -q denied.example.com; }
await asked
exits "a rule for a sandbox that is being made" 0 sbx policy allow network denied.example.com:80 --sandbox "$name"
wait $creating
is "lets its install go on" "$?" 0
