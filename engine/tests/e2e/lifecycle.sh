#!/bin/bash
# The life of a sandbox with three mixins: create, exec, ls, inspect, stop, start, rm; and what each step left inside.
. "$(dirname "$0")/lib.sh"

mixin one <<'SPEC'
environment: { variables: { ONE: "1", SHARED: "one" } }
permissions: { network: { allow: ["api.example.com"] } }
setup:
  install:
    - command: "cat /home/agent/.one/a.json > /root/seen && echo \"$ONE\" > /root/env"
      description: sees files/home
  startup:
    - command: ["sh", "-c", "cat /home/agent/b > /tmp/b2; date +%s%N >> /tmp/starts"]
  files:
    - { path: /home/agent/b, content: "work in ${WORKDIR}\n", mode: "0600" }
    - { path: /home/agent/once, content: "kit\n", onlyIfMissing: true }
agentInstructions: { content: "One knows one thing.\n" }
SPEC
mkdir -p "$work/one/files/home/.one/bin" "$work/one/files/workspace"
echo '{"from":"kit"}' >"$work/one/files/home/.one/a.json"
printf '#!/bin/sh\necho tool\n' >"$work/one/files/home/.one/bin/tool"
chmod 755 "$work/one/files/home/.one/bin/tool"
: >"$work/one/files/home/.one/empty"
echo 'from the kit' >"$work/one/files/workspace/KIT.txt"
mixin two <<'SPEC'
environment: { variables: { SHARED: "two" } }
volumes:
  - { path: /data, size: 64m, mode: "0750" }
  - { path: /scratch, type: tmpfs, size: 8m, mode: "1777" }
SPEC
ws=$work/ws
mkdir "$ws"
echo host >"$ws/host.txt"
chown -R 1000:1000 "$ws"

new_name
exits "create succeeds" 0 sbx create --runtime "$runtime" shell --kit "$SBX_SOURCE_DIR/kits/mixins/hello" \
    --kit "$work/one" --kit "$work/two" --name "$name" "$ws"
has "install is reported" "$out" "Install commands completed"
exits "a second create of the name is refused" 1 sbx create --runtime "$runtime" shell --name "$name" "$ws"

json=$(sbx ls --output json)
is "ls --output json is one JSON value with the sandbox" \
    "$(jq -r --arg n "$name" '.sandboxes[] | select(.name == $n) | .status' <<<"$json")" running
is "its agent" "$(jq -r --arg n "$name" '.sandboxes[] | select(.name == $n) | .agent' <<<"$json")" shell
is "its workspace" "$(jq -r --arg n "$name" '.sandboxes[] | select(.name == $n) | .workspaces[0]' <<<"$json")" "$ws"

e() { sbx exec "$name" -- "$@"; }
is "exec runs as the agent" "$(e id -u)" 1000
is "exec starts in the workspace" "$(e pwd)" "$ws"
is "the exit status passes through" "$(e sh -c 'exit 42'; echo $?)" 42
is "an unknown command is 127" "$(e no-such-command >/dev/null 2>&1; echo $?)" 127
is "stdin passes through" "$(printf 'a\0b' | sbx exec -i "$name" -- wc -c)" 3
is "environment of kits, the later wins" "$(e sh -c 'echo $ONE $SHARED')" "1 two"
has "the proxy is named" "$(e env)" "HTTPS_PROXY=http://gateway.docker.internal:3128"
has "credential modes are set" "$(e env)" "IS_SANDBOX"
is "install saw files/home" "$(sbx exec -u 0 "$name" -- cat /root/seen)" '{"from":"kit"}'
is "install saw the environment" "$(sbx exec -u 0 "$name" -- cat /root/env)" 1
is "the kit's file is the agent's" "$(e stat -c '%u:%g %a' /home/agent/.one/bin/tool)" "1000:1000 755"
is "a plain file is 0644" "$(e stat -c %a /home/agent/.one/a.json)" 644
is "an empty file is there" "$(e stat -c %s /home/agent/.one/empty)" 0
is "setup.files has WORKDIR and mode" "$(e sh -c 'cat ~/b; stat -c %a ~/b')" "work in $ws
600"
is "startup saw setup.files" "$(e cat /tmp/b2)" "work in $ws"
is "files/workspace reached the host" "$(cat "$ws/KIT.txt")" "from the kit"
is "the volume is the agent's" "$(e stat -c '%u %a' /data)" "1000 750"
has "the tmpfs is one" "$(e mount)" "tmpfs on /scratch "
has "/run/secrets is a tmpfs" "$(e mount)" "tmpfs on /run/secrets "
is "the agent may write the workspace" "$(e sh -c 'echo x > new && stat -c %u new')" 1000
is "sudo works and is quiet" "$(e sudo id -u 2>&1)" 0
is "the host name is the sandbox's" "$(e hostname)" "$name"
has "agent instructions of a mixin" "$(e sh -c 'find / -xdev -name one.md -path "*kits-memory*" 2>/dev/null | xargs cat')" "One knows one thing."
is "only loopback" "$(e ls /sys/class/net)" lo
is "two at once" "$(e sleep 1 & e echo second; wait)" second
is "inspect is one JSON value" "$(sbx inspect "$name" --output json | jq -r .name)" "$name"

e sh -c 'echo mine > ~/once; echo kept > /data/kept; sudo sh -c "echo root > /root/mine"'
starts=$(e sh -c 'wc -l < /tmp/starts')
exits "stop" 0 sbx stop "$name"
is "stopped" "$(sbx ls --output json | jq -r --arg n "$name" '.sandboxes[] | select(.name == $n) | .status')" stopped
exits "start" 0 sbx start "$name"
is "what was written stays" "$(sbx exec -u 0 "$name" -- cat /root/mine)" root
is "the volume stays" "$(e cat /data/kept)" kept
is "onlyIfMissing is honoured" "$(e cat /home/agent/once)" mine
is "startup ran exactly once more" "$(e sh -c 'wc -l < /tmp/starts')" $((starts + 1))
sbx stop "$name" >/dev/null 2>&1
is "exec starts a stopped sandbox" "$(e echo up 2>/dev/null)" up

exits "rm" 0 sbx rm -f "$name"
is "gone from ls" "$(sbx ls --output json | jq --arg n "$name" '[.sandboxes[] | select(.name == $n)] | length')" 0
exits "rm of what is not there says so" 1 sbx rm "$name"
has "with the words tools look for" "$out" "not found"
is "no process of it is left" "$(pgrep -f "sandboxes/$name/" | wc -l)" 0
is "no mount of it is left" "$(grep -c "sandboxes/$name/" /proc/self/mounts)" 0
exits "the name can be used again" 0 sbx create --runtime "$runtime" shell --name "$name" "$ws"
