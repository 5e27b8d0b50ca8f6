#!/bin/bash
# What a user may get wrong on the command line and in a kit, verb by verb: the status, and a message that helps.
# Needs no container runtime.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# Every verb: an unknown flag, and missing or superfluous words.
for verb in run create exec ls inspect stop start rm reset plan login logout version help \
    "policy ls" "policy log" "policy init" "policy set-default" "policy reset" "policy check network" \
    "kit validate" "kit inspect" "template load" "template ls" "template rm" "completion"; do
    # shellcheck disable=SC2086
    t 2 "unknown flag --no-such-flag for \"sbx $verb\"" $verb --no-such-flag
    # shellcheck disable=SC2086
    t 0 "Usage:" $verb --help
done
for verb in exec inspect stop start "policy init" "policy set-default" "policy check network" "kit validate" \
    "kit inspect" "template load" "template rm" completion; do
    # shellcheck disable=SC2086
    t 2 "needs" $verb
done
for verb in ls reset version "policy reset" "template ls"; do
    # shellcheck disable=SC2086
    t 2 "unexpected argument \"superfluous\"" $verb superfluous
done
# A variable that was forgotten is not "the default".
t 2 "--user: the value (USER) is empty" exec -u '' box true
t 2 "--user: the value (USER) is empty" exec --user= box true
t 2 "--workdir: the value (DIR) is empty" exec -w '' box true
t 2 "--name: the value (NAME) is empty" create --name '' shell
t 2 "--template: the value (IMAGE) is empty" create --template '' shell
t 2 "--kit: the value (KIT) is empty" create --kit '' shell
echo no image >not-an-image.tar
out=$(timeout 60 "$SBX_BIN" template load --runtime oci not-an-image.tar 2>&1)
[[ $(grep -o not-an-image.tar <<<"$out" | wc -l) -le 1 ]] || bad "template load: $out"
t 2 'unknown command "rnu" for "sbx"; did you mean "run"?' rnu
t 2 'unknown command "validat" for "sbx kit"; did you mean "validate"?' kit validat
t 2 'unknown command "tags" for "sbx kit"; did you mean "sbx kit inspect --tags"?' kit tags ghcr.io/me/kit
t 2 'did you mean "sbx kit inspect --referrers"?' kit referrers ghcr.io/me/kit:1
t 2 'did you mean "sbx cache ls"?' kit ls
t 2 'did you mean "sbx kit push REFERENCE HOST/REPOSITORY:TAG"?' kit tag a b
t 2 'did you mean "docker login"?' kit login ghcr.io
t 1 'sbx kit inspect python --output yaml' kit init ./my-kit
t 2 'did you mean "sbx template ls"?' images
t 2 'did you mean "sbx policy log"?' logs box
t 2 "--output xml: want one of table, json, yaml" ls --output xml
lacks sarif ls --output xml # only kit validate takes it
: >archive.tar
t 2 'is written oci-layout:archive.tar:TAG, where it is used oci-layout:archive.tar@sha256:' kit pull archive.tar pulled
t 2 "want bash, zsh or fish" completion tcsh
t 2 'unknown command "nonsense" for "sbx"' help nonsense
t 2 'unknown command "alow" for "sbx policy"; did you mean "allow"?' help policy alow
t 2 '"claude" is an agent, not a command; did you mean "sbx run claude"?' claude
t 2 'unknown flag --versoin for "sbx"; did you mean --version?' --versoin
t 0 '"version": "' --version --json
t 0 "Commands:" policy
t 2 "docker login ghcr.io" login ghcr.io
t 2 "docker logout ghcr.io" logout ghcr.io
t 2 "sbx policy allow network example.com" policy allow example.com
t 0 "no account is needed" login --username me --password-stdin
t 0 "no account is needed" logout --yes

# A reader that has seen enough is no error to tell of: a pipe that nobody reads any more.
mkfifo pipe
exec 7<>pipe 8>pipe 7<&-
for words in "--help" "kit schema" "cache ls --json" "kit inspect claude" "kit inspect claude --json"; do
    # shellcheck disable=SC2086
    said=$(timeout 60 "$SBX_BIN" $words 2>&1 >&8)
    status=$?
    [[ $status != 0 && $said != *"standard output"* ]] || bad "sbx $words into a closed pipe: $status, $said"
done
exec 8>&-

