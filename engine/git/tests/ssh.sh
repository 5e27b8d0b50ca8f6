#!/bin/bash
# Kits from git over ssh: a real sshd with git-shell; the user's agent, configuration and known_hosts.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
# shellcheck source=engine/git/tests/repo.sh
. "$SBX_SOURCE_DIR/engine/git/tests/repo.sh"
sshd=$(command -v sshd || echo /usr/sbin/sshd)
for tool in "$sshd" ssh ssh-agent ssh-add ssh-keygen git-shell; do
    command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
[ "$(id -u)" != 0 ] || mkdir -p /run/sshd

git clone -q --bare repo "it's served.git"
for key in host other user; do ssh-keygen -q -t ed25519 -N '' -f $key; done
# shellcheck disable=SC2016 # for the shell of the server
printf 'command="git-shell -c \\"$SSH_ORIGINAL_COMMAND\\"",restrict %s\n' "$(cat user.pub)" >authorized
port=$(free_port)
daemon() { # HOST KEY
    cat >sshd.conf <<CONF
Port $port
ListenAddress 127.0.0.1
HostKey $work/$1
AuthorizedKeysFile $work/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
CONF
    "$sshd" -D -e -f "$work/sshd.conf" 2>sshd.log &
    sshd_pid=$!
    pids="$pids $sshd_pid"
    answers "$port" $sshd_pid || { echo "SKIPPED: sshd does not start: $(cat sshd.log)"; exit 77; }
}
daemon host
cat >ssh.conf <<CONF
Host short
    HostName 127.0.0.1
    Port $port
    User $(id -un)
Host *
    UserKnownHostsFile $work/known_hosts
    GlobalKnownHostsFile none
    IdentityFile none
CONF
eval "$(ssh-agent -s)" >/dev/null
pids="$pids $SSH_AGENT_PID"
export GIT_SSH_COMMAND="ssh -F $work/ssh.conf"
path="$work/it's%20served.git"
url=git+ssh://$(id -un)@127.0.0.1:$port$path

# --- who the server is: unknown, known, changed
t 3 "127.0.0.1 is not in known_hosts: connect once (ssh -p $port $(id -un)@127.0.0.1)" kit resolve "$url"
printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 <other.pub)" >known_hosts
t 3 "ssh-keygen -R '[127.0.0.1]:$port'" kit resolve "$url"
printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 <host.pub)" >known_hosts

# --- who we are
t 3 "Permission denied" kit resolve "$url"
t 3 "ssh-add" plan shell ws --kit "$url#ref=$one&dir=kits/tools"
is "nothing is left" "$(ls -A "$XDG_CACHE_HOME/sbx/git")" ""
ssh-add -q user
t 3 "Permission denied" kit resolve "${url/$(id -un)@/nobody-of-that-name@}"

# --- it works: with the address, and with the user's name for the server; his command may stand in git's configuration
t 0 "$url#ref=$three" kit resolve "$url"
t 0 '"value": "two"' plan shell ws --kit "$url#ref=$two&dir=kits/tools" --output json
git config --global core.sshCommand "$GIT_SSH_COMMAND"
unset GIT_SSH_COMMAND
t 0 '"value": "one"' plan shell ws --kit "git+ssh://short$path#ref=$one&dir=kits/tools" --output json
t 1 "write what it is now: git+ssh://short$path#ref=$three&dir=kits/tools" plan shell ws \
    --kit "git+ssh://short$path#ref=main&dir=kits/tools"

# --- the agent, and what a kit stands on
mkdir standing
spec sandbox standing "extends: \"$url#ref=$one&dir=kits/agent\"
environment: { variables: { STANDS: here } }" >standing/spec.yaml
t 0 '"STANDS"' plan ./standing ws --output json
t 0 '"value": "one"' plan "git+ssh://short$path#ref=$one&dir=kits/agent" ws --output json

# --- what else the server says
t 1 "none.git' does not appear to be a git repository" kit resolve "git+ssh://short$work/none.git"
t 1 "has no commit" kit validate "git+ssh://short$path#ref=$(printf '0%.0s' {1..40})"
t 1 "Could not resolve hostname" kit resolve "git+ssh://no-such-host.invalid/x.git"
kill $sshd_pid && wait $sshd_pid 2>/dev/null
t 1 "Connection refused" kit resolve "git+ssh://short$path"
t 0 '"value": "one"' plan shell ws --kit "git+ssh://short$path#ref=$one&dir=kits/tools" --output json
t 0 '"STANDS"' plan ./standing ws --output json

# --- an ssh that is never started: nothing else ends for it (in a process namespace, as kill(-1) is everybody)
if [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2016 # for the shell in the namespace
    try='sleep 600 & "$@" </dev/null; status=$?; kill -0 $! || echo "everybody was ended"; exit $status'
    for bad in "git+ssh://a@h:-1/x" "git+ssh://[::1/x" "git+ssh://h/%zz" "git+ssh://h/x%00y"; do
        out=$(timeout 60 unshare --pid --fork --mount-proc --kill-child bash -c "$try" _ "$SBX_BIN" kit resolve "$bad" 2>&1)
        is "$bad" "$out" "sbx: ${bad#git+}: ssh: not such an address: ssh://USER@HOST:PORT/PATH, its port a number"
    done
fi
finish
