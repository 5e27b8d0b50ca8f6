#!/bin/bash
# The user's policy.yaml and settings.yaml as the verbs read and write them. No sandbox, no runtime.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
config=$work/config/sbx
mkdir "$work/ws"

# Before anything: balanced holds, kits apart.
t 0 "preset balanced" policy ls
t 0 "Allowed: api.github.com:443" policy check network api.github.com
t 4 "Denied: evil.example.com:443" policy check network evil.example.com

# init succeeds the first time and for the same preset, then names set-default; reset un-initialises.
t 2 'no preset "open"' policy init open
t 0 'Global network policy initialized to "deny-all"' policy init deny-all
t 0 'initialized to "deny-all"' policy init deny-all
t 1 "sbx policy set-default balanced" policy init balanced
t 4 "Denied: api.github.com:443" policy check network api.github.com
t 0 'set to "allow-all"' policy set-default allow-all
t 0 "Allowed: evil.example.com:80" policy check network http://evil.example.com/path
t 2 "sbx policy reset --force" policy reset
t 0 "reset" policy reset --force
t 0 'initialized to "balanced"' policy init balanced
t 4 "Denied" policy check network evil.example.com

# Another app has its own.
t 0 'initialized to "deny-all"' --app-name other policy init deny-all
t 4 "Denied" --app-name other policy check network api.github.com
t 0 "Allowed" policy check network api.github.com

# Rules written by hand; deny wins; spellings of a target.
cat >"$config/policy.yaml" <<'YAML'
# kept
preset: deny-all
initialized: true
rules:
  - { decision: allow, resource: "**.example.com:443", id: mine }
  - { decision: deny, resource: "bad.example.com" }
  - { decision: allow, resource: "localhost:8080" }
YAML
t 0 "user " policy ls
t 0 "mine" policy ls --wide
t 0 "user policy.yaml:5" policy ls --wide
t 0 "Allowed: a.b.example.com:443" policy check network https://a.b.example.com
t 0 "Allowed: a.example.com:443" policy check network A.Example.COM.:443
t 4 "Denied: a.example.com:80" policy check network a.example.com:80
t 4 "Denied: bad.example.com:443" policy check network bad.example.com
t 0 "Rule: mine (user policy.yaml:5) **.example.com:443" policy check network a.example.com
t 4 "Nearest rule: **.example.com:443 (mine, user policy.yaml:5) is for other ports" \
    policy check network a.example.com:80
t 4 "Nearest rule: **.example.com:443 (mine, user policy.yaml:5) is for hosts below the name" \
    policy check network example.com
t 0 "Allowed: host.docker.internal:8080" policy check network host.docker.internal:8080
t 4 "UDP" policy check network a.example.com --protocol udp
lacks "Rule:" policy check network a.example.com --protocol udp
j 'v["action"] == "net:connect:udp" and v["rule"] is None and v["reason"] == "udp" and not v["allowed"]' policy check network a.example.com --protocol udp --json
t 2 "" policy check network 127.1:80
t 2 "" policy check network "a b"
t 2 "" policy check network ""
t 2 "" policy check network a.example.com:0
t 2 "" policy check network a.example.com:99999
t 2 "which port?" policy check network ssh://git.example.com/x
t 0 "Allowed" policy check network ssh://git@git.example.com:443/x
t 1 "not found" policy check network --sandbox nobody a.example.com
t 1 "not found" policy log nobody
t 1 "not found" policy log nobody --follow
t 2 "want a time ago" policy log --since yesterday
t 0 "No requests yet." policy log --since 2h30m
t 2 "--follow prints records" policy log --follow --quiet
t 0 "" policy log --follow --raw # of no sandbox at all

# A name with addresses of one's own: they are judged too, as the gate does. One that is open is enough.
cat >"$config/settings.yaml" <<'YAML'
network:
  hosts:
    db.example.com: [10.1.2.3, "fd00::1"]
    two.example.com: [10.1.2.4, 1.1.1.1]
    mixed.example.com: [169.254.169.254]