# Options with values of the wrong kind.
t 2 "--cpus lots: want a number" create shell --cpus lots
t 2 "--memory much: want a size" create shell --memory much
t 2 "--memory -1g: want a size" create shell --memory -1g
t 2 "--memory 0: want a size" create shell --memory 0
t 2 "--pull often: want one of always, missing, never" create shell --pull often
t 2 "--runtime vm: want one of auto, docker, oci" create shell --runtime vm
t 2 "--name: " create shell --name _
t 2 "--name: " create shell --name default
t 2 "--name: " create shell --name ../x
t 2 '--env: "=x" is no NAME=VALUE' create shell -e =x
t 2 '--env: "1A=x" is no NAME=VALUE' create shell -e 1A=x
t 1 "--env-file nowhere: " create shell --env-file nowhere
t 1 "--env-file .: " create shell --env-file .
printf 'A=1\n# a remark\n\nB C=2\n' >bad.env
t 2 "--env-file bad.env: line 4" create shell --env-file bad.env
printf 'A=\0' >nul.env
t 2 "NUL" create shell --env-file nul.env

# The agent position and --kit.
mkdir empty plain agent
printf 'schemaVersion: "2"\nname: agent\nkind: sandbox\nsandbox: { image: "x:1" }\n' >agent/spec.yaml
kit agent2 agent2 <<<$'kind: sandbox\nsandbox: { image: "x:1" }'
kit mixin mixin <<<'kind: mixin'
kit args args <<<$'kind: mixin\nargs: { version: { default: "1" } }'
kit ext ext <<<$'kind: sandbox\nextends: claude'
kit mix mix <<<$'kind: sandbox\nsandbox: { image: "x:1" }\nmixins: [hello]'
kit claude claude <<<$'kind: sandbox\nsandbox: { image: "x:1" }'
kit broken broken <<<$'kind: mixin\npermissions: { netwrok: {} }\nsetup: { install: [ 3 ] }'
printf 'kind: agent\nschemaVersion: "1"\nname: old\nagent: { image: x }\n' >agent/old.yaml
t 2 "which agent?" create
t 1 'agent cluade: no built-in kit of that name; did you mean "claude"?' create cluade
t 2 "./plain has no spec.yaml: the first argument is the agent, as in \"shell ./plain\"" create ./plain
t 2 'plain has no spec.yaml' create plain
t 1 "No such file" create ./nowhere
t 1 "No such file" create ../nowhere/x
t 1 "No such file" create file://./nowhere
t 2 "is a file; give the directory" create ./agent/spec.yaml
t 2 "kit mixin is a mixin, not an agent" create ./mixin
t 1 "No such file" create shell --kit ./nowhere
t 1 "no built-in kit of that name; for the directory write ./mixin" create shell --kit mixin
t 2 "is a file" create shell --kit ./mixin/spec.yaml
t 1 'two sandbox kits, "shell" and "agent"' create shell --kit ./agent
t 1 'two sandbox kits, "agent" and "agent2"' create --kit ./agent --kit ./agent2
t 2 'neither the agent (agent, by --kit ./agent) nor an existing path' create other --kit ./agent
t 1 "built-in agents cannot be overridden by a kit" create ./claude
t 1 "127.0.0.1:1: " create shell --kit "oci://127.0.0.1:1/org/kit@sha256:$(printf '%064d' 0)"
t 1 "https://127.0.0.1:1/x.git: " create shell \
    --kit "git+https://127.0.0.1:1/x.git#ref=$(printf '%040d' 0)"
t 2 "--kit-arg a: no kit here declares an argument" create shell --kit-arg a=b
t 2 "want [KIT.]NAME=VALUE" create shell --kit-arg a
t 1 "--kit-args-file: " create shell --kit-args-file ./nowhere
t 1 "netwrok" create shell --kit ./broken

# kit validate and inspect.
t 0 "VALID: hello (mixin)" kit validate hello
t 0 "VALID: mixin (mixin)" kit validate ./mixin/spec.yaml
# A directory needs no "./" here, as for push, pack and migrate; elsewhere a word is a built-in kit.
t 0 "VALID: mixin (mixin)" kit validate mixin --with shell
t 0 "VALID: mix (sandbox)" kit validate mix --kit ./mixin
t 0 "mixin" kit inspect mixin
t 0 "note: this is the directory ./claude, not the built-in kit" kit inspect claude
t 1 "no built-in kit of that name; for the directory write ./plain" kit validate plain
t 1 "no built-in kit of that name; a directory is written ./nowhere" kit validate nowhere
t 1 "no built-in kit of that name; for the directory write ./mixin" kit validate mix --kit mixin
t 1 "No such file" kit validate ./nowhere
t 1 "kit ./empty: no spec.yaml" kit validate ./empty
t 1 "spec.yaml" kit inspect ./empty/
: >nothing.yaml
t 1 "" kit validate nothing.yaml
printf '\377\376\0' >bytes.yaml
t 1 "" kit validate bytes.yaml
t 1 "broken/spec.yaml:4" kit validate ./broken
t 1 "broken/spec.yaml:5" kit validate ./broken
mkdir -p escape/files/home
kit escape escape <<<'kind: mixin'
ln -s /etc/passwd escape/files/home/passwd
t 1 "passwd" kit validate ./escape
# Standard input, several at once, and outputs that take nothing.
check 0 "VALID: agent (sandbox)" bash -c '"$SBX_BIN" kit validate - <agent/spec.yaml'
t 1 "<stdin>:1:1: the file is empty" kit validate -
t 2 '"-" is standard input, which can be read once' kit validate - hello -
check 1 "larger than 1048576 bytes" bash -c 'timeout 60 "$SBX_BIN" kit validate - </dev/zero'
t 1 "./empty: no spec.yaml or spec.yml in this directory" kit validate hello ./empty
lacks "kit ./empty: no" kit validate hello ./empty
t 1 "is a device, not a regular file" kit validate /dev/zero
for command in "validate" "validate --json" "validate --output sarif" "inspect" "inspect --json" "inspect --output yaml"; do
    # shellcheck disable=SC2086
    check 1 "write to standard output: No space left on device" bash -c '"$SBX_BIN" kit $0 hello >/dev/full' "$command"
