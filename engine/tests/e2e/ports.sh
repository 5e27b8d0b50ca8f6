#!/bin/bash
# Ports inward: services inside, on all addresses or on their loopback, reached from this machine; sticky over stop and start.
. "$(dirname "$0")/lib.sh"

cat >"$work/service.pl" <<'PL'
use IO::Socket::IP; # greets with its name, then echoes to the end of the stream
my ($name, $address, $port) = @ARGV;
my $l = IO::Socket::IP->new(Listen => 128, LocalHost => $address, LocalPort => $port, ReuseAddr => 1) or die "$@";
$SIG{CHLD} = 'IGNORE';
while (my $c = $l->accept) {
    next if fork;
    syswrite $c, "$name\n";
    while (sysread $c, my $data, 65536) { my $o = 0; $o += syswrite($c, $data, length($data) - $o, $o) // last while $o < length $data }
    exit 0;
}
PL
mixin web <<'SPEC'
ports: [ { container: 7001, protocol: tcp, name: any }, { container: 7002 }, { container: 7053, protocol: udp } ]
setup:
  startup:
    - { command: ["perl", "/usr/local/lib/service.pl", "any", "0.0.0.0", "7001"], background: true }
    - { command: ["perl", "/usr/local/lib/service.pl", "loopback", "127.0.0.1", "7002"], background: true }
    - { command: ["perl", "/usr/local/lib/service.pl", "six", "::1", "7003"], background: true }
    - { command: ["perl", "-MIO::Socket::INET", "-e", "$s = IO::Socket::INET->new(LocalAddr => '127.0.0.1:7053', Proto => 'udp') or die; send $s, \"udp $d\", 0, $p while $p = recv $s, $d, 65536, 0"], background: true }
SPEC
{ printf 'setup:\n  install:\n    - command: |\n        cat >/usr/local/lib/service.pl <<'"'EOF'"'\n'
  sed 's/^/        /' "$work/service.pl"; printf '        EOF\n'; sed -n '/startup:/,$p' "$work/web/spec.yaml"; } >"$work/setup"
sed -i '/^setup:/,$d' "$work/web/spec.yaml"
cat "$work/setup" >>"$work/web/spec.yaml"
ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"

greet() { # HOST PORT: the first line of a service, or what went wrong
    timeout 5 bash -c 'exec 3<>"/dev/tcp/$0/$1" || exit; read -r -t 4 line <&3 && echo "$line" || echo nothing' "$1" "$2" 2>&1 |
        sed 's/.*Connection refused.*/refused/;s/.*reset by peer.*/nothing/' | head -1
}
until_greets() { for _ in $(seq 100); do [ "$(greet "$1" "$2")" = "$3" ] && break; sleep 0.1; done; is "$4" "$(greet "$1" "$2")" "$3"; }
port_of() { sbx ports "$name" --json | jq -r "[.ports[] | select(.sandbox_port == $1)][0].host_port"; }

# A port that is taken fails the create, and nothing is left.
perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0") or die; $| = 1; print $l->sockport, "\n"; sleep 300' >"$work/taken" &
taker=$!
cleanup() { kill $taker 2>/dev/null; wait $taker 2>/dev/null; }
await [ -s "$work/taken" ]
taken=$(cat "$work/taken")
new_name
exits "a host port in use fails the create" 1 sbx create --runtime "$runtime" shell --name "$name" -p "$taken:80" "$ws"
has "and says so" "$out" "port 127.0.0.1:$taken of this machine is in use"
hasnt "nothing is left" "$(sbx ls -q)" "$name"

new_name
sbx create --runtime "$runtime" shell --kit "$work/web" --name "$name" -p 7003 "$ws" >"$work/create.log" 2>&1 ||
    die "create: $(cat "$work/create.log")"
any=$(port_of 7001) loop=$(port_of 7002) six=$(port_of 7003)
is "four ports" "$(sbx ports ls "$name" --json | jq '.ports | length')" 4
until_greets 127.0.0.1 "$any" any "a service on 0.0.0.0"
until_greets 127.0.0.1 "$loop" loopback "a service on 127.0.0.1"
until_greets 127.0.0.1 "$six" six "a service on ::1 alone"
is "the host side is loopback" "$(sbx ports "$name" --json | jq -r '[.ports[].host_ip] | unique[]')" 127.0.0.1
has "ls shows them" "$(sbx ls)" "127.0.0.1:$any->7001/tcp4"
is "ls --json has them" "$(sbx ls --json | jq -r ".sandboxes[] | select(.name == \"$name\") | .ports[] | select(.sandbox_port == 7002) | .host_port")" "$loop"
has "inspect has them" "$(sbx inspect "$name")" "127.0.0.1:$any->7001/tcp4 (kit web)"

# Datagrams.
echo_of() { # PORT TEXT: the answer to a datagram; one that is lost is sent again
    perl -MIO::Socket::INET -MIO::Select -e '
        my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0], Proto => "udp") or die;
        for (1 .. 50) { send $s, $ARGV[1], 0; next unless IO::Select->new($s)->can_read(0.2);
            next unless defined recv $s, my $d, 65536, 0; print $d; last }' "$1" "$2"
}
datagrams=$(port_of 7053)
is "a kit's UDP port" "$(echo_of "$datagrams" hello)" "udp hello"
has "is shown as what it is" "$(sbx ports "$name")" udp4
exits "one more, at both loopbacks" 0 sbx ports publish "$name" 7053/udp
has "is told" "$out" "->7053/udp6"
is "answers too" "$(echo_of "$(sbx ports "$name" --json | jq '[.ports[] | select(.protocol == "udp6")][0].host_port')" again)" "udp again"
exits "and is taken back" 0 sbx ports unpublish "$name" "$(sbx ports "$name" --json | jq '[.ports[] | select(.protocol == "udp6")][0].host_port')":7053/udp

