#!/bin/bash
# Kits from git: by commit only, over files and http, with log-ins, offline after the first time.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
# shellcheck source=engine/git/tests/repo.sh
. "$SBX_SOURCE_DIR/engine/git/tests/repo.sh"

git clone -q --bare repo served.git
git -C served.git config uploadpack.allowAnySHA1InWant true
git clone -q --bare repo strict.git
# commits that no branch and no tag has
loose=$(git -C served.git commit-tree -p "$one" -m loose "$one^{tree}")
bare=$(git -C served.git commit-tree -m bare "$one:kits/tools/files")
pulled=$(git -C strict.git commit-tree -p "$one" -m pulled "$one^{tree}")
git -C strict.git update-ref refs/pull/1/head "$pulled"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
serve tls.crt tls.key
http=git+http://127.0.0.1:$port/served.git
strict=git+http://127.0.0.1:$port/strict.git
private=git+http://127.0.0.1:$port/private/served.git
https=git+https://localhost:$tls/served.git
file=git+file://$work/repo

# --- by commit: the one that is named, in the directory that is named
t 0 '"value": "one"' plan shell ws --kit "$http#ref=$one&dir=kits/tools" --output json
t 0 '"value": "two"' plan shell ws --kit "$http#ref=$two&dir=kits/tools" --output json
t 0 '"TOOLS"' plan "$http#ref=$one&dir=kits/agent" ws --output json
is "mode of a program" "$(stat -c %a "$XDG_CACHE_HOME/sbx/git/$one/tree/kits/tools/files/home/hi")" 755
t 0 "VALID: tools" kit validate "$http#ref=$one&dir=kits/tools"
t 0 "VALID: tools" kit validate "$http#ref=$loose&dir=kits/tools"
: >requests
t 0 "VALID: tools" kit validate "$http#ref=${one^^}&dir=kits%2ftools"
is "what is here is not asked for" "$(wc -l <requests)" 0
rm -rf "$XDG_CACHE_HOME"
t 0 '"value": "one"' plan shell ws --kit "$file#ref=$one&dir=kits/tools" --output json
t 0 '"value": "two"' plan shell ws --kit "$strict#ref=$two&dir=kits/tools" --output json
t 0 "VALID: tools" kit validate "$strict#ref=$pulled&dir=kits/tools"
t 1 "has no commit $loose" kit validate "$strict#ref=$loose&dir=kits/tools"
http_proxy=http://127.0.0.1:1 t 0 "$http#ref=" kit resolve "$http#ref=main" # a proxy for http is left out
https_proxy=http://127.0.0.1:1 t 1 "127.0.0.1" kit resolve "$https#ref=main"
https_proxy=http://127.0.0.1:1 NO_PROXY=localhost GIT_SSL_CAINFO=$work/tls.crt t 0 "$https#ref=" kit resolve "$https#ref=main"
rm -rf "$XDG_CACHE_HOME"
: >requests
for i in 1 2 3 4; do "$SBX_BIN" kit validate "$http#ref=$two&dir=kits/tools" >"at-once.$i" 2>&1 & all[i]=$!; done
for i in 1 2 3 4; do wait "${all[i]}" || { echo "FAILED: one of four at once: $(cat "at-once.$i")"; fail=1; }; done
is "four at once fetch once" "$(grep -c POST requests)" 1

t 0 "Commit         $one" kit inspect "$http#ref=$one&dir=kits/tools"
t 0 "2 commits are as they were fetched" cache verify
t 0 "git    $http   ${one:0:12} " cache ls
is "what can be pasted" "$("$SBX_BIN" cache ls --json | jq -r --arg one "$one" '.entries[] | select(.commit == $one).references[0]')" "$http#ref=$one"
t 0 "Pulled $http#ref=$one&dir=kits/tools into mine" kit pull "$http#ref=$one&dir=kits/tools" mine
diff -r mine "$XDG_CACHE_HOME/sbx/git/$one/tree/kits/tools" || fail=1
t 1 "exists and is not an empty directory" kit pull "$http#ref=$one&dir=kits/tools" mine
t 1 "can move" kit pull "$http#ref=main&dir=kits/tools" mine2