done
check 1 '"event":"error"' bash -c '"$SBX_BIN" kit inspect hello --json >/dev/full'
check 1 "No space left" bash -c '"$SBX_BIN" kit schema >/dev/full'
check 1 "[]" bash -c 'exec {out}> >(:) && wait $! && said=$("$SBX_BIN" kit validate --output sarif hello 2>&1 >&$out)
    status=$?; echo "[$said]"; exit $status'
mkfifo pipe.yaml
t 1 "" kit validate pipe.yaml
t 0 "schemaVersion" kit inspect hello --output yaml
t 2 "--json and --output table contradict" kit inspect hello --json --output table
chmod 0 mixin/spec.yaml
if [ "$(id -u)" != 0 ]; then
    t 1 "Permission denied" kit validate ./mixin
elif command -v setpriv >/dev/null; then
    chmod 755 "$work"
    cp "$SBX_BIN" "$work/sbx" # where anybody can run it
    check 1 "kit ./mixin: spec.yaml: Permission denied" \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$work/sbx" kit validate ./mixin
fi
chmod 644 mixin/spec.yaml

# ports: specs are refused with what to write, sandboxes that are not there by name.
t 2 'port "0": no sandbox port' create shell -p 0
t 2 'port "a:80"' create shell --publish a:80
t 2 "--publish: port" run shell -p 80:80:80:80
t 2 "ranges are not taken" ports publish nobody 8000-8010
t 2 "address and protocol are of different families" ports publish nobody 127.0.0.1:1:2/tcp6
t 1 "sandbox nobody not found" ports nobody --publish 53/udp
t 2 "no such protocol" ports nobody --publish 53/sctp
t 2 "one at a time" ports nobody --publish 1 --unpublish 2
t 1 "sandbox nobody not found" ports nobody
t 1 "sandbox nobody not found" ports ls nobody
t 1 "sandbox nobody not found" port ls nobody
t 1 "sandbox nobody not found" ports publish nobody 80
t 1 "sandbox nobody not found" ports unpublish nobody 80
t 2 "needs SANDBOX" ports
t 2 "needs SANDBOX SPEC..." ports publish nobody
t 2 'unexpected argument "x"' ports nobody x

# With JSON there is exactly one value on stdout, also for a failure.
json 0 kit validate hello --json
json 1 kit validate ./broken ./nowhere hello --json
json 0 kit inspect claude --json
json 1 kit inspect ./broken --output json
json 1 kit inspect ./nowhere --json
json 2 --json rnu
json 2 kit inspect --json
json 1 create shell --kit ./nowhere --json
json 0 version --output json
json 0 login --json
json 0 logout --output json
json 0 policy set-default deny-all --json
value deny-all 'v["preset"]' policy set-default deny-all --json
value deny-all 'v["preset"]' policy init deny-all --json
json 1 policy init balanced --json
value balanced 'v["preset"]' policy reset --force --json
value True 'v["reset"]' reset --force --json
json 0 kit schema --json
json 0 kit pack ./mixin -o packed.tar -t 1 --json
value "packed.tar False" 'v["file"] + " " + str("reference" in v)' kit pack ./mixin -o packed.tar -t 1 --json
json 0 cache ls --json
json 0 ls --json
json 0 policy ls --json
json 1 stop nobody --json
value "nobody False True" '" ".join(str(x) for x in (v["sandboxes"][0]["name"], v["sandboxes"][0]["done"], "not found" in v["sandboxes"][0]["error"]))' \
    start nobody --json
json 1 rm --force nobody --json
for verb in help "completion bash" "exec x true"; do
    # shellcheck disable=SC2086
    t 2 "takes no --json and no --output" --json $verb
done

finish 150
