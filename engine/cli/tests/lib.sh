# shellcheck shell=bash
# Read by the scripts of this folder that need no container runtime: directories of their own and one line a check.
# `sbx` here is SBX_BIN without standard input and prompts. The last line of a script is `finish`.
set -u
[ -x "${SBX_BIN:?the sbx to test}" ] || { echo "$SBX_BIN is not built"; exit 1; }
fail=0 n=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/state XDG_CONFIG_HOME=$work/config XDG_CACHE_HOME=$work/cache NO_COLOR=1

bad() { echo "FAILED: $*"; fail=1; }
sbx() { timeout 60 "$SBX_BIN" --no-input "$@" </dev/null; }
check() { # STATUS TEXT COMMAND...: the status, and a text in what it says
    local status=$1 text=$2 out got
    shift 2
    out=$("$@" 2>&1)
    got=$?
    n=$((n + 1))
    [ $got = "$status" ] && [[ $out == *"$text"* ]] || bad "$*: status $got, want $status with [$text]; it says: ${out:0:900}"
}
t() { # STATUS TEXT ARGUMENTS...: of sbx
    local status=$1 text=$2
    shift 2
    check "$status" "$text" sbx "$@"
}
lacks() { # TEXT ARGUMENTS...: sbx does not say it
    local text=$1 out
    shift
    out=$(sbx "$@" 2>&1)
    n=$((n + 1))
    [[ $out != *"$text"* ]] || bad "sbx $*: says [$text]: ${out:0:900}"
}
value() { # WANT PYTHON-EXPRESSION-OF-v ARGUMENTS...: of the one JSON value on stdout
    local want=$1 expression=$2 out
    shift 2
    out=$(sbx "$@" 2>/dev/null |
        python3 -c "import json, sys; d = v = json.load(sys.stdin); print($expression)" 2>&1)
    n=$((n + 1))
    [ "$out" = "$want" ] || bad "sbx $*: $expression is [${out:0:900}], want [$want]"
}
j() { # PYTHON-EXPRESSION-OF-v ARGUMENTS...: it is true
    local expression=$1
    shift
    value True "bool($expression)" "$@"
}
json() { # STATUS ARGUMENTS...: one JSON value on stdout and events on stderr, also of a failure
    local status=$1 got
    shift
    sbx "$@" >"$work/json.out" 2>"$work/json.err"
    got=$?
    n=$((n + 1))
    [ $got = "$status" ] && python3 - "$work/json.out" "$work/json.err" "$got" 2>"$work/json.why" <<'END' ||
import json, sys
json.load(open(sys.argv[1]))
events = [json.loads(line)["event"] for line in open(sys.argv[2])]
assert (events[-1:] == ["error"]) == (sys.argv[3] != "0"), events
END
        bad "sbx $*: status $got, want $status, one JSON value, and JSON lines on stderr: $(tail -1 "$work/json.why") $(head -c 900 "$work/json.out" "$work/json.err")"
}
kit() { # DIRECTORY NAME, the rest of spec.yaml on stdin
    mkdir -p "$1"
    { printf 'schemaVersion: "2"\nname: %s\n' "$2"; cat; } >"$1/spec.yaml"
}
same() { cmp -s "$1" "$2" || bad "$1 and $2 differ"; }
finish() { # AT-LEAST: so many checks ran
    [ "$n" -ge "$1" ] || bad "only $n checks ran"
    [ $fail = 0 ] && echo "ok: $n checks"
    exit $fail
}
