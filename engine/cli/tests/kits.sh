#!/bin/bash
# Arguments, extends, mixins, provenance and composing validation on the command line. Needs no container runtime.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
mkdir -p "$work/kits" "$work/ws" && cd "$work/kits" || exit 1

kit args args <<'END'
kind: mixin
args:
  ver: { default: "1.20", pattern: '[0-9]+\.[0-9]+' }
  who: { required: true }
environment:
  variables: { GOOD: "${{ kit.args.ver }}", LIT: "$${{ kit.args.ver }}", OTHER: "${{ matrix.os }}", WHO: "${{ kit.args.who }}" }
END
mkdir -p args/files/home && printf 'v=${{ kit.args.ver }}' >args/files/home/v.txt
printf '# values\nargs.who=file\nver=2.0\n' >values

t 1 'args.who: is required, and no value was given; add --kit-arg args.who=VALUE' kit validate ./args
t 1 'is required' plan shell "$work/ws" --kit ./args
t 0 'VALID: args (mixin)' kit validate ./args --kit-arg args.who=x
t 1 'does not match the pattern' kit validate ./args --kit-arg who=x --kit-arg ver=1.20x
t 2 'no kit here declares an argument "vr"; did you mean "ver"?' kit validate ./args --kit-arg who=x --kit-arg vr=1
value 1.20 'd["environment"]["variables"]["GOOD"]' kit inspect ./args --json --kit-arg who=x
value '${{ kit.args.ver }}' 'd["environment"]["variables"]["LIT"]' kit inspect ./args --json --kit-arg who=x
value '${{ matrix.os }}' 'd["environment"]["variables"]["OTHER"]' kit inspect ./args --json --kit-arg who=x
value '${{ kit.args.ver }}' 'd["environment"]["variables"]["GOOD"]' kit inspect ./args --json
value 2.0 'd["environment"]["variables"]["GOOD"]' kit inspect ./args --json --kit-args-file values
value file 'd["environment"]["variables"]["WHO"]' kit inspect ./args --json --kit-args-file values
value line 'd["environment"]["variables"]["WHO"]' kit inspect ./args --json --kit-args-file values --kit-arg who=line
value 2.0 '"2.0" if "'2.0'" in str(d["container"]) else d["container"]' \
    plan shell "$work/ws" --kit ./args --kit-args-file values --json
value who '[e["args"] for e in d["elements"] if e["path"] == "environment.variables.WHO"][0]' \
    kit inspect ./args --provenance --json --kit-arg who=x

kit base base <<<$'kind: sandbox\nsandbox: { image: "x:1" }\nlocked: [sandbox.image]\nlicenses: [MIT]'
kit base/child child <<<$'kind: sandbox\nextends: shell\nmixins: [./m, hello]\nenvironment: { variables: { A: child } }'
kit base/child/m m <<<$'kind: mixin\nenvironment: { variables: { A: m } }'
kit locked locked <<<$'kind: sandbox\nextends: ./base\nsandbox: { image: "y:1" }'
cp -r base locked/base
value None 'd.get("environment", {}).get("variables", {}).get("B")' kit inspect ./base/child --json
value m 'd["environment"]["variables"]["A"]' kit inspect ./base/child --resolved --json
value m '[e["kit"] for e in d["elements"] if e["path"] == "environment.variables.A"][0]' \
    kit inspect ./base/child --resolved --provenance --json
value shell '[e["kit"] for e in d["elements"] if e["path"] == "sandbox.image"][0]' \
    kit inspect ./base/child --resolved --provenance --json
t 1 'kit locked may not change sandbox.image: kit base locks sandbox.image (./locked/base/spec.yaml:5)' \
    kit inspect ./locked --resolved
t 0 'extends' kit inspect ./locked --json

kit other other <<<$'kind: mixin\nrequires: { agent: claude }'
t 0 VALID kit validate ./other
t 0 VALID kit validate ./other --with claude
t 1 'requires the agent claude, got shell' kit validate ./other --with shell
t 0 'VALID: other' kit validate ./other ./args --kit-arg args.who=x --with claude
value '2.1.0 error missing-arg 6' \
    '" ".join([d["version"], (r := d["runs"][0]["results"][0])["level"], r["ruleId"], str(r["locations"][0]["physicalLocation"]["region"]["startLine"])])' \
    kit validate ./args --output sarif
t 2 '--output sarif is for "sbx kit validate"' ls --output sarif

