#!/bin/bash
# What was fetched from git is checked against its commit: whatever differs is found, named and fetched again.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
# shellcheck source=engine/git/tests/repo.sh
. "$SBX_SOURCE_DIR/engine/git/tests/repo.sh"

# --- a commit with all that a tree can hold, also what only old tools wrote
git -C repo checkout -q "$three" 2>/dev/null
cd repo || exit 1
mkdir -p kits/tools/files/home/deep/er kits/twin
head -c 300000 /dev/zero >kits/tools/files/home/large
: >kits/tools/files/home/empty
cp -r kits/tools/files/home/deep kits/twin/deep && echo same | tee kits/tools/files/home/deep/er/f >kits/twin/deep/f
ln -s spec.yaml kits/tools/link
printf x >'kits/tools/a b'$'\n''c'
git add -A && git commit -qm all
blob=$(git hash-object -w kits/tools/spec.yaml)
# shellcheck disable=SC2001 # no shell has it
odd() { printf '%s\0%b' "$1" "$(sed 's/../\\x&/g' <<<"$2")"; }
none=$(git hash-object -t tree -w /dev/null)
old=$({ odd '100664 group' "$blob"; odd '100777 many' "$blob"; odd '040000 zero' "$none"; odd '106755 before' "$blob"; } | git hash-object -t tree -w --literally --stdin)
all=$({ git ls-tree HEAD; printf '040000 tree %s\told\n' "$old"; } | git mktree)
all=$(git commit-tree -p HEAD -m odd "$all")
git update-ref refs/heads/all "$all"
cd ..
kit="git+file://$work/repo#ref=$all&dir=kits/agent"
cache=$XDG_CACHE_HOME/sbx/git export=$XDG_CACHE_HOME/sbx/git/$all
t 0 "VALID: agent" kit validate "$kit"
is "what it is kept by" "$(ls -A "$export")" $'.git\ntree'
t 0 "1 commits are as they were fetched" cache verify
is "as data" "$("$SBX_BIN" cache verify --json | jq -c .)" '{"blobs":0,"kits":0,"commits":1,"damaged":[],"changed":[],"unchecked":[]}'

# --- whatever changes is found and named; the next use fetches it again
changed() { # WHAT COMMAND
    (cd "$export/tree" && eval "$2") || { echo "FAILED: cannot $2"; fail=1; }
    t 1 "differs from its commit, removed: git $all: $1" cache verify
    is "removed after: $2" "$(ls -A "$cache")" ""
    t 0 "VALID: agent" kit validate "$kit"
}
home=kits/tools/files/home
changed "kits/tools/spec.yaml has another content" 'echo "# evil" >>kits/tools/spec.yaml'
changed "$home/large has another content" "printf x | dd of=$home/large bs=1 seek=299999 conv=notrunc status=none"
changed "$home/large has another content" "truncate -s 65536 $home/large"
changed "$home/empty has another content" "echo >$home/empty"
changed "$home/hi has another mode" "chmod 644 $home/hi"
changed "kits/tools/spec.yaml has another mode" 'chmod 755 kits/tools/spec.yaml'
changed "old/group has another mode" 'chmod 664 old/group'
changed "old/many has another mode" 'chmod u+s old/many'
changed "kits/lfs/$(cut -d/ -f3- <<<"$home")/big has another mode" 'chmod 644 kits/lfs/files/home/big' # a pointer of LFS
changed "kits/tools/sub has another mode" 'chmod 755 kits/tools/sub'                                   # a submodule
changed "kits/twin has another mode" 'chmod +t kits/twin'
changed "kits/tools/sub/x was added" 'touch kits/tools/sub/x'
changed "more was added" 'touch more'
changed "old/x was added" 'touch old/x'
changed "kits/twin/deep/.git was added" 'mkdir kits/twin/deep/.git'
changed "old/zero/x was added" 'ln -s /etc/passwd old/zero/x'
changed "$home/deep/er/f is missing" "rm $home/deep/er/f"
changed "kits/tools/sub is missing" 'rmdir kits/tools/sub'
changed "old/zero is missing" 'rmdir old/zero'
changed "kits/tools/link leads elsewhere" 'ln -sfn spec.yamm kits/tools/link'
changed "kits/tools/link is of another kind" 'rm kits/tools/link; cp kits/tools/spec.yaml kits/tools/link'
changed "kits/tools/spec.yaml is of another kind" 'mv kits/tools/spec.yaml ..; ln -s ../../../spec.yaml kits/tools/spec.yaml'
changed "kits/tools/spec.yaml is of another kind" 'rm kits/tools/spec.yaml; mkfifo kits/tools/spec.yaml'
changed "kits/tools/spec.yaml is of another kind" 'rm kits/tools/spec.yaml; mkdir kits/tools/spec.yaml'
changed "kits/twin is of another kind" 'mv kits/twin ../twin; ln -s ../../twin kits/twin'
changed "kits/twin is of another kind" 'rm -r kits/twin; echo >kits/twin'
changed "tree is of another kind" 'mv ../tree ../real; ln -s real ../tree'
changed "tree is missing" 'rm -r ../tree'
changed "kits/tools/a b" "echo y >'kits/tools/a b'\$'\n''c'"
# what it is checked by
changed ".git has another content" 'truncate -s -1 ../.git'
changed ".git" 'rm ../.git'
changed ".git is no file" 'rm ../.git; mkdir ../.git'
changed "the commit has no tree" 'sed -i s/odd/odx/ ../.git'
changed "the commit has no tree" ': >../.git'
changed "old: its content is missing" 'sed -i s/many/manx/ ../.git'
if [ "$(id -u)" != 0 ]; then
    changed "kits/tools/spec.yaml cannot be read" 'chmod 0 kits/tools/spec.yaml'
    changed "kits/tools cannot be read" 'chmod 0 kits/tools'
    changed ".git is no file that can be read" 'chmod 0 ../.git'
fi
mv "$export" "$work/good"
echo x >"$export"
t 1 "git $all: it is no directory" cache verify
mkdir "$cache/named"
cp -r "$work/good/.git" "$work/good/tree" "$cache/named"
t 1 "git named: no commit has such a name" cache verify
mv "$work/good" "$export"

# --- not while another command reads it; not where nothing can be written
echo x >"$export/tree/more"
exec 9<"$export"
flock -s 9
t 1 "are damaged: commit $all is in use" cache verify
exec 9<&-
t 1 "1 of 1 blobs, kits and commits were damaged" cache verify
t 0 "VALID: agent" kit validate "$kit"
if [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2016 # for the shell in the mount namespace
    out=$(unshare -m bash -c 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && "$2" cache verify' _ "$XDG_CACHE_HOME" "$SBX_BIN" 2>&1)
    is "read only" "$out" "0 blobs are whole, 0 kits are as they were unpacked, 1 commits are as they were fetched"
fi

# --- what an earlier version exported: used, and not checked
rm "$export/.git"
mv "$export/tree" "$cache/was" && rmdir "$export" && mv "$cache/was" "$export"
mv repo away
t 0 "VALID: agent" kit validate "$kit"
t 0 "1 unpacked kits were not checked" cache verify
is "as data" "$("$SBX_BIN" cache verify --json | jq -c '[.commits, .unchecked]')" "[0,[\"$all\"]]"
mv away repo
t 0 "Freed" cache prune --all
t 0 "VALID: agent" kit validate "$kit"
t 0 "1 commits are as they were fetched" cache verify
finish
