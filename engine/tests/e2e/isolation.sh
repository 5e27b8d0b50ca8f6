#!/bin/bash
# The gate is the only way out: allowed names through the proxy or without it, and nothing else, tried as root inside.
. "$(dirname "$0")/lib.sh"

mixin net <<'SPEC'
permissions: { network: { allow: ["api.example.com", "git.example.com:443"], deny: ["cdn.example.com"] } }
SPEC
ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
record=$("$SBX_SOURCE_DIR/scripts/fixture/fixture.sh" record)
[ -s "${record%/*}/pid" ] || "$SBX_SOURCE_DIR/scripts/fixture/fixture.sh" up || skip "no test origins"

# Services of the host that must not be reached: on every address, on loopback, on the origins' bridge address.
python3 - "$work/ports" <<'PY' &
import http.server, sys, threading
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open(sys.argv[1] + ".hit", "a").write(self.path + "\n")
        self.send_response(200); self.end_headers(); self.wfile.write(b"host\n")
    def log_message(self, *a): pass
servers = [http.server.ThreadingHTTPServer((a, 0), H) for a in ("0.0.0.0", "127.0.0.1")]
open(sys.argv[1], "w").write(" ".join(str(s.server_port) for s in servers))
for s in servers: threading.Thread(target=s.serve_forever).start()
PY
services=$!
cleanup() { kill -9 $services 2>/dev/null; wait $services 2>/dev/null; }
await [ -s "$work/ports" ]
read -r any_port lo_port <"$work/ports"

mark=isolation-$runtime-$$
new_name
sbx create --runtime "$runtime" shell --kit "$work/net" --name "$name" "$ws" >"$work/create.log" 2>&1 ||
    die "create: $(cat "$work/create.log")"
root() { timeout 60 "$SBX_BIN" --app-name "$app" --no-input exec -u 0 "$name" -- "$@"; }
code() { root curl -sS -m 30 -o /dev/null -w '%{http_code}' "$@" 2>&1; }

is "allowed, plain" "$(code http://api.example.com/$mark-1)" 200
is "allowed, TLS through CONNECT" "$(code -k https://api.example.com/$mark-2)" 200
is "the origin saw it" "$(grep -c "$mark-1" "$record")" 1
is "not allowed: 403" "$(code http://denied.example.com/$mark-no)" 403
has "a denial names the rule to add" "$(root curl -sS http://denied.example.com/)" "denied.example.com:80"
has "a denial is marked" "$(root curl -sSi http://denied.example.com/)" "X-Sbx-Policy: denied"
has "CONNECT is denied with 403" "$(code -k https://denied.example.com/$mark-no)" "403"
is "denied by the kit" "$(code http://cdn.example.com/$mark-no)" 403
is "by address through the proxy" "$(code http://198.51.100.11/$mark-no)" 403
has "another name of the allowed address, by Host" "$(root curl -sS -m 5 -o /dev/null -w '%{http_code}' -H 'Host: api.example.com' http://denied.example.com/$mark-no)" 403
is "localhost through the proxy" "$(code --noproxy '' -x http://gateway.docker.internal:3128 "http://127.0.0.1:$lo_port/$mark-no")" 403
is "the host by its alias" "$(code "http://host.docker.internal:$any_port/$mark-no")" 403
is "metadata address" "$(code http://169.254.169.254/$mark-no)" 403

# Without the proxy: names that a rule allows resolve, and TCP to them works, whatever the client.
bare() { # COMMAND...: no proxy variables
    root env -u HTTP_PROXY -u HTTPS_PROXY -u http_proxy -u https_proxy -u ALL_PROXY -u all_proxy -u NO_PROXY -u no_proxy "$@"
}
bare_code() { bare curl -sS -m 30 -o /dev/null -w '%{http_code}' "$@" 2>&1; }
synthetic=$(bare getent ahostsv4 api.example.com | awk '{print $1; exit}')
has "an allowed name resolves to an address of the sandbox's own" "$synthetic" "198.19."
is "and back" "$(bare getent hosts "$synthetic" | awk '{print $2}')" api.example.com
is "curl without a proxy" "$(bare_code http://api.example.com/$mark-3)" 200
is "curl without a proxy, TLS" "$(bare_code -k https://api.example.com/$mark-4)" 200
is "the origins saw both" "$(grep -c "$mark-[34]" "$record")" 2
has "bash by /dev/tcp, raw" "$(bare bash -c 'exec 3<>/dev/tcp/api.example.com/9000 && timeout 30 head -c 7 <&3')" banner
has "perl's own resolver" "$(bare perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => "api.example.com:9000", Timeout => 5) or die $!; print scalar <$s>')" banner
if bare sh -c 'command -v python3' >/dev/null 2>&1; then
    has "Python without a proxy" "$(bare python3 -c 'import urllib.request as u; print(u.urlopen("http://api.example.com/py", timeout=8).status)' 2>&1)" 200