# As written: a value that an argument gives is neither checked nor asked for; --resolved asks by name.
kit open open <<'END'
kind: mixin
args: { host: { required: true }, size: { default: 10x }, port: { required: true } }
permissions: { network: { allow: ["${{ kit.args.host }}:443", "*.${{ kit.args.host }}"] } }
volumes: [ { path: /data, size: "${{ kit.args.size }}" } ]
ports: [ { container: "${{ kit.args.port }}", name: web } ]
END
t 0 'Allow          ${{ kit.args.host }}:443' kit inspect ./open
t 0 'Ports          ?/tcp web' kit inspect ./open
t 0 'note: ports[0].container: its value comes from the argument port and is not known here' kit inspect ./open
j '"${{ kit.args.size }}" in str(d)' kit inspect ./open --json
value host '[e["args"] for e in d["elements"] if e["path"] == "permissions.network.allow"][0]' \
    kit inspect ./open --provenance --json
t 1 'args.host: is required, and no value was given; add --kit-arg open.host=VALUE' kit inspect ./open --resolved
t 1 'args.port: is required' kit inspect ./open --resolved
t 1 'not a byte size (10x)' kit inspect ./open --kit-arg host=x.example.com --kit-arg port=80
t 1 'args.host: is required' kit validate ./open
kit open/bad bad <<<$'kind: mixin\nargs: { a: { default: b } }\npermissions: { network: { allow: ["x y", "${{ kit.args.a }}"] } }\nnmae: x'
t 1 'permissions.network.allow[0]' kit inspect ./open/bad
t 1 'unknown field "nmae"' kit inspect ./open/bad
lacks 'allow[1]' kit inspect ./open/bad
kit open/none none <<<$'kind: mixin\npermissions: { network: { allow: ["${{ kit.args.a }}"] } }'
t 1 'allow[0]' kit inspect ./open/none # not declared: nothing will give it a value

# What a kit extends and names is looked at; what is elsewhere only as to its spelling.
kit named/no no <<<$'kind: sandbox\nextends: cluade'
t 1 'named/no/spec.yaml:4:10: extends: kit cluade: no built-in kit of that name; did you mean "claude"?' kit validate ./named/no
value unresolved-kit 'd["diagnostics"][0]["code"]' kit validate ./named/no --json
kit named/many many <<<$'kind: sandbox\nextends: claude\nmixins: [./gone, helo, hello, shell]'
t 1 'mixins: kit ./gone: No such file' kit validate ./named/many
t 1 'kit helo: no built-in kit of that name; did you mean "hello"?' kit validate ./named/many
t 1 'kit shell must be kind mixin, got sandbox' kit validate ./named/many/spec.yaml
check 1 'counts from the directory of the spec, and standard input has none' \
    bash -c '"$SBX_BIN" kit validate - <named/many/spec.yaml'
