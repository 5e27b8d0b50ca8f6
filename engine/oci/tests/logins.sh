#!/bin/bash
# Log-ins as Docker's: each way of keeping them, with registries that want Basic and with a token server; what is refused, and how
# that is told.
# shellcheck source=engine/oci/tests/registry.sh disable=SC2034
. "${SBX_SOURCE_DIR:?}/engine/oci/tests/registry.sh"
here=$SBX_SOURCE_DIR/engine/oci/tests

mkdir -p mix/files/home bin && printf 'schemaVersion: "2"\nkind: mixin\nname: mix\n' >mix/spec.yaml
echo hi >mix/files/home/x
htpasswd -Bbc htpasswd hugo s3cret 2>/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -keyout sign.key -out sign.crt -days 2 -subj /CN=tokens 2>/dev/null
cat >bin/docker-credential-test <<'HELPER'
#!/bin/sh
read -r host
[ "$1" = get ] && echo "$host" >>"$HELPER_LOG" && printf '{"Username":"hugo","Secret":"%s"}\n' "$(cat "$HELPER_SECRET")"
HELPER
chmod +x bin/docker-credential-test
export PATH=$work/bin:$PATH HELPER_LOG=$work/asked HELPER_SECRET=$work/secret
printf s3cret >secret
basic() { printf '%s' "$1" | base64; }
keep() { # HOW: the log-in for $host, kept so
    case $1 in
    auths) printf '{"auths":{"%s":{"auth":"%s"}}}' "$host" "$(basic hugo:s3cret)" ;;
    address) printf '{"auths":{"http://%s/v1/":{"auth":"%s"}}}' "$host" "$(basic hugo:s3cret)" ;;
    plain) printf '{"auths":{"%s":{"username":"hugo","password":"s3cret"}}}' "$host" ;;
    credHelpers) printf '{"credHelpers":{"%s":"test"}}' "$host" ;;
    credsStore) printf '{"credsStore":"test","auths":{"%s":{}}}' "$host" ;;
    identity) printf '{"auths":{"%s":{"auth":"%s","identitytoken":"renewed"}}}' "$host" "$(basic hugo:)" ;;
    wrong) printf '{"auths":{"%s":{"auth":"%s"}}}' "$host" "$(basic hugo:wrong)" ;;
    other) printf '{"auths":{"registry.example.com":{"auth":"%s"}}}' "$(basic hugo:s3cret)" ;;
    esac >"$DOCKER_CONFIG/config.json"
}
works() { # HOW
    keep "$1"
    rm -rf "$XDG_CACHE_HOME" back
    t 0 Pushed kit push mix "$host/${team:-team}/mix:$1"
    t 0 Pulled kit pull "${out##* }" back
    diff -r mix back || { echo "FAILED: $1: another kit comes back"; fail=1; }
}

# --- Basic
registry basic "auth: { htpasswd: { realm: test, path: $work/htpasswd } }"
for how in auths address plain credHelpers credsStore; do works $how; done
is "the helper was asked for this registry alone" "$(sort -u asked)" "$host"
ref=$("$SBX_BIN" kit resolve "$host/team/mix:auths")
rm -rf "$XDG_CACHE_HOME"
for verb in "kit push mix $host/team/mix:1" "kit pull $ref no" "kit resolve $host/team/mix:auths" \
    "kit inspect $host/team/mix:auths" "kit delete $host/team/mix:auths" "kit validate $ref"; do
    keep other
    # shellcheck disable=SC2086 # words
    t 3 "no credentials for $host; run docker login $host" $verb
    keep wrong
    # shellcheck disable=SC2086
    t 3 "log in anew: docker login $host" $verb
done
echo 'not json' >"$DOCKER_CONFIG/config.json"
t 3 "config.json" kit pull "$ref" no
printf '{"credHelpers":{"%s":"broken"}}' "$host" >"$DOCKER_CONFIG/config.json"
printf '#!/bin/sh\necho the keyring is locked; exit 1\n' >bin/docker-credential-broken
chmod +x bin/docker-credential-broken
t 3 "the keyring is locked" kit pull "$ref" no

# --- a token server of our own, with the registry's own check of its tokens
tokens() { # REALM ISSUER
    registry tokens "auth: { token: { realm: '$1', service: test-registry, issuer: '$2', rootcertbundle: $work/sign.crt } }"
}
python3 "$here/tokens.py" sign.crt sign.key scopes >port &
pids="$pids $!"
for ((i = 0; i < 6000; i++)); do
    [ -s port ] && break
    sleep 0.01 # poll interval; the loop ends when the port is told
done
tokens "http://127.0.0.1:$(cat port)/token" test
for how in auths credHelpers credsStore identity; do works $how; done
keep auths
: >scopes
t 0 Pushed kit push mix "$host/public/mix:1"
ref=${out##* }
is "a push asks for no more than it needs" "$(sort -u scopes)" "GET hugo repository:public/mix:pull,push"
keep other
rm -rf "$XDG_CACHE_HOME"
: >scopes
t 0 Pulled kit pull "$ref" nobody
is "what is public needs no log-in" "$(sort -u scopes)" "GET - repository:public/mix:pull"
t 3 "no credentials for $host; run docker login $host" kit push mix "$host/public/mix:2"
t 3 "no credentials for $host; run docker login $host" kit resolve "$host/team/mix:auths"
keep wrong
t 3 "401, UNAUTHORIZED: nobody of that name here" kit resolve "$host/team/mix:auths"
keep auths
t 0 Pushed kit push "$ref" "$host/team/again:1"

# --- and distribution's, where it is installed
if command -v token-server >/dev/null; then
    port=$(free_port)
    openssl rsa -in sign.key -out pkcs1.key -traditional 2>/dev/null
    token-server -addr "127.0.0.1:$port" -issuer real -key pkcs1.key -passwd htpasswd -realm test >tokens.log 2>&1 &
    pids="$pids $!"
    answers "$port" $! || { echo "FAILED: token-server: $(cat tokens.log)"; fail=1; }
    tokens "http://127.0.0.1:$port/token/" real
    team=hugo # there everybody has what is below his name
    for how in auths credHelpers; do works $how; done
    t 3 "log in anew: docker login $host" kit resolve "$host/team/mix:1"
    keep wrong
    t 3 "401" kit resolve "$host/hugo/mix:auths"
else
    echo "not tried: distribution's token-server is not installed"
fi
is "no secret is anywhere" "$(grep -rlE 's3cret|aHVnbzpzM2NyZXQ|renewed' "$XDG_CACHE_HOME" "$XDG_STATE_HOME" 2>/dev/null)" ""
finish