else
    echo "NOTE: no Python in the image: not tried there"
fi
bare git -c http.sslVerify=false ls-remote https://git.example.com/$mark-5 >/dev/null 2>&1
is "git without a proxy reaches the server" "$(grep -c "$mark-5/info/refs" "$record")" 1

closed() { # WHAT COMMAND...: must not succeed, and fast
    local what=$1
    shift
    if out=$(root "$@" 2>&1); then fail "$what: succeeded: $out"; else pass "$what"; fi
}
n=(curl -sS -m 5 --noproxy '*')
closed "direct to the allowed address" "${n[@]}" http://198.51.100.10/$mark-no
closed "direct to a denied address" "${n[@]}" http://198.51.100.11/$mark-no
closed "direct, TLS" "${n[@]}" -k https://198.51.100.10/$mark-no
closed "direct, another port" "${n[@]}" http://198.51.100.10:8080/$mark-no
closed "host service on 0.0.0.0 by the origins' bridge" "${n[@]}" "http://198.51.100.1:$any_port/$mark-no"
for address in $(ip -4 -o addr show scope global | awk '{sub(/\/.*/, "", $4); print $4}'); do
    closed "host service on 0.0.0.0 by $address" "${n[@]}" "http://$address:$any_port/$mark-no"
done
closed "host service on the host's loopback" "${n[@]}" "http://127.0.0.1:$lo_port/$mark-no"
closed "direct, IPv6" "${n[@]}" "http://[2001:db8::1]/$mark-no"
closed "raw TCP" bash -c 'exec 3<>/dev/tcp/198.51.100.10/9000 && timeout 3 head -c 1 <&3 | grep -q .'
closed "the door's own address" bash -c 'exec 3<>/dev/tcp/198.18.0.1/1 && timeout 3 head -c 1 <&3 | grep -q .'
closed "UDP" perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0) or die; connect($s, sockaddr_in(9, inet_aton("198.51.100.10"))) or die $!; send($s, "x", 0) or die $!'
closed "UDP multicast" perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0) or die; send($s, "x", 0, sockaddr_in(5353, inet_aton("224.0.0.251"))) or die $!'
closed "ICMP, raw" perl -MSocket -e 'socket(my $s, AF_INET, SOCK_RAW, 1) or die $!; send($s, "\x08\0\xf7\xff\0\0\0\0", 0, sockaddr_in(0, inet_aton("198.51.100.10"))) or die $!'
closed "ICMP, ping socket" perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 1) or die $!; send($s, "\x08\0\xf7\xff\0\0\0\0", 0, sockaddr_in(0, inet_aton("198.51.100.10"))) or die $!'
closed "AF_PACKET" perl -e 'socket(my $s, 17, 3, 0) or die $!'
closed "vsock" perl -e 'socket(my $s, 40, 1, 0) or die $!'
closed "io_uring" perl -e 'syscall(425, 4, my $p = "\0" x 120) >= 0 or die $!'
closed "io_uring_enter" perl -e 'syscall(426, 0, 0, 0, 0, 0, 0) >= 0 or die $!'
closed "netlink: a new link" perl -e 'syscall(272, 0x40000000) == 0 or die $!'
closed "mount" mount -t tmpfs none /mnt
closed "DNS for a name that no rule allows" getent ahostsv4 unknown.example.net
closed "DNS for a denied name" getent ahostsv4 cdn.example.com
closed "an allowed name on another port" "${n[@]}" http://git.example.com/$mark-no
closed "another server name to an allowed name" "${n[@]}" -k --connect-to denied.example.com:443:api.example.com:443 https://denied.example.com/$mark-no
closed "the same through the proxy" curl -sS -m 5 -k --connect-to denied.example.com:443:api.example.com:443 https://denied.example.com/$mark-no
closed "TLS without a server name" "${n[@]}" -k "https://$synthetic/$mark-no"
closed "an address that no name has" "${n[@]}" http://198.19.77.77/$mark-no
closed "the host by its alias, without the proxy" "${n[@]}" "http://host.docker.internal:$any_port/$mark-no"
closed "DNS by another resolver" perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0) or die; send($s, "x" x 20, 0, sockaddr_in(53, inet_aton("198.51.100.10"))) or die $!'
closed "a process that an exec left behind" sh -c "nohup curl -sS -m 5 --noproxy '*' http://198.51.100.10/$mark-no"
closed "flush the rules" sh -c 'ip rule flush || nft flush ruleset'
is "its own loopback is its own" "$(root perl -MIO::Socket::INET -e 'my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0") or die; my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $l->sockport) or die; print "ok"')" ok
# With SO_REUSEADDR, as servers have it: closed connections of the proxy door rest on the port for a minute.
is "its services may listen on 0.0.0.0:3128" "$(root perl -MIO::Socket::INET -e 'IO::Socket::INET->new(Listen => 1, ReuseAddr => 1, LocalAddr => "0.0.0.0:3128") or die $!; print "ok"')" ok