YAML
t 4 "Denied: db.example.com:443" policy check network db.example.com
t 4 "Address: 10.1.2.3 (network.hosts of settings.yaml)" policy check network db.example.com
t 4 "(a private address); to allow it: sbx policy allow network 10.1.2.3:443" policy check network db.example.com
lacks "Nearest" policy check network db.example.com
j 'not v["allowed"] and v["reason"] == "private" and v["address"] == "10.1.2.3" and v["deny_kind"] == "implicit"' policy check network db.example.com --json
t 0 "db.example.com is 10.1.2.3 by network.hosts" policy explain db.example.com
j 'not v["allowed"] and v["address"] == "10.1.2.3" and v["rules"][0]["effect"] == "overruled"' policy explain db.example.com --json
t 4 "no allow rule" policy check network db.example.com:1 # the name's own verdict comes first
lacks "Address:" policy check network db.example.com:1
t 4 "cloud metadata" policy check network mixed.example.com
t 0 "Allowed: two.example.com:443" policy check network two.example.com
j 'v["allowed"] and v["address"] is None' policy check network two.example.com --json
sed -i '/localhost:8080/a\  - { decision: allow, resource: "10.1.2.3:443" }' "$config/policy.yaml"
t 0 "Allowed: db.example.com:443" policy check network db.example.com
sed -i '/10.1.2.3:443/d' "$config/policy.yaml"
rm "$config/settings.yaml"

# A log in two parts, with a gap: both are read, what is missing is told.
mkdir -p "$work/state/sbx/logs"
line() { echo '{"time":"2026-01-02T03:04:05.678Z","sandbox":"gone","proxy":"forward","host":'"$1"',"port":80,"decision":"'"$2"'","reason":"'"$3"'","count":'"$4"'}'; }
line '"old.example.com"' allow rule 1 >"$work/state/sbx/logs/gone.jsonl.1"
{ line null error records-lost 7; line '"new.example.com"' allow rule 1; } >"$work/state/sbx/logs/gone.jsonl"
t 0 "old.example.com:80" policy log gone
t 0 "new.example.com:80" policy log gone
t 0 "note: 7 records were lost" policy log gone
t 0 '"records-lost"' policy log gone --raw --limit 2
line null error log-full 1 >>"$work/state/sbx/logs/gone.jsonl"
t 0 "the log is full" policy log gone
# Ends of requests give bytes and time, and are no requests; a gate that began again was killed before.
event() { echo '{"time":"2026-01-02T03:04:0'"$1"'.000Z","event":"'"$2"'","sandbox":"gone","proxy":"forward","host":'"$3"',"port":80,"reason":"'"$4"'","bytesIn":1000,"bytesOut":20,"durationMs":7,"count":0}'; }
{ event 0 start null started; line '"a.example.com"' allow rule 1; event 6 close '"a.example.com"' rule
    line '"a.example.com"' allow rule 1; event 7 close '"a.example.com"' rule
    event 7 start null started; event 8 end null "helper gone"; event 9 start null started; } >"$work/state/sbx/logs/gone.jsonl"
