#!/bin/bash
# Sourced by the tests of this folder: a repository `repo` with kits, its commits $one, $two and $three; an empty
# folder ws.
# shellcheck disable=SC2034,SC2154 # from and for the script that sources it
command -v git >/dev/null || { echo "SKIPPED: git is not installed"; exit 77; }
# libgit2 1.5 with pcre2 keeps the match data of each regular expression (20 KiB a process): not ours to free
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.com
export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.com
unset GIT_SSH_COMMAND GIT_SSH GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_ASKPASS SSH_ASKPASS
git config --global init.defaultBranch main
git config --global protocol.file.allow always

spec() { printf 'schemaVersion: "2"\nkind: %s\nname: %s\n%s\n' "$1" "$2" "$3"; }
git init -q repo
mkdir -p repo/kits/tools/files/home repo/kits/agent repo/kits/lfs/files/home repo/kits/linked ws
spec mixin tools 'environment: { variables: { TOOLS: one } }' >repo/kits/tools/spec.yaml
printf 'hi' >repo/kits/tools/files/home/hi
chmod 755 repo/kits/tools/files/home/hi
spec sandbox agent 'sandbox: { image: "x:1" }
mixins: [ ../tools ]' >repo/kits/agent/spec.yaml
spec mixin lfs '' >repo/kits/lfs/spec.yaml
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >repo/kits/lfs/files/home/big
ln -s "$work/outside" repo/kits/out
ln -s "$work/outside/kit/spec.yaml" repo/kits/linked/spec.yaml
git -C repo add -A && git -C repo commit -qm one
one=$(git -C repo rev-parse HEAD)
git -C repo tag -a v1 -m v1
git -C repo branch release
sed -i 's/one/two/' repo/kits/tools/spec.yaml
git -C repo commit -qam two
two=$(git -C repo rev-parse HEAD)
git init -q sub && printf x >sub/x && git -C sub add -A && git -C sub commit -qm x
git -C repo submodule --quiet add "$work/sub" kits/tools/sub 2>/dev/null
spec sandbox agent 'sandbox: { image: "x:1" }' >repo/kits/agent/spec.yaml
git -C repo commit -qam three
three=$(git -C repo rev-parse HEAD)

# serve [CERTIFICATE KEY]: all below $work over http; $port, $tls; the file requests gets a line for each request
serve() {
    python3 "$SBX_SOURCE_DIR/engine/git/tests/server.py" "$work" requests "$@" >port &
    pids="$pids $!"
    for ((i = 0; i < 6000; i++)); do
        [ -s port ] && break
        sleep 0.01 # poll interval; the loop ends when the port is told
    done
    read -r port tls < <(cat port)
}
