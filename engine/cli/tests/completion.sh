#!/bin/bash
# The completion scripts, read by the shells themselves.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
missing=
say() { echo "completion: $*"; }
PATH=$(dirname "$SBX_BIN"):$PATH

for shell in bash zsh fish; do
    "$SBX_BIN" completion $shell >"$work/$shell" || bad "no script for $shell"
    if ! command -v $shell >/dev/null; then
        missing="$missing $shell"
        continue
    fi
    $shell -n "$work/$shell" || bad "$shell does not read its script"
done

# bash: call the function as readline would. LINE as its words; the last one is being typed.
complete_bash() {
    bash -c '
        source "$1"; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        compopt() { :; }
        _sbx
        printf "%s\n" "${COMPREPLY[@]}"' _ "$work/bash" "$@"
}
has() { # WANT WORDS...
    local want=$1 got
    shift
    got=$(complete_bash "$@")
    n=$((n + 1))
    grep -qxF -- "$want" <<<"$got" || bad "bash: [$*] offers [$got], not [$want]"
}
has run sbx ru
has --template sbx run --te
has missing sbx run --pull = mi
has never sbx run --pull = ""
has sarif sbx kit validate --output ""
has json sbx ls --output ""
got=$(complete_bash sbx ls --output "")
n=$((n + 1))
[[ $got != *sarif* ]] || bad "bash: [ls --output] offers [$got]"
has claude sbx run c
has hello sbx run --kit ""
# What is no name of a sandbox is not offered: a shell would run it, a terminal obey it.
for name in ok-name "\$(id)" $'a\nb\e[31m' -rf; do mkdir -p "$XDG_STATE_HOME/sbx/sandboxes/$name"; done
got=$(complete_bash sbx rm "")
n=$((n + 1))
[ "$got" = ok-name ] || bad "bash: [rm] offers [$got]"
rm -r "$XDG_STATE_HOME/sbx"
touch "$work/afile"
cd "$work" && has afile sbx kit validate ./no af

if command -v fish >/dev/null; then
    got=$(fish --no-config -c "source $work/fish; complete -C 'sbx kit v'")
    [[ $got == validate* ]] || bad "fish: [sbx kit v] offers [$got]"
fi
# zsh: on a terminal of its own, with the keys of a person.
if command -v zsh >/dev/null; then
    got=$(timeout 60 zsh -f -c '
        zmodload zsh/zpty
        zpty z zsh -f -i
        zpty -w z "autoload -U compinit; compinit -u -d $1/zcompdump; source $1/zsh; echo rea""dy"
        zpty -r z out "*ready*"
        zpty -w -n z $'"'"'sbx kit val\t'"'"'
        zpty -r z out "*validate*" && print one
        zpty -w -n z $'"'"'\x15sbx run --pull \t\t'"'"'
        zpty -r z out "*never*" && print values
        zpty -d z' zsh "$work" 2>&1)
    n=$((n + 1))
    [ "$got" = $'one\nvalues' ] || bad "zsh offers [$got]"
fi
if [ -n "$missing" ]; then
    say "NOT CHECKED for want of the shell:$missing"
fi
finish 8
