#!/bin/bash
# Repositories that are not as they should be, servers that cut, disks that are full: a clear error, and nothing is left.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
# shellcheck source=engine/git/tests/repo.sh
. "$SBX_SOURCE_DIR/engine/git/tests/repo.sh"
# shellcheck disable=SC2119 # no certificate
serve
http=git+http://127.0.0.1:$port
cache=$XDG_CACHE_HOME/sbx/git
nothing_left() { is "nothing is left of $1" "$(ls -A "$cache")" ""; }

# --- trees that only a program makes
git clone -q --bare repo evil.git
git -C evil.git config uploadpack.allowAnySHA1InWant true
git -C evil.git config core.compression 1
cd evil.git || exit 1
blob=$(git rev-parse "$one:kits/tools/spec.yaml") none=$(git hash-object -t tree -w /dev/null)
entry() { # "MODE NAME" ID
    # shellcheck disable=SC2001 # no shell has it
    printf '%s\0%b' "$1" "$(sed 's/../\\x&/g' <<<"$2")"
}
tree() { git hash-object -t tree -w --literally --stdin; }
kit=$(entry '100644 spec.yaml' "$blob" | tree)
within() { # TREE NAME TIMES: that many directories within each other
    local tree=$1
    for ((i = 0; i < $3; i++)); do tree=$(entry "40000 $2" "$tree" | tree); done
    echo "$tree"
}
content() { git hash-object -w --stdin; }
evil() { # STATUS TEXT WHAT <ENTRIES: a commit with them and the kit k
    local commit
    commit=$({ cat; entry '40000 k' "$kit"; } | tree)
    commit=$(git commit-tree -m "$3" "$commit")
    t "$1" "$2" kit validate "$http/evil.git#ref=$commit&dir=k"
    [ "$1" = 0 ] || nothing_left "$3"
    last=$cache/$commit/tree
}
for name in .git . .. a/b ../x /x; do evil 1 "$name: not a name for a file" "a file $name" < <(entry "100644 $name" "$blob"); done
evil 1 ".git: not a name for a file" "a directory .git" < <(entry '40000 .git' "$kit")
evil 1 "..: not a name for a file" "a link .." < <(entry '120000 ..' "$blob")
evil 1 "d/.git: not a name for a file" "a submodule .git" < <(entry '40000 d' "$(entry '160000 .git' "$one" | tree)")
evil 1 "a: File exists" "a name that is there twice" < <(entry '100644 a' "$blob"; entry '100644 a' "$blob")
evil 1 "a: File exists" "a link that is a directory too" < <(entry '120000 a' "$(printf /etc | content)"; entry '40000 a' "$kit")
evil 1 "a: not a link" "a long link" < <(entry '120000 a' "$(printf '%05000d' 0 | content)")
evil 1 "a: not a link" "a link with a NUL" < <(entry '120000 a' "$(printf 'a\0b' | content)")
evil 1 "make link a" "a link to nothing" < <(entry '120000 a' "$(content </dev/null)")
long=$(printf 'a%.0s' {1..256})
evil 1 "File name too long" "a long name" < <(entry "100644 $long" "$blob")
evil 1 "a path longer than 4096 bytes" "a long path" < <(entry "40000 ${long:1}" "$(within "$kit" "${long:1}" 15)")
evil 1 "more than 128 directories" "a deep tree" < <(entry '40000 d' "$(within "$kit" d 128)")
bomb=$kit large=$(head -c 50000000 /dev/zero | content)
for i in 1 2 3 4 5 6; do bomb=$(for j in 0 1 2 3 4 5 6 7 8 9; do entry "40000 d$j" "$bomb"; done | tree); done
evil 1 "more than 200000 files" "a bomb of directories" < <(entry '40000 a' "$bomb")
evil 1 "more than 4294967296 bytes" "a bomb of files" < <(for ((i = 100; i < 200; i++)); do entry "100644 f$i" "$large"; done)
evil 1 "f has more than 268435456 bytes" "a bomb in a file" < <(entry '100644 f' "$(head -c 268435457 /dev/zero | git hash-object -w --stdin)")

# --- trees that are odd, and fit for use: checked by what they are
odd() { # WHAT <ENTRIES
    evil 0 "VALID: tools" "$1"
    t 0 "1 commits are as they were fetched" cache verify
}
odd "names that differ in case" < <(entry '100644 A' "$blob"; entry '100644 a' "$blob"; entry '40000 K' "$none")
is "both are there" "$(cd "$last" && echo *)" "A K a k"
t 0 "Freed" cache prune --all
odd "modes of other things" < <(entry '104755 setuid' "$blob"; entry '060644 device' "$blob"; entry '010644 fifo' "$blob"; entry '0 none' "$blob")
is "files" "$(find "$last" -maxdepth 1 -printf '%f %y %m\n' | sort | grep -v ' d ')" $'device f 644\nfifo f 644\nnone f 644\nsetuid f 755'
t 0 "Freed" cache prune --all
odd "a name as long as can be" < <(entry "100644 ${long:1}" "$blob")
cd ..

