#!/bin/bash
# A credential that the gate adds: the origin sees it, nothing inside ever does; all other hosts are relayed untouched.
#   intercept.sh docker|oci [IMAGE]    IMAGE: one with more clients (python3, node, java, go ...); each that is there is tried
. "$(dirname "$0")/lib.sh"

fixture=$SBX_SOURCE_DIR/scripts/fixture/fixture.sh
record=$("$fixture" record)
roots=$(dirname "$record")/ca.pem
[ -s "$roots" ] || skip "the test origins are not up"
state=$XDG_STATE_HOME/sbx/apps/$app
secret=sbx-e2e-secret-$$-$RANDOM
ws=$work/ws
mkdir "$ws"
chown 1000:1000 "$ws"
mixin net <<'SPEC'
permissions: { network: { allow: ["api.example.com", "cdn.example.com", "git.example.com"] } }
SPEC
new_name
id=$name key=key-$name
cleanup() { rm -f "$state/inject/$id.json" "$state/secrets/$key"; }
mkdir -p "$state/inject" "$state/secrets"
umask 077
printf '[{"to":"api.example.com:443","header":"Authorization","secret":"%s"}]\n' "$key" >"$state/inject/$id.json"
printf 'Bearer %s\n' "$secret" >"$state/secrets/$key"
umask 022

echo no certificates >"$work/bad.pem"
exits "roots that are none are refused before anything is made" 2 sbx create --runtime "$runtime" --upstream-ca "$work/bad.pem" \
    shell --name "$id" "$ws"
has "with the reason" "$out" "--upstream-ca: no certificates in PEM form"
sbx create --runtime "$runtime" ${2:+--template "$2"} --upstream-ca "$roots" shell --kit "$work/net" --name "$id" "$ws" \
    >"$work/create.log" 2>&1 || die "create: $(cat "$work/create.log")"
inside() { timeout 60 "$SBX_BIN" --app-name "$app" --no-input exec "$id" -- "$@"; }
arrived() { grep -c "\"target\": \"$1\".*Bearer $secret" "$record"; } # TARGET

# The programs that everybody has, by the proxy and past it, and however they are started.
got=$(inside curl -sS -H 'Authorization: mine' "https://api.example.com/curl-$id")
has "curl is answered" "$got" '"method": "GET"'
is "the origin saw the value" "$(arrived "/curl-$id")" 1
hasnt "and not the client's own" "$(grep "/curl-$id\"" "$record")" mine
has "the answer that shows it came from the origin's echo" "$got" "Bearer $secret"
is "past the proxy" "$(inside env -u https_proxy -u HTTPS_PROXY curl -sS -o /dev/null -w '%{http_code}' "https://api.example.com/past-$id")" 200
is "it has the value too" "$(arrived "/past-$id")" 1
is "under sudo" "$(inside sudo curl -sS -o /dev/null -w '%{http_code}' https://api.example.com/)" 200
is "in a login shell" "$(inside sudo -i curl -sS -o /dev/null -w '%{http_code}' https://api.example.com/)" 200
is "in a login shell of the agent" "$(inside env -i /bin/bash -lc 'curl -sS -o /dev/null -w "%{http_code}" https://api.example.com/')" 200
is "without any variable: the system's bundle" "$(inside env -i /usr/bin/curl -sS -x http://gateway.docker.internal:3128 -o /dev/null -w '%{http_code}' https://api.example.com/)" 200
is "as root by exec" "$(timeout 60 "$SBX_BIN" --app-name "$app" exec -u 0 "$id" -- curl -sS -o /dev/null -w '%{http_code}' https://api.example.com/)" 200
# The certificate itself, for programs that take it from a variable.
want=$(inside sh -c 'base64 -w0 /usr/local/share/ca-certificates/*sbx*.crt')
is "the certificate in a variable" "$(inside printenv PROXY_CA_CERT_B64)" "$want"
is "under sudo" "$(inside sudo printenv PROXY_CA_CERT_B64)" "$want"
is "in a login shell of root" "$(inside sudo -i printenv PROXY_CA_CERT_B64)" "$want"
is "in a login shell that had nothing" "$(inside env -i /bin/bash -lc 'printenv PROXY_CA_CERT_B64')" "$want"
is "where a value that is set stays" "$(inside env PROXY_CA_CERT_B64=mine /bin/bash -lc 'printenv PROXY_CA_CERT_B64')" mine

show() { inside sh -c "openssl s_client -connect $1:443 -servername $1 -verify_return_error -x509_strict </dev/null 2>&1"; }
out=$(show api.example.com)
has "openssl verifies strictly" "$out" "Verify return code: 0 (ok)"
has "the certificate is the sandbox's" "$out" "issuer=O = sbx sandbox CA"
out=$(show cdn.example.com)
has "another host shows the origin's own certificate" "$out" "i:CN = sbx test CA"
cp "$roots" "$ws/roots.pem"
is "and is relayed" "$(inside curl -sS --cacert "$ws/roots.pem" -o /dev/null -w '%{http_code}' "https://cdn.example.com/cdn-$id")" 200
hasnt "without the value" "$(grep "/cdn-$id\"" "$record")" "$secret"
is "nor does plain text get it" "$(inside curl -sS -o /dev/null -w '%{http_code}' "http://api.example.com/plain-$id")" 200
hasnt "at the origin" "$(grep "/plain-$id\"" "$record")" "$secret"
has "another Host is refused" "$(inside curl -sS -i -H 'Host: cdn.example.com' "https://api.example.com/evil-$id")" " 421 "
is "and does not arrive" "$(grep -c "/evil-$id\"" "$record")" 0
inside git ls-remote "https://api.example.com/git-$id" >/dev/null 2>&1 # the origin has no repository
has "git comes through, with the value" "$(grep "/git-$id/info/refs" "$record")" "Bearer $secret"

