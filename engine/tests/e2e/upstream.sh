#!/bin/bash
# This machine itself has to use a proxy: sandboxes go through it, by name, and its password is nowhere to be seen.
. "$(dirname "$0")/lib.sh"

secret=u5er:pa55-$$
mixin net <<'SPEC'
permissions: { network: { allow: ["only-upstream.example.org", "near.example.org"] } }
SPEC
cat >"$work/proxy.py" <<'PY'
"""A proxy that reaches nothing: it writes heads down and answers itself."""
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
def serve(conn):
    head = b""
    while b"\r\n\r\n" not in head:
        more = conn.recv(65536)
        if not more:
            return
        head += more
    with open(sys.argv[1], "ab") as f:
        f.write(head)
    if head.startswith(b"CONNECT"):
        conn.sendall(b"HTTP/1.1 200 Connection established\r\n\r\ngreetings from upstream\n")
    else:
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\nvia upstream")
    conn.shutdown(socket.SHUT_WR)
    conn.recv(1)
    conn.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PY
python3 "$work/proxy.py" "$work/heads" >"$work/port" &
proxy=$!
cleanup() { kill "$proxy" 2>/dev/null; }
await [ -s "$work/port" ]
url=http://$secret@127.0.0.1:$(cat "$work/port")

new_name
HTTPS_PROXY=$url http_proxy=$url NO_PROXY=near.example.org sbx create --runtime "$runtime" shell --kit "$work/net" \
    --name "$name" >"$work/create.log" 2>&1 || die "create: $(cat "$work/create.log")"
inside() { timeout 30 "$SBX_BIN" --app-name "$app" --no-input exec -u 0 "$name" -- "$@"; }

is "http" "$(inside curl -sS -m 30 http://only-upstream.example.org/)" "via upstream"
is "a program that knows no proxy" \
    "$(inside bash -c 'exec 3<>/dev/tcp/only-upstream.example.org/2222; head -1 <&3')" "greetings from upstream"
has "a tunnel by name" "$(cat "$work/heads")" "CONNECT only-upstream.example.org:2222 HTTP/1.1"
has "absolute-form" "$(cat "$work/heads")" "GET http://only-upstream.example.org/ HTTP/1.1"
is "with the password" "$(grep -c "^Proxy-Authorization: Basic $(printf %s "$secret" | base64)" "$work/heads")" 2
is "NO_PROXY is dialled" "$(inside curl -sS -m 30 -o /dev/null -w '%{http_code}' http://near.example.org/)" 502
hasnt "and never asked for upstream" "$(cat "$work/heads")" near.example.org
has "the log says upstream" "$(sbx policy log "$name" --raw)" '"address":"upstream"'

state=$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$name
b64=$(printf %s "$secret" | base64)
printf '%s\n' "$secret" "$b64" >"$work/patterns" # no argument of grep's either
found=$(grep -rlaF -f "$work/patterns" "$state" /proc/[0-9]*/cmdline 2>/dev/null)
is "the password is in no file of the sandbox and no argument" "$found" ""
is "nor inside" "$(inside sh -c 'env; cat /proc/*/environ 2>/dev/null' | grep -caF -f "$work/patterns")" 0

# The next gate goes by the command that starts it; settings.yaml holds whichever that is.
exits "stop" 0 sbx stop "$name"
exits "start without the variables" 0 sbx start "$name"
is "no proxy, no name" "$(inside curl -sS -m 30 -o /dev/null -w '%{http_code}' http://only-upstream.example.org/)" 502
mine=$work/config/sbx/apps/$app
mkdir -p "$mine"
cp "$XDG_CONFIG_HOME/sbx/apps/$app/settings.yaml" "$mine/settings.yaml"
printf '  proxy:\n    http: "http://127.0.0.1:%s"\n    credentialsFile: "%s"\n' "$(cat "$work/port")" "$work/password" >>"$mine/settings.yaml"
printf '%s\n' "$secret" >"$work/password"
chmod 600 "$work/password"
rm "$work/heads"
exits "stop" 0 sbx stop "$name"
XDG_CONFIG_HOME=$work/config exits "start with settings" 0 sbx start "$name"
is "by settings" "$(inside curl -sS -m 30 http://only-upstream.example.org/)" "via upstream"
is "with the file's password" "$(grep -c "^Proxy-Authorization: Basic $b64" "$work/heads")" 1
chmod 644 "$work/password"
exits "stop" 0 sbx stop "$name"
XDG_CONFIG_HOME=$work/config exits "a password for everybody is refused" 1 sbx start "$name"
has "and said how to mend it" "$out" "chmod 600"