# Bytes: a megabyte there and back over a half-closed connection, and many connections at once.
perl -MIO::Socket::INET -e '
    my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0], Timeout => 5) or die; <$c>;
    my $want = join "", map { chr(65 + $_ % 26) } 1 .. 1 << 20;
    if (!fork) { my $o = 0; $o += syswrite $c, $want, length($want) - $o, $o while $o < length $want; shutdown $c, 1; exit 0 }
    my $got = ""; 1 while sysread $c, $got, 65536, length $got;
    print $got eq $want ? "equal" : "differs at " . length $got' "$any" >"$work/bytes"
is "a megabyte and a half-close" "$(cat "$work/bytes")" equal
perl -MIO::Socket::INET -e '
    my @c = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $ARGV[0], Timeout => 5) // die } 1 .. 64;
    my $n = 0; for (@c) { my $l = <$_>; $n++ if $l eq "any\n" } print $n' "$any" >"$work/many"
is "64 connections at once" "$(cat "$work/many")" 64

# Publish and take back while it runs.
sbx exec -u 0 "$name" -- sh -c 'perl /usr/local/lib/service.pl late 127.0.0.1 7100 >/dev/null 2>&1 &'
exits "publish" 0 sbx ports publish "$name" 7100
late=$(port_of 7100)
is "tells the mapping" "$out" "Published 127.0.0.1:$late->7100/tcp4"
until_greets 127.0.0.1 "$late" late "it is open at once"
exits "the other spelling, a port of its own" 0 sbx ports "$name" --publish "127.0.0.2:$taken:7100"
is "on another loopback address" "$(greet 127.0.0.2 "$taken")" late
exits "the same again" 1 sbx ports publish "$name" "127.0.0.2:$taken:7100"
has "is told" "$out" "published already"
exits "a port that is taken" 1 sbx port publish "$name" 7101 "$taken:7100"
has "is named" "$out" "port 127.0.0.1:$taken of this machine is in use"
hasnt "and the other of the command is not published either" "$(sbx ports "$name")" 7101
exits "both families" 0 sbx ports publish "$name" 7001/tcp
is "with one number" "$(sbx ports "$name" --json | jq '[.ports[] | select(.sandbox_port == 7001 and .kit == null) | .host_port] | (length == 2) and (.[0] == .[1])')" true
both=$(sbx ports "$name" --json | jq '[.ports[] | select(.protocol == "tcp6")][0].host_port')
is "IPv6" "$(greet ::1 "$both")" any
is "IPv4" "$(greet 127.0.0.1 "$both")" any
exec 5<>"/dev/tcp/127.0.0.1/$late"
read -r -t 4 line <&5
is "a connection that stays" "$line" late
exits "unpublish takes every mapping of the port" 0 sbx ports unpublish "$name" 7100
is "two" "$(wc -l <<<"$out")" 2
read -r -t 5 line <&5 2>/dev/null
[ $? -le 128 ] && pass "its open connection ends" || fail "its open connection stays"
exec 5<&-
is "refused now" "$(greet 127.0.0.1 "$late")" refused
exits "unpublish of what is not there" 1 sbx ports unpublish "$name" 7100
is "nobody listens inside: reset" "$(sbx ports publish "$name" 7999 >/dev/null; greet 127.0.0.1 "$(port_of 7999)")" nothing

# Sticky: a dead gate, stop and start; a number that somebody took meanwhile gives way, and is told.
state=$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$name
gate=$(jq .pid "$state/net/gate.pid.json")
kill -9 "$gate"
await ended "$gate"
exits "the next command brings the gate back" 0 sbx start "$name"
until_greets 127.0.0.1 "$any" any "with the ports"
exits "stop" 0 sbx stop "$name"
is "closed" "$(greet 127.0.0.1 "$any")" refused
hasnt "ls shows no ports of it" "$(sbx ls | grep "^$name ")" "->"
exits "start" 0 sbx start "$name"
is "the same numbers" "$(port_of 7001) $(port_of 7002) $(port_of 7003) $(port_of 7053)" "$any $loop $six $datagrams"
is "datagrams go in again" "$(echo_of "$datagrams" after)" "udp after"
until_greets 127.0.0.1 "$any" any "open again"
exits "stop again" 0 sbx stop "$name"
perl -MIO::Socket::INET -e '$l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:$ARGV[0]", ReuseAddr => 1) or die; $| = 1; print "on\n"; sleep 300' "$loop" >"$work/other" &
kill $taker; wait $taker 2>/dev/null; taker=$!
await [ -s "$work/other" ]
exits "publish starts a stopped one" 0 sbx ports publish "$name" 7200
has "and tells of the number that was taken" "$out" "port $loop of this machine was taken meanwhile"
until_greets 127.0.0.1 "$(port_of 7002)" loopback "its port has another number"
until_greets 127.0.0.1 "$any" any "the others have theirs"
exits "rm" 0 sbx rm -f "$name"
is "the ports are free" "$(greet 127.0.0.1 "$any")" refused