# Whatever else the image has. Each prints the status.
client() { # NAME PROGRAM COMMAND
    inside sh -c "command -v $2 >/dev/null" || { echo "     no $2 in this image: $1 is not tried"; return; }
    is "$1" "$(inside sh -c "$3" 2>&1 | tail -1)" 200
    is "$1: the value arrived" "$(arrived "/$1-$id")" 1
}
url=https://api.example.com
client python python3 "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"$url/python-$id\").status)'"
client requests python3 "python3 -c 'import requests' 2>/dev/null || exit 1; python3 -c 'import requests; print(requests.get(\"$url/requests-$id\").status_code)'"
client node node "node -e 'fetch(\"$url/node-$id\").then(r => console.log(r.status))'"
client wget wget "wget -q -S -O /dev/null $url/wget-$id 2>&1 | sed -n 's/^ *HTTP.* 200 .*/200/p'"
if inside sh -c 'command -v java >/dev/null'; then
    cat >"$ws/Get.java" <<'JAVA'
class Get {
    public static void main(String[] a) throws Exception {
        var c = (java.net.HttpURLConnection) new java.net.URL(a[0]).openConnection();
        System.out.println(c.getResponseCode());
    }
}
JAVA
    client java java "java $ws/Get.java $url/java-$id"
fi
if command -v go >/dev/null || [ -x /usr/local/go/bin/go ]; then # a static program: the image need not have go
    mkdir -p "$work/go"
    cat >"$work/go/main.go" <<'GO'
package main

import ("fmt"; "net/http"; "os")

func main() {
	r, err := http.Get(os.Args[1])
	if err != nil { fmt.Println(err); return }
	fmt.Println(r.StatusCode)
}
GO
    if (cd "$work/go" && PATH=$PATH:/usr/local/go/bin CGO_ENABLED=0 GOCACHE=$home/go-cache GOFLAGS=-mod=mod GO111MODULE=off \
        go build -o "$ws/get" main.go) >"$work/go.log" 2>&1; then
        client go "$ws/get" "$ws/get $url/go-$id"
    fi
fi

# The value is nowhere inside, nor in what we keep; the key of the authority is nowhere inside.
inner="grep -rls --exclude-dir=proc --exclude-dir=sys $secret / 2>/dev/null; grep -ls $secret /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; true"
is "no file or environment inside has the value" "$(inside sudo sh -c "$inner" | grep -v '^/proc/')" ""
is "nor a private key of the authority" "$(inside sudo sh -c "grep -rls --exclude-dir=proc --exclude-dir=sys 'BEGIN PRIVATE KEY' /etc /run /usr/local/share /home 2>/dev/null; true")" ""
sandbox=$state/sandboxes/$id
is "what the engine keeps of the sandbox has it nowhere" "$(grep -rls "$secret" "$sandbox"; true)" ""
hasnt "nor the log" "$(sbx policy log "$id" --output json)" "$secret"
log=$(cat "$sandbox"/log/log.jsonl)
has "the log has the requests inside" "$log" '"protocol":"https"'

# The value changes, goes, and comes back; the broker is killed.
rotated=sbx-e2e-next-$$-$RANDOM
(umask 077 && printf 'Bearer %s\n' "$rotated" >"$state/secrets/.new" && mv "$state/secrets/.new" "$state/secrets/$key")
for _ in $(seq 100); do inside curl -sS "$url/next-$id" | grep -q "$rotated" && break; done
has "a new value is what the next requests have" "$(grep "/next-$id\"" "$record" | tail -1)" "$rotated"
rm "$state/secrets/$key"
for _ in $(seq 100); do [ "$(inside curl -sS -o /dev/null -w '%{http_code}' "$url/")" = 503 ] && break; done
has "without a value the request is refused" "$(inside curl -sS "$url/gone-$id")" "credential that the gate adds is not available"
is "and nothing arrives" "$(grep -c "/gone-$id\"" "$record")" 0
(umask 077 && printf 'Bearer %s\n' "$secret" >"$state/secrets/$key")
for _ in $(seq 100); do [ "$(inside curl -sS -o /dev/null -w '%{http_code}' "$url/")" = 200 ] && break; done
is "and served again with one" "$(inside curl -sS -o /dev/null -w '%{http_code}' "$url/")" 200
sbx stop "$id" >/dev/null 2>&1
is "after a stop and a start" "$(inside curl -sS -o /dev/null -w '%{http_code}' "$url/again-$id")" 200
is "with the value" "$(arrived "/again-$id")" 1
broker() { # its pid
    for p in $(pgrep -x sbx-broker); do
        for f in /proc/"$p"/fd/*; do
            if [ "$(readlink "$f")" = "$state/sandboxes/$id/net/ended" ]; then echo "$p"; fi
        done 2>/dev/null
    done
}
one=$(broker)
is "one broker runs" "$(wc -w <<<"$one")" 1
for _ in $(seq 50); do # a change of rules by another test brings it back, in every sandbox
    kill -9 "$one" 2>/dev/null
    got=$(inside curl -sS -o /dev/null -w '%{http_code}' "$url/")
    [ "$got" = 503 ] && break
    one=$(broker)
done
is "without a broker requests are refused" "$got" 503
sbx policy allow network other.example.com --sandbox "$id" >/dev/null 2>&1
is "the next change of rules brings one" "$(inside curl -sS -o /dev/null -w '%{http_code}' "$url/")" 200
sbx rm -f "$id" >/dev/null 2>&1
for _ in $(seq 100); do [ -z "$(broker)" ] && break; sleep 0.05; done
is "it ends with the sandbox" "$(broker)" ""
is "the next sandbox of the name gets nothing of it" "$(find "$state/inject" -name "$id.json")" ""
