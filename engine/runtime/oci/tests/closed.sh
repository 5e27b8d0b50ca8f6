#!/bin/bash
# A sandbox is as closed on runc as on the Engine: forbidden actions tried as root inside, and what the kernel
# says of a process. Usage: closed.sh RUNTIME. The expectations are the same for both, so they are compared.
# shellcheck source=engine/tests/e2e/lib.sh
. "${SBX_SOURCE_DIR:-$(cd "$(dirname "$0")/../../../.." && pwd)}/engine/tests/e2e/lib.sh"

forbidden=${SBX_FORBIDDEN:-$(dirname "$SBX_BIN")/forbidden}
[ -x "$forbidden" ] || skip "$forbidden is not built"
ws=$work/ws
mkdir "$ws"
cp "$forbidden" "$ws/forbidden"
chown -R 1000:1000 "$ws"

new_name
sbx create --runtime "$runtime" shell --name "$name" "$ws" >"$work/create.log" 2>&1 ||
    skip "sbx cannot create a sandbox yet: $(tail -n 1 "$work/create.log")"
root() { timeout 60 "$SBX_BIN" --app-name "$app" --no-input exec -u 0 "$name" -- "$@"; }
agent() { timeout 60 "$SBX_BIN" --app-name "$app" --no-input exec "$name" -- "$@"; }

list=$(root "$ws/forbidden" 2>&1)
[ "$(wc -l <<<"$list")" -ge 30 ] || fail "only these actions were tried: $list"
while read -r action result; do
    case $result in
    refused | works) pass "$action $result" ;;
    *) fail "$action is $result" ;;
    esac
done <<<"$list"

status() { root sh -c "sed -n 's/^$1:[[:space:]]*//p' /proc/$2/status"; }
for pid in self 1; do
    is "capabilities of $pid (the Engine's default less NET_RAW, MKNOD, AUDIT_WRITE)" "$(status CapBnd $pid)" 00000000800405fb
    is "no ambient capability of $pid" "$(status CapAmb $pid)" 0000000000000000
    is "seccomp filter of $pid" "$(status Seccomp $pid)" 2
    is "no_new_privs of $pid is off, so that sudo works" "$(status NoNewPrivs $pid)" 0
done
is "the agent has no effective capability" "$(agent sh -c "sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status")" 0000000000000000
is "sudo works" "$(agent sudo -n id -u 2>/dev/null)" 0

mounts=$(root cat /proc/self/mountinfo)
option() { awk -v m="$1" '$5 == m { o = $6 } END { print o }' <<<"$mounts"; } # of the topmost mount there
for path in /proc/bus /proc/fs /proc/irq /proc/sys /sys; do
    has "$path is read-only" ",$(option "$path")," ",ro,"
done
for path in /proc/acpi /proc/kcore /proc/keys /proc/latency_stats /proc/timer_list /proc/sched_debug /proc/scsi /sys/firmware; do
    # a mask is an empty directory, or a file that reads as nothing
    is "$path is masked" "$(root sh -c "if [ -d $path ]; then ls -A $path; elif [ -e $path ]; then head -c 1 $path | od -An -tx1; fi" 2>&1)" ""
done
for ns in pid ipc uts mnt cgroup net; do
    inside=$(root readlink "/proc/self/ns/$ns")
    if [ "$inside" != "$(readlink /proc/self/ns/$ns)" ]; then pass "own $ns namespace"; else fail "shares our $ns namespace"; fi
done
is "devices" "$(root sh -c 'cd /dev && for d in *; do [ -L $d ] || [ -d $d ] || [ -f $d ] || echo $d; done' | sort | tr '\n' ' ')" \
    "full null random tty urandom zero "
has "a bound on processes" "$(root sh -c 'cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null')" 4096
