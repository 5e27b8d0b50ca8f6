#!/bin/bash
# `sbx run` on a terminal, driven through tmux: size, resize, Ctrl-C, Ctrl-D, the agent's exit status.
. "$(dirname "$0")/lib.sh"
command -v tmux >/dev/null || skip "tmux is not installed"

ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
new_name
session=sbx-$$-$runtime
t() { tmux -L "$session" "$@"; }
cleanup() { t kill-server 2>/dev/null; }
screen() { t capture-pane -p -t 0; }
# Each text is one that only what was awaited writes: keys are echoed before anybody reads them.
wait_screen() { # WHAT TEXT [TEXT BEHIND IT]
    for _ in $(seq 600); do
        if [[ $(screen) == *"$2"*"${3:-}"* ]]; then pass "$1"; return; fi
        sleep 0.1
    done
    die "$1: [$2${3:+ ... $3}] did not appear in [$(screen)]" # what follows would type into the wrong program
}

t new-session -d -s s -x 200 -y 50 "env XDG_STATE_HOME=$XDG_STATE_HOME XDG_CACHE_HOME=$XDG_CACHE_HOME \
    XDG_CONFIG_HOME=$XDG_CONFIG_HOME HOME=$HOME PS1='host> ' bash --norc --noprofile"
wait_screen "a shell of the host" "host>"
t send-keys "$SBX_BIN --app-name $app run --runtime $runtime shell --name $name $ws; echo status=\$?" Enter
wait_screen "the agent's prompt" "@$name"
t send-keys "stty size; echo done-1" Enter
wait_screen "the size is the terminal's" "50 200"
t resize-window -t s -x 81 -y 25
t send-keys "clear" Enter
for _ in $(seq 50); do
    t send-keys "stty size" Enter
    sleep 0.2
    [[ $(screen) != *"25 81"* ]] || break
done
wait_screen "a resize arrives" "25 81"
t send-keys "clear; echo slee''ping; sleep 100" Enter
wait_screen "a program runs" "sleeping"
t send-keys C-c
t send-keys "echo after-int=\$?" Enter
wait_screen "Ctrl-C reaches the agent, not sbx" "after-int=130"
t send-keys "clear; echo read''ing; cat" Enter
wait_screen "a program reads" "reading" # what is typed before is not echoed by the terminal
t send-keys "echoed-line" Enter
wait_screen "typing arrives" "echoed-line" "echoed-line" # of the terminal, and of cat
t send-keys C-d
t send-keys "echo after-e''of" Enter
wait_screen "Ctrl-D ends what reads" "after-eof"
t send-keys "exit 7" Enter
wait_screen "the agent's exit status" "status=7"
t send-keys "stty -a | grep -q -- ' echo ' && echo rest''ored" Enter
wait_screen "the terminal is restored" "restored"
t send-keys "clear; $SBX_BIN --app-name $app run --name $name -- -c 'tty; exit 5'; echo status=\$?" Enter
wait_screen "run --name attaches again" "/dev/pts/"
wait_screen "with its status" "status=5"
is "the sandbox stays up after the agent" "$(sbx ls --output json | jq -r --arg n "$name" '.sandboxes[] | select(.name == $n) | .status')" running

# Without a terminal.
new_name
exits "run without a terminal" 9 sbx run --runtime "$runtime" shell --name "$name" "$ws" -- -c 'tty; echo out; exit 9'
has "no terminal inside" "$out" "not a tty"
new_name
exits "run -d prints the name" 0 sbx run -d --runtime "$runtime" shell --name "$name" "$ws"
has "of the sandbox" "$out" "$name"