kit named/mixin mixin <<<$'kind: sandbox\nextends: hello'
t 1 'must be kind sandbox, got mixin' kit validate ./named/mixin
kit named/tag tag <<<$'kind: sandbox\nextends: oci://ghcr.io/x/y:1'
t 1 'a registry reference must name a digest' kit validate ./named/tag
kit named/far far <<<"kind: sandbox
extends: oci://127.0.0.1:1/x/y@sha256:$(printf '%064d' 0)
mixins: [\"git+https://127.0.0.1:1/y.git#ref=$(printf '%040d' 0)\", hello]"
t 0 'y.git#ref=0000000000000000000000000000000000000000 is not fetched here; only its spelling was checked' kit validate ./named/far
t 0 'VALID: far (sandbox)' kit validate ./named/far
value 'not-applied not-fetched not-fetched' '" ".join(sorted(r["code"] for r in d["diagnostics"]))' kit validate ./named/far --json
t 1 'may not change sandbox.image' kit validate ./locked
t 0 'VALID: child (sandbox)' kit validate ./base/child
kit named/up up <<<$'kind: sandbox\nextends: ./2'
kit named/up/2 up2 <<<$'kind: sandbox\nsandbox: { image: "x:1" }\nargs: { a: { required: true } }\nenvironment: { variables: { A: "${{ kit.args.a }}" } }'
t 0 'VALID: up (sandbox)' kit validate ./named/up # another kit's arguments are not asked for

# Of several kits each has its own findings, however many the first has; an argument that none declares is a slip.
kit many/first first <<<"kind: mixin
$(for i in $(seq 1200); do echo "key$i: 1"; done)"
kit many/second second <<<$'kind: mixin\nnmae: x'
t 1 '(and 200 more)' kit validate ./many/first ./many/second
t 1 'many/second/spec.yaml:4:1: unknown field "nmae"; did you mean "name"?' kit validate ./many/first ./many/second
value '(1001, 200)' '(len(d["diagnostics"]), d["dropped"])' kit validate ./many/first ./many/second --json
value 1001 'len(d["runs"][0]["results"])' kit validate ./many/first ./many/second --output sarif
t 1 '1 of 2 kits are not valid' kit validate hello ./many/second
t 0 'VALID: hello' kit validate hello ./args --kit-arg who=x
t 2 'no kit here declares an argument "wo"' kit validate hello ./args --kit-arg who=x --kit-arg wo=x

# One agent.
kit agent agent <<<$'kind: sandbox\nsandbox: { image: "x:1" }'
t 1 'two sandbox kits, "claude" and "agent": a sandbox has one agent; leave one of them out' kit validate ./agent --with claude
t 1 'two sandbox kits, "./agent" and "base"' kit validate hello --with ./agent --kit ./base
t 1 'two sandbox kits, "./agent" and "base"' kit validate ./agent --kit ./base
t 0 'VALID: agent (sandbox)' kit validate ./agent --kit hello
t 2 'hello is a mixin: with --kit name the agent too, as in --with claude' kit validate hello --kit node


# plan: the command of a step without description, the preset, what is closed and why; approvals that nobody asks for.
kit net net <<'END'
kind: mixin
permissions: { network: { allow: ["host.docker.internal:3000", "10.1.0.0/16", "169.254.169.254", "ok.example.com"] } }
setup:
  install:
    - command: |
        set -e
        if true; then
          echo a \
            b
        fi
    - { command: "echo one", description: First }
  startup:
    - { command: [my-daemon, --port, "80"], background: true }
    - { command: "sleep  1" }
END
t 0 'Install        set -e; if true; then echo a b; fi' kit inspect ./net
t 0 '               sleep 1' kit inspect ./net
t 0 '10.1.0.0/16 (only with --approve)' kit inspect ./net
t 0 '169.254.169.254 (never matches)' kit inspect ./net
t 0 '0      set -e; if true; then echo a b; fi' plan shell "$work/ws" --kit ./net
t 0 '1000   my-daemon --port 80' plan shell "$work/ws" --kit ./net
t 0 '1000   sleep 1' plan shell "$work/ws" --kit ./net
t 0 'Policy     balanced' plan shell "$work/ws" --kit ./net
lacks durable-startup plan shell "$work/ws" --kit ./net
t 0 'allow host.docker.internal:3000 (kit net): closed, only with --approve host.docker.internal:3000' plan shell "$work/ws" --kit ./net
t 0 'allow 169.254.169.254 (kit net): never matches' plan shell "$work/ws" --kit ./net
lacks 'ok.example.com (kit net):' plan shell "$work/ws" --kit ./net
lacks 'host.docker.internal:3000 (kit net):' plan shell "$work/ws" --kit ./net --approve localhost:3000
value balanced 'd["policy_preset"]' plan shell "$work/ws" --json
t 2 'they ask for: host.docker.internal:3000, 10.1.0.0/16' plan shell "$work/ws" --kit ./net --approve bogus
t 2 '--approve bogus: no kit here asks for anything that needs approval' plan shell "$work/ws" --approve bogus
t 2 'nothing can allow this' plan shell "$work/ws" --kit ./net --approve 169.254.169.254
t 2 '--approve bogus' create shell "$work/ws" --kit ./net --approve 10.1.0.0/16 --approve bogus --name none
[ ! -e "$work/state/sbx/sandboxes/none" ] || bad "a create with a bad approval left something"
t 0 'Global network policy set' policy set-default deny-all
t 0 'Policy     deny-all' plan shell "$work/ws"
t 0 'Allowed' policy allow network x.example.com
t 0 'Policy     deny-all, and 1 rule of yours' plan shell "$work/ws"

# A cache that cannot be written gives what is in it.
ref=$(sbx kit push ./net oci-layout:ro:1 | sed -n 's/^Pushed //p')
t 0 VALID kit validate "$ref"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    check 0 VALID unshare -m bash -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && "$2" kit validate "$3"' _ "$work/cache" "$SBX_BIN" "$ref"
    check 0 "1 unpacked kits were not checked" unshare -m bash -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && "$2" cache verify' _ "$work/cache" "$SBX_BIN"
fi

finish 72
