#!/bin/bash
# sbx-init as PID 1 of a small root file system in namespaces of its own: the marks, the startup list,
# the sub-commands, and the end. Usage: pid1.sh PATH-OF-SBX-INIT
set -u
init=$1
[ "$(id -u)" = 0 ] || { echo "SKIPPED: needs root to make namespaces" >&2; exit 77; }
unshare -pfnm true 2>/dev/null || { echo "SKIPPED: cannot make namespaces here" >&2; exit 77; }

# Mounts are made in a mount namespace of the inner run only. The directory is removed out here, where
# nothing was ever mounted on it: no failed umount can make that reach the host's files.
if [ $# = 1 ]; then
    root=$(mktemp -d -t sbx-pid1.XXXXXX) || exit 1
    trap 'rm -rf --one-file-system "$root"' EXIT
    unshare -m --propagation private bash "$0" "$init" "$root"
    exit $?
fi
root=$2
started=()
failed=0
cleanup() {
    for p in "${started[@]}"; do kill -KILL "$p" 2>/dev/null; done
    wait 2>/dev/null
}
trap cleanup EXIT
[ "$(readlink /proc/self/ns/mnt)" != "$(readlink "/proc/$PPID/ns/mnt")" ] ||
    { echo "NOT OK: no mount namespace of our own" >&2; exit 1; }

is() { # what, got, wanted
    if [ "$2" = "$3" ]; then echo "ok: $1"; return; fi
    printf 'NOT OK: %s\n--- got\n%s\n--- wanted\n%s\n' "$1" "$2" "$3"
    failed=1
}

# ---- a root file system: the host's /usr, everything else our own ----
chmod 755 "$root"
mkdir -p "$root"/{usr,etc/durable-startup.d,var/log,run/sbx,run/sbx-startup,tmp,proc,dev,home/agent,marks}
for d in bin sbin lib lib64; do ln -s "usr/$d" "$root/$d"; done
chmod 1777 "$root/tmp"
touch "$root/dev/null"
mount --bind /usr "$root/usr" && mount -o remount,bind,ro "$root/usr" || exit 1
mount --bind /dev/null "$root/dev/null" || exit 1
mount --bind "$root/marks" "$root/run/sbx" && mount -o remount,bind,ro "$root/run/sbx" || exit 1
cp "$init" "$root/marks/init"
printf '\n#odd\n:x:0:0::/:\nbroken\nagent:x:1000:1000::/home/agent:/bin/bash\nroot:x:0:0::/root:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nagent:x:1000:\nbad\nextra:x:55:foo,agent\n' >"$root/etc/group"

script() { cat >"$root/etc/durable-startup.d/$1"; chmod 755 "$root/etc/durable-startup.d/$1"; }
script who.sh <<'S'
#!/bin/sh
[ -e /run/sbx/done-$(cut -d' ' -f1 /run/sbx/start)-$(cut -d' ' -f2 /run/sbx/start) ] || echo too early
echo "$(id -u):$(id -g):$(id -G) $HOME $USER $LOGNAME $MARK $(tty) $PWD"
S
script count.sh <<'S'
#!/bin/sh
echo run >>/tmp/runs
[ "$(cat /tmp/background 2>/dev/null)" ] || exit 9
S
script back.sh <<'S'
echo $$ >/tmp/background.new; mv /tmp/background.new /tmp/background
exec sleep 1000
S
script first.sh <<'S'
#!/bin/sh
while ! [ -e /tmp/background ]; do sleep 0.01; done
printf 'many\nlines\n\nthe last\t one\n\n'; exit 3
S
script killed.sh <<'S'
#!/bin/sh
kill -SEGV $$
S
script orphan.sh <<'S'
#!/bin/sh
(sh -c 'while [ -e /tmp/hold ]; do sleep 0.01; done' &) ; echo left one
S
printf '%s\t%s\t%s\t%s\t%s\tdescription\n' \
    back.sh kit 1 1000:55 1  first.sh kit 2 agent 0  who.sh kit 3 agent 0  who.sh kit 4 77:88 0 \
    count.sh kit 5 root 0  killed.sh kit 6 0 0  orphan.sh ../x 7 0 0  nothere.sh kit 8 0 0 \
    who.sh kit 9 nobody 0 >"$root/etc/durable-startup.d/list"
printf 'not a line\n' >>"$root/etc/durable-startup.d/list"
wanted=$(printf '%s\t%s\t%s\t%s\n' \
    kit 1 - 'started in the background'  kit 2 3 'the last  one' \
    kit 3 0 '1000:1000:1000 55 /home/agent agent agent mark not a tty /' \
    kit 4 0 '77:88:88 / 77 77 mark not a tty /'  kit 5 0 ''  kit 6 139 ''  ../x 7 0 'left one' \
    kit 8 127 '/etc/durable-startup.d/nothere.sh: No such file or directory' \
    kit 9 126 'user "nobody": no such user' \
    list 10 126 'a line is SCRIPT, KIT, INDEX, USER, BACKGROUND, DESCRIPTION with tabs between'
    echo end)

# A network namespace that outlives PID 1, as a holder container's does.
unshare -n sleep 1000 & holder=$!; started+=("$holder")
until [ "$(readlink /proc/$holder/ns/net)" != "$(readlink /proc/self/ns/net)" ] &&
      [ "$(cat /proc/$holder/comm)" = sleep ]; do :; done

start() { # a container's start: fresh tmpfs, PID 1; sets $pid1 and $waiter
    umount "$root/run/sbx-startup" 2>/dev/null
    mount -t tmpfs -o mode=755 sbx "$root/run/sbx-startup" || exit 1
    MARK=mark nsenter -t "$1" -n unshare -pfm --kill-child --mount-proc="$root/proc" \
        chroot "$root" /run/sbx/init 2>"$root/tmp/stderr" &
    waiter=$!; started+=("$waiter")
    until pid1=$(pgrep -P "$waiter") && [ "$(cat "/proc/$pid1/comm")" = init ]; do :; done
}
inside() { nsenter -t "$pid1" -p -n -m chroot "$root" "$@"; }
stop() { kill -TERM "$pid1"; wait "$waiter"; }

# ---- before the marks ----
touch "$root/tmp/hold"
start "$holder"
probe=$(inside /run/sbx/init probe)
cookie=$(sed -n 's/.*"cookie":\([0-9]*\).*/\1/p' <<<"$probe")
is "probe tells the inside" "$(sed "s/\"cookie\":$cookie/\"cookie\":N/; s/,\"programs.*//" <<<"$probe")" \
    "{\"bootId\":\"$(cat /proc/sys/kernel/random/boot_id)\",\"cookie\":N,\"interfaces\":[\"lo\"],\"agent\":{\"name\":\"agent\",\"uid\":1000,\"gid\":1000,\"home\":\"/home/agent\",\"homeExists\":true},\"door\":\"unreachable\""
is "probe knows programs" "$(grep -o '"sh":[a-z]*' <<<"$probe")" '"sh":true'
# The engine: listens, says that the gate is up, and gives who asks a file of records.
answers=$(python3 - "$root/marks" "gate-$cookie" "$pid1" <<'PY'
import os, shutil, socket, struct, sys, tempfile
marks, gate, pid1 = sys.argv[1:]
s = socket.socket(socket.AF_UNIX)
s.bind(marks + "/steps")
s.listen()
s.settimeout(10)
shutil.copy("/proc/sys/kernel/random/boot_id", f"{marks}/{gate}.new")
os.rename(f"{marks}/{gate}.new", f"{marks}/{gate}")
c, _ = s.accept()
peer = struct.unpack("3i", c.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
print("by PID 1" if peer == int(pid1) else f"by {peer}, not {pid1}")
with tempfile.TemporaryFile() as f:
    f.write(b"write 5 640 0 0 0 /tmp/asked\nhellobad 0 0 0 0 0 /\nmkdir 0 755 0 0 0 /tmp/made\n")
    f.seek(0)
    socket.send_fds(c, [b"x"], [f.fileno()])
while text := c.recv(4096):
    sys.stdout.write(text.decode())
PY
)
is "PID 1 asks for its steps once the gate is up" "$answers" "by PID 1
ok
error unknown verb bad
ok"
is "and does them" "$(cat "$root/tmp/asked") $(stat -c %a "$root/tmp/asked") $(stat -c %F "$root/tmp/made")" "hello 640 directory"
echo "1$cookie 1" >"$root/marks/start"
touch "$root/marks/done-1$cookie-1" "$root/marks/done-$cookie-1"
timeout 0.5 nsenter -t "$pid1" -p -n -m chroot "$root" /run/sbx/init wait
is "nothing runs for another namespace's start" "$? $(ls "$root/run/sbx-startup")" "124 "

# ---- hostile contents: what an earlier run of the agent may have left ----
mkdir -p "$root/var/log/sbx/startup"
echo precious >"$root/etc/precious"
ln -s /etc/precious "$root/var/log/sbx/startup/kit-2.log"
mkfifo "$root/var/log/sbx/startup/kit-3.log"
ln "$root/etc/precious" "$root/var/log/sbx/startup/kit-4.log"

# ---- the marks, and the list ----
echo "$cookie 1" >"$root/marks/start"
is "the list ran, in order, as its users" "$(inside /run/sbx/init wait)" "$wanted"
is "once" "$(cat "$root/tmp/runs")" run
is "output is in a log of each command" "$(cat "$root/var/log/sbx/startup/kit-2.log")" \
    $'many\nlines\n\nthe last\t one'
is "a kit's name is one file name" "$(cat "$root/var/log/sbx/startup/-.-x-7.log" 2>&1)" "left one"
is "no link is followed" "$(cat "$root/etc/precious"; stat -c %h "$root/etc/precious")" $'precious\n1'
is "a background command runs on" "$(cat "/proc/$(pgrep -P "$pid1" sleep)/comm")" sleep
is "and as its user" "$(stat -c %u:%g "/proc/$(pgrep -P "$pid1" sleep)")" 1000:55
rm "$root/tmp/hold"
for _ in $(seq 3000); do [ "$(pgrep -c -P "$pid1")" = 1 ] && break; sleep 0.01; done
is "an orphan is reaped" "$(pgrep -c -P "$pid1")" 1

# ---- write ----
is "write" "$(echo hi | inside /run/sbx/init write /run/sbx-startup/a/b 640 5 6 0)" ok
is "its owner, mode, content on a tmpfs" \
    "$(stat -c '%u:%g %a' "$root/run/sbx-startup/a" "$root/run/sbx-startup/a/b"; cat "$root/run/sbx-startup/a/b")" \
    $'5:6 755\n5:6 640\nhi'
is "write IFMISSING" "$(echo no | inside /run/sbx/init write /run/sbx-startup/a/b 640 5 6 1)" kept
is "write where nothing can be" "$(echo no | inside /run/sbx/init write /run/sbx/x 644 0 0 0 2>&1)" \
    "sbx-init: write /run/sbx/x: make a file: Read-only file system"
inside sh -c 'echo old >/etc/hosts; mount --bind /etc/hosts /etc/hosts'
is "write over a mount point" "$(echo new | inside /run/sbx/init write /etc/hosts 644 0 0 0; inside cat /etc/hosts; inside ls -A /etc | grep sbx-)" $'ok\nnew'
inside /run/sbx/init write x 2>/dev/null </dev/null; is "a wrong command line" "$?" 2
inside /run/sbx/init 2>/dev/null; is "no second PID 1" "$?" 2
is "batch" "$(printf 'mkdir 0 700 1000 1000 0 /home/agent/d\nwrite 2 600 1000 1000 0 /home/agent/d/f\nhi' | inside /run/sbx/init batch; stat -c '%u %a' "$root/home/agent/d/f")" \
    $'ok\nok\n1000 600'

# ---- the end, and the next start in the same namespace ----
stop; is "TERM ends everything" "$?" 143
rm "$root/tmp/background"
start "$holder"
is "the list runs again where the namespace survived" "$(inside /run/sbx/init wait)" "$wanted"
is "once more" "$(cat "$root/tmp/runs")" $'run\nrun'
stop

# ---- a new namespace, and nobody announced it ----
unshare -n sleep 1000 & other=$!; started+=("$other")
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ] &&
      [ "$(cat /proc/$other/comm)" = sleep ]; do :; done
start "$other"
timeout 0.5 nsenter -t "$pid1" -p -n -m chroot "$root" /run/sbx/init wait
is "a start that nobody announced waits" "$?" 124
stop; is "and can be ended" "$?" 143

# ---- a log directory that leads astray, and no list ----
rm -rf "$root/var/log/sbx"; ln -s /dev/null "$root/var/log/sbx"
printf 'who.sh\tkit\t1\troot\t0\t\n' >"$root/etc/durable-startup.d/list"
start "$holder"
is "a command runs without its log" "$(inside /run/sbx/init wait)" $'kit\t1\t0\t\nend'
is "and PID 1 says so" "$(cat "$root/tmp/stderr")" \
    "sbx-init: log of kit 1: directory /var/log/sbx: Not a directory"
stop
rm -r "$root/etc/durable-startup.d"
start "$holder"
is "no list is an empty list" "$(inside /run/sbx/init wait)" end
stop
exit $failed
