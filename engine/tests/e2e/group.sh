#!/bin/bash
# An ordinary user whose only group is docker: the same sandbox, with a holder container instead of root.
. "$(dirname "$0")/lib.sh"
[ "$runtime" = docker ] || skip "only the docker runtime knows docker-group users"
getent group docker >/dev/null || skip "no group docker"
[ -S /var/run/docker.sock ] || skip "no /var/run/docker.sock"

user=sbxgroup$$
# Not 1000, whose processes other sandboxes have.
useradd --uid $((61000 + $$ % 3000)) --no-user-group --gid docker --create-home --home-dir "$work/home" "$user" || skip "cannot make a user"
chgrp docker /var/run/docker.sock 2>/dev/null
cleanup() {
    ip netns del "box$$in" 2>/dev/null
    rm -rf "/etc/netns/box$$in"
    as reset --force >/dev/null 2>&1
    pkill -9 -u "$user" 2>/dev/null
    userdel "$user" 2>/dev/null
}
chmod 755 "$work"
mkdir -p "$work/home/.config/sbx"
"$SBX_SOURCE_DIR/scripts/fixture/fixture.sh" settings >"$work/home/.config/sbx/settings.yaml"
mixin net <<'SPEC'
permissions: { network: { allow: ["api.example.com"] } }
setup: { install: [ { command: "id -u > /root/installed" } ] }
SPEC
mkdir "$work/home/ws"
chown -R "$user:docker" "$work/home"
chmod 777 "$work/home/ws"
# The build tree may lie where an ordinary user cannot look.
cp -r "$(dirname "$(dirname "$SBX_BIN")")/bin" "$(dirname "$(dirname "$SBX_BIN")")/libexec" "$work/" 2>/dev/null
[ ! -d "$(dirname "$(dirname "$SBX_BIN")")/share" ] || cp -r "$(dirname "$(dirname "$SBX_BIN")")/share" "$work/"
chmod -R a+rX "$work/bin" "$work/libexec"
as() { (cd "$work/home" && setpriv --reuid "$user" --regid docker --clear-groups env -i HOME="$work/home" PATH="$PATH" \
    SBX_NO_COLOR=1 "$work/bin/sbx" --no-input "$@"); }

id=box$$ # others may run this at the same time
exits "create" 0 as create --runtime docker shell --kit "$work/net" --name $id "$work/home/ws"
e() { as exec -u 0 $id -- "$@"; }
code() { e curl -sS -m 30 -o /dev/null -w '%{http_code}' "$@" 2>&1; }
is "install ran" "$(e cat /root/installed)" 0
is "allowed" "$(code http://api.example.com/group)" 200
is "denied" "$(code http://denied.example.com/group-no)" 403
is "only loopback" "$(e ls /sys/class/net)" lo
out=$(e curl -sS -m 5 --noproxy '*' http://198.51.100.10/group-no 2>&1) && fail "direct: $out" || pass "direct is closed"
out=$(e sh -c 'ip route flush table 100 || nft flush ruleset' 2>&1) && fail "rules flushed: $out" || pass "root inside cannot flush the rules"
is "host name" "$(e hostname)" $id
container=$(docker ps -q --filter label=sbx.sandbox=$id --filter label=sbx.role=sandbox)
if [ -n "$container" ]; then
    docker restart -t 1 "$container" >/dev/null
    is "after docker restart the doors are still there" "$(code http://api.example.com/group)" 200
else
    fail "no container labelled sbx.sandbox=$id sbx.role=sandbox"
fi

# A container behind a bridge inside (made from outside, as root: the sandbox's own root may not) meets the same verdicts by all doors.
pid=$(docker inspect -f '{{.State.Pid}}' "$container")
nested=box$$in
netns=(nsenter -t "$pid" -n)
ip netns add $nested
"${netns[@]}" sh -ec "ip link add br0 type bridge; ip address add 172.30.9.1/24 dev br0; ip link set br0 up
    ip link add v0 type veth peer name v1; ip link set v0 master br0 up; echo 1 >/proc/sys/net/ipv4/ip_forward"
ip netns exec $nested true && "${netns[@]}" ip link set v1 netns "/run/netns/$nested"
ip netns exec $nested sh -ec "ip link set lo up; ip link set v1 name eth0; ip address add 172.30.9.2/24 dev eth0; ip link set eth0 up; ip route add default via 172.30.9.1"
mkdir -p "/etc/netns/$nested" && echo nameserver 198.18.0.1 >"/etc/netns/$nested/resolv.conf"
bare=(env -u http_proxy -u https_proxy)
for where in sandbox nested; do
    if [ $where = sandbox ]; then in_it() { e "$@"; }; else in_it() { ip netns exec "$nested" timeout 20 "$@"; }; fi
    try() { in_it "${bare[@]}" curl -sS -m 8 -o /dev/null -w '%{http_code}' "$@" 2>/dev/null; }
    address=$(in_it getent ahostsv4 api.example.com | awk '{print $1; exit}')
    got="proxy $(try -x http://198.18.0.1:3128 http://api.example.com/) $(try -x http://198.18.0.1:3128 http://denied.example.com/)"
    got+=" names $address $(in_it getent ahostsv4 denied.example.com | wc -l)"
    got+=" direct $(try http://api.example.com/) $(try http://198.51.100.10/) $(try http://10.0.0.1/) $(try http://198.18.0.1:1/)"
    got+=" host $(try http://198.51.100.1:22/) tracked $("${netns[@]}" cat /proc/sys/net/netfilter/nf_conntrack_count 2>/dev/null || echo 0)"
    [ $where = sandbox ] && first=$got
done
is "behind the bridge: as in the sandbox" "$got" "$first"
has "which is right" "$got" "proxy 200 403 names 198.19."
has "and closed" "$got" " 0 direct 200 000 000 000 host 000 tracked 0"
gate=$(jq .pid "$work/home/.local/state/sbx/sandboxes/$id/net/gate.pid.json")
kill -9 "$gate"
await ended "$gate"
is "without a gate it reaches nothing" "$(try http://api.example.com/)" 000
is "the next command brings the gate back, bridge or not" "$(code http://api.example.com/)" 200
is "also for those behind it" "$(try http://api.example.com/)" 200
ip netns del $nested

exits "stop" 0 as stop $id
exits "start" 0 as start $id
is "allowed after start" "$(code http://api.example.com/group)" 200
has "the log" "$(as policy log $id)" "denied.example.com:80"
# Somebody else's reset, with the same Engine: what it finds there is of another state directory.
exits "reset of another state directory" 0 setpriv --reuid "$user" --regid docker --clear-groups env -i HOME="$work/home" PATH="$PATH" \
    XDG_STATE_HOME="$work/home/other" "$work/bin/sbx" --no-input reset --force
is "does not touch this one" "$(code http://api.example.com/group)" 200

exits "rm" 0 as rm -f $id
is "no container is left" "$(docker ps -aq --filter label=sbx.sandbox=$id | wc -l)" 0
running() { ps -u "$user" -o stat=,args= | grep -v '^Z'; }
none_runs() { [ ! "$(running)" ]; }
await none_runs # the gate has a second to end
is "no process is left" "$(running)" ""