# A socket file in a mount is a way to the host.
if command -v socat >/dev/null; then
    mkdir "$work/sockets"
    socat UNIX-LISTEN:"$work/sockets/s",fork EXEC:true &
    services="$services $!"
    await [ -S "$work/sockets/s" ]
    new_name
    exits "a mount with a socket in it is refused" 1 sbx create --runtime "$runtime" shell --name "$name" "$work/sockets"
    has "and named" "$out" "$work/sockets/s"
    name=${names[0]}
fi
new_name
exits "mounting / is refused" 1 sbx create --runtime "$runtime" shell --name "$name" /
new_name
exits "mounting our state is refused" 1 sbx create --runtime "$runtime" shell --name "$name" "$XDG_STATE_HOME/sbx"
name=${names[0]}

is "no forbidden request arrived at an origin" "$(grep -c "$mark-no" "$record")" 0
is "no request arrived at the host's services" "$(cat "$work/ports.hit" 2>/dev/null)" ""
log=$(sbx policy log "$name" --json)
has "the log has the blocked host" "$(jq -r '.blocked_hosts[].host' <<<"$log")" "denied.example.com:80"
has "the log has the allowed host" "$(jq -r '.allowed_hosts[].host' <<<"$log")" "api.example.com:443"
has "direct attempts are in the log" "$(jq -r '.blocked_hosts[].host' <<<"$log")" "198.51.100.10:80"
text=$(sbx policy log "$name")
has "refused names are in the log" "$(jq -r '.blocked_hosts[].host' <<<"$log")" "unknown.example.net"
has "the way is in the log" "$(jq -r '.allowed_hosts[].proxy_type' <<<"$log")" "transparent"
has "and what was raw" "$(jq -r '.allowed_hosts[] | select(.host == "api.example.com:9000").proxy_type' <<<"$log")" "network"
has "the log's two sections" "$text" "Blocked requests"

# The host's own services, by rule only: every spelling of the rule is one, and so is every way to the service.
sbx policy allow network "localhost:$lo_port" --sandbox "$name" >/dev/null || fail "allow a port of the host"
is "the host by its alias, allowed, through the proxy" "$(code "http://host.docker.internal:$lo_port/$mark-6")" 200
is "the same without the proxy" "$(bare_code "http://host.docker.internal:$lo_port/$mark-7")" 200
has "raw TCP to it" "$(bare bash -c "exec 3<>/dev/tcp/host.docker.internal/$lo_port && printf 'GET /$mark-8 HTTP/1.0\r\n\r\n' >&3 && timeout 30 cat <&3")" "200 OK"
is "another port of the host stays closed" "$(code "http://host.docker.internal:$any_port/$mark-no")" 403
closed "and without the proxy" "${n[@]}" "http://host.docker.internal:$any_port/$mark-no"
closed "its address says nothing else" "${n[@]}" "http://172.17.0.1:$lo_port/$mark-no"
is "localhost through the proxy stays refused" "$(code --noproxy '' -x http://gateway.docker.internal:3128 "http://localhost:$lo_port/$mark-no")" 403
sbx policy deny network "host.docker.internal:$lo_port" --sandbox "$name" >/dev/null || fail "deny a port of the host"
is "denied by the other spelling" "$(code "http://host.docker.internal:$lo_port/$mark-no")" 403
closed "and without the proxy too" "${n[@]}" "http://host.docker.internal:$lo_port/$mark-no"
exits "check says the same" 4 sbx policy check network --sandbox "$name" "host.docker.internal:$lo_port"
is "only what was allowed arrived at the host's services" "$(grep -c "$mark-no" "$work/ports.hit")" 0
