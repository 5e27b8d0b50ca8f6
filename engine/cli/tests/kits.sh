#!/bin/bash
# Arguments, extends, mixins, provenance and composing validation on the command line. Needs no container runtime.
set -u
[ -x "${SBX_BIN:?the sbx to test}" ] || { echo "$SBX_BIN is not built"; exit 1; }
command -v python3 >/dev/null || { echo "SKIPPED: no python3"; exit 77; }
fail=0 n=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config XDG_CACHE_HOME=$work/cache NO_COLOR=1
mkdir -p "$work/kits" "$work/ws" && cd "$work/kits" || exit 1

t() { # STATUS TEXT ARGUMENTS...
    local status=$1 text=$2 out got
    shift 2
    out=$(timeout 20 "$SBX_BIN" --no-input "$@" 2>&1 </dev/null)
    got=$?
    n=$((n + 1))
    if [ $got != "$status" ] || [[ $out != *"$text"* ]]; then
        echo "FAILED: sbx $*: status $got, want $status with [$text]; it says: $out"
        fail=1
    fi
}
value() { # WANT PYTHON-EXPRESSION-OF-d ARGUMENTS...: of the JSON on stdout
    local want=$1 expression=$2 out
    shift 2
    out=$(timeout 20 "$SBX_BIN" --no-input "$@" 2>/dev/null </dev/null |
        python3 -c "import json, sys; d = json.load(sys.stdin); print($expression)" 2>&1)
    n=$((n + 1))
    if [ "$out" != "$want" ]; then
        echo "FAILED: sbx $*: $expression is [$out], want [$want]"
        fail=1
    fi
}
kit() { # DIRECTORY NAME, the rest of spec.yaml on stdin
    mkdir -p "$1"
    { printf 'schemaVersion: "2"\nname: %s\n' "$2"; cat; } >"$1/spec.yaml"
}

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

[ $n -ge 25 ] || { echo "only $n checks ran"; fail=1; }
[ $fail = 0 ] && echo "$n checks"
exit $fail
