#!/bin/bash
# Kits from git: by commit only, over files and http, with log-ins, offline after the first time.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
command -v git >/dev/null || { echo "SKIPPED: git is not installed"; exit 77; }
# libgit2 1.5 with pcre2 keeps the match data of each regular expression (20 KiB a process): not ours to free
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@example.com
export GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@example.com
git config --global init.defaultBranch main
git config --global protocol.file.allow always

git init -q repo
mkdir -p repo/kits/tools/files/home repo/kits/agent repo/kits/lfs/files/home ws
spec() { printf 'schemaVersion: "2"\nkind: %s\nname: %s\n%s\n' "$1" "$2" "$3"; }
spec mixin tools 'environment: { variables: { TOOLS: one } }' >repo/kits/tools/spec.yaml
printf 'hi' >repo/kits/tools/files/home/hi
chmod 755 repo/kits/tools/files/home/hi
spec sandbox agent "sandbox: { image: \"x:1\" }
mixins: [ ../tools ]" | sed 's#\.\./tools#../tools#' >repo/kits/agent/spec.yaml
spec mixin lfs '' >repo/kits/lfs/spec.yaml
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n' >repo/kits/lfs/files/home/big
git -C repo add -A && git -C repo commit -qm one
one=$(git -C repo rev-parse HEAD)
git -C repo tag -a v1 -m v1
git -C repo branch release
sed -i 's/one/two/' repo/kits/tools/spec.yaml
git -C repo commit -qam two
two=$(git -C repo rev-parse HEAD)
git init -q sub && printf x >sub/x && git -C sub add -A && git -C sub commit -qm x
git -C repo submodule --quiet add "$work/sub" kits/tools/sub 2>/dev/null
git -C repo commit -qm three
three=$(git -C repo rev-parse HEAD)
git clone -q --bare repo served.git
python3 "$SBX_SOURCE_DIR/engine/git/tests/server.py" "$work" >port &
pids="$pids $!"
for ((i = 0; i < 1000; i++)); do
    [ -s port ] && break
    sleep 0.01 # poll interval; the loop ends when the port is told
done
http=git+http://127.0.0.1:$(cat port)/served.git
private=git+http://127.0.0.1:$(cat port)/private/served.git
file=git+file://$work/repo

# --- by commit: the one that is named, in the directory that is named
t 0 '"value": "one"' plan shell ws --kit "$http#ref=$one&dir=kits/tools" --output json
t 0 '"value": "two"' plan shell ws --kit "$http#ref=$two&dir=kits/tools" --output json
t 0 '"value": "one"' plan shell ws --kit "$file#ref=$one&dir=kits/tools" --output json
t 0 '"TOOLS"' plan "$http#ref=$one&dir=kits/agent" ws --output json
is "mode of a program" "$(stat -c %a "$XDG_CACHE_HOME/sbx/git/$one/kits/tools/files/home/hi")" 755
t 0 "VALID: tools" kit validate "$http#ref=$one&dir=kits/tools"

# --- what can move is refused, and resolved on request
t 1 "not a full commit" plan shell ws --kit "$http#ref=main&dir=kits/tools"
t 1 "write what it is now: $file#ref=$three&dir=kits/tools" plan shell ws --kit "$file#dir=kits/tools"
t 0 "$http#ref=$one&dir=kits/tools" kit resolve "$http#ref=v1&dir=kits/tools"
t 0 "$http#ref=$one" kit resolve "$http#ref=release"
t 0 "$http#ref=$three" kit resolve "$http"
t 1 "no branch or tag nothing" kit resolve "$http#ref=nothing"

# --- what cannot be used
t 1 "is a submodule" plan shell ws --kit "$http#ref=$three&dir=kits/tools"
t 0 "VALID: lfs" kit validate repo/kits/lfs
t 1 "Git LFS" plan shell ws --kit "$http#ref=$one&dir=kits/lfs"
t 1 "no directory kits/none" plan shell ws --kit "$http#ref=$one&dir=kits/none"
t 1 "has no commit" plan shell ws --kit "$http#ref=$(printf '0%.0s' {1..40})"
t 1 "127.0.0.1" plan shell ws --kit "git+http://127.0.0.1:1/x.git#ref=$(printf '1%.0s' {1..40})"

# --- log-ins come from git's own helpers
rm -rf "$XDG_CACHE_HOME"
t 3 "no log-in for" plan shell ws --kit "$private#ref=$one&dir=kits/tools"
git config --global credential.helper '!f() { echo username=hugo; echo password=s3cret; }; f'
t 0 '"value": "one"' plan shell ws --kit "$private#ref=$one&dir=kits/tools" --output json
is "no secret is in the cache" "$(grep -rl s3cret "$XDG_CACHE_HOME")" ""
is "no half-made tree is left" "$(find "$XDG_CACHE_HOME/sbx/git" -maxdepth 1 -name '.tmp*')" ""

# --- offline
kill ${pids##* }
t 0 '"value": "one"' plan shell ws --kit "$private#ref=$one&dir=kits/tools" --output json
finish
