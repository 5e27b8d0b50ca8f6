#!/bin/bash
# Kits from git by a web server of its own: lighttpd, TLS with its own certificate, log-ins, git's http-backend, replies in chunks.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
# shellcheck source=engine/git/tests/repo.sh
. "$SBX_SOURCE_DIR/engine/git/tests/repo.sh"
lighttpd=$(PATH=$PATH:/usr/sbin command -v lighttpd) || { echo "SKIPPED: lighttpd is not installed"; exit 77; }
backend=$(git --exec-path)/git-http-backend

git clone -q --bare repo open.git
git clone -q --bare repo private.git
mkdir large && git -C large init -q
mkdir large/kit && spec mixin large '' >large/kit/spec.yaml
head -c 3000000 /dev/urandom >large/random
git -C large add -A && git -C large commit -qm large
git clone -q --bare large large.git
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tls.key -out tls.crt -days 2 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
htpasswd -bc users hugo s3cret 2>/dev/null
port=$(free_port)
cat >lighttpd.conf <<CONF
server.modules = ("mod_auth", "mod_authn_file", "mod_alias", "mod_redirect", "mod_setenv", "mod_cgi", "mod_openssl")
server.document-root = "$work/ws"
server.bind = "127.0.0.1"
server.port = $port
server.stream-response-body = 1
ssl.engine = "enable"
ssl.pemfile = "$work/tls.crt"
ssl.privkey = "$work/tls.key"
auth.backend = "htpasswd"
auth.backend.htpasswd.userfile = "$work/users"
auth.require = ("/git/private.git" => ("method" => "basic", "realm" => "git", "require" => "valid-user"))
url.redirect = ("^/moved/(.*)" => "https://localhost:$port/git/\$1", "^/away/(.*)" => "https://127.0.0.1:$port/git/\$1")
url.redirect-code = 302
alias.url = ("/git" => "$backend")
setenv.set-environment = ("GIT_PROJECT_ROOT" => "$work", "GIT_HTTP_EXPORT_ALL" => "1", "HOME" => "$HOME")
\$HTTP["url"] =~ "^/git" { cgi.assign = ("" => "") }
CONF
"$lighttpd" -D -f lighttpd.conf >lighttpd.log 2>&1 &
pids="$pids $!"
answers "$port" $! || { echo "SKIPPED: lighttpd does not start: $(cat lighttpd.log)"; exit 77; }
git=git+https://localhost:$port

t 1 "SSL_CERT_FILE" kit resolve "$git/git/open.git"
export SSL_CERT_FILE=$work/tls.crt
t 0 "#ref=$three" kit resolve "$git/git/open.git"
t 0 "VALID: tools" kit validate "$git/git/open.git#ref=$one&dir=kits/tools"
large=$(git -C large rev-parse HEAD)
t 0 "VALID: large" kit validate "$git/git/large.git#ref=$large&dir=kit"
cmp large/random "$XDG_CACHE_HOME/sbx/git/$large/tree/random" || fail=1
t 0 "2 commits are as they were fetched" cache verify
t 1 "open.git has no commit" kit validate "$git/git/open.git#ref=$(printf "1%.0s" {1..40})"
t 1 "404" kit resolve "$git/git/none.git"

rm -rf "$XDG_CACHE_HOME"
t 3 "no log-in for" kit validate "$git/git/private.git#ref=$one&dir=kits/tools"
git config --global credential.helper '!f() { echo username=hugo; echo password=wrong; }; f'
t 3 "no log-in for" kit validate "$git/git/private.git#ref=$one&dir=kits/tools"
git config --global credential.helper '!f() { echo username=hugo; echo password=s3cret; }; f'
t 0 "VALID: tools" kit validate "$git/git/private.git#ref=$one&dir=kits/tools"
t 0 "#ref=$three" kit resolve "$git/moved/private.git"
t 1 "write the address it is at now" kit resolve "$git/away/private.git"
finish