# --- what has an id and is no commit; ids that nobody has; ids that a server gives only where they are reached
tag=$(git -C evil.git rev-parse v1)
git clone -q --bare repo strict.git
git -C strict.git update-ref refs/pull/2/head "$(git -C strict.git commit-tree -p "$one" -m pulled "$one^{tree}")"
pulled=$(git -C strict.git rev-parse refs/pull/2/head)
for server in evil strict; do
    t 1 "$tag is a tag, not a commit; write #ref=$one" kit validate "$http/$server.git#ref=$tag&dir=kits/tools"
done
t 0 "$http/strict.git#ref=$one&dir=k" kit resolve "$http/strict.git#ref=${tag:0:10}&dir=k"
t 1 "is a tree, not a commit" kit validate "$http/evil.git#ref=$kit&dir=k"
git -C strict.git config uploadpack.allowReachableSHA1InWant true
: >requests
t 0 "VALID: tools" kit validate "$http/strict.git#ref=$two&dir=kits/tools"
t 0 "VALID: tools" kit validate "$http/strict.git#ref=$pulled&dir=kits/tools"
is "asked for by their ids" "$(grep -c POST requests)" 2

# --- no commits; commits of another kind
git init -q --bare empty.git
t 1 "empty.git has no commits" kit resolve "$http/empty.git"
t 1 "empty.git has no commit $one" kit validate "$http/empty.git#ref=$one&dir=k"
git init -q --bare --object-format=sha256 sha256.git
other=$(git -C sha256.git commit-tree -m x "$(git -C sha256.git hash-object -t tree -w /dev/null)")
git -C sha256.git update-ref refs/heads/main "$other"
git clone -q --bare --depth 1 "file://$work/repo" shallow.git
t 1 "shallow ones cannot be read" kit resolve "$http/shallow.git"
for place in "$http" "git+file://$work"; do
    t 1 "repositories with SHA-256 commits and" kit resolve "$place/sha256.git"
    t 1 "repositories with SHA-256 commits and" kit validate "$place/sha256.git#ref=${other:0:40}"
    t 1 "is not a full commit" kit validate "$place/sha256.git#ref=$other"
done

# --- dir=
mkdir -p repo/kits/in && ln -s ../tools repo/kits/in/here && ln -s /etc repo/kits/in/etc && ln -s loop repo/kits/in/loop
git -C repo checkout -q "$one" -- kits/tools 2>/dev/null
git -C repo add -A && git -C repo commit -qm links
links=git+file://$work/repo#ref=$(git -C repo rev-parse HEAD)
t 0 "VALID: agent" kit validate "$links&dir=kits/agent"
t 1 "kits/tools/sub is a submodule" kit validate "$links&dir=kits/in/here"
t 1 "leads out of the repository" kit validate "$links&dir=kits/in/etc"
t 1 "no directory kits/in/loop" kit validate "$links&dir=kits/in/loop"
t 1 "without a leading" kit validate "$links&dir=/kits/agent"
t 0 "VALID: agent" kit validate "$links&dir=./kits//agent/"
t 0 "VALID: agent" kit validate "$links&dir=%6bits%2Fagent"

# --- a reply that ends in its middle; the next one is whole
rm -rf "$cache"
t 1 "cut/strict.git" kit validate "$http/cut/strict.git#ref=$one&dir=kits/tools"
nothing_left "a reply that was cut"
t 0 "VALID: tools" kit validate "$http/strict.git#ref=$one&dir=kits/tools"

# --- a full disk: while it is fetched, and while files are made
if [ "$(id -u)" = 0 ]; then
    mkdir room
    head -c 5000000 /dev/urandom >repo/random && git -C repo add -A && git -C repo commit -qm random
    random=$(git -C repo rev-parse HEAD)
    head -c 5000000 /dev/zero >repo/random && git -C repo add -A && git -C repo commit -qm zeros
    zeros=$(git -C repo commit-tree -m zeros 'HEAD^{tree}')
    git init -q --bare alone.git && git -C repo push -q ../alone.git "$zeros:refs/heads/main"
    for full in "repo#ref=$random" "alone.git#ref=$zeros"; do
        # shellcheck disable=SC2016 # for the shell in the mount namespace
        out=$(unshare -m sh -c 'mount -t tmpfs -o size=2m room "$1" && export XDG_CACHE_HOME=$1 && ! "$2" kit validate "$3" && ls -A "$1/sbx/git"' \
            _ "$work/room" "$SBX_BIN" "$http/$full&dir=kits/agent" 2>&1)
        is "a full disk is named; it says: $out" "$(grep -c "No space left on device" <<<"$out")" 1
        is "nothing is left on a full disk" "$(wc -l <<<"$out")" 1
    done
fi
finish