rm "$work/state/sbx/logs/gone.jsonl.1"
j 'len(v["allowed_hosts"]) == 1 and v["allowed_hosts"][0]["count"] == 2' policy log gone --json
j '[v["allowed_hosts"][0][k] for k in ("bytes_in", "bytes_out", "duration_ms")] == [2000, 40, 14]' policy log gone --json
j 'sorted((r["reason"], r["count"]) for r in v["gate_ends"]) == [("helper gone", 1), ("killed", 1)]' policy log gone --json
t 0 "Ends of the gate:" policy log gone
t 0 "a.example.com:80" policy log gone -q
t 0 "gate end helper gone" policy log gone --follow
line '"a.example.com"' deny default-deny 1 >>"$work/state/sbx/logs/gone.jsonl"
n=$((n + 1))
[ "$("$SBX_BIN" policy log gone -q | grep -c '^a.example.com:80$')" = 1 ] || bad "log -q: a host that was allowed and blocked does not stand there once"
ln -sf /etc/passwd "$work/state/sbx/logs/gone.jsonl" # the gate's directory: what is no file is not read
t 1 "read" policy log gone
rm -r "$work/state/sbx/logs"
# --follow over a rotation: each record once, in order, whichever file it is in.
live=$work/state/sbx/sandboxes/live/log
mkdir -p "$live"
line '"one.example.com"' allow rule 1 >"$live/log.jsonl"
timeout 60 "$SBX_BIN" policy log live --follow --json >"$work/followed" 2>/dev/null &
follower=$!
until_lines() { for _ in $(seq 400); do [ "$(wc -l <"$work/followed")" -ge "$1" ] && return; sleep 0.05; done; }
until_lines 1
line '"two.example.com"' allow rule 1 >>"$live/log.jsonl"
: >"$live/log.jsonl.new"
mv "$live/log.jsonl" "$live/log.jsonl.1"
mv "$live/log.jsonl.new" "$live/log.jsonl"
line '"three.example.com"' allow rule 1 >>"$live/log.jsonl"
until_lines 3
kill -INT "$follower"
wait "$follower"
n=$((n + 1))
[ "$(grep -o '"host":"[a-z]*' "$work/followed" | tr -d '\n')" = '"host":"one"host":"two"host":"three' ] ||
    bad "--follow over a rotation: $(cat "$work/followed")"
t 0 "one.example.com:80" policy log live
t 0 "three.example.com:80" policy log live
rm -r "$work/state/sbx/sandboxes/live"

# Rules of a sandbox that is to be made are read before anything is.
t 2 "--deny-network: a..b" create shell --deny-network a..b
t 2 "no rule can allow this" create shell --allow-network 169.254.169.254
t 2 "write HOST:PORT, without a scheme" run shell --allow-network https://x.test/

# suggest: hosts with ports and steps, a wildcard for three names below one parent, never for what everybody shares.
mkdir -p "$work/state/sbx/logs"
asked() { echo '{"time":"2026-01-02T03:04:05.678Z","sandbox":"gone","host":"'"$1"'","port":'"$2"',"decision":"'"${3:-allow}"'","reason":"'"${4:-learn}"'","step":"'"${5:-agent}"'","count":1}'; }
{ asked a.cdn.example.com 443; asked b.cdn.example.com 443 allow learn install/hello/1; asked c.cdn.example.com 443
    asked a.cdn.example.com 443; asked d.cdn.example.com 80; asked one.github.io 443; asked two.github.io 443; asked three.github.io 443
    asked x.co.uk 443; asked y.co.uk 443; asked z.co.uk 443; asked 2001:db8::1 22 allow rule
    asked localhost 5432 deny loopback startup; asked 10.0.0.1 443 deny default-deny; event 6 close '"a.cdn.example.com"' learn
    asked gone.example.com 443 error name-not-found; } >"$work/state/sbx/logs/gone.jsonl"
j 'v["permissions"]["network"]["allow"] == ["*.cdn.example.com:443", "[2001:db8::1]:22", "d.cdn.example.com:80", "one.github.io:443", "three.github.io:443", "two.github.io:443", "x.co.uk:443", "y.co.uk:443", "z.co.uk:443"]' policy suggest gone --json
j 'v["rules"][0] == {"pattern": "*.cdn.example.com:443", "hosts": ["a.cdn.example.com:443", "b.cdn.example.com:443", "c.cdn.example.com:443"], "steps": ["agent", "install/hello/1"], "count": 4}' policy suggest gone --json
j '[(r["host"], r["reason"], r["steps"]) for r in v["refused"]] == [("10.0.0.1:443", "default-deny", ["agent"]), ("localhost:5432", "loopback", ["startup"])]' policy suggest gone --json
{ asked was.example.com 443; asked is.example.com 443 deny default-deny; } >"$work/state/sbx/logs/changed.jsonl.1"
{ asked was.example.com 443 deny rule; asked is.example.com 443 allow rule; } >"$work/state/sbx/logs/changed.jsonl"
j 'v["permissions"]["network"]["allow"] == ["is.example.com:443"]' policy suggest changed --json # the last verdict counts
j '[(r["host"], r["reason"], r["count"]) for r in v["refused"]] == [("was.example.com:443", "rule", 1)]' policy suggest changed --json
t 0 '- "*.cdn.example.com:443" # agent, install/hello/1' policy suggest gone
t 0 "#   localhost:5432 (loopback) startup" policy suggest gone
{ for host in a b c; do asked $host.cdn.example.com 443; asked $host.cdn.example.com 80; done; asked d.cdn.example.com 443 deny rule; } >"$work/state/sbx/logs/sibling.jsonl"
j 'v["permissions"]["network"]["allow"] == ["*.cdn.example.com:80", "a.cdn.example.com:443", "b.cdn.example.com:443", "c.cdn.example.com:443"]' policy suggest sibling --json # never open what was refused
mkdir "$work/learned"
{ printf 'schemaVersion: "2"\nname: learned\nkind: mixin\n'; "$SBX_BIN" policy suggest gone 2>/dev/null; } >"$work/learned/spec.yaml"
t 0 "VALID:" kit validate "$work/learned"
rm -r "$work/state/sbx/logs"
t 1 "not found" policy suggest gone
t 1 "not found" policy ls nobody
t 0 'set to "balanced"' policy set-default balanced
t 0 "mine" policy ls --wide
grep -q '^# kept' "$config/policy.yaml" || bad "the comment was lost"

# allow, deny and rm change the file; what is said already is said again without a change.
t 0 "Allowed: api.test.org:443 for all sandboxes (rule r-" policy allow network api.test.org:443
t 0 "Allowed: api.test.org:443" policy check network api.test.org
t 0 "Already covered: API.test.org:443 by rule r-" policy allow network API.test.org:443
t 0 "Already covered: x.example.com:443 by rule mine (**.example.com:443)" policy allow network x.example.com:443
t 0 "Allowed: [2001:db8::1]:22 for all" policy allow network "one.test.org, 198.51.100.0/24:8000-8010 ,[2001:db8::1]:22"
t 0 "Allowed: [2001:db8::1]:22" policy check network "[2001:db8::1]:22"
t 0 "Allowed: one.test.org:9" policy check network one.test.org:9
t 0 "Denied: one.test.org for all sandboxes" policy deny network one.test.org
t 4 "deny rule one.test.org of user policy.yaml:" policy check network one.test.org:9
t 0 "one.test.org:443 stays denied by rule r-" policy allow network one.test.org:443
t 0 "overruled" policy explain one.test.org
t 0 "decides" policy explain one.test.org
t 0 "No rule matches." policy explain nobody.test.net
t 2 "which port?" policy explain ssh://x.test.net
t 1 "sandbox nobody not found" policy explain x.test.net --sandbox nobody
t 0 "Removed: one.test.org" policy rm network ONE.test.org,api.test.org:443
t 4 "Denied: one.test.org:9" policy check network one.test.org:9
t 1 "api.test.org:443: you have no such rule" policy rm network api.test.org:443
t 1 "kit:x:1: you have no such rule" policy rm network --id kit:x:1
t 1 "nothere.test.org: you have no such rule" policy rm network "198.51.100.0/24:8000-8010,nothere.test.org"
t 0 "Allowed" policy check network 198.51.100.3:8005 # all or none
t 0 "Removed: 198.51.100.0/24:8000-8010" policy rm network --resource 198.51.100.0/24:8000-8010
t 0 "Removed: [2001:db8::1]:22" policy rm network --id "$(grep -A1 2001:db8 "$config/policy.yaml" | sed -n 's/.*id: "\(.*\)"/\1/p')"
t 1 "sandbox nobody not found" policy allow network x.test.org --sandbox nobody
t 2 "write HOST:PORT, without a scheme" policy allow network https://x.test.org/
t 2 "no rule can allow this" policy allow network 169.254.169.254
t 2 "empty label" policy allow network a..b
t 2 "empty resource" policy allow network ""
t 2 "empty resource" policy allow network a.test.org,
t 2 "write \"**\"" policy allow network "*"
t 2 "" policy allow network a.test.org:0
t 2 "" policy allow network a.test.org:9-3
t 2 "contradict" policy allow network a.test.org --global --sandbox x
t 2 "" policy allow network
t 2 "" policy allow network a.test.org b.test.org
t 2 "which rule?" policy rm network
t 1 "TCP" policy deny network a.test.org --protocol udp
t 1 "not for methods" policy allow network a.test.org --method GET
# What rules are for goes without saying, and may be said; a remark on the file is made once, and a denial of what never opens is none.
t 0 "Allowed: tcp.test.org" policy allow network tcp.test.org --protocol tcp
t 0 "Denied: both.test.org" policy deny network both.test.org --protocol tcp,udp
t 1 "UDP never leaves a sandbox" policy allow network a.test.org --protocol tcp,udp
t 2 "want tcp" policy allow network a.test.org --protocol icmp
t 0 "Denied: 169.254.169.254" policy deny network 169.254.169.254
lacks "never matches" policy ls
printf '  - { decision: allow, resource: "100.100.100.200", id: inert }\n' >>"$config/policy.yaml"
n=$((n + 1))
[ "$("$SBX_BIN" policy allow network once.test.org 2>&1 | grep -c 'never matches')" = 1 ] || bad "a remark on policy.yaml is not made once"
t 0 "Removed" policy rm network --id inert
t 0 "Removed" policy rm network 169.254.169.254
# Who made a rule.
lacks "preset" policy ls --created-via added
t 0 "preset balanced" policy ls --created-via default --include-inactive
lacks "mine" policy ls --wide --protocol udp
lacks "example" policy log --type filesystem
# Rules for one sandbox are in no list of all but that of the file.
cat >>"$config/policy.yaml" <<'YAML'
  - { decision: allow, resource: "only.test.org", sandbox: "demo" }
YAML
t 0 "demo" policy ls --wide
t 4 "Denied" policy check network only.test.org
t 1 "there is a rule for sandbox demo, not for all sandboxes; add --sandbox demo" policy rm network only.test.org
t 0 "Removed: only.test.org for sandbox demo" policy rm network only.test.org --sandbox demo
t 0 "network: 149 allow, 0 deny" policy ls
t 0 "bad.example.com" policy ls --wide --decision deny
t 2 "--source" policy ls --source moon

# Many at once lose nothing.
for i in 1 2 3 4 5 6 7 8; do "$SBX_BIN" policy allow network "p$i.test.org" >/dev/null 2>&1 & done
wait
n=$((n + 1))
[ "$(grep -c '"p[1-8].test.org"' "$config/policy.yaml")" = 8 ] || bad "rules were lost"

# The same as one JSON value.
j 'v["allowed"] is True and v["rule"] == "mine" and v["resource_value"] == "a.example.com:443"' \
    policy check network a.example.com --json
j 'v["allowed"] is False and v["deny_kind"] == "implicit" and v["reason"] == "default-deny"' \
    policy check network evil.example.org --json
j 'v["nearest"]["rule"] == "mine"' policy check network a.example.com:80 --json
j 'v["rules"][0]["status"] == "added" and v["rules"][0]["applies_to"] == "all"' policy allow network j.test.org --json
j 'v["rules"][0]["status"] == "covered"' policy allow network j.test.org:1 --json
j 'v["rules"][0]["status"] == "removed"' policy rm network j.test.org --json
j '[r["effect"] for r in v["rules"]] == ["decides"] and v["allowed"] is False' policy explain bad.example.com:80 --json
j '[r["decision"] for r in v["rules"]] == ["deny", "allow"]' policy explain bad.example.com --json
j 'v["deny_kind"] == "explicit"' policy check network bad.example.com --json
j 'any(r["id"] == "mine" and r["resources"] == ["**.example.com:443"] and r["editable"] for r in v["rules"])' \
    policy ls --output json
j 'v == {"blocked_hosts": [], "allowed_hosts": [], "failed_hosts": [], "gate_ends": []}' policy log --json

# What was approved of kits: shown with the rules, taken back like one; reset takes all back.
digest=sha256:$(printf '%064d' 7)
approvals() { printf 'preset: deny-all\ninitialized: true\nrules:\n  - { decision: allow, resource: "localhost:5432" }\napprovals:\n'
    for k in web db; do printf '  - { kit: %s, digest: "%s", resource: "host.docker.internal:5432" }\n' $k "$digest"; done; } >"$config/policy.yaml"
approvals
t 0 "network: 1 allow, 0 deny" policy ls --source local
j '[(r["scope"], r["applies_to"], r["status"], r["kit_digest"]) for r in v["rules"] if r["policy_name"] == "approvals"] == [("kit", "kit web", "approved", "'"$digest"'"), ("kit", "kit db", "approved", "'"$digest"'")]' \
    policy ls --json
t 0 "user policy.yaml:6 (kit web@sha256:000000000000)" policy ls --wide
t 0 "for kit db (approval a-" policy rm network localhost:5432
t 1 "you have no such rule" policy rm network localhost:5432
approvals
one=$("$SBX_BIN" policy ls --json | python3 -c 'import json, sys; print([r["id"] for r in json.load(sys.stdin)["rules"] if r["applies_to"] == "kit db"][0])')
j '[(r["scope"], r["applies_to"], r["status"]) for r in v["rules"]] == [("kit", "kit db", "removed")]' policy rm network --id "$one" --json
t 0 "kit web" policy ls
t 0 "localhost:5432" policy ls --wide
t 1 "leave out --sandbox" policy rm network localhost:5432 --sandbox demo
t 0 "reset" policy reset --force
j '[r for r in v["rules"] if r["policy_name"] == "approvals"] == [] and [r for r in v["rules"] if r["policy_name"] == "user"] != []' policy ls --json
approvals
sed -i '/^initialized/d' "$config/policy.yaml"
t 0 "" reset --force
lacks "approvals" policy ls
printf 'approvals: [ { kit: web, digest: "sha256:1", resource: "localhost:1" } ]\n' >"$config/policy.yaml"
t 1 "policy.yaml:1:34: approvals.digest" policy ls

# Broken files are named with the place, by every verb that reads them.
echo 'presett: x' >"$config/policy.yaml"
t 1 "policy.yaml:1" policy ls
t 1 "preset" policy init balanced
t 1 "policy.yaml:1" plan shell "$work/ws"
printf 'rules: [ { decision: allow, resource: "a..b" } ]\n' >"$config/policy.yaml"
t 1 "policy.yaml:1" policy check network a.example.com
printf 'rules: [ { decision: allow, resource: "a.example.com", sandbox: "demo" } ]\n' >"$config/policy.yaml"
t 0 "demo" policy ls
rm "$config/policy.yaml"
echo 'images: [ ]' >"$config/settings.yaml"
t 1 "settings.yaml:1" policy ls
printf 'images: { shell: "example.com/mine:1" }\nruntime: oci\n' >"$config/settings.yaml"
j 'v["container"]["image"] == "example.com/mine:1"' plan shell "$work/ws" --json
j 'v["container"]["image"] == "other:2"' plan shell "$work/ws" --json --template other:2

finish 80
