#!/bin/bash
# Workspaces that are replaced under a stopped sandbox, as an agent can do to those below its own.
. "$(dirname "$0")/lib.sh"

m=$work/m secret=$work/secret
mkdir -p "$m/proj/sub" "$secret/sub" "$work/plain"
echo host >"$secret/sub/key"
echo mine >"$m/proj/sub/file"
chown -R 1000:1000 "$m" "$work/plain"

new_name
d1=$name
sbx create --runtime "$runtime" shell --name "$d1" "$m" >"$work/log" 2>&1 || die "create: $(cat "$work/log")"
new_name
d2=$name
sbx create --runtime "$runtime" shell --name "$d2" "$m/proj/sub" >"$work/log" 2>&1 || die "create: $(cat "$work/log")"
is "the inner one is seen" "$(sbx exec "$d2" -- cat file)" mine
is "workspaces are nosuid inside" "$(sbx exec "$d2" -- sh -c "grep -c ' $m/proj/sub .*nosuid' /proc/self/mounts")" 1
sbx stop "$d2" >/dev/null 2>&1
exits "the agent of the outer one puts a link in the path" 0 sbx exec "$d1" -- sh -c "mv proj away && ln -s $secret proj"
exits "which is not followed at the start of the inner one" 125 sbx exec "$d2" -- cat key
has "and is named" "$out" "symbolic link"
is "nothing is mounted" "$(grep -c "sandboxes/$d2/mnt" /proc/self/mounts)" 0
rm "$m/proj"
mkdir -p "$m/proj/sub"
exits "another directory is not taken either" 125 sbx exec "$d2" -- ls
has "and the way out is told" "$out" "was replaced"
rm -r "$m/proj"
mv "$m/away" "$m/proj"
is "the right one is" "$(sbx exec "$d2" -- cat file)" mine

new_name
exits "a workspace in another one" 2 sbx create --runtime "$runtime" shell --name "$name" "$m" "$m/proj"
has "is refused" "$out" "is inside the workspace $m"
new_name
sbx create --runtime "$runtime" shell --name "$name" "$m" "$m/proj/sub/file:ro" >"$work/log" 2>&1 || die "create: $(cat "$work/log")"
exits "a protected file cannot be written" 2 sbx exec "$name" -- sh -c "echo x >$m/proj/sub/file"
is "and is as it was" "$(cat "$m/proj/sub/file")" mine

# A setuid program of the agent counts for nothing inside; the host is warned where it would be root's.
exits "a setuid copy" 0 sbx exec "$name" -- sh -c "cp /usr/bin/id . && sudo chown 0 id && sudo chmod 4755 id"
is "does not make root inside" "$(sbx exec "$name" -- ./id -u)" 1000
rm -f "$m/id"
mkdir "$work/root"
new_name
out=$(sbx create --runtime "$runtime" shell --name "$name" "$work/root" 2>&1)
has "a workspace of root is warned of" "$out" "belongs to root"

# A record that cannot be read is not taken for a create that was cut off.
state=$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$name
cp "$state/sandbox.json" "$work/record"
echo garbage >"$state/sandbox.json"
exits "create of a name with a broken record" 1 sbx create --runtime "$runtime" shell --name "$name"
has "names the file" "$out" "$state/sandbox.json"
cp "$work/record" "$state/sandbox.json"
exits "the sandbox is as it was" 0 sbx exec "$name" -- true
echo garbage >"$state/net/gate.pid.json"
exits "a broken pid file is made anew" 0 sbx exec "$name" -- true
exits "an empty app name is refused" 2 "$SBX_BIN" --app-name '' ls

# Killed while the Engine makes the container: rm finds what appears after all.
if [ "$runtime" = docker ]; then
    mixin vol <<<'volumes: [{ path: /data/x }]'
    for delay in 0.05 0.15 0.3; do
        new_name
        "$SBX_BIN" --app-name "$app" --no-input create --runtime docker shell --kit "$work/vol" --name "$name" >/dev/null 2>&1 &
        pid=$!
        until [ -e "$XDG_STATE_HOME/sbx/apps/$app/sandboxes/$name/asked" ] || ended $pid; do :; done
        sleep "$delay" # at different points of what the Engine does: none may matter
        kill -9 $pid
        wait $pid 2>/dev/null
        exits "rm after a create killed $delay s into the request" 0 sbx rm -f "$name"
        exits "the name can be used at once" 0 sbx create --runtime docker shell --kit "$work/vol" --name "$name"
        exits "and removed" 0 sbx rm -f "$name"
        is "no container is left" "$(docker ps -aq --filter "label=sbx.sandbox=$name")" ""
        is "no volume is left" "$(docker volume ls -q | grep -c -- "-$name-")" 0
    done
fi