# --- what can move is refused with what it is now, and resolved on request
t 1 "write what it is now: $http#ref=$three&dir=kits/tools" plan shell ws --kit "$http#ref=main&dir=kits/tools"
t 1 "write what it is now: $http#ref=$three&dir=kits/tools" plan shell ws --kit "$http#ref=${three:0:9}&dir=kits/tools"
t 1 "write what it is now: $file#ref=$three&dir=kits/tools" plan shell ws --kit "$file#dir=kits/tools"
t 1 "write what it is now: $http#ref=$three&dir=a%20b%26c" plan shell ws --kit "$http#dir=a%20b%26c"
t 1 "not a full commit" plan shell ws --kit "git+http://127.0.0.1:1/x.git#ref=main"
t 0 "$http#ref=$one&dir=kits/tools" kit resolve "$http#ref=v1&dir=kits/tools"
t 0 "$http#ref=$one" kit resolve "$http#ref=release"
t 0 "$http#ref=$three" kit resolve "$http"
t 0 "$http#ref=$three" kit resolve "$http#ref=${three:0:12}"
t 1 "no branch or tag nothing" kit resolve "$http#ref=nothing"
t 1 "written with all of its 40 digits" kit resolve "$http#ref=${two:0:12}"

# --- what cannot be used, also where a neighbour of the same commit can
t 0 "VALID: agent" kit validate "$http#ref=$three&dir=kits/agent"
t 1 "kits/tools/sub is a submodule" plan shell ws --kit "$http#ref=$three&dir=kits/tools"
t 0 "VALID: lfs" kit validate repo/kits/lfs
t 1 "kits/lfs/files/home/big is kept in Git LFS" plan shell ws --kit "$http#ref=$one&dir=kits/lfs"
t 1 "no directory kits/none" plan shell ws --kit "$http#ref=$one&dir=kits/none"
t 1 "no directory kits/agent/spec.yaml" plan shell ws --kit "$http#ref=$one&dir=kits/agent/spec.yaml"
t 1 "leaves the repository" plan shell ws --kit "$http#ref=$one&dir=kits/../../x"
mkdir -p outside/kit && cp repo/kits/lfs/spec.yaml outside/kit
t 1 "leads out of the repository" plan shell ws --kit "$http#ref=$one&dir=kits/out/kit"
t 1 "leads out of the repository" plan shell ws --kit "$http#ref=$one&dir=kits/out"
t 1 "spec.yaml" plan shell ws --kit "$http#ref=$one&dir=kits/linked"
t 1 "&dir=DIRECTORY" plan shell ws --kit "$http#ref=$bare"
t 1 "is dir= the directory" plan shell ws --kit "$http#ref=$one&dir=kits/tools/files"
t 1 "has no commit" plan shell ws --kit "$http#ref=$(printf '0%.0s' {1..40})"
t 1 "Connection refused" plan shell ws --kit "git+http://127.0.0.1:1/x.git#ref=$(printf '1%.0s' {1..40})"
t 1 "404" kit resolve "git+http://127.0.0.1:$port/none.git"
t 1 "403" kit resolve "git+http://127.0.0.1:$port/error/served.git"
t 1 "$work/none" kit resolve "git+file://$work/none"

# --- log-ins come from git's own helpers, and go only to the host that they are for
rm -rf "$XDG_CACHE_HOME"
t 3 "no log-in for" plan shell ws --kit "$private#ref=$one&dir=kits/tools"
git config --global credential.helper '!f() { echo username=hugo; echo password=wrong; }; f'
t 3 "no log-in for" plan shell ws --kit "$private#ref=$one&dir=kits/tools"
git config --global credential.helper '!f() { echo username=hugo; echo password=s3cret; }; f'
t 0 '"value": "one"' plan shell ws --kit "$private#ref=$one&dir=kits/tools" --output json
is "no secret is in the cache" "$(grep -rl s3cret "$XDG_CACHE_HOME")" ""
: >requests
t 1 "write the address it is at now" kit resolve "git+http://127.0.0.1:$port/away/served.git"
is "a redirect to another host is not followed" "$(grep -c localhost requests)" 0
t 0 "ref=$three" kit resolve "git+http://127.0.0.1:$port/moved/served.git"

# --- TLS
t 1 "SSL_CERT_FILE" kit resolve "$https"
t 1 "SSL_CERT_FILE" plan shell ws --kit "$https#ref=$(printf '1%.0s' {1..40})"
GIT_SSL_CAINFO=$work/served/none t 1 "GIT_SSL_CAINFO" kit resolve "$https"
SSL_CERT_FILE=$work/tls.crt t 0 "$https#ref=$three" kit resolve "$https"
SSL_CERT_FILE=$work/tls.crt t 0 "VALID: tools" kit validate "$https#ref=$two&dir=kits/tools"

# --- offline
kill "${pids##* }"
t 0 '"value": "one"' plan shell ws --kit "$private#ref=$one&dir=kits/tools" --output json
is "no half-made tree is left" "$(find "$XDG_CACHE_HOME/sbx/git" -maxdepth 1 -name '.tmp*')" ""
finish
